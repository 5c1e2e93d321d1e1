//! What stands on standard output: JSON untouched, and text that cannot steer a terminal.

use llamon_agent::prelude::*;
use serde_json::Value;

use crate::support::{card, file, llamon, serve, serve_append};

const HOSTILE: &str = "\u{1b}]0;owned\u{7}red\u{1b}[31m\u{9b}2J\u{202e}txt\u{7f}\r";
const CLEANED: &str = "]0;ownedred[31m2Jtxt";

async fn got_it(_: Turn) -> Result<&'static str, AgentError> {
    Ok("got it")
}

async fn hostile(turn: Turn) -> Result<Answer, AgentError> {
    let data = Part::data_from_json("\"\u{7f}\u{9b}\u{202e}\"")?;
    let file = Part::file_bytes("x").with_filename(format!("a\n{HOSTILE}"));
    let answer = match turn.query() {
        "ask" => Answer::input_required(HOSTILE)?,
        "fail" => return Err(AgentError::public(HOSTILE)),
        _ => Answer::completed((HOSTILE, data, file))?,
    };
    turn.status(HOSTILE).await?;
    Ok(answer)
}

fn is_clean(text: &str) -> bool {
    let is_hostile = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
    !text.contains(is_hostile)
}

#[tokio::test(flavor = "multi_thread")]
async fn json_is_one_line_with_every_token_as_it_was() {
    let server = serve_append(got_it).await;
    let first = r#"{"n":9007199254740993,"f":1.0,"n":1.00,"e":1e400,"s":"\u00e9\ud800","":{}}"#;
    let second = "12345678901234567890123456789012345678901234567890";
    let (_folder, in_file) = file("data.json", b"[ 1.0,\r\n  null ]\n");
    let from_file = format!("@{in_file}");
    let (_folder, binary) = file("noise.bin", &[0, 255, 1]);
    let data = [first, second, "-0", "null", &from_file];
    for binding in ["jsonrpc", "rest"] {
        for stream in [&[][..], &["--stream"]] {
            let mut args = vec!["send", server.url(), "hi", "--json", "--binding", binding];
            args.extend(stream);
            for json in &data {
                args.extend(["--data", json]);
            }
            args.extend(["--file", &binary]);
            let ran = llamon(&args).await;
            assert_eq!(ran.code, Some(0), "{ran:?}");
            assert_eq!(ran.stderr, "");
            let expected = format!(
                r#"{{"text":"got it","data":[{first},{second},-0,null,[1.0,null]],"files":[{{"raw":"AP8B","filename":"noise.bin","mediaType":"application/octet-stream"}}],"task":{{"id":""#
            );
            assert!(ran.stdout.starts_with(&expected), "{}", ran.stdout);
            let end = r#"","state":"TASK_STATE_COMPLETED"}}"#;
            let line = ran.stdout.strip_suffix('\n').unwrap();
            assert!(line.ends_with(end) && !line.contains('\n'), "{line}");
            let task = ran.stdout.split(r#""task":"#).nth(1).unwrap();
            assert!(task.contains(r#"","contextId":""#), "{task}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_direct_message_has_no_task() {
    let agent = |_: Turn| async { Ok::<_, AgentError>(Answer::message(("hi", Json(1.0)))?) };
    let server = serve(agent).await;
    let ran = llamon(&["send", server.url(), "hi", "--json"]).await;
    let expected = "{\"text\":\"hi\",\"data\":[1.0],\"files\":[],\"task\":null}\n";
    assert_eq!((ran.code, &*ran.stdout), (Some(0), expected));
}

#[tokio::test(flavor = "multi_thread")]
async fn terminal_controls_are_taken_out_of_text_and_left_in_json() {
    let server = serve(hostile).await;
    let url = server.url();
    for stream in [&[][..], &["--stream"]] {
        let ran = llamon(&[&["send", url, "hi"][..], stream].concat()).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let expected = format!("{CLEANED}\ndata[0] \"\"\nfiles[0] a {CLEANED}  (no type)  1 B\n");
        assert_eq!(ran.stdout, expected);
        assert!(is_clean(&ran.stderr), "{ran:?}");
    }
    let ran = llamon(&["send", url, "ask"]).await;
    assert_eq!(ran.stdout, format!("{CLEANED}\n"));
    let ran = llamon(&["send", url, "fail"]).await;
    assert!(
        ran.stderr.contains(CLEANED) && is_clean(&ran.stderr),
        "{ran:?}"
    );

    let ran = llamon(&["send", url, "hi", "--json"]).await;
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["text"], HOSTILE);
    assert!(ran.stdout.contains("[\"\u{7f}\u{9b}\u{202e}\"]"));

    let id = json["task"]["id"].as_str().unwrap();
    for args in [&["task", "get", url, id][..], &["task", "watch", url, id]] {
        let ran = llamon(args).await;
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(is_clean(&ran.stdout) && is_clean(&ran.stderr), "{ran:?}");
        assert!(ran.stdout.contains("2Jtxt"), "{ran:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_is_shown_cleaned_and_given_raw() {
    let mut hostile = card("test");
    hostile.name = format!("a {HOSTILE}");
    hostile.description = "a\nb".to_owned();
    let server = create_server(hostile, got_it);
    let server = llamon_agent::testing::TestServer::start(server)
        .await
        .unwrap();
    let ran = llamon(&["card", server.url()]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(is_clean(&ran.stdout), "{ran:?}");
    let first = format!("a {CLEANED} 1.0.0\na b\n");
    assert!(ran.stdout.starts_with(&first), "{ran:?}");
    assert!(ran.stdout.contains(server.url()) && ran.stdout.contains("streaming"));
    for (binding, name) in [("jsonrpc", "JSONRPC"), ("rest", "HTTP+JSON")] {
        let ran = llamon(&["card", server.url(), "--binding", binding]).await;
        let used = ran.stdout.lines().filter(|line| line.ends_with(" (used)"));
        let used: Vec<&str> = used.collect();
        assert!(used.len() == 1 && used[0].contains(name), "{ran:?}");
    }
    let ran = llamon(&["card", server.url(), "--json"]).await;
    assert_eq!(ran.stdout, format!("{}\n", server.client().card_json()));
    assert_eq!(ran.stderr, "");
}
