//! What a card's signature is made over (section 8.4.1).

use crate::json::{ReadError, Tree};

/// How deep a card may nest.
const MAX_DEPTH: u32 = 64;

/// Which fields of a card are in the text that is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CardForm {
    /// As section 8.4.1 says: fields without presence that have their default value are left
    /// out, required ones and those with presence are kept.
    Specification,
    /// As the official SDKs for Python and JavaScript have it: empty texts, lists and objects
    /// and nulls are left out everywhere, required or not. Cards that differ only in these have
    /// one form: `{"schemes":{"bearer":{}}}`, which asks for a token, and `{}`, which asks for
    /// nothing. So a signature over this form says less.
    WithoutEmpty,
}

/// The text that a card's signatures are made over: its JSON without `signatures` and without
/// default values, in the form of RFC 8785. Fields that A2A does not know are part of it.
///
/// ```
/// use llamon_core::a2a::{CardForm, canonical_card};
/// let card = r#"{"skills":[], "name":"x", "signatures":[{}], "documentationUrl":null,
///                "capabilities":{"streaming":false, "extensions":[]}}"#;
/// assert_eq!(
///     canonical_card(card, CardForm::Specification)?,
///     r#"{"capabilities":{"streaming":false},"name":"x","skills":[]}"#,
/// );
/// assert_eq!(
///     canonical_card(card, CardForm::WithoutEmpty)?,
///     r#"{"capabilities":{"streaming":false},"name":"x"}"#,
/// );
/// # Ok::<(), llamon_core::json::ReadError>(())
/// ```
///
/// # Errors
/// When the text is no JSON object, has a key twice in one object, or a value that RFC 8785 has
/// no form for.
pub fn canonical_card(card_json: &str, form: CardForm) -> Result<String, ReadError> {
    let mut card = Tree::parse(card_json, MAX_DEPTH)?;
    let Tree::Object(fields) = &mut card else {
        return Err(ReadError::invalid(
            "expected an agent card, which is an object",
        ));
    };
    fields.retain(|(name, _)| name != "signatures");
    drop_defaults(&mut card, &Shape::Message(CARD));
    if form == CardForm::WithoutEmpty {
        drop_empty(&mut card);
    }
    Ok(card.canonical())
}

