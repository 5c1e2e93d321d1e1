//! The agent card, which has no parts: it is read and written as a tree.

use serde_json::{Map, Value, json};

use super::PROTOCOL_VERSION;
use crate::a2a::{AgentCard, AgentInterface};

/// The card with the fields by which a client of 0.3 finds the agent: `url`, `protocolVersion`,
/// `preferredTransport`, `additionalInterfaces` and `supportsAuthenticatedExtendedCard`. They say
/// what the card's interfaces of 0.3 say; a card without such interfaces stays as it is.
///
/// # Errors
/// When the card cannot be written as JSON.
pub fn with_old_fields(card: &AgentCard) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(card)?;
    let is_old = |interface: &&AgentInterface| is_old(&interface.protocol_version);
    let mut interfaces = card.supported_interfaces.iter().filter(is_old);
    let (Some(preferred), Some(fields)) = (interfaces.next(), value.as_object_mut()) else {
        return Ok(value);
    };
    let additional: Vec<Value> = interfaces
        .map(|interface| json!({"transport": interface.protocol_binding, "url": interface.url}))
        .collect();
    fields.insert("url".to_owned(), json!(preferred.url));
    fields.insert("protocolVersion".to_owned(), json!("0.3.0"));
    fields.insert(
        "preferredTransport".to_owned(),
        json!(preferred.protocol_binding),
    );
    fields.insert("additionalInterfaces".to_owned(), additional.into());
    let extended = card.capabilities.extended_agent_card;
    fields.insert(
        "supportsAuthenticatedExtendedCard".to_owned(),
        extended.into(),
    );
    // 0.3 requires what 1.0 leaves out when it is empty.
    let skills = fields.get_mut("skills").and_then(Value::as_array_mut);
    for skill in skills
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        skill.entry("tags").or_insert_with(|| json!([]));
    }
    Ok(value)
}

/// The text of a card in 1.0: as it is unless it is a pure card of 0.3, whose `url` and
/// `additionalInterfaces` become interfaces. How callers show who they are is written anew, too.
///
/// A text that is no such card stays as it is, for the reader of 1.0 to judge.
pub fn upgraded_card(json: &str) -> String {
    upgrade(json).unwrap_or_else(|| json.to_owned())
}

fn upgrade(json: &str) -> Option<String> {
    let Value::Object(mut card) = serde_json::from_str(json).ok()? else {
        return None;
    };
    let interfaces = card.get("supportedInterfaces").and_then(Value::as_array);
    if interfaces.is_some_and(|interfaces| !interfaces.is_empty()) {
        return None;
    }
    let url = card.get("url")?.as_str()?.to_owned();
    let preferred = card.get("preferredTransport").and_then(Value::as_str);
    let preferred = preferred.unwrap_or(crate::a2a::BINDING_JSONRPC).to_owned();
    let mut interfaces = vec![interface(&url, &preferred)];
    let additional = card.get("additionalInterfaces").and_then(Value::as_array);
    for other in additional.into_iter().flatten() {
        let text = |name: &str| other.get(name).and_then(Value::as_str);
        if let (Some(url), Some(transport)) = (text("url"), text("transport")) {
            let interface = interface(url, transport);
            if !interfaces.contains(&interface) {
                interfaces.push(interface);
            }
        }
    }
    card.insert("supportedInterfaces".to_owned(), interfaces.into());
    let extended = card.remove("supportsAuthenticatedExtendedCard");
    if extended == Some(Value::Bool(true)) {
        let capabilities = card.entry("capabilities").or_insert_with(|| json!({}));
        if let Some(capabilities) = capabilities.as_object_mut() {
            capabilities.insert("extendedAgentCard".to_owned(), true.into());
        }
    }
    upgrade_security(&mut card);
    card.retain(|_, value| !value.is_null());
    serde_json::to_string(&card).ok()
}

fn interface(url: &str, transport: &str) -> Value {
    json!({"url": url, "protocolBinding": transport, "protocolVersion": PROTOCOL_VERSION})
}

fn is_old(version: &str) -> bool {
    crate::a2a::ProtocolVersion::parse(version) == Some(crate::a2a::ProtocolVersion::V0_3)
}

fn upgrade_security(card: &mut Map<String, Value>) {
    if let Some(Value::Object(schemes)) = card.remove("securitySchemes") {
        let schemes: Map<String, Value> = schemes
            .into_iter()
            .filter_map(|(name, scheme)| Some((name, upgraded_scheme(scheme)?)))
            .collect();
        card.insert("securitySchemes".to_owned(), schemes.into());
    }
    let requirements = |place: &mut Map<String, Value>| {
        if let Some(Value::Array(security)) = place.remove("security") {
            let security: Vec<Value> = security.into_iter().map(upgraded_requirement).collect();
            place.insert("securityRequirements".to_owned(), security.into());
        }
    };
    requirements(card);
    let skills = card.get_mut("skills").and_then(Value::as_array_mut);
    for skill in skills
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        requirements(skill);
        skill.retain(|_, value| !value.is_null());
    }
}

