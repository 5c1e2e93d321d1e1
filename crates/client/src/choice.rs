//! Which of a card's interfaces a client uses.

use llamon_core::a2a::{AgentCard, AgentInterface, PROTOCOL_VERSION};
use url::Url;

use crate::binding::{Binding, Endpoint};
use crate::egress::Egress;
use crate::error::ClientError;

/// The card's interface to use: the first one that the client speaks as text, on the card or,
/// where bindings are preferred, of the first of those that the card has. Others are used where the
/// card has nothing else. One that is on an origin that
/// nobody named keeps the rules for such URLs.
pub(crate) fn choose(
    card: &AgentCard,
    card_url: &Url,
    preferred: &[Binding],
    egress: &Egress,
) -> Result<Endpoint, ClientError> {
    let first_of = |wanted: Option<Binding>| {
        card.supported_interfaces.iter().find_map(|interface| {
            let binding = spoken(interface)?;
            let fits = wanted.map_or(binding.is_text(), |wanted| wanted == binding);
            fits.then_some((interface, binding))
        })
    };
    let found = if preferred.is_empty() {
        let others = || Binding::ALL.iter().find_map(|other| first_of(Some(*other)));
        first_of(None).or_else(others)
    } else {
        preferred.iter().find_map(|wanted| first_of(Some(*wanted)))
    };
    let Some((interface, binding)) = found else {
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
        tenant: interface.tenant.clone(),
    })
}

/// How the client speaks with an interface, if it can.
fn spoken(interface: &AgentInterface) -> Option<Binding> {
    // A patch level, which the specification leaves out (section 3.6), changes nothing.
    let patch = interface.protocol_version.strip_prefix(PROTOCOL_VERSION)?;
    (patch.is_empty() || patch.starts_with('.'))
        .then(|| Binding::of_name(&interface.protocol_binding))?
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
    let speaks = match preferred {
        [] => format!(
            "this client speaks {} of version {PROTOCOL_VERSION}",
            list(Binding::ALL)
        ),
        [binding] => format!("{binding} {PROTOCOL_VERSION} was asked for"),
        preferred => format!(
            "{} of version {PROTOCOL_VERSION} were asked for",
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
        "no interface (supportedInterfaces is empty, as on a card of A2A 0.3)".to_owned()
    } else {
        offers.join(", ")
    };
    ClientError::usage(format!("the agent card offers {offers}, but {speaks}"))
}