/// What a value of the protobuf file is, as far as its default matters.
enum Shape {
    /// A text, a number or a flag.
    Scalar,
    Message(&'static [Field]),
    List(&'static Shape),
    Map(&'static Shape),
    /// `google.protobuf.Struct`: its content has no defaults.
    Free,
}

struct Field(&'static str, Presence, Shape);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// Marked REQUIRED: kept, also with its default value.
    Required,
    /// Marked `optional`, or a message: it is there or not.
    Explicit,
    /// Anything else: the default value means that it is not there.
    Implicit,
}

use Presence::{Explicit, Implicit, Required};
use Shape::{Free, List, Map, Message, Scalar};

const CARD: &[Field] = &[
    Field("name", Required, Scalar),
    Field("description", Required, Scalar),
    Field("supportedInterfaces", Required, List(&Message(INTERFACE))),
    Field("provider", Explicit, Message(PROVIDER)),
    Field("version", Required, Scalar),
    Field("documentationUrl", Explicit, Scalar),
    Field("capabilities", Required, Message(CAPABILITIES)),
    Field("securitySchemes", Implicit, Map(&Message(SCHEME))),
    Field(
        "securityRequirements",
        Implicit,
        List(&Message(REQUIREMENT)),
    ),
    Field("defaultInputModes", Required, List(&Scalar)),
    Field("defaultOutputModes", Required, List(&Scalar)),
    Field("skills", Required, List(&Message(SKILL))),
    Field("iconUrl", Explicit, Scalar),
];

const INTERFACE: &[Field] = &[
    Field("url", Required, Scalar),
    Field("protocolBinding", Required, Scalar),
    Field("tenant", Implicit, Scalar),
    Field("protocolVersion", Required, Scalar),
];

const PROVIDER: &[Field] = &[
    Field("url", Required, Scalar),
    Field("organization", Required, Scalar),
];

const CAPABILITIES: &[Field] = &[
    Field("streaming", Explicit, Scalar),
    Field("pushNotifications", Explicit, Scalar),
    Field("extensions", Implicit, List(&Message(EXTENSION))),
    Field("extendedAgentCard", Explicit, Scalar),
];

const EXTENSION: &[Field] = &[
    Field("uri", Implicit, Scalar),
    Field("description", Implicit, Scalar),
    Field("required", Implicit, Scalar),
    Field("params", Explicit, Free),
];

const SKILL: &[Field] = &[
    Field("id", Required, Scalar),
    Field("name", Required, Scalar),
    Field("description", Required, Scalar),
    Field("tags", Required, List(&Scalar)),
    Field("examples", Implicit, List(&Scalar)),
    Field("inputModes", Implicit, List(&Scalar)),
    Field("outputModes", Implicit, List(&Scalar)),
    Field(
        "securityRequirements",
        Implicit,
        List(&Message(REQUIREMENT)),
    ),
];

const REQUIREMENT: &[Field] = &[Field("schemes", Implicit, Map(&Message(SCOPES)))];

const SCOPES: &[Field] = &[Field("list", Implicit, List(&Scalar))];

const SCHEME: &[Field] = &[
    Field("apiKeySecurityScheme", Explicit, Message(API_KEY)),
    Field("httpAuthSecurityScheme", Explicit, Message(HTTP)),
    Field("oauth2SecurityScheme", Explicit, Message(OAUTH2)),
    Field("openIdConnectSecurityScheme", Explicit, Message(OIDC)),
    Field("mtlsSecurityScheme", Explicit, Message(MTLS)),
];

const API_KEY: &[Field] = &[
    Field("description", Implicit, Scalar),
    Field("location", Required, Scalar),
    Field("name", Required, Scalar),
];

const HTTP: &[Field] = &[
    Field("description", Implicit, Scalar),
    Field("scheme", Required, Scalar),
    Field("bearerFormat", Implicit, Scalar),
];

const OAUTH2: &[Field] = &[
    Field("description", Implicit, Scalar),
    Field("flows", Required, Message(FLOWS)),
    Field("oauth2MetadataUrl", Implicit, Scalar),
];

const OIDC: &[Field] = &[
    Field("description", Implicit, Scalar),
    Field("openIdConnectUrl", Required, Scalar),
];

const MTLS: &[Field] = &[Field("description", Implicit, Scalar)];

const FLOWS: &[Field] = &[
    Field("authorizationCode", Explicit, Message(CODE)),
    Field("clientCredentials", Explicit, Message(CLIENT)),
    Field("implicit", Explicit, Message(OLD_FLOW)),
    Field("password", Explicit, Message(OLD_FLOW)),
    Field("deviceCode", Explicit, Message(DEVICE)),
];

const CODE: &[Field] = &[
    Field("authorizationUrl", Required, Scalar),
    Field("tokenUrl", Required, Scalar),
    Field("refreshUrl", Implicit, Scalar),
    Field("scopes", Required, Map(&Scalar)),
    Field("pkceRequired", Implicit, Scalar),
];

const CLIENT: &[Field] = &[
    Field("tokenUrl", Required, Scalar),
    Field("refreshUrl", Implicit, Scalar),
    Field("scopes", Required, Map(&Scalar)),
];

const DEVICE: &[Field] = &[
    Field("deviceAuthorizationUrl", Required, Scalar),
    Field("tokenUrl", Required, Scalar),
    Field("refreshUrl", Implicit, Scalar),
    Field("scopes", Required, Map(&Scalar)),
];

const OLD_FLOW: &[Field] = &[
    Field("authorizationUrl", Implicit, Scalar),
    Field("tokenUrl", Implicit, Scalar),
    Field("refreshUrl", Implicit, Scalar),
    Field("scopes", Implicit, Map(&Scalar)),
];

fn drop_defaults(tree: &mut Tree, shape: &Shape) {
    match (shape, tree) {
        (Message(known), Tree::Object(fields)) => fields.retain_mut(|(name, value)| {
            let Some(Field(_, presence, shape)) = known.iter().find(|field| field.0 == name) else {
                return true;
            };
            // ProtoJSON: null is a field that is not there.
            if *value == Tree::Null {
                return false;
            }
            drop_defaults(value, shape);
            *presence != Implicit || !is_default(value)
        }),
        (List(shape), Tree::Array(elements)) => {
            for element in elements {
                drop_defaults(element, shape);
            }
        }
        (Map(shape), Tree::Object(entries)) => {
            for (_, value) in entries {
                drop_defaults(value, shape);
            }
        }
        // What is of another type than it should be is signed as it is.
        _ => {}
    }
}

fn is_default(tree: &Tree) -> bool {
    match tree {
        Tree::Null | Tree::Bool(false) => true,
        Tree::Bool(true) => false,
        Tree::Number(number) => *number == 0.0,
        Tree::Text(text) => text.is_empty(),
        Tree::Array(elements) => elements.is_empty(),
        Tree::Object(fields) => fields.is_empty(),
    }
}

/// Whether something is left of it.
fn drop_empty(tree: &mut Tree) -> bool {
    match tree {
        Tree::Null => false,
        Tree::Bool(_) | Tree::Number(_) => true,
        Tree::Text(text) => !text.is_empty(),
        Tree::Array(elements) => {
            elements.retain_mut(drop_empty);
            !elements.is_empty()
        }
        Tree::Object(fields) => {
            fields.retain_mut(|(_, value)| drop_empty(value));
            !fields.is_empty()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CardForm, canonical_card};

    fn canonical(card: &str) -> String {
        canonical_card(card, CardForm::Specification).unwrap()
    }

    #[test]
    fn the_example_of_section_8_4_1() {
        let card = r#"{
            "name": "Example Agent",
            "description": "",
            "capabilities": {"streaming": false, "pushNotifications": false, "extensions": []},
            "skills": []
        }"#;
        let expected = r#"{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}"#;
        assert_eq!(canonical(card), expected);
    }

    #[test]
    fn card_sign_001_the_form_does_not_depend_on_order_or_white_space() {
        let one = r#"{"name":"a","version":"1","x-own":{"b":1.0,"a":[]}}"#;
        let other =
            "{ \"x-own\" : { \"a\" : [ ], \"b\" : 1 },\n \"version\":\"\\u0031\",\"name\":\"a\" }";
        assert_eq!(canonical(one), canonical(other));
        assert_eq!(
            canonical(one),
            r#"{"name":"a","version":"1","x-own":{"a":[],"b":1}}"#
        );
    }

    #[test]
    fn card_sign_002_signatures_are_left_out() {
        let signed = r#"{"name":"a","signatures":[{"protected":"x","signature":"y"}]}"#;
        assert_eq!(canonical(signed), r#"{"name":"a"}"#);
    }

    #[test]
    fn defaults_go_in_every_message_and_nowhere_else() {
        let card = r#"{
            "supportedInterfaces": [{"url":"","tenant":"","protocolBinding":"X","protocolVersion":""}],
            "provider": {"url":"","organization":""},
            "iconUrl": "", "documentationUrl": null,
            "securitySchemes": {"m": {"mtlsSecurityScheme": {"description":""}},
                "o": {"oauth2SecurityScheme": {"flows": {"authorizationCode":
                    {"authorizationUrl":"","tokenUrl":"","refreshUrl":"","scopes":{},"pkceRequired":false}}}}},
            "securityRequirements": [{"schemes": {"m": {"list": []}}}, {"schemes": {}}],
            "capabilities": {"extensions": [{"uri":"u","description":"","required":false,
                "params":{"a":"","b":[],"c":null,"d":false}}]},
            "skills": [{"id":"s","tags":[],"examples":[],"inputModes":["x"],"securityRequirements":[]}]
        }"#;
        let expected = concat!(
            r#"{"capabilities":{"extensions":[{"params":{"a":"","b":[],"c":null,"d":false},"uri":"u"}]},"#,
            r#""iconUrl":"","provider":{"organization":"","url":""},"#,
            r#""securityRequirements":[{"schemes":{"m":{}}},{}],"#,
            r#""securitySchemes":{"m":{"mtlsSecurityScheme":{}},"o":{"oauth2SecurityScheme":{"flows":{"authorizationCode":"#,
            r#"{"authorizationUrl":"","scopes":{},"tokenUrl":""}}}}},"#,
            r#""skills":[{"id":"s","inputModes":["x"],"tags":[]}],"#,
            r#""supportedInterfaces":[{"protocolBinding":"X","protocolVersion":"","url":""}]}"#,
        );
        assert_eq!(canonical(card), expected);
    }

    #[test]
    fn without_empty_is_what_the_python_sdk_signs() {
        let card = r#"{"name":"a","description":"","skills":[],"x":{"y":[{}]},"v":[null,0,false],
            "securityRequirements":[{"schemes":{"bearer":{}}}]}"#;
        let form = canonical_card(card, CardForm::WithoutEmpty).unwrap();
        assert_eq!(form, r#"{"name":"a","v":[0,false]}"#);
    }

    #[test]
    fn what_is_no_card_is_refused() {
        for text in ["[]", "1", "", r#"{"a":1,"a":2}"#, r#"{"a":1}{}"#] {
            assert!(
                canonical_card(text, CardForm::Specification).is_err(),
                "{text}"
            );
        }
    }
}
