//! Which of a card's interfaces a client uses.

use llamon_core::a2a::{AgentCard, AgentInterface, ProtocolVersion};
use url::Url;

use crate::binding::{Binding, Endpoint};
use crate::egress::Egress;
use crate::error::ClientError;

/// Newest first: an agent that speaks several is called in the first of them that fits.
const VERSIONS: [ProtocolVersion; 2] = [ProtocolVersion::V1_0, ProtocolVersion::V0_3];

/// The card's interface to use: of the newest version, the first one that the client speaks as
/// text, on the card or, where bindings are preferred, of the first of those that the card has.
/// Others are used where the card has nothing else in that version. One that is on an origin that
/// nobody named keeps the rules for such URLs.
pub(crate) fn choose(
    card: &AgentCard,
    card_url: &Url,
    preferred: &[Binding],
    egress: &Egress,
) -> Result<Endpoint, ClientError> {
    let first_of = |version: ProtocolVersion, wanted: Option<Binding>| {
        card.supported_interfaces.iter().find_map(|interface| {
            let binding = spoken(interface, version)?;
            let fits = wanted.map_or(binding.is_text(), |wanted| wanted == binding);
            fits.then_some((interface, binding, version))
        })
    };
    let found = VERSIONS.into_iter().find_map(|version| {
        let first_among =
            |bindings: &[Binding]| bindings.iter().find_map(|it| first_of(version, Some(*it)));
        if preferred.is_empty() {
            first_of(version, None).or_else(|| first_among(Binding::ALL))
        } else {
            first_among(preferred)
        }
    });
    let Some((interface, binding, version)) = found else {
        return Err(no_interface(card, preferred));
    };
    let url = egress.read(&binding.url(&interface.url)).map_err(|error| {
        ClientError::usage(format!(
            "the agent card of {} has a {binding} interface that cannot be used: {error}",
            card_url.origin().ascii_serialization()
        ))
    })?;
    Ok(Endpoint {
        url,
        binding,
        version,
        tenant: interface.tenant.clone(),
    })
}

/// How the client speaks with an interface in a version, if it can.
fn spoken(interface: &AgentInterface, version: ProtocolVersion) -> Option<Binding> {
    let written = &*interface.protocol_version;
    // It must be written (1.0, section 4.4.6); in a request, none at all would be 0.3.
    if written.trim().is_empty() || ProtocolVersion::parse(written)? != version {
        return None;
    }
    let binding = Binding::of_name(&interface.protocol_binding)?;
    match version {
        // 0.3 has gRPC of another package, and no tenants.
        ProtocolVersion::V0_3 if !binding.is_text() || !interface.tenant.is_empty() => None,
        _ => Some(binding),
    }
}

fn no_interface(card: &AgentCard, preferred: &[Binding]) -> ClientError {
    let list = |bindings: &[Binding]| {
        let names: Vec<&str> = bindings.iter().map(|binding| binding.as_str()).collect();
        match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
            None => String::new(),
        }
    };
    let [newest, oldest] = VERSIONS;
    let speaks = match preferred {
        [] => format!(
            "this client speaks {} of version {newest} and {} of version {oldest}",
            list(Binding::ALL),
            list(&[Binding::JsonRpc, Binding::Rest])
        ),
        [binding] => format!("{binding} of version {newest} or {oldest} was asked for"),
        preferred => format!(
            "{} of version {newest} or {oldest} were asked for",
            list(preferred)
        ),
    };
    let offers: Vec<String> = card
        .supported_interfaces
        .iter()
        .take(10)
        .map(|interface| {
            let name = format!(
                "{} {}",
                interface.protocol_binding, interface.protocol_version
            );
            format!("{:?}", name.trim_end())
        })
        .collect();
    let offers = if offers.is_empty() {
        "no interface (supportedInterfaces is empty)".to_owned()
    } else {
        offers.join(", ")
    };
    ClientError::usage(format!("the agent card offers {offers}, but {speaks}"))
}
