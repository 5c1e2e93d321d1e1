//! What the derived code does with what arrives.

use std::fmt::Debug;

use llamon_core::Part;
use llamon_core::contracts::{
    FilePart, InputContract, InputContracts as Contracts, InputMiss, Inputs, OnMissing, Pick,
};
use llamon_macros::InputContracts;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Order {
    id: String,
    total: u32,
}

fn order(id: &str, total: u32) -> Order {
    let id = id.to_owned();
    Order { id, total }
}

fn data(json: &str) -> Part {
    Part::data_from_json(json).expect("JSON")
}

fn select<I: Inputs>(parts: &[Part]) -> Result<I, InputMiss> {
    let contracts = I::contracts().compile().expect("usable contracts");
    let selected = contracts.select(parts)?;
    Ok(I::from_selected(&selected).expect("what was selected fits"))
}

/// The first reason of the only input that is missing.
fn reason<I: Inputs + Debug>(parts: &[Part]) -> String {
    let miss = select::<I>(parts).expect_err("something is missing");
    let [only] = miss.misses() else {
        panic!("{miss}")
    };
    let reason = &only.candidates()[0].reason;
    reason.clone().expect("it does not match")
}

// === what the type says ===

#[derive(Debug, PartialEq, InputContracts)]
#[inputs(crate = "llamon_core")]
struct Each {
    order: Order,
    note: String,
    scan: FilePart,
    #[input(source = "somebody else")]
    number: Option<u32>,
    #[input(filename = "*.pdf")]
    pdf: Option<FilePart>,
    #[input(media_type = "text/markdown")]
    markdown: std::option::Option<String>,
}

