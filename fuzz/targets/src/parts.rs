use bytestring::ByteString;
use llamon_core::a2a::{StreamEvent, TaskFold, TaskView};
use llamon_core::json::Reader;
use llamon_core::{Limits, Part, PartKind};
use serde_json::value::RawValue;

const DEPTH: u32 = 100;

/// A text that may be a part or an event of a stream. What is read is JSON, says the same when it
/// is read again, and has its contents where JSON has them; what is no JSON is not read.
pub fn parts(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        assert!(Reader::new(data, DEPTH).is_err());
        return;
    };
    scanned(text);
    if let Ok(part) = Part::from_json(text) {
        check_part(text, &part);
    }
    event(text);
}

/// The scanner and serde_json agree on what is JSON, nesting apart.
fn scanned(text: &str) {
    let mut reader = Reader::of_str(text, DEPTH);
    let read = reader.skip().and_then(|_| reader.end());
    let is_json = serde_json::from_str::<&RawValue>(text).is_ok();
    match read {
        Ok(()) => assert!(is_json, "this is no JSON: {text:?}"),
        Err(error) => assert!(
            !is_json || error.to_string().contains("deep"),
            "this is JSON: {text:?}: {error}"
        ),
    }
}

fn check_part(text: &str, part: &Part) {
    let json = part.json();
    assert!(!json.contains(['\r', '\n']), "{json:?}");
    let raw: &RawValue = match serde_json::from_str(json) {
        Ok(raw) => raw,
        Err(error) => panic!("{error}: {json:?} of {text:?}"),
    };
    assert_eq!(raw.get(), json);
    let again = match Part::from_json(json.to_owned()) {
        Ok(again) => again,
        Err(error) => panic!("{error}: {json:?} of {text:?}"),
    };
    assert_eq!(again.json(), json);
    assert_eq!(again.kind(), part.kind());
    assert_eq!(again.content_json(), part.content_json());
    assert!(
        json.contains(part.content_json()),
        "the content is a piece of the text"
    );
    let string = serde_json::from_str::<String>(part.content_json());
    match part.kind() {
        PartKind::Text => assert_eq!(part.as_text().map(Into::into), string.ok()),
        PartKind::Url => assert_eq!(part.url().map(Into::into), string.ok()),
        PartKind::Raw => assert!(part.file_content().is_ok(), "{json:?}"),
        PartKind::Data => assert_eq!(part.data_json(), Some(part.content_json())),
    }
    let _ = (part.filename(), part.media_type(), part.metadata_json());
}

fn event(text: &str) {
    let limits = Limits::default();
    let read = |text: &str| {
        let source = ByteString::from(text);
        let mut reader = Reader::of_str(&source, DEPTH);
        let event = StreamEvent::read(&mut reader, &source, &limits)?;
        reader.end().map(|()| event)
    };
    let Ok(event) = read(text) else { return };
    let write = |event: &StreamEvent| {
        let mut out = String::new();
        event.write(&mut out, TaskView::FULL);
        out
    };
    let written = write(&event);
    assert!(!written.contains(['\r', '\n']), "{written:?}");
    match read(&written) {
        // Not the event itself: of a time, only milliseconds are written.
        Ok(again) => assert_eq!(write(&again), written, "{text:?}"),
        Err(error) => panic!("{error}: {written:?} of {text:?}"),
    }
    if let StreamEvent::Task(task) = event {
        let snapshot = TaskFold::new((*task).clone()).snapshot();
        assert_eq!(snapshot, *task);
    }
}
