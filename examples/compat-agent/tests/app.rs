//! What each profile declares, and what the agent does.

use compat_agent::{Profile, REQUIRED_EXTENSION, app};
use llamon_agent::a2a::TaskState;
use llamon_agent::client::Outgoing;
use llamon_agent::server::Compat;
use llamon_agent::testing::TestServer;

async fn serve(profile: Profile) -> TestServer {
    let server = TestServer::start(app(profile, Compat::Current)).await;
    server.expect("a server")
}

#[tokio::test]
async fn a_card_declares_what_its_profile_says() {
    for (profile, optional, required) in [
        (Profile::Full, true, None),
        (Profile::Nothing, false, None),
        (Profile::RequiredExtension, true, Some(REQUIRED_EXTENSION)),
    ] {
        let server = serve(profile).await;
        let capabilities = &server.client().card().capabilities;
        assert_eq!(capabilities.streaming, optional, "{profile:?}");
        assert_eq!(capabilities.push_notifications, optional, "{profile:?}");
        let mut extensions = capabilities.extensions.iter().filter(|e| e.required);
        assert_eq!(extensions.next().map(|e| e.uri.as_str()), required);
    }
}

#[tokio::test]
async fn the_agent_does_what_the_id_of_the_message_begins_with() {
    let server = serve(Profile::Full).await;
    for (id, state, text) in [
        (
            "tck-artifact-text-1",
            TaskState::Completed,
            "Generated text content",
        ),
        ("tck-artifact-file-1", TaskState::Completed, ""),
        ("tck-artifact-file-url-1", TaskState::Completed, ""),
        (
            "tck-stream-artifact-chunked-1",
            TaskState::Completed,
            "chunk-1 chunk-2",
        ),
        ("tck-input-required-1", TaskState::InputRequired, ""),
        ("tck-reject-task-1", TaskState::Rejected, ""),
        ("something else", TaskState::Completed, ""),
    ] {
        let message = Outgoing::text("go").message_id(id);
        let reply = server.send(message).await.expect("an answer");
        assert_eq!((reply.state(), &*reply.text()), (Some(state), text), "{id}");
    }
    let message = Outgoing::text("go").message_id("tck-complete-task-1");
    let reply = server.send(message).await.expect("an answer");
    assert_eq!(reply.status_text().as_deref(), Some("Hello from TCK"));
    let message = Outgoing::text("go").message_id("tck-artifact-file-url-1");
    let reply = server.send(message).await.expect("an answer");
    let files = reply.files();
    let urls: Vec<_> = files.iter().filter_map(|file| file.url()).collect();
    assert_eq!(urls, ["https://example.com/output.txt"]);
}
