//! Secrets that are given to a server in every way that takes one, and every place that they must
//! not be found in afterwards. On its own, because the log and the panics are the process's.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use llamon_agent::a2a::{PushConfig, SecurityScheme, TaskState};
use llamon_agent::client::Client;
use llamon_agent::client::push::SigningSecret;
use llamon_agent::client::signing::SigningKey;
use llamon_agent::core::{Json, Payload};
use llamon_agent::server::auth::{Authenticate, Checked, Identity, Refusal, RequestHead, Security};
use llamon_agent::server::backend::sqlite::SqliteStore;
use llamon_agent::server::{
    AgentError, Answer, GrpcAt, PushNotifications, ServerBuilder, Turn, create_server,
};
use llamon_agent::testing::TestServer;
use llamon_flow::Plan;
use llamon_flow::run::{Runner, RunnerSettings, Stand};
use llamon_flow::store::{RunState, RunStore};
use llamon_itest::agents::{Running, card, start, until};
use llamon_itest::call::{Caller, Transcript};
use llamon_itest::log::Log;
use llamon_itest::receiver::{self, Receiver};
use llamon_itest::say::Say;
use tracing_subscriber::filter::LevelFilter;

/// What callers show, and what they must not.
const CALLER_KEY: &str = "canary-of-a-caller";
const WRONG_KEY: &str = "canary-of-nobody";
/// What this server shows to another agent, and one that it refuses.
const OUTGOING: &str = "canary-of-this-agent";
const WRONG_OUTGOING: &str = "canary-of-an-impostor";
const RECEIVER_TOKEN: &str = "canary-of-a-receiver";
const RECEIVER_CREDENTIALS: &str = "canary-of-its-authentication";
const WEBHOOK_KEY: &str = "canary-of-a-webhook-signature---";
const CARD_KEY: &str = include_str!("../../crates/client/tests/keys/ed25519.pem");
/// What a caller sends, and what goes wrong in an agent.
const CONTENT: &str = "canary-in-a-message";
const AGENT_ERROR: &str = "canary-in-an-error";
const AGENT_PANIC: &str = "canary-in-a-panic";

/// Where secrets could show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// The log, with everything in it.
    Log,
    /// What is answered, headers included.
    Answers,
    /// What panics print.
    Panics,
    /// `Debug` of what holds secrets.
    Shown,
    /// The files of the store.
    Files,
}

/// A secret, and where it may be.
const SECRETS: &[(&str, &[Place])] = &[
    (CALLER_KEY, &[]),
    (WRONG_KEY, &[]),
    (OUTGOING, &[]),
    (WRONG_OUTGOING, &[]),
    (WEBHOOK_KEY, &[]),
    // In the one column that is theirs: `columns_with` looks at it.
    (RECEIVER_TOKEN, &[Place::Files]),
    (RECEIVER_CREDENTIALS, &[Place::Files]),
    // A task is stored, and answered with.
    (CONTENT, &[Place::Answers, Place::Files]),
    // The operator reads what happened; the caller gets the id of the line.
    (AGENT_ERROR, &[Place::Log]),
    (AGENT_PANIC, &[Place::Log, Place::Panics]),
];

/// Knows whoever has the key that it holds.
struct Key {
    header: &'static str,
    value: String,
}

impl Authenticate for Key {
    fn authenticate<'a>(&'a self, request: &'a RequestHead<'a>) -> Checked<'a> {
        Box::pin(async move {
            match request.header(self.header) {
                Some(given) if given == self.value => Ok(Identity::new("a caller")),
                _ => Err(Refusal::unauthenticated("Key", "send the key")),
            }
        })
    }

    fn security(&self) -> Security {
        Security::one("key", SecurityScheme::api_key("header", self.header))
    }
}

