use super::{Form, Shape, downgrade, upgrade};
use crate::json::{ReadError, Reader};

fn to_v1(text: &str, shape: Shape, form: Form) -> Result<String, ReadError> {
    let mut out = String::new();
    let mut reader = Reader::of_str(text, 100);
    upgrade(&mut reader, shape, form, &mut out)?;
    reader.end()?;
    Ok(out)
}

fn to_v03(text: &str, shape: Shape, form: Form) -> Result<String, ReadError> {
    let mut out = String::new();
    let mut reader = Reader::of_str(text, 100);
    downgrade(&mut reader, shape, form, &mut out)?;
    reader.end()?;
    Ok(out)
}

fn message(parts: &str) -> String {
    format!(r#"{{"messageId":"m","role":"ROLE_USER","parts":[{parts}]}}"#)
}

/// A part of 1.0, over JSON-RPC, over REST.
const PARTS: &[(&str, &str, &str)] = &[
    (
        r#"{"text":"caf\u00e9 \ud83d\ude00"}"#,
        r#"{"kind":"text","text":"caf\u00e9 \ud83d\ude00"}"#,
        r#"{"text":"caf\u00e9 \ud83d\ude00"}"#,
    ),
    (
        r#"{"data":{"b":1.0,"a":1e400,"b":"\ud800"},"metadata":{"k":[1,2.50]}}"#,
        r#"{"kind":"data","data":{"b":1.0,"a":1e400,"b":"\ud800"},"metadata":{"k":[1,2.50]}}"#,
        r#"{"data":{"data":{"b":1.0,"a":1e400,"b":"\ud800"}},"metadata":{"k":[1,2.50]}}"#,
    ),
    (
        r#"{"data":[1,2]}"#,
        r#"{"kind":"data","data":{"value":[1,2]},"metadata":{"data_part_compat":true}}"#,
        r#"{"data":{"data":{"value":[1,2]}},"metadata":{"data_part_compat":true}}"#,
    ),
    (
        r#"{"data":null,"metadata":{"a":"\u0041"}}"#,
        r#"{"kind":"data","data":{"value":null},"metadata":{"a":"\u0041","data_part_compat":true}}"#,
        r#"{"data":{"data":{"value":null}},"metadata":{"a":"\u0041","data_part_compat":true}}"#,
    ),
    (
        r#"{"data":{"value":1}}"#,
        r#"{"kind":"data","data":{"value":1}}"#,
        r#"{"data":{"data":{"value":1}}}"#,
    ),
    (
        r#"{"raw":"aGk","mediaType":"text/plain","filename":"a.txt"}"#,
        r#"{"kind":"file","file":{"bytes":"aGk","mimeType":"text/plain","name":"a.txt"}}"#,
        // Encoded once more, as the official SDK does; see the ADR.
        r#"{"file":{"fileWithBytes":"YUdr","mimeType":"text/plain","name":"a.txt"}}"#,
    ),
    (
        r#"{"url":"https:\/\/h/a"}"#,
        r#"{"kind":"file","file":{"uri":"https:\/\/h/a"}}"#,
        r#"{"file":{"fileWithUri":"https:\/\/h/a"}}"#,
    ),
];

#[test]
fn parts_are_written_in_both_forms() {
    for (new, json_rpc, rest) in PARTS {
        for (form, old, name) in [
            (Form::JsonRpc, json_rpc, "parts"),
            (Form::Rest, rest, "content"),
        ] {
            let written = to_v03(&message(new), Shape::Message, form).unwrap();
            assert!(
                written.contains(&format!("\"{name}\":[{old}]")),
                "{written}"
            );
        }
    }
}

#[test]
fn parts_come_back_token_for_token() {
    for (new, ..) in PARTS {
        // Its base64 is no canonical one, so that it is not taken for the SDK's double encoding.
        let forms: &[Form] = match new.contains("aGk") {
            true => &[Form::JsonRpc],
            false => &[Form::JsonRpc, Form::Rest],
        };
        for form in forms {
            let old = to_v03(&message(new), Shape::Message, *form).unwrap();
            assert_eq!(to_v1(&old, Shape::Message, *form).unwrap(), message(new));
        }
    }
    let file = message(r#"{"raw":"aGk=","filename":"a"}"#);
    let old = to_v03(&file, Shape::Message, Form::Rest).unwrap();
    assert_eq!(to_v1(&old, Shape::Message, Form::Rest).unwrap(), file);
}

#[test]
fn random_parts_come_back_token_for_token() {
    let mut random = Random(7);
    for _ in 0..2_000 {
        let mut content = random.value(0);
        if random.below(3) == 0 {
            content = random.string();
        }
        let name = if content.starts_with('"') && random.below(2) == 0 {
            "text"
        } else {
            "data"
        };
        let mut part = format!("{{\"{name}\":{content}");
        if random.below(2) == 0 {
            part.push_str(&format!(",\"metadata\":{{\"m\":{}}}", random.value(0)));
        }
        if random.below(2) == 0 {
            part.push_str(&format!(",{}:{}", r#""\u0078-unknown""#, random.value(0)));
        }
        part.push('}');
        let new = message(&part);
        let old = to_v03(&new, Shape::Message, Form::JsonRpc).unwrap();
        assert_eq!(
            to_v1(&old, Shape::Message, Form::JsonRpc).unwrap(),
            new,
            "{old}"
        );
    }
}

/// Numbers by chance, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695);
        (self.0 >> 33) % bound
    }

    fn string(&mut self) -> String {
        let texts = [
            r#""""#,
            r#""a""#,
            r#""\ud800""#,
            r#""\u00e9\n""#,
            r#""世\/界""#,
            r#""kind""#,
        ];
        texts[self.below(texts.len() as u64) as usize].to_owned()
    }

    fn value(&mut self, depth: u32) -> String {
        let numbers = [
            "1.0",
            "-0",
            "1e400",
            "100000000000000000000000",
            "1E-7",
            "0.10",
        ];
        match self.below(if depth > 3 { 4 } else { 7 }) {
            0 => numbers[self.below(numbers.len() as u64) as usize].to_owned(),
            1 => self.string(),
            2 => "null".to_owned(),
            3 => "true".to_owned(),
            4 => format!("[{}, {}]", self.value(depth + 1), self.value(depth + 1)),
            5 => format!("{{\"value\":{}}}", self.value(depth + 1)),
            _ => {
                let (a, b) = (self.value(depth + 1), self.value(depth + 1));
                format!("{{ {}:{a},\"kind\":{b},\"kind\" : 1}}", self.string())
            }
        }
    }
}

#[test]
fn events_have_a_kind_and_say_whether_they_are_final() {
    let status = |state: &str| {
        format!(
            r#"{{"statusUpdate":{{"taskId":"t","contextId":"c","status":{{"state":"{state}"}}}}}}"#
        )
    };
    for (state, old, answer, task) in [
        ("TASK_STATE_WORKING", "working", false, false),
        ("TASK_STATE_INPUT_REQUIRED", "input-required", true, false),
        ("TASK_STATE_CANCELED", "canceled", true, true),
    ] {
        for (shape, is_final) in [(Shape::Event, answer), (Shape::TaskEvent, task)] {
            let written = to_v03(&status(state), shape, Form::JsonRpc).unwrap();
            let expected = format!(
                r#"{{"taskId":"t","contextId":"c","status":{{"state":"{old}"}},"final":{is_final},"kind":"status-update"}}"#
            );
            assert_eq!(written, expected);
            assert_eq!(
                to_v1(&written, shape, Form::JsonRpc).unwrap(),
                status(state)
            );
            let rest = to_v03(&status(state), shape, Form::Rest).unwrap();
            assert_eq!(to_v1(&rest, shape, Form::Rest).unwrap(), status(state));
        }
    }
    let canceled = to_v03(&status("TASK_STATE_CANCELED"), Shape::Event, Form::Rest).unwrap();
    assert!(canceled.contains("TASK_STATE_CANCELLED"), "{canceled}");
}

#[test]
fn tasks_and_messages_come_back_as_they_were() {
    let task = r#"{"task":{"id":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED","message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]},"timestamp":"2026-01-01T00:00:00Z"},"artifacts":[{"artifactId":"response","parts":[{"data":7}]}],"history":[{"messageId":"n","role":"ROLE_USER","parts":[{"text":"y"}]}],"metadata":{"a":1.0}}}"#;
    let update = r#"{"artifactUpdate":{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","name":"n","parts":[{"text":"x"}]},"append":true,"lastChunk":true}}"#;
    let direct = r#"{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[{"text":"x"}]}}"#;
    for form in [Form::JsonRpc, Form::Rest] {
        for text in [task, update, direct] {
            let old = to_v03(text, Shape::Event, form).unwrap();
            assert_eq!(to_v1(&old, Shape::Event, form).unwrap(), text, "{old}");
        }
    }
    let bare = to_v03(direct, Shape::Event, Form::JsonRpc).unwrap();
    assert_eq!(
        bare,
        r#"{"messageId":"m","role":"agent","parts":[{"kind":"text","text":"x"}],"kind":"message"}"#
    );
}

#[test]
fn the_configuration_of_a_send() {
    let send = |configuration: &str| format!(r#"{{"message":{{"messageId":"m"}}{configuration}}}"#);
    for (form, old, new) in [
        (
            Form::JsonRpc,
            r#","configuration":{}"#,
            r#","configuration":{}"#,
        ),
        (
            Form::JsonRpc,
            r#","configuration":{"blocking":true}"#,
            r#","configuration":{}"#,
        ),
        (
            Form::JsonRpc,
            r#","configuration":{"blocking":false,"historyLength":2}"#,
            r#","configuration":{"historyLength":2,"returnImmediately":true}"#,
        ),
        // The protobuf form leaves out what is false.
        (
            Form::Rest,
            r#","configuration":{"acceptedOutputModes":["a"]}"#,
            r#","configuration":{"acceptedOutputModes":["a"],"returnImmediately":true}"#,
        ),
        (Form::Rest, "", ""),
        (
            Form::JsonRpc,
            r#","configuration":{"pushNotificationConfig":{"url":"u","authentication":{"schemes":["Bearer","x"],"credentials":"c"}}}"#,
            r#","configuration":{"taskPushNotificationConfig":{"url":"u","authentication":{"scheme":"Bearer","credentials":"c"},"protocolVersion":"0.3"}}"#,
        ),
    ] {
        assert_eq!(
            to_v1(&send(old), Shape::SendRequest, form).unwrap(),
            send(new)
        );
    }
    let text = to_v03(&send(""), Shape::SendRequest, Form::Rest).unwrap();
    assert!(
        text.ends_with(r#""configuration":{"blocking":true}}"#),
        "{text}"
    );
}

#[test]
fn push_configurations_in_both_forms() {
    let new = r#"{"taskId":"t","id":"p","url":"https://h/","token":"x","authentication":{"scheme":"Bearer","credentials":"c"},"protocolVersion":"0.3"}"#;
    for (form, old) in [
        (
            Form::JsonRpc,
            r#"{"taskId":"t","pushNotificationConfig":{"id":"p","url":"https://h/","token":"x","authentication":{"schemes":["Bearer"],"credentials":"c"}}}"#,
        ),
        (
            Form::Rest,
            r#"{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"id":"p","url":"https://h/","token":"x","authentication":{"schemes":["Bearer"],"credentials":"c"}}}"#,
        ),
    ] {
        assert_eq!(to_v03(new, Shape::PushConfig, form).unwrap(), old);
        assert_eq!(to_v1(old, Shape::PushConfig, form).unwrap(), new);
        let page = format!(r#"{{"configs":[{new}]}}"#);
        let old = to_v03(&page, Shape::PushConfigs, form).unwrap();
        assert_eq!(to_v1(&old, Shape::PushConfigs, form).unwrap(), page);
    }
    let created = r#"{"parent":"tasks/t","configId":"p","config":{"name":"tasks/t/pushNotificationConfigs/p","pushNotificationConfig":{"url":"https://h/"}}}"#;
    assert_eq!(
        to_v1(created, Shape::PushConfig, Form::Rest).unwrap(),
        r#"{"taskId":"t","url":"https://h/","id":"p","protocolVersion":"0.3"}"#
    );
    assert_eq!(
        to_v1(
            r#"{"id":"t","pushNotificationConfigId":"p"}"#,
            Shape::PushConfigRequest,
            Form::JsonRpc
        )
        .unwrap(),
        r#"{"taskId":"t","id":"p"}"#
    );
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (part, expected) in [
        (
            r#"{"kind":"video"}"#,
            "message.parts.[0].kind: \"video\" is no kind of part",
        ),
        (r#"{"kind":"text"}"#, "text: is required"),
        (
            r#"{"kind":"text","text":"a","data":{}}"#,
            "is of kind text and has data",
        ),
        (r#"{"text":"a","data":{}}"#, "has both text and data"),
        (
            r#"{"kind":"data","data":[1]}"#,
            "expected an object, found an array",
        ),
        (r#"{"kind":"file","file":"x"}"#, "file: expected an object"),
        (
            r#"{"kind":"file","file":{"name":1,"name":2}}"#,
            "is given twice",
        ),
        ("{}", "has no content"),
        ("7", "expected an object"),
    ] {
        let text = format!(r#"{{"message":{{"role":"user","parts":[{part}]}}}}"#);
        let error = to_v1(&text, Shape::SendRequest, Form::JsonRpc)
            .unwrap_err()
            .to_string();
        let expected = expected.replace("parts.[0]", "parts[0]");
        assert!(error.contains(&expected), "{part}: {error}");
    }
}

#[test]
fn no_text_makes_it_panic() {
    let seeds = [
        r#"{"message":{"kind":"message","role":"user","parts":[{"kind":"data","data":{"value":1},"metadata":{"data_part_compat":true}}]},"configuration":{"blocking":false}}"#,
        r#"{"kind":"status-update","status":{"state":"working"},"final":true}"#,
        r#"{"task":{"status":{"state":"TASK_STATE_WORKING"},"history":[{"parts":[{"raw":"aGk="}]}]}}"#,
        r#"{"parent":"tasks/t","config":{"pushNotificationConfig":{"authentication":{"schemes":[1]}}}}"#,
    ];
    let shapes = [
        Shape::SendRequest,
        Shape::Message,
        Shape::Task,
        Shape::Tasks,
        Shape::Event,
        Shape::TaskEvent,
        Shape::PushConfig,
        Shape::PushConfigs,
        Shape::PushConfigRequest,
        Shape::Same,
    ];
    let mut random = Random(11);
    for seed in seeds {
        for _ in 0..500 {
            let mut bytes = seed.as_bytes().to_vec();
            let at = random.below(bytes.len() as u64) as usize;
            match random.below(3) {
                0 => bytes.truncate(at),
                1 => bytes[at] = b"{}[]\",:n1 "[random.below(10) as usize],
                _ => {
                    bytes.remove(at);
                }
            }
            let text = String::from_utf8(bytes).unwrap();
            for shape in shapes {
                for form in [Form::JsonRpc, Form::Rest] {
                    let _ = to_v1(&text, shape, form);
                    let _ = to_v03(&text, shape, form);
                }
            }
        }
    }
}
