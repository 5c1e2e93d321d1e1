//! What arrives, as a type that says who sent it and how many hops ago it was made.

use llamon_agent::a2a::SecurityScheme;
use llamon_agent::client::{Client, Outgoing};
use llamon_agent::core::{Json, Payload, Upstream};
use llamon_agent::server::auth::{Authenticate, Checked, Identity, Refusal, RequestHead, Security};
use llamon_agent::server::{AgentError, Answer, Provenance, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};

/// Knows everybody by the name that they give.
struct Names;

impl Authenticate for Names {
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
        Box::pin(async move {
            let name = request.header("x-name");
            name.map(Identity::new)
                .ok_or_else(|| Refusal::unauthenticated("Name", "say who you are"))
        })
    }

    fn security(&self) -> Security {
        Security::one("name", SecurityScheme::api_key("header", "x-name"))
    }
}

/// An agent that adds its name to what it was given, and stamps it or not.
async fn link(name: &'static str, provenance: Provenance) -> TestServer {
    let agent = move |_: Turn| async move { Ok::<_, AgentError>(Json(name)) };
    let builder = create_server(card(name), agent)
        .provenance(provenance)
        .upstream_parts_policy("append");
    start(builder).await
}

/// Says of each part what it is and what is known of where it comes from.
async fn report(turn: Turn) -> Result<Answer, AgentError> {
    let mut lines = Vec::new();
    for part in turn.untrusted_upstream() {
        let known = format!(
            "{:?} {:?} {:?}",
            part.sender(),
            part.producer(),
            part.hops()
        );
        let value: String = part.check(|part| part.data_as())?;
        lines.push(format!("{value}: {known}"));
    }
    let query = turn.untrusted_query();
    lines.push(format!("{:?} {:?}", query.sender(), query.hops()));
    Ok(Answer::completed((
        query.map(str::to_owned).expose(),
        Json(lines),
    ))?)
}

async fn through(agents: &[(&'static str, Provenance)]) -> Payload {
    let mut payload = Payload::new().with_text("go");
    for (name, provenance) in agents {
        let server = link(name, *provenance).await;
        let sent = Outgoing::text("go").with_payload(payload);
        payload = server
            .client()
            .send(sent)
            .await
            .expect("an answer")
            .payload();
    }
    payload
}

async fn reported(payload: Payload, name: Option<&str>) -> Vec<String> {
    let builder = create_server(card("report"), report);
    let (server, client) = match name {
        None => {
            let server = start(builder).await;
            let client = server.client().clone();
            (server, client)
        }
        Some(name) => {
            let server = start(builder.authenticate(Names)).await;
            let client = Client::builder().api_key("x-name", name);
            let client = client.discover(server.url()).await.expect("a client");
            (server, client)
        }
    };
    assert!(!Upstream::of(payload.parts()).is_empty());
    let reply = client.send(payload).await.expect("an answer");
    let lines = reply.data().first().expect("a report").clone();
    drop(server);
    serde_json::from_str(&lines).expect("lines")
}

#[tokio::test]
async fn parts_say_who_sent_them_and_how_many_hops_ago_they_were_made() {
    let all = [
        ("first", Provenance::Stamped),
        ("second", Provenance::Stamped),
        ("third", Provenance::Stamped),
    ];
    let sent = through(&all).await;
    assert_eq!(
        reported(sent, Some("alice")).await,
        [
            r#"third: Some("alice") Some("third") Some(1)"#,
            r#"second: Some("alice") Some("second") Some(2)"#,
            r#"first: Some("alice") Some("first") Some(3)"#,
            r#"Some("alice") None"#,
        ]
    );
}

#[tokio::test]
async fn what_is_not_stamped_is_of_somebody_and_nobody_is_known_without_authentication() {
    let some = [
        ("first", Provenance::Stamped),
        ("second", Provenance::Unstamped),
    ];
    let sent = through(&some).await;
    assert_eq!(
        reported(sent, None).await,
        [
            "second: None None None",
            r#"first: None Some("first") Some(1)"#,
            "None None",
        ]
    );
}
