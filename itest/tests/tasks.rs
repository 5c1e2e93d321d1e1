//! GetTask and ListTasks: what of which tasks is shown, and in which order.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use llamon_agent::server::{Answer, Clock, Turn, create_server};
use llamon_agent::testing::TestServer;
use llamon_itest::agents::{card, start};
use llamon_itest::raw::Raw;
use llamon_itest::say::Say;
use llamon_itest::wire::{Op, Peer, WIRES, Wire, peers};

/// A server whose time is what the test says, in seconds of 1970.
struct Timed {
    server: TestServer,
    seconds: Arc<AtomicU64>,
}

impl Timed {
    async fn start() -> Self {
        let seconds = Arc::new(AtomicU64::new(0));
        let now = Arc::clone(&seconds);
        let clock = Clock::of(move || {
            SystemTime::UNIX_EPOCH + Duration::from_secs(now.load(Ordering::SeqCst))
        });
        let agent = async |turn: Turn| match turn.query() {
            "ask" => Ok(Answer::input_required("which?")?),
            "fail" => Err(llamon_agent::server::AgentError::public("broken")),
            "message" => Ok(Answer::message("hello")?),
            query => Ok(Answer::completed(format!("answer to {query}"))?),
        };
        let builder = create_server(card("agent"), agent).upstream_parts_policy("append");
        Self {
            server: start(builder.clock(clock)).await,
            seconds,
        }
    }

    fn peers(&self) -> [Peer; 2] {
        peers(self.server.url())
    }

    /// Sends a message at a time; returns the task's id.
    async fn send(&self, second: u64, say: &Say) -> String {
        self.seconds.store(second, Ordering::SeqCst);
        self.peers()[0].send(say).await.string("id")
    }
}

async fn list(peer: &Peer, fields: &[(&str, &str)]) -> Raw {
    peer.call(Op::List(fields)).await.expect("a page")
}

fn ids(page: &Raw) -> Vec<String> {
    page.list("tasks")
        .iter()
        .map(|task| task.string("id"))
        .collect()
}

#[tokio::test]
async fn two_tasks_in_one_context_are_two_tasks() {
    let timed = Timed::start().await;
    let say = Say::text("go").in_context("talk");
    let first = timed.send(1, &say).await;
    let second = timed.send(2, &say).await;
    let other = timed.send(3, &Say::text("go").in_context("another")).await;
    assert_ne!(first, second);
    for peer in timed.peers() {
        for id in [&first, &second] {
            let task = peer.get(id).await;
            assert_eq!(task.string("contextId"), "talk");
            assert_eq!(task.list("history").len(), 1);
            assert_eq!(task.string("artifacts.0.artifactId"), "response");
        }
        let page = list(&peer, &[("contextId", "talk")]).await;
        assert_eq!(ids(&page), [second.clone(), first.clone()]);
        assert_eq!(page.at("totalSize").text(), "2");
        let page = list(&peer, &[]).await;
        assert_eq!(ids(&page), [other.clone(), second.clone(), first.clone()]);
        let page = list(&peer, &[("contextId", "nobody's")]).await;
        assert_eq!(page.at("tasks").text(), "[]");
        assert_eq!(page.string("nextPageToken"), "");
    }
}

#[tokio::test]
async fn without_a_context_each_task_has_one_of_its_own() {
    let timed = Timed::start().await;
    let first = timed.send(1, &Say::text("go")).await;
    let second = timed.send(1, &Say::text("go")).await;
    let peer = &timed.peers()[1];
    let (first, second) = (peer.get(&first).await, peer.get(&second).await);
    assert_ne!(first.string("contextId"), second.string("contextId"));
}

