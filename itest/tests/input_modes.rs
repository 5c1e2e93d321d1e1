//! Media types: of a message's parts, and of what a client accepts.

use llamon_agent::a2a::{AgentCard, ListTasksRequest, Skill};
use llamon_agent::client::{Binding, Client, Outgoing};
use llamon_agent::core::Part;
use llamon_agent::server::{
    AgentError, ExtendedCardReaders, GrpcAt, InputModes, ServerBuilder, Turn, create_server,
};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::grpc::{Call, call, field};
use llamon_itest::http::send;
use llamon_itest::refused::{code, send_request, with_part};
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, WIRES};

const BINDINGS: [Binding; 3] = [Binding::JsonRpc, Binding::Rest, Binding::Grpc];
const REASON: &str = "CONTENT_TYPE_NOT_SUPPORTED";

async fn done(_: Turn) -> Result<String, AgentError> {
    Ok("done".to_owned())
}

/// Takes plain texts and, in one skill, images.
fn card_with_images() -> AgentCard {
    let mut skill = Skill::new("see", "See", "Looks at images");
    skill.input_modes = vec!["image/*".to_owned()];
    card("agent").input_modes(["text/plain"]).skill(skill)
}

async fn serve<M>(builder: ServerBuilder<M>) -> TestServer {
    start(builder.grpc(GrpcAt::SamePort)).await
}

async fn client(server: &TestServer, binding: Binding) -> Client {
    server.client_with(binding).await.expect("a client")
}

fn typed(part: Part, media_type: &str) -> Outgoing {
    Outgoing::text("go").with_part(part.with_media_type(media_type))
}

#[tokio::test]
async fn a_media_type_that_no_card_names_is_refused_where_that_is_enforced() {
    let builder = create_server(card_with_images(), done);
    let server = serve(builder.input_modes(InputModes::Enforced)).await;
    let data = || Part::data_from_json("1").expect("data");
    for (round, binding) in (1..).zip(BINDINGS) {
        let client = client(&server, binding).await;
        for (message, taken) in [
            (Outgoing::text("go"), true),
            (Outgoing::new().with_part(data()), true),
            (typed(Part::file_bytes("x"), "image/png"), true),
            (typed(Part::text("x"), "TEXT/Plain; charset=utf-8"), true),
            (typed(Part::file_bytes("x"), "application/pdf"), false),
            (typed(data(), "application/json"), false),
            (typed(Part::file_url("https://a.example/"), "x/y"), false),
        ] {
            let shown = format!("{binding} {message:?}");
            let sent = client.send(message.clone()).await.map(drop);
            let streamed = client.stream(message).await.map(drop);
            for answer in [sent, streamed] {
                assert_eq!(answer.is_ok(), taken, "{shown}: {answer:?}");
                if let Err(error) = answer {
                    let error = error.protocol().expect("an error of the protocol");
                    assert_eq!(error.code().reason(), REASON, "{shown}");
                    let message = error.message();
                    assert!(
                        message.starts_with("message.parts[1].mediaType"),
                        "{message}"
                    );
                    assert!(message.ends_with("text/plain, image/*"), "{message}");
                }
            }
        }
        let page = client.list(ListTasksRequest::default()).await;
        let tasks = page.expect("a page").total_size;
        assert_eq!(tasks, round * 8, "a message that is refused leaves none");
    }
}

#[tokio::test]
async fn the_refusal_has_the_code_of_each_binding() {
    let builder = create_server(card("agent"), done);
    let server = serve(builder.input_modes(InputModes::Enforced)).await;
    for wire in WIRES {
        let part = r#"{"raw":"dGNr","mediaType":"application/x-unsupported"}"#;
        let request = send_request(wire, &with_part(part));
        let response = send(server.url(), &request).await;
        let refusal = Peer::new(server.url(), wire)
            .read(response)
            .expect_err(REASON);
        assert_eq!(
            (&*refusal.reason, refusal.code),
            (REASON, code(wire, REASON))
        );
    }
    let part = [field(2, b"tck"), field(7, b"application/x-unsupported")].concat();
    let message = [field(1, b"m"), b"\x20\x01".to_vec(), field(5, &part)].concat();
    let answer = call(server.url(), &Call::new("SendMessage", &field(2, &message))).await;
    assert_eq!(answer.status, Some(3), "INVALID_ARGUMENT: {answer:?}");
    assert!(answer.details.contains(REASON), "{answer:?}");
}

#[tokio::test]
async fn what_only_the_extended_card_names_is_taken_too() {
    let builder = create_server(card("agent"), done)
        .extended_card(card_with_images())
        .extended_card_readers(ExtendedCardReaders::Anybody)
        .input_modes(InputModes::Enforced);
    let server = serve(builder).await;
    let sent = server.send(typed(Part::file_bytes("x"), "image/png")).await;
    assert_eq!(sent.expect("an answer").text(), "done");
}

#[tokio::test]
async fn media_types_are_a_description_where_nothing_is_said() {
    let server = serve(create_server(card_with_images(), done)).await;
    for binding in BINDINGS {
        let client = client(&server, binding).await;
        let message = typed(Part::file_bytes("x"), "application/pdf");
        assert_eq!(
            client.send(message).await.expect("an answer").text(),
            "done"
        );
    }
}

#[tokio::test]
async fn what_a_client_says_it_accepts_changes_nothing() {
    let server = serve(create_server(card("agent"), done)).await;
    for wire in WIRES {
        for accept in [
            "application/json",
            "application/a2a+json",
            "text/event-stream",
            "*/*",
            "text/html",
            "nonsense",
        ] {
            let request = wire.request(Op::Send(&Say::text("go")));
            let response = send(server.url(), &request.header("Accept", accept)).await;
            let read = Peer::new(server.url(), wire).read(response);
            assert!(read.is_ok(), "{wire:?} {accept}: {read:?}");
        }
    }
}