/// Does what the query's first word says.
fn agent(next: Client, impostor: Client) -> impl Fn(Turn) -> Running + Send + Sync + 'static {
    move |turn| {
        let (next, impostor) = (next.clone(), impostor.clone());
        Box::pin(async move {
            let query = turn.query().to_owned();
            match query.split(' ').next().unwrap_or_default() {
                "error" => Err(std::io::Error::other(AGENT_ERROR).into()),
                "panic" => panic!("{AGENT_PANIC}"),
                "call" => {
                    let reply = turn.call(&next, "hello").await?;
                    assert_eq!(reply.state(), Some(TaskState::Completed));
                    Ok(Answer::completed(reply.payload())?)
                }
                "impostor" => Ok(Answer::completed(
                    turn.call(&impostor, "hello").await?.payload(),
                )?),
                "ask" => Ok(Answer::input_required("which?")?),
                _ => {
                    turn.status("working").await?;
                    turn.emit((query.clone(), Json(&query))).await?;
                    Ok(Answer::completed(())?)
                }
            }
        })
    }
}

async fn called() -> TestServer {
    let echo = |turn: Turn| async move { Ok::<_, AgentError>(turn.query().to_owned()) };
    let key = Key {
        header: "authorization",
        value: format!("Bearer {OUTGOING}"),
    };
    start(create_server(card("called"), echo).authenticate(key)).await
}

fn serve(store: &SqliteStore, next: Client, impostor: Client) -> ServerBuilder<impl Sized + use<>> {
    let push = PushNotifications::new()
        .allow_loopback()
        .allow_plain_http()
        .sign_with(SigningSecret::from_bytes(WEBHOOK_KEY.as_bytes()).expect("a secret"))
        .timeout(Duration::from_millis(500))
        .max_attempts(2)
        .backoff(Duration::from_millis(1), Duration::from_millis(2));
    let key = Key {
        header: "x-api-key",
        value: CALLER_KEY.to_owned(),
    };
    create_server(card("agent"), agent(next, impostor))
        .store(store)
        .push_notifications(push)
        .authenticate(key)
        .extended_card(card("agent, extended"))
        .sign_card(SigningKey::from_pem(CARD_KEY, "key").expect("a key"))
        .grpc(GrpcAt::SamePort)
}