/// `None` for a scheme of a type that 1.0 does not have.
fn upgraded_scheme(scheme: Value) -> Option<Value> {
    let Value::Object(mut fields) = scheme else {
        return None;
    };
    fields.retain(|_, value| !value.is_null());
    let kind = fields.remove("type")?;
    let name = match kind.as_str()? {
        "apiKey" => {
            let location = fields.remove("in")?;
            fields.insert("location".to_owned(), location);
            "apiKeySecurityScheme"
        }
        "http" => "httpAuthSecurityScheme",
        "oauth2" => "oauth2SecurityScheme",
        "openIdConnect" => "openIdConnectSecurityScheme",
        "mutualTLS" => "mtlsSecurityScheme",
        _ => return None,
    };
    Some(json!({name: fields}))
}

/// `{"oauth": ["read"]}` becomes `{"schemes": {"oauth": {"list": ["read"]}}}`.
fn upgraded_requirement(requirement: Value) -> Value {
    let Value::Object(schemes) = requirement else {
        return json!({"schemes": {}});
    };
    let schemes: Map<String, Value> = schemes
        .into_iter()
        .map(|(name, scopes)| (name, json!({"list": scopes})))
        .collect();
    json!({"schemes": schemes})
}

#[cfg(test)]
mod tests {
    use super::{upgraded_card, with_old_fields};
    use crate::a2a::{AgentCard, AgentInterface, Skill};

    #[test]
    fn a_card_of_the_old_version_is_read() {
        let old = r#"{"name":"a","description":"d","version":"1","protocolVersion":"0.3.0","url":"http://h/rpc","preferredTransport":"JSONRPC","additionalInterfaces":[{"url":"http://h/rpc","transport":"JSONRPC"},{"url":"http://h/rest","transport":"HTTP+JSON"}],"capabilities":{"streaming":true},"defaultInputModes":["text/plain"],"defaultOutputModes":["text/plain"],"skills":[{"id":"s","name":"s","description":"d","tags":[],"security":[{"key":[]}]}],"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Key"},"new":{"type":"?"}},"security":[{"key":["a"]}],"supportsAuthenticatedExtendedCard":true,"provider":null}"#;
        let card: AgentCard = serde_json::from_str(&upgraded_card(old)).unwrap();
        let interfaces: Vec<(&str, &str, &str)> = card
            .supported_interfaces
            .iter()
            .map(|i| (&*i.url, &*i.protocol_binding, &*i.protocol_version))
            .collect();
        let expected = [
            ("http://h/rpc", "JSONRPC", "0.3"),
            ("http://h/rest", "HTTP+JSON", "0.3"),
        ];
        assert_eq!(interfaces, expected);
        assert!(card.capabilities.extended_agent_card);
        assert_eq!(card.security_schemes.len(), 1);
        assert_eq!(card.security_requirements.len(), 1);
        assert_eq!(card.skills[0].security_requirements.len(), 1);
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        let dual = r#"{"supportedInterfaces":[{"url":"http://h","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"url":"http://h"}"#;
        for text in [dual, "{}", "[]", "", "{\"url\":7}", "{\"n\":1e400}"] {
            assert_eq!(upgraded_card(text), text);
        }
    }

    #[test]
    fn the_old_fields_say_what_the_old_interfaces_say() {
        let old = |binding: &str| {
            let mut interface = AgentInterface::new("http://h/a", binding);
            interface.protocol_version = "0.3".to_owned();
            interface
        };
        let card = AgentCard::new("a", "d", "1")
            .skill(Skill::new("s", "s", "d"))
            .interface(AgentInterface::new("http://h/a", "JSONRPC"));
        let plain = with_old_fields(&card).unwrap();
        assert_eq!(plain, serde_json::to_value(&card).unwrap());
        let card = card.interface(old("JSONRPC")).interface(old("HTTP+JSON"));
        let dual = with_old_fields(&card).unwrap();
        assert_eq!(dual["url"], "http://h/a");
        assert_eq!(dual["protocolVersion"], "0.3.0");
        assert_eq!(dual["preferredTransport"], "JSONRPC");
        assert_eq!(dual["additionalInterfaces"][0]["transport"], "HTTP+JSON");
        assert_eq!(dual["supportsAuthenticatedExtendedCard"], false);
        assert!(dual["skills"][0]["tags"].is_array());
        assert_eq!(serde_json::from_value::<AgentCard>(dual).unwrap(), card);
    }
}
