//! `llamon explain`: what contracts make of a message, without a server.

use std::fs;

use serde_json::Value;
use tempfile::TempDir;

use crate::support::{Ran, llamon};

const CONTRACTS: &str = "
contracts:
  - name: order
    description: the order to convert
    select: /order
    schema:
      type: object
      properties: {id: {type: integer}, total: {type: number}}
      required: [id, total]
    on_missing: ask
  - name: items
    select: $.order.items[*]
    pick: all
    required: false
  - name: currency
    select: /currency
    schema: {type: string}
    default: EUR
  - name: scan
    kind: file
    media_type: image/*
    required: false
";

const MESSAGE: &str = r#"{"parts": [
  {"text": "convert to EUR"},
  {"data": {"order":{"id":123456789012345678901234567890,"total":1.0,"id":123456789012345678901234567890}}},
  {"data": {"trace":1e400,"s":"\u00e9\ud800"}},
  {"url": "https://example.com/scan.png", "filename": "scan.png", "mediaType": "image/png"}
]}"#;

const MISSING: &str =
    r#"{"parts":[{"text":"convert this"},{"data":{"order":{"id":7,"total":"12"}}}]}"#;

const CURRENT: &str = r#"[{"data":{"eur":11.50}},{"text":"11.50 EUR"}]"#;

/// Files that a run is given by their names.
struct Files(TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        Self(folder)
    }

    /// Explains `message` by `contracts`.
    async fn explain(&self, contracts: &str, message: &str, more: &[&str]) -> Ran {
        let path = |name: &str| self.0.path().join(name).to_str().unwrap().to_owned();
        let (contracts, message) = (path(contracts), path(message));
        let mut args = vec!["explain", "--contracts", &contracts, "--message", &message];
        let current = path("current.json");
        for &arg in more {
            args.push(if arg == "current.json" { &current } else { arg });
        }
        llamon(&args).await
    }
}

/// One contract and one message.
async fn explain(contracts: &str, message: &str, more: &[&str]) -> Ran {
    let files = Files::new(&[("c.yaml", contracts), ("m.json", message)]);
    files.explain("c.yaml", "m.json", more).await
}

/// What stands on standard output from the heading of a step to that of the next.
fn step(ran: &Ran, number: usize) -> Vec<String> {
    let begin = format!("{number}. ");
    let next = format!("{}. ", number + 1);
    let lines = ran
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with(&begin));
    let lines = lines.take_while(|line| !line.starts_with(&next));
    let lines = lines.filter(|line| !line.is_empty());
    lines.map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_four_steps_are_shown_and_all_inputs_are_0() {
    let files = Files::new(&[
        ("c.yaml", CONTRACTS),
        ("m.json", MESSAGE),
        ("current.json", CURRENT),
    ]);
    let more = ["--current", "current.json", "--policy", "append"];
    let ran = files.explain("c.yaml", "m.json", &more).await;
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    let arrived = step(&ran, 1);
    assert!(arrived[0].ends_with("m.json, 4 parts"), "{arrived:?}");
    let expected = [
        "  PART  KIND  SIZE   TYPE       NAME      CONTENT",
        "  0     text  26 B                        convert to EUR",
        "  1     data  105 B                       {\"order\":{\"id\":123456789012345678901234567890,\"total\":1...",
        "  2     data  44 B                        {\"trace\":1e400,\"s\":\"\\u00e9\\ud800\"}",
        "  3     url   89 B   image/png  scan.png  https://example.com/scan.png",
    ];
    assert_eq!(arrived[1..], expected);
    let read = step(&ran, 2);
    assert!(read[0].ends_with("c.yaml, 4 inputs"), "{read:?}");
    let cannot = "                  part 2            cannot be parsed: number out of range at line 1 column 14";
    let expected = [
        "  INPUT     KIND  FOUND             VALUE OR REASON",
        "  order     data  part 1 at /order  {\"id\":123456789012345678901234567890,\"total\":1.0,\"id\":1234567...",
        "  items     data  absent            is optional",
        "                  part 1            has nothing at $.order.items[*]",
        cannot,
        "  currency  data  default           \"EUR\"",
        "                  part 1            has nothing at /currency",
        cannot,
        "  scan      file  part 3            https://example.com/scan.png",
        "  => the agent runs",
    ];
    assert_eq!(read[1..], expected);
    // A returned payload counts as text, data, files.
    let own = [
        "  0     text  20 B  11.50 EUR",
        "  1     data  22 B  {\"eur\":11.50}",
    ];
    assert_eq!(step(&ran, 3)[2..], own);
    let answered = step(&ran, 4);
    assert!(answered[0].starts_with("4. answered under append: 5 parts"));
    let whence: Vec<&str> = answered[2..]
        .iter()
        .map(|line| line[8..20].trim())
        .collect();
    assert_eq!(
        whence,
        ["own", "own", "upstream 1", "upstream 2", "upstream 3"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_decides_what_the_answer_keeps_and_nothing_else() {
    let files = Files::new(&[
        ("c.yaml", CONTRACTS),
        ("m.json", MESSAGE),
        ("current.json", CURRENT),
    ]);
    let more = ["--current", "current.json", "--json", "--policy"];
    let replace = files
        .explain("c.yaml", "m.json", &[&more[..], &["replace"]].concat())
        .await;
    let default = files.explain("c.yaml", "m.json", &more[..3]).await;
    let append = files
        .explain("c.yaml", "m.json", &[&more[..], &["append"]].concat())
        .await;
    assert_eq!(replace.stdout, default.stdout);
    let before = |ran: &Ran| ran.stdout.split(",\"policy\":").next().unwrap().to_owned();
    assert_eq!(before(&replace), before(&append));
    let own = r#"{"from":"own","part":{"text":"11.50 EUR"}},{"from":"own","part":{"data":{"eur":11.50}}}"#;
    let end = format!(",\"policy\":\"replace\",\"answer\":[{own}]}}\n");
    assert!(replace.stdout.ends_with(&end), "{replace:?}");
    let parts: Vec<&str> = MESSAGE.lines().skip(2).take(3).map(str::trim).collect();
    let upstream: String = parts
        .iter()
        .enumerate()
        .map(|(at, part)| {
            let part = part.trim_end_matches(',');
            format!(
                ",{{\"from\":\"upstream\",\"index\":{},\"part\":{part}}}",
                at + 1
            )
        })
        .collect();
    let end = format!(",\"policy\":\"append\",\"answer\":[{own}{upstream}]}}\n");
    assert!(append.stdout.ends_with(&end), "{append:?}");

    // Without parts of its own an `append` answer is upstream, and a `replace` answer nothing.
    let ran = files
        .explain("c.yaml", "m.json", &["--policy", "append"])
        .await;
    assert!(
        step(&ran, 4)[2].starts_with("  0     upstream 1"),
        "{ran:?}"
    );
    let ran = files.explain("c.yaml", "m.json", &[]).await;
    assert_eq!(step(&ran, 4), ["4. answered under replace: nothing"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn json_has_every_token_as_it_was_written() {
    let ran = explain(CONTRACTS, MESSAGE, &["--json"]).await;
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    let line = ran.stdout.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'), "{line}");
    let order =
        r#"{"id":123456789012345678901234567890,"total":1.0,"id":123456789012345678901234567890}"#;
    for expected in [
        format!(r#""items":[{{"part":1,"pointer":"/order","json":{order}}}]"#),
        format!(
            r#"{{"index":1,"kind":"data","bytes":105,"part":{{"data": {{"order":{order}}}}}}}"#
        ),
        r#""part":{"data": {"trace":1e400,"s":"\u00e9\ud800"}}"#.to_owned(),
        r#"{"name":"currency","kind":"data","required":false,"found":"default","json":"EUR","#
            .to_owned(),
        r#"{"name":"items","kind":"data","required":false,"found":"absent","#.to_owned(),
        r#""found":"selected","items":[{"part":3,"pointer":""}]"#.to_owned(),
        r#""outcome":"run","current":[],"policy":"replace","answer":[]"#.to_owned(),
    ] {
        assert!(line.contains(&expected), "{expected} is not in {line}");
    }
    // An item of a list: the place is one in the part, and the text is that of the place.
    let contracts = r#"{"contracts":[{"name":"n","select":"$.l[*]","pick":"all"}]}"#;
    let message = r#"[{"data":{"l":[1.0,123456789012345678901234567890]}}]"#;
    let ran = explain(contracts, message, &["--json"]).await;
    let items = r#""items":[{"part":0,"pointer":"/l/0","json":1.0},{"part":0,"pointer":"/l/1","json":123456789012345678901234567890}]"#;
    assert!(ran.stdout.contains(items), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_would_be_asked_for_is_5() {
    let ran = explain(CONTRACTS, MISSING, &["--policy", "append"]).await;
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stderr.contains("would ask") && ran.stderr.contains("\"order\""));
    assert!(ran.stderr.contains(" next: "), "{ran:?}");
    let read = step(&ran, 2);
    let expected = [
        "  INPUT     KIND  FOUND         VALUE OR REASON",
        "  order     data  MISSING, ask  nothing that was sent matches (the order to convert)",
        "                  part 0        is no data part",
        "                  part 1        does not satisfy the schema: value is not of type \"number\" at",
        "                                /order/total",
    ];
    assert_eq!(read[1..=expected.len()], expected);
    assert!(read.last().unwrap().contains("INPUT_REQUIRED"), "{read:?}");
    let answered = ["4. answered under append: nothing, the agent does not run"];
    assert_eq!(step(&ran, 4), answered);

    let ran = explain(CONTRACTS, MISSING, &["--json"]).await;
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let json: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(
        (&json["outcome"], &json["answer"]),
        (&"ask".into(), &Value::Null)
    );
    let order = &json["inputs"][0];
    assert_eq!(order["found"], "missing");
    assert_eq!(order["onMissing"], "ask");
    assert_eq!(order["description"], "the order to convert");
    assert_eq!(order["candidates"][1]["pointer"], "/order/total");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_that_would_be_rejected_is_4() {
    // One that rejects is enough.
    let contracts =
        "contracts: [{name: a, select: /a, on_missing: ask}, {name: b, select: /b}, {name: c}]";
    let ran = explain(contracts, r#"[{"data":{"x":1}}]"#, &[]).await;
    assert_eq!(ran.code, Some(4), "{ran:?}");
    for expected in [
        "would reject",
        "2 inputs are missing: \"a\", \"b\"",
        " next: ",
    ] {
        assert!(ran.stderr.contains(expected), "{ran:?}");
    }
    let read = step(&ran, 2);
    for expected in [
        "  a      data  MISSING, ask     nothing that was sent matches",
        "               part 0           has nothing at /a",
        "  b      data  MISSING, reject  nothing that was sent matches",
        "  c      data  part 0           {\"x\":1}",
    ] {
        assert!(read.iter().any(|line| line == expected), "{read:?}");
    }
    assert!(read.last().unwrap().contains("REJECTED"), "{read:?}");

    // Two where one is allowed cannot be mended by an answer, so it is never asked for.
    let contracts =
        "contracts: [{name: one, select: '$.l[*]', pick: one, required: false, on_missing: ask}]";
    let ran = explain(contracts, r#"[{"data":{"l":[1,2]}}]"#, &[]).await;
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let expected = [
        "  one    data  MISSING, reject  2 matches, exactly one is allowed",
        "               part 0           matches at /l/0, /l/1",
    ];
    assert_eq!(step(&ran, 2)[2..4], expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_wrong_are_2_with_the_place() {
    let contracts = "contracts: [{name: x}]";
    let message = "[{\"text\":\"hi\"}]";
    let cases = [
        (
            "contracts:\n  - name: x\n    selct: /x\n",
            message,
            "line 3 column 5",
        ),
        (
            "{\"contracts\":[{\"name\":\"x\"},{\"name\":\"x\"}]}",
            message,
            "\"x\": name: is given twice",
        ),
        (
            "contracts: [{name: x, schema: {type: 5}}]",
            message,
            "\"x\": schema: is no usable schema at /type",
        ),
        (
            "contracts: [{name: x, select: a.b}]",
            message,
            "\"x\": select: ",
        ),
        (
            contracts,
            "[{\"data\":}]",
            "[0].data: expected a JSON value, found `}` (at byte 9)",
        ),
        (
            contracts,
            "{\"message\":{\"parts\":[{}]}}",
            "message.parts[0]: has no content",
        ),
        (contracts, "{}", "has no parts"),
        (contracts, "[]", "a message without parts"),
        (
            contracts,
            "[{\"text\":\"hi\"}] 1",
            "expected the end of the text",
        ),
    ];
    for (contracts, message, place) in cases {
        let ran = explain(contracts, message, &["--json"]).await;
        assert_eq!((ran.code, &*ran.stdout), (Some(2), ""), "{ran:?}");
        assert!(
            ran.stderr.contains(place) && ran.stderr.contains(" next: "),
            "{place}: {ran:?}"
        );
    }
    let files = Files::new(&[
        ("c", contracts),
        ("c.json", "{\"contracts\":[,]}"),
        ("m", message),
    ]);
    let ran = files.explain("c.json", "m", &[]).await;
    assert!(ran.stderr.contains("line 1 column 15"), "{ran:?}");
    let ran = files
        .explain("c", "m", &["--current", "current.json"])
        .await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains("current.json cannot be read"),
        "{ran:?}"
    );
    let ran = files.explain("c", "m", &["--policy", "Append"]).await;
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("replace, append"), "{ran:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_files_have_cannot_steer_the_terminal() {
    let hostile = "\u{9b}2J\u{202e}\u{7f}";
    let part = format!(r#"{{"data":{{"{hostile}":"{hostile}\n"}},"filename":"{hostile}a\nb"}}"#);
    let message = format!(r#"[{{"text":"{hostile}\u001b[31m\r\n"}},{part}]"#);
    let contracts = format!(
        r#"{{"contracts":[{{"name":"{hostile}x","description":"{hostile}","schema":{{"required":["{hostile}y"]}}}}]}}"#
    );
    for more in [&[][..], &["--policy", "append"]] {
        let ran = explain(&contracts, &message, more).await;
        assert_eq!(ran.code, Some(4), "{ran:?}");
        for text in [&ran.stdout, &ran.stderr] {
            let is_hostile = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
            assert!(!text.contains(is_hostile), "{text:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_with_very_many_parts_is_shown_in_part() {
    let parts = vec![r#"{"data":{"n":1}}"#; 1_000].join(",");
    let contracts =
        "contracts: [{name: n, select: /n, pick: all}, {name: x, select: /x, required: false}]";
    let ran = explain(contracts, &format!("[{parts}]"), &[]).await;
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("  and 950 more, --json has them\n"),
        "{ran:?}"
    );
    assert_eq!(
        ran.stdout
            .matches("and 980 more, --json has them\n")
            .count(),
        2
    );
    assert!(ran.stdout.lines().count() < 110, "{ran:?}");
}

/// The contents of the fenced blocks of a page, by their language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    let blocks = page.split(&open).skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_guide_shows_what_the_command_prints() {
    let pages = [
        include_str!("../../../../docs/guide/input-contracts.md"),
        include_str!("../../../../docs/guide/input-contracts.ko.md"),
    ];
    for page in pages {
        let (json, text) = (blocks(page, "json"), blocks(page, "text"));
        let with = |blocks: &[&'static str], part: &str| {
            let mut found = blocks.iter().filter(|block| block.contains(part));
            *found.next().unwrap()
        };
        let files = Files::new(&[
            ("contracts.yaml", blocks(page, "yaml")[0]),
            ("message.json", json[0]),
            ("missing.json", with(&json, r#""total":"12""#)),
            ("current.json", with(&json, r#""eur":11.50"#)),
        ]);
        let folder = format!("{}/", files.0.path().display());
        let more = ["--current", "current.json", "--policy", "append"];
        let ran = files.explain("contracts.yaml", "message.json", &more).await;
        let shown = with(&text, "$ llamon explain").split_once('\n').unwrap().1;
        assert_eq!(ran.stdout.replace(&folder, ""), shown);
        let ran = files.explain("contracts.yaml", "missing.json", &[]).await;
        assert_eq!(ran.code, Some(5), "{ran:?}");
        let read = with(&text, "MISSING");
        assert!(ran.stdout.replace(&folder, "").contains(read), "{ran:?}");
    }
}