/// What a caller can do, with secrets wherever they can be.
fn calls(receivers: &[&str], task: &str) -> Vec<(&'static str, String)> {
    let config = |url: &str| {
        format!(
            r#""url":"{url}","token":"{RECEIVER_TOKEN}","authentication":{{"scheme":"Bearer","credentials":"{RECEIVER_CREDENTIALS}"}}"#
        )
    };
    let mut calls = Vec::new();
    for query in ["say", "error", "panic", "call", "impostor", "ask"] {
        let data = format!(r#"{{"data":{{"x":"{CONTENT}"}}}}"#);
        let say = Say::text(&format!("{query} {CONTENT}")).with(&[data.as_str()]);
        let pushed = format!(
            r#"{{"taskPushNotificationConfig":{{{}}}}}"#,
            config(receivers[0])
        );
        calls.push(("SendMessage", say.clone().configured(&pushed).json()));
        calls.push(("SendMessage", say.json()));
    }
    for (number, url) in receivers.iter().enumerate() {
        let fields = config(url);
        calls.push((
            "CreateTaskPushNotificationConfig",
            format!(r#"{{"taskId":"{task}","id":"c{number}",{fields}}}"#),
        ));
    }
    let of_task = format!(r#"{{"id":"{task}"}}"#);
    calls.push((
        "ListTaskPushNotificationConfigs",
        format!(r#"{{"taskId":"{task}"}}"#),
    ));
    calls.push((
        "GetTaskPushNotificationConfig",
        format!(r#"{{"taskId":"{task}","id":"c0"}}"#),
    ));
    calls.push(("GetTask", of_task.clone()));
    calls.push(("ListTasks", r#"{"includeArtifacts":true}"#.to_owned()));
    calls.push(("GetExtendedAgentCard", "{}".to_owned()));
    calls.push(("SendMessage", Say::text(CONTENT).in_task("missing").json()));
    calls.push(("SendStreamingMessage", Say::text(CONTENT).json()));
    calls.push(("SubscribeToTask", of_task.clone()));
    calls.push(("CancelTask", of_task));
    calls
}

/// A plan whose agent wants what this program has to show; its run is stored beside the tasks.
async fn run_of_a_plan(folder: &Path, agent: &str) {
    let plan = format!("steps:\n  s: {{agent: '{agent}', from: [input]}}\noutputs: [s]\n");
    let plan = Plan::from_yaml(&plan).expect("a plan");
    let store = RunStore::open(folder.join("runs.db")).expect("a store");
    let client = Client::builder().bearer(OUTGOING);
    let runner = Runner::with_settings(store, RunnerSettings::default().client(client));
    let input = Payload::new().with_text(CONTENT);
    let (_, stand) = runner.run(&plan, input).await.expect("a run");
    let Stand::Ended { state, .. } = stand else {
        panic!("nothing is asked: {stand:?}");
    };
    assert_eq!(state, RunState::Completed);
}

/// What a caller reads of an error or a panic leads the operator to its text.
fn every_failure_is_explained_in_the_log(answers: &str, log: &str) {
    let ids: BTreeSet<&str> = answers
        .split("the server's log has the reason under ")
        .skip(1)
        .filter_map(|rest| rest.get(..36))
        .collect();
    let mut reasons = BTreeSet::new();
    for id in &ids {
        let line = log.lines().find(|line| line.contains(id));
        let line = line.expect("a line with the id");
        let reason = [AGENT_ERROR, AGENT_PANIC]
            .into_iter()
            .find(|reason| line.contains(reason));
        reasons.insert(reason.expect("the reason on the same line"));
    }
    assert!(
        ids.len() >= 12,
        "two of each, twice, in three bindings: {ids:?}"
    );
    assert_eq!(reasons.len(), 2);
}

/// The columns of a store, as `table.column`, in which a text is.
fn columns_with(file: &Path, text: &str) -> BTreeSet<String> {
    let connection = rusqlite::Connection::open(file).expect("a database");
    let mut found = BTreeSet::new();
    let tables: Vec<String> = connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .and_then(|mut names| names.query_map([], |row| row.get(0))?.collect())
        .expect("tables");
    for table in tables {
        let mut rows = connection
            .prepare(&format!("SELECT * FROM \"{table}\""))
            .expect("a table");
        let columns: Vec<String> = rows.column_names().map(str::to_owned).collect();
        let mut rows = rows.query([]).expect("rows");
        while let Some(row) = rows.next().expect("a row") {
            for (index, column) in columns.iter().enumerate() {
                let bytes = match row.get_ref(index).expect("a value") {
                    rusqlite::types::ValueRef::Text(bytes)
                    | rusqlite::types::ValueRef::Blob(bytes) => bytes.to_vec(),
                    _ => continue,
                };
                if String::from_utf8_lossy(&bytes).contains(text) {
                    found.insert(format!("{table}.{column}"));
                }
            }
        }
    }
    found
}

fn bytes_of_files(folder: &Path) -> String {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(bytes_of_files(&path).into_bytes());
        } else {
            all.extend(std::fs::read(&path).expect("a file"));
        }
    }
    String::from_utf8_lossy(&all).into_owned()
}

#[tokio::test]
async fn no_secret_is_found_anywhere_but_in_its_own_column() {
    let (log, panics) = (Log::default(), Log::default());
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .init();
    let printed = panics.clone();
    std::panic::set_hook(Box::new(move |panic| {
        // The test's own are to be read, too.
        eprintln!("{panic}");
        let _ = writeln!(printed.clone(), "{panic}");
    }));

    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("tasks.db");
    let store = SqliteStore::open(&file).expect("a store");
    let called = called().await;
    let with = |token: &str| Client::builder().bearer(token);
    let (next, impostor) = (with(OUTGOING), with(WRONG_OUTGOING));
    let mut shown = format!("{next:?} {impostor:?}");
    let next = next.discover(called.url()).await.expect("a client");
    let impostor = impostor.discover(called.url()).await.expect("a client");
    shown.push_str(&format!("{next:?} {impostor:?}"));
    let builder = serve(&store, next.clone(), impostor.clone());
    shown.push_str(&format!("{builder:?} {store:?}"));
    let server = start(builder).await;
    shown.push_str(&format!("{server:?}"));
    let mut config = PushConfig::new("http://127.0.0.1:9999/");
    config.token = Some(RECEIVER_TOKEN.into());
    shown.push_str(&format!("{config:?}"));
    let secret = SigningSecret::from_bytes(WEBHOOK_KEY.as_bytes()).expect("a secret");
    let key = SigningKey::from_pem(CARD_KEY, "key").expect("a key");
    shown.push_str(&format!("{secret:?} {key:?}"));

    let good = Receiver::start().await;
    let bad = Receiver::answering(|_, _| receiver::Answer::Status(500)).await;
    let receivers = [&*good.url, &bad.url, "http://127.0.0.1:9999/"];
    let mut answers = String::new();
    for caller in Caller::all(server.url()) {
        let known = caller.clone().with("x-api-key", CALLER_KEY);
        let asked = known.call("SendMessage", &Say::text("ask").json()).await;
        let task = asked.expect("a task").string("task.id");
        for (operation, parameters) in calls(&receivers, &task) {
            let what = format!("{:?} {operation}", caller.binding);
            let wrong = caller.clone().with("x-api-key", WRONG_KEY);
            let Transcript { text, refused } = wrong.transcript(operation, &parameters).await;
            assert_eq!(refused.expect(&what).reason, "UNAUTHENTICATED", "{what}");
            answers.push_str(&text);
            let Transcript { text, .. } = known.transcript(operation, &parameters).await;
            answers.push_str(&text);
        }
    }
    run_of_a_plan(folder.path(), called.url()).await;
    // All that is to be delivered was, or was given up.
    until(|| async { (log.text().matches("is given up").count() >= 2).then_some(()) }).await;
    assert!(good.got().len() > 2, "notifications came");
    server.stop().await.expect("a server that stops");

    for secret in [RECEIVER_TOKEN, RECEIVER_CREDENTIALS] {
        let columns = columns_with(&file, secret);
        let expected = BTreeSet::from(["push.config".to_owned()]);
        assert_eq!(columns, expected, "{secret}");
    }
    drop(store);
    every_failure_is_explained_in_the_log(&answers, &log.text());
    let places = [
        (Place::Log, log.text()),
        (Place::Answers, answers),
        (Place::Panics, panics.text()),
        (Place::Shown, shown),
        (Place::Files, bytes_of_files(folder.path())),
    ];
    let mut wrong = Vec::new();
    let mut look = |secret: &str, allowed: &[Place]| {
        for (place, text) in &places {
            let is_there = text.contains(secret);
            if is_there && !allowed.contains(place) {
                let line = text.lines().find(|line| line.contains(secret));
                let line: String = line.unwrap_or_default().chars().take(400).collect();
                wrong.push(format!("{secret} in {place:?}: {line}"));
            }
            // Where it may be, it has been: what looks for it can find it.
            if !is_there && allowed.contains(place) {
                wrong.push(format!("{secret} is not in {place:?}"));
            }
        }
    };
    for (secret, allowed) in SECRETS {
        look(secret, allowed);
    }
    look(&STANDARD.encode(WEBHOOK_KEY), &[]);
    let lines = CARD_KEY.lines().filter(|line| !line.starts_with("---"));
    for line in lines {
        look(line, &[]);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
