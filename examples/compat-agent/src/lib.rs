//! The agent that the public A2A compatibility kit drives.
//!
//! The kit sends messages whose ids begin with what it wants to see, such as `tck-artifact-text`,
//! and checks how the server shows it. So the agent does what the prefix says and nothing else:
//! what the kit measures is the server.

mod agent;
mod card;

use std::future::IntoFuture;

use llamon_agent::prelude::{Server, create_server};
use llamon_agent::server::{
    Compat, ConfigError, ExtendedCardReaders, GrpcAt, PushNotifications, Streaming,
};

pub use card::REQUIRED_EXTENSION;

/// What the agent's card declares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// Streams, push notifications and an extended card, which everybody may read.
    #[default]
    Full,
    /// Nothing that is optional.
    Nothing,
    /// Everything of `Full`, and an extension without which a client is refused.
    RequiredExtension,
}

/// The agent as a server that speaks all three bindings on one port.
///
/// Its push notifications go to receivers on this machine, which no server on a network may do.
pub fn app(
    profile: Profile,
    compat: Compat,
) -> impl IntoFuture<Output = Result<Server, ConfigError>> {
    let mut card = card::card();
    if profile == Profile::RequiredExtension {
        card.capabilities
            .extensions
            .push(card::required_extension());
    }
    let server = create_server(card, agent::run)
        .grpc(GrpcAt::SamePort)
        .compat(compat);
    match profile {
        Profile::Nothing => server.streaming(Streaming::Off),
        Profile::Full | Profile::RequiredExtension => {
            let receivers = PushNotifications::new().allow_loopback().allow_plain_http();
            server
                .push_notifications(receivers)
                .extended_card(card::card())
                .extended_card_readers(ExtendedCardReaders::Anybody)
        }
    }
}
