//! Every operation in every binding, by everybody, on what is there and on what is not.

use llamon_agent::server::backend::sqlite::SqliteStore;
use llamon_agent::testing::TestServer;
use llamon_itest::call::{BINDINGS, Caller};
use llamon_itest::say::Say;

use crate::support::{MISSING, begin, caller, server, server_with};

const OPERATIONS: [&str; 11] = [
    "SendMessage",
    "SendStreamingMessage",
    "GetTask",
    "ListTasks",
    "CancelTask",
    "SubscribeToTask",
    "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig",
    "ListTaskPushNotificationConfigs",
    "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard",
];

const OWNER: &str = "alice@acme";

/// Who is not the owner: of the same tenant, of another one under the same name, under that name
/// without a tenant, and nobody who is known.
const OTHERS: [Option<&str>; 4] = [Some("bob@acme"), Some("alice@globex"), Some("alice"), None];

/// Operations on no task in particular. They show what the caller has.
const OF_NO_TASK: [&str; 2] = ["ListTasks", "GetExtendedAgentCard"];

/// What an operation names.
struct Target<'a> {
    task: &'a str,
    context: &'a str,
}

/// The parameters of an operation on the target, which has the push configuration `c` if it is
/// there.
fn parameters(operation: &str, target: &Target<'_>) -> String {
    let Target { task, context } = target;
    match operation {
        "SendMessage" | "SendStreamingMessage" => Say::text("x").in_task(task).json(),
        "GetTask" | "CancelTask" | "SubscribeToTask" => format!(r#"{{"id":"{task}"}}"#),
        "ListTasks" => format!(r#"{{"contextId":"{context}"}}"#),
        "CreateTaskPushNotificationConfig" => config(task),
        "ListTaskPushNotificationConfigs" => format!(r#"{{"taskId":"{task}"}}"#),
        "GetTaskPushNotificationConfig" | "DeleteTaskPushNotificationConfig" => {
            format!(r#"{{"taskId":"{task}","id":"c"}}"#)
        }
        _ => "{}".to_owned(),
    }
}

fn config(task: &str) -> String {
    format!(r#"{{"taskId":"{task}","id":"c","url":"https://receiver.example/"}}"#)
}

/// What somebody's operation is refused with; `None` where it is not refused.
fn expected(operation: &str, who: Option<&str>, is_there: bool) -> Option<&'static str> {
    match who {
        None => Some("UNAUTHENTICATED"),
        Some(_) if OF_NO_TASK.contains(&operation) => None,
        Some(OWNER) if is_there => None,
        Some(_) => Some("TASK_NOT_FOUND"),
    }
}

/// What the owner can see of a task.
async fn seen(owner: &Caller, task: &str) -> Vec<String> {
    let mut seen = Vec::new();
    for (operation, parameters) in [
        ("GetTask", format!(r#"{{"id":"{task}"}}"#)),
        (
            "ListTaskPushNotificationConfigs",
            format!(r#"{{"taskId":"{task}"}}"#),
        ),
    ] {
        let answer = owner.call(operation, &parameters).await;
        seen.push(answer.expect("theirs").text().to_owned());
    }
    seen
}

#[tokio::test]
async fn everybody_gets_what_is_theirs_and_everything_else_looks_missing() {
    matrix(&server().await).await;
}

#[tokio::test]
async fn and_so_it_is_with_tasks_in_a_file() {
    let folder = tempfile::tempdir().expect("a directory");
    let store = SqliteStore::open(folder.path().join("tasks.db")).expect("a store");
    matrix(&server_with(store.backend("agent")).await).await;
}

async fn matrix(server: &TestServer) {
    let mut cells = 0;
    for binding in BINDINGS {
        let owner = caller(server, binding, Some(OWNER));
        for operation in OPERATIONS {
            let (task, context) = begin(&owner).await;
            let receiver = config(&task);
            let added = owner.call("CreateTaskPushNotificationConfig", &receiver);
            added.await.expect("a receiver");
            let before = seen(&owner, &task).await;
            let there = parameters(
                operation,
                &Target {
                    task: &task,
                    context: &context,
                },
            );
            let missing = parameters(
                operation,
                &Target {
                    task: MISSING,
                    context: MISSING,
                },
            );
            for who in OTHERS {
                let what = format!("{binding:?} {operation} {who:?}");
                let caller = caller(server, binding, who);
                let foreign = caller.transcript(operation, &there).await;
                let absent = caller.transcript(operation, &missing).await;
                assert_eq!(foreign, absent, "{what}");
                let reason = foreign.refused.as_ref().map(|it| it.reason.as_str());
                assert_eq!(reason, expected(operation, who, true), "{what}");
                assert_eq!(expected(operation, who, false), reason, "{what}");
                for id in [task.as_str(), &context, MISSING] {
                    assert!(!foreign.text.contains(id), "{what}: {foreign:?}");
                    assert!(!absent.text.contains(id), "{what}: {absent:?}");
                }
                cells += 2;
            }
            assert_eq!(seen(&owner, &task).await, before, "{binding:?} {operation}");
            for (parameters, is_there) in [(&missing, false), (&there, true)] {
                let what = format!("{binding:?} {operation} owner, there: {is_there}");
                let answer = owner.transcript(operation, parameters).await;
                let reason = answer.refused.as_ref().map(|it| it.reason.as_str());
                assert_eq!(reason, expected(operation, Some(OWNER), is_there), "{what}");
                if reason.is_some() {
                    assert!(!answer.text.contains(MISSING), "{what}: {answer:?}");
                }
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 11 * 3 * 5 * 2);
}

#[tokio::test]
async fn a_context_of_somebody_else_is_a_new_one_of_ones_own() {
    let server = server().await;
    for binding in BINDINGS {
        let owner = caller(&server, binding, Some(OWNER));
        let (task, context) = begin(&owner).await;
        for who in OTHERS.into_iter().flatten() {
            let caller = caller(&server, binding, Some(who));
            let say = Say::text("go").in_context(&context).json();
            let sent = caller.call("SendMessage", &say).await.expect("a task");
            assert_ne!(sent.string("task.id"), task);
            let listing = format!(r#"{{"contextId":"{context}"}}"#);
            let page = caller.call("ListTasks", &listing).await.expect("a page");
            let tasks = page.list("tasks");
            assert_eq!(tasks.len(), 1, "{binding:?} {who}");
            assert_eq!(tasks[0].string("id"), sent.string("task.id"));
        }
    }
}