#[tokio::test]
async fn a_list_has_artifacts_and_history_only_when_they_are_asked_for() {
    let timed = Timed::start().await;
    let say = Say::text("ask").with(&[r#"{"data":1.0}"#]);
    let id = timed.send(1, &say).await;
    timed.send(2, &Say::text("this").in_task(&id)).await;
    for peer in timed.peers() {
        let whole = peer.get(&id).await;
        assert_eq!(whole.list("history").len(), 3);
        assert_eq!(whole.list("artifacts").len(), 1);

        let bare = list(&peer, &[]).await.at("tasks.0");
        assert_eq!(bare.find("artifacts"), None);
        assert_eq!(bare.find("history"), None);
        assert_eq!(bare.at("status"), whole.at("status"));

        let page = list(&peer, &[("includeArtifacts", "true")]).await;
        assert_eq!(page.at("tasks.0.artifacts"), whole.at("artifacts"));
        let page = list(&peer, &[("includeArtifacts", "false")]).await;
        assert_eq!(page.find("tasks.0.artifacts"), None);

        for (length, count) in [("0", 0), ("1", 1), ("2", 2), ("3", 3), ("100", 3)] {
            let page = list(&peer, &[("historyLength", length)]).await;
            let history = page.list("tasks.0.history");
            assert_eq!(history, whole.list("history")[3 - count..], "{length}");
        }
    }
}

#[tokio::test]
async fn history_length_of_get_send_and_stream() {
    let timed = Timed::start().await;
    for peer in timed.peers() {
        for (length, count) in [
            (None, 3),
            (Some(0), 0),
            (Some(1), 1),
            (Some(2), 2),
            (Some(9), 3),
        ] {
            let configured = |say: Say| match length {
                None => say,
                Some(n) => say.configured(&format!(r#"{{"historyLength":{n}}}"#)),
            };
            let id = peer.send(&Say::text("ask")).await.string("id");
            let answer = peer.send(&configured(Say::text("go").in_task(&id))).await;
            let whole = peer.get(&id).await.list("history");
            assert_eq!(whole.len(), 3);
            assert_eq!(answer.list("history"), whole[3 - count..], "{length:?}");

            let id = peer.send(&Say::text("ask")).await.string("id");
            let stream = peer.stream(&configured(Say::text("go").in_task(&id))).await;
            let first = stream.rest().await.remove(0);
            assert_eq!(first.list("task.history").len(), count, "{length:?}");

            let Some(n) = length else { continue };
            let request = match peer.wire {
                Wire::JsonRpc => llamon_itest::http::Request::post(
                    "/",
                    llamon_itest::wire::envelope(
                        "GetTask",
                        &format!(r#"{{"id":"{id}","historyLength":{n}}}"#),
                    ),
                ),
                Wire::Rest => {
                    llamon_itest::http::Request::get(&format!("/tasks/{id}?historyLength={n}"))
                }
            };
            let response = llamon_itest::http::send(&peer.url, &request).await;
            let task = peer.read(response).unwrap();
            assert_eq!(task.list("history").len(), count, "{length:?}");
        }
    }
}

#[tokio::test]
async fn filters_by_state() {
    let timed = Timed::start().await;
    let asked = timed.send(1, &Say::text("ask")).await;
    let done = timed.send(2, &Say::text("go")).await;
    let failed = timed.send(3, &Say::text("fail")).await;
    for peer in timed.peers() {
        for (state, expected) in [
            ("TASK_STATE_INPUT_REQUIRED", Some(&asked)),
            ("TASK_STATE_COMPLETED", Some(&done)),
            ("TASK_STATE_FAILED", Some(&failed)),
            ("TASK_STATE_WORKING", None),
            ("TASK_STATE_CANCELED", None),
        ] {
            let page = list(&peer, &[("status", state)]).await;
            let expected: Vec<String> = expected.into_iter().cloned().collect();
            assert_eq!(ids(&page), expected, "{state}");
            assert_eq!(page.at("totalSize").text(), expected.len().to_string());
        }
    }
}

#[tokio::test]
async fn filters_by_the_time_of_the_status() {
    let timed = Timed::start().await;
    let mut sent = Vec::new();
    for second in [10, 20, 30] {
        sent.push(timed.send(second, &Say::text("go").in_context("c")).await);
    }
    sent.reverse();
    for peer in timed.peers() {
        // From that moment on, in whatever zone it is written.
        for (after, count) in [
            ("1970-01-01T00:00:00Z", 3),
            ("1970-01-01T00:00:10Z", 3),
            ("1970-01-01T00:00:10.001Z", 2),
            ("1970-01-01T00:00:20.000Z", 2),
            ("1970-01-01T00:00:30Z", 1),
            ("1970-01-01T00:00:31Z", 0),
        ] {
            let page = list(&peer, &[("statusTimestampAfter", after)]).await;
            assert_eq!(ids(&page), sent[..count], "{after}");
            assert_eq!(page.at("totalSize").text(), count.to_string());
        }
        let zoned = match peer.wire {
            Wire::JsonRpc => "1970-01-01T01:00:20+01:00",
            Wire::Rest => "1970-01-01T01:00:20%2B01:00",
        };
        assert_eq!(
            ids(&list(&peer, &[("statusTimestampAfter", zoned)]).await),
            sent[..2]
        );
        // Filters are and.
        let fields = [
            ("statusTimestampAfter", "1970-01-01T00:00:20Z"),
            ("contextId", "c"),
            ("status", "TASK_STATE_COMPLETED"),
            ("pageSize", "1"),
        ];
        let page = list(&peer, &fields).await;
        assert_eq!(ids(&page), sent[..1]);
        assert_eq!(page.at("totalSize").text(), "2");
        assert_ne!(page.string("nextPageToken"), "");
    }
}

#[tokio::test]
async fn the_newest_status_is_first() {
    let timed = Timed::start().await;
    let first = timed.send(1, &Say::text("ask")).await;
    let second = timed.send(2, &Say::text("ask")).await;
    let third = timed.send(3, &Say::text("go")).await;
    timed.send(4, &Say::text("this").in_task(&first)).await;
    let direct = timed.peers()[0].send(&Say::text("message")).await;
    assert_eq!(direct.string("role"), "ROLE_AGENT");
    for peer in timed.peers() {
        // What was answered with a message is no task.
        let page = list(&peer, &[]).await;
        assert_eq!(ids(&page), [first.clone(), third.clone(), second.clone()]);
        let times: Vec<String> = (page.list("tasks").iter())
            .map(|task| task.string("status.timestamp"))
            .collect();
        let expected = [4, 3, 2].map(|second| format!("1970-01-01T00:00:0{second}.000Z"));
        assert_eq!(times, expected);
    }
}

/// Follows the page tokens to the end; returns the sizes of the pages and all ids.
async fn walk(peer: &Peer, page_size: Option<&str>, total: &str) -> (Vec<usize>, Vec<String>) {
    let (mut sizes, mut all) = (Vec::new(), Vec::new());
    let mut token = String::new();
    loop {
        let mut fields: Vec<(&str, &str)> = vec![("contextId", "walk")];
        fields.extend(page_size.map(|size| ("pageSize", size)));
        if !token.is_empty() {
            fields.push(("pageToken", &token));
        }
        let page = list(peer, &fields).await;
        assert_eq!(page.at("totalSize").text(), total);
        assert_eq!(page.at("pageSize").text(), page_size.unwrap_or("50"));
        let found = ids(&page);
        sizes.push(found.len());
        all.extend(found);
        token = page.string("nextPageToken");
        if token.is_empty() {
            return (sizes, all);
        }
    }
}

#[tokio::test]
async fn a_walk_over_120_tasks_sees_each_once() {
    let timed = Timed::start().await;
    let mut sent = Vec::new();
    for number in 0..120 {
        // Some in the same moment.
        let second = number / 7;
        sent.push(
            timed
                .send(second, &Say::text("go").in_context("walk"))
                .await,
        );
        timed
            .send(second, &Say::text("go").in_context("aside"))
            .await;
    }
    sent.reverse();
    for peer in timed.peers() {
        for (asked, size) in [
            (None, 50),
            (Some("100"), 100),
            (Some("60"), 60),
            (Some("7"), 7),
            (Some("1"), 1),
        ] {
            let (sizes, all) = walk(&peer, asked, "120").await;
            assert_eq!(all, sent, "{asked:?}");
            let expected: Vec<usize> = sent.chunks(size).map(<[String]>::len).collect();
            assert_eq!(sizes, expected, "{asked:?}");
        }
    }
}

#[tokio::test]
async fn a_walk_is_not_disturbed_by_new_tasks() {
    for wire in WIRES {
        let timed = Timed::start().await;
        let peer = Peer::new(timed.server.url(), wire);
        let mut sent = Vec::new();
        for number in 0..6 {
            sent.push(timed.send(number, &Say::text("go")).await);
        }
        sent.reverse();
        let mut seen = Vec::new();
        let mut token = String::new();
        loop {
            let mut fields = vec![("pageSize", "2")];
            if !token.is_empty() {
                fields.push(("pageToken", &token));
            }
            let page = list(&peer, &fields).await;
            seen.extend(ids(&page));
            token = page.string("nextPageToken");
            if token.is_empty() {
                break;
            }
            timed.send(100, &Say::text("go")).await;
        }
        assert_eq!(seen, sent);
    }
}

#[tokio::test]
async fn values_that_a_list_does_not_take() {
    let timed = Timed::start().await;
    let cases = [
        ("pageToken", "nonsense", "pageToken"),
        ("pageToken", "MTIz", "pageToken"),
        ("pageSize", "0", "pageSize"),
        ("pageSize", "101", "pageSize"),
        ("pageSize", "-1", "pageSize"),
        ("pageSize", "99999999999", "pageSize"),
        ("historyLength", "-1", "historyLength"),
        ("historyLength", "1.5", "historyLength"),
        ("status", "TASK_STATE_NONE", "status"),
        ("status", "completed", "status"),
        ("statusTimestampAfter", "yesterday", "statusTimestampAfter"),
        ("includeArtifacts", "7", "includeArtifacts"),
    ];
    for peer in timed.peers() {
        for (name, value, field) in cases {
            let refusal = peer.call(Op::List(&[(name, value)])).await.unwrap_err();
            assert_eq!(refusal.reason, "INVALID_PARAMS", "{name}={value}");
            assert!(refusal.message.contains(field), "{refusal:?}");
            let code = if peer.wire == Wire::JsonRpc {
                -32602
            } else {
                400
            };
            assert_eq!(refusal.code, code);
        }
        // And these it takes.
        for (name, value) in [("pageToken", ""), ("contextId", ""), ("unknown", "x")] {
            list(&peer, &[(name, value)]).await;
        }
    }
}