#[test]
fn a_value_a_text_and_a_file_are_required_and_an_option_is_not() {
    let scan = Part::file_bytes([1]).with_filename("a.png");
    let parts = [
        data("[]"),
        scan.clone(),
        data(r#"{"total":5,"id":"a"}"#),
        Part::text("a \"note\"\n"),
    ];
    let each: Each = select(&parts).unwrap();
    let expected = Each {
        order: order("a", 5),
        note: "a \"note\"\n".to_owned(),
        scan: FilePart(scan),
        number: None,
        pdf: None,
        markdown: None,
    };
    assert_eq!(each, expected);

    let miss = select::<Each>(&[]).unwrap_err();
    let missing: Vec<_> = miss.misses().iter().map(|miss| miss.name()).collect();
    assert_eq!(missing, ["order", "note", "scan"]);
    assert_eq!(miss.on_missing(), OnMissing::Reject);
}

#[test]
fn an_option_is_some_where_something_matches() {
    let pdf = Part::file_url("https://a.example/b").with_filename("b.pdf");
    let parts = [
        data(r#"{"id":"a","total":5}"#),
        Part::text("plain"),
        pdf.clone(),
        Part::text("# head").with_media_type("text/markdown"),
    ];
    let each: Each = select(&parts).unwrap();
    assert_eq!(each.note, "plain");
    assert_eq!(each.scan.0, pdf);
    assert_eq!(each.pdf.unwrap().0, pdf);
    assert_eq!(each.markdown.unwrap(), "# head");
}

#[derive(Debug, InputContracts)]
#[inputs(crate = "llamon_core")]
struct All {
    orders: Vec<Order>,
    texts: Vec<String>,
    files: Vec<FilePart>,
}

#[derive(Debug, InputContracts)]
#[inputs(crate = "llamon_core")]
struct Any {
    #[input(optional)]
    orders: Vec<Order>,
    #[input(optional)]
    texts: Vec<String>,
    #[input(optional)]
    files: Vec<FilePart>,
}

#[test]
fn a_vec_is_all_that_match_in_arrival_order() {
    let file = |name| Part::file_bytes([0]).with_filename(name);
    let parts = [
        data(r#"{"id":"b","total":1}"#),
        Part::text("one"),
        file("x"),
        data("1e400"),
        data(r#"{"id":"a","total":2}"#),
        file("a"),
        Part::text("two"),
    ];
    let all: All = select(&parts).unwrap();
    assert_eq!(all.orders, [order("b", 1), order("a", 2)]);
    assert_eq!(all.texts, ["one", "two"]);
    let names: Vec<_> = all.files.iter().map(|file| file.filename()).collect();
    assert_eq!(names, [Some("x".into()), Some("a".into())]);
}

#[test]
fn a_vec_holds_at_least_one_unless_it_is_optional() {
    assert_eq!(select::<All>(&[]).unwrap_err().misses().len(), 3);
    let any: Any = select(&[]).unwrap();
    assert!(any.orders.is_empty() && any.texts.is_empty() && any.files.is_empty());
}

// === raw values ===

#[derive(Debug, InputContracts)]
#[inputs(crate = "llamon_core")]
struct Raw {
    first: Box<RawValue>,
    #[input(select = "$..amount")]
    amounts: Vec<Box<RawValue>>,
    #[input(select = "/z")]
    pointed: Option<Box<RawValue>>,
    value: Value,
}

#[test]
fn a_raw_value_is_the_text_that_was_sent() {
    let first = r#"{"z":{"b" : 1.0,"a":1},"amount":123456789012345678901234567890}"#;
    let parts = [data(first), data(r#"[{"amount":1.0},{"amount":-0e2}]"#)];
    let raw: Raw = select(&parts).unwrap();
    assert_eq!(raw.first.get(), first);
    let amounts: Vec<_> = raw.amounts.iter().map(|amount| amount.get()).collect();
    assert_eq!(amounts, ["123456789012345678901234567890", "1.0", "-0e2"]);
    assert_eq!(raw.pointed.unwrap().get(), r#"{"b" : 1.0,"a":1}"#);
    assert_eq!(raw.value["z"], json!({"a": 1, "b": 1.0}));
}

#[test]
fn what_takes_any_value_has_no_schema_but_must_be_readable() {
    let published = Raw::contracts().published();
    let contracts = published["contracts"].as_array().unwrap();
    assert!(contracts.iter().all(|one| one.get("schema").is_none()));
    let miss = select::<Raw>(&[data("1e400")]).unwrap_err();
    assert!(miss.to_string().contains("cannot be parsed"), "{miss}");
}

// === attributes ===

#[derive(Debug, PartialEq, InputContracts)]
#[inputs(crate = "llamon_core")]
struct Chosen {
    #[input(select = "$.items[*].sku", pick = "last")]
    last: u32,
    #[input(select = "/items/0/sku", name = "the first")]
    first: u32,
    #[input(kind = "data")]
    word: String,
    #[input(select = "$.items[*].note", kind = "data", optional)]
    notes: Vec<String>,
    #[input(pick = "last")]
    r#type: String,
}

#[test]
fn select_pick_name_and_kind() {
    let parts = [
        Part::text("text"),
        data(r#"{"items":[{"sku":1,"note":"x"},{"sku":2},{"sku":"3"}]}"#),
        data(r#""word""#),
        Part::text("type"),
    ];
    let chosen: Chosen = select(&parts).unwrap();
    let expected = Chosen {
        last: 2,
        first: 1,
        word: "word".to_owned(),
        notes: vec!["x".to_owned()],
        r#type: "type".to_owned(),
    };
    assert_eq!(chosen, expected);
    let contracts = Chosen::contracts();
    let names: Vec<_> = contracts.iter().map(InputContract::name).collect();
    assert_eq!(names, ["last", "the first", "word", "notes", "type"]);
}

#[derive(Debug, InputContracts)]
#[inputs(crate = "llamon_core")]
struct Only {
    #[input(pick = "one")]
    order: Order,
}

#[test]
fn two_are_not_one() {
    let part = data(r#"{"id":"a","total":2}"#);
    assert_eq!(
        select::<Only>(std::slice::from_ref(&part)).unwrap().order,
        order("a", 2)
    );
    let miss = select::<Only>(&[part.clone(), part]).unwrap_err();
    assert!(miss.to_string().contains("2 matches"), "{miss}");
}

#[derive(Debug, PartialEq, InputContracts)]
#[inputs(crate = "llamon_core")]
struct Defaults {
    #[input(default = r#"{"id":"none","total":0}"#)]
    order: Order,
    #[input(default = "[1, 2]")]
    numbers: Vec<u32>,
    #[input(default = r#""EUR""#)]
    currency: String,
    #[input(default = "null")]
    nothing: (),
}

#[test]
fn a_default_stands_in_for_what_is_missing() {
    let missing: Defaults = select(&[]).unwrap();
    let expected = Defaults {
        order: order("none", 0),
        numbers: vec![1, 2],
        currency: "EUR".to_owned(),
        nothing: (),
    };
    assert_eq!(missing, expected);
    let present: Defaults = select(&[data("7"), Part::text("KRW")]).unwrap();
    assert_eq!(
        (present.numbers, present.currency),
        (vec![7], "KRW".to_owned())
    );
}

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct WrongDefault {
    #[expect(dead_code, reason = "it never gets a value")]
    #[input(default = "-1")]
    count: u32,
}

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
struct WrongItem {
    #[expect(dead_code, reason = "it never gets a value")]
    #[input(default = "[1, true]")]
    counts: Vec<u32>,
}

#[test]
fn a_default_that_the_type_cannot_be_fails_at_start_up() {
    let errors = [WrongDefault::contracts(), WrongItem::contracts()]
        .map(|contracts| contracts.compile().unwrap_err().to_string());
    let expected = [
        "the input contract \"count\": default: cannot be read as the agent's type: invalid \
         value, expected u32 at line 1 column 2",
        "the input contract \"counts\": default: cannot be read as the agent's type: invalid \
         type, expected u32 at line 1 column 4",
    ];
    assert_eq!(errors, expected);
}

// === schemas and types ===

/// No schema of its own.
#[derive(Debug, PartialEq, Deserialize)]
struct Bare {
    mode: Mode,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Fast,
    Safe,
}

#[derive(Debug, InputContracts)]
#[inputs(crate = "llamon_core")]
struct WithoutSchema {
    #[input(schema = "none")]
    bare: Bare,
}

fn percent() -> Value {
    json!({"type": "integer", "maximum": 100})
}

fn code() -> Value {
    json!({"pattern": "^[A-Z]{3}$"})
}

#[derive(Debug, InputContracts)]
#[inputs(crate = "llamon_core")]
struct WithSchema {
    #[input(schema = percent)]
    rate: u32,
    #[input(schema = "self::code")]
    currency: String,
}

#[test]
fn a_value_that_is_not_of_the_type_is_a_miss_with_a_reason_that_does_not_quote_it() {
    let cases = [
        (
            r#"{"mode":"hidden, expected secret"}"#,
            "unknown variant, expected `fast` or `safe` at line 1 column 33",
        ),
        (
            r#"["hidden"]"#,
            "unknown variant, expected `fast` or `safe` at line 1 column 9",
        ),
        (r#"{}"#, "missing field `mode` at line 1 column 2"),
    ];
    for (json, expected) in cases {
        let reason = reason::<WithoutSchema>(&[data(json)]);
        let expected = format!("cannot be read as the agent's type: {expected}");
        assert_eq!(reason, expected, "{json}");
    }
    let ok: WithoutSchema = select(&[data(r#"{"mode":"safe"}"#)]).unwrap();
    assert_eq!(ok.bare, Bare { mode: Mode::Safe });
    assert_ne!(ok.bare.mode, Mode::Fast);
}

#[test]
fn a_schema_of_ones_own_comes_beside_the_type() {
    let parts = [
        data("101"),
        data("99"),
        Part::text("eur"),
        Part::text("EUR"),
    ];
    let with: WithSchema = select(&parts).unwrap();
    assert_eq!((with.rate, with.currency.as_str()), (99, "EUR"));
    // The schema allows it, the type does not.
    let miss = select::<WithSchema>(&[data("-1"), Part::text("EUR")]).unwrap_err();
    let reason = "cannot be read as the agent's type: invalid value, expected u32";
    assert!(miss.to_string().contains(reason), "{miss}");
}

#[test]
fn the_type_s_schema_says_where_a_value_is_wrong() {
    let miss = select::<Only>(&[data(r#"{"id":"a","total":-2}"#)]).unwrap_err();
    let candidate = &miss.misses()[0].candidates()[0];
    assert_eq!(candidate.pointer, "/total");
    let reason = candidate.reason.as_deref().unwrap();
    assert!(
        reason.starts_with("does not satisfy the schema"),
        "{reason}"
    );
    assert!(!reason.contains("-2"), "{reason}");
}

// === as declared by hand ===

#[derive(InputContracts)]
#[inputs(crate = "llamon_core")]
#[expect(dead_code, reason = "only what it declares is looked at")]
struct Declared {
    /// The order to bill,
    /// as the shop sent it.
    ///
    /// More of it.
    #[input(on_missing = "ask")]
    order: Order,
    #[input(select = "$.skus[*]", source = "shop", optional)]
    skus: Vec<u64>,
    /// Not this.
    #[input(description = "A scan", media_type = "image/*", filename = "*.png")]
    scan: Option<FilePart>,
    #[input(default = r#""EUR""#)]
    currency: String,
    #[input(schema = "none", pick = "last")]
    any: Bare,
}

#[test]
fn the_contracts_are_those_that_the_builder_declares() {
    let schema = |schema: schemars::Schema| schema.to_value();
    let by_hand = Contracts::new()
        .with(
            InputContract::data("order")
                .description("The order to bill, as the shop sent it")
                .schema(schema(schemars::schema_for!(Order)))
                .on_missing(OnMissing::Ask),
        )
        .with(
            InputContract::data("skus")
                .schema(schema(schemars::schema_for!(u64)))
                .select("$.skus[*]")
                .source("shop")
                .pick(Pick::All)
                .optional(),
        )
        .with(
            InputContract::file("scan")
                .description("A scan")
                .media_type("image/*")
                .filename("*.png")
                .optional(),
        )
        .with(InputContract::text("currency").default_json(r#""EUR""#))
        .with(InputContract::data("any").pick(Pick::Last));
    let derived = Declared::contracts();
    assert_eq!(derived.published(), by_hand.published());
    assert_eq!(format!("{derived:?}"), format!("{by_hand:?}"));

    let [derived, by_hand] = [derived, by_hand].map(|contracts| contracts.compile().unwrap());
    let parts = [
        data(r#"{"id":"a","total":1,"skus":[1,2],"mode":"safe"}"#),
        data(r#"{"id":"a"}"#),
        Part::file_bytes([0])
            .with_filename("a.jpg")
            .with_media_type("image/jpeg"),
        Part::file_bytes([0])
            .with_filename("a.png")
            .with_media_type("image/png"),
        Part::text("KRW"),
    ];
    // All but the last one, which the derive types.
    let [derived, by_hand] = [derived, by_hand].map(|contracts| {
        let mut explained = contracts.explain(&parts);
        explained.pop();
        explained
    });
    assert_eq!(derived, by_hand);
}

#[test]
fn the_schema_is_of_draft_2020_12() {
    let published = Declared::contracts().published();
    assert_eq!(
        published["contracts"][0]["schema"]["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
}

#[test]
fn ask_only_where_all_that_is_missing_may_be_asked_for() {
    let bare = data(r#"{"mode":"fast"}"#);
    let miss = Declared::contracts()
        .compile()
        .unwrap()
        .select(&[bare])
        .unwrap_err();
    assert_eq!(miss.on_missing(), OnMissing::Ask);
    let text = "the data input \"order\" is missing (The order to bill, as the shop sent it):";
    assert!(miss.to_string().starts_with(text), "{miss}");
}

macro_rules! inputs_of {
    ($name:ident, $ty:ty) => {
        #[derive(InputContracts)]
        #[inputs(crate = "llamon_core")]
        struct $name {
            value: $ty,
        }
    };
}

inputs_of!(OptionByMacro, Option<u32>);

#[test]
fn types_are_seen_through_macros() {
    assert_eq!(select::<OptionByMacro>(&[]).unwrap().value, None);
    assert_eq!(
        select::<OptionByMacro>(&[data("3")]).unwrap().value,
        Some(3)
    );
}
