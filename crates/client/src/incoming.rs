//! The events of a stream as a binding brings them.

use std::pin::Pin;
use std::time::Duration;

use futures_util::Stream;
use llamon_core::a2a::StreamEvent;

use crate::error::ClientError;

/// The events, until the agent ends the stream. Nothing follows a [`Break`].
pub(crate) type Incoming = Pin<Box<dyn Stream<Item = Result<Received, Break>> + Send>>;

/// An event, and how many bytes the text has that it was read from: parts share its memory.
pub(crate) struct Received {
    pub(crate) event: StreamEvent,
    pub(crate) source_len: usize,
}

/// Why a stream ended before the agent ended it.
pub(crate) enum Break {
    /// The connection was lost.
    Lost(String),
    /// Nothing came for this long.
    Silent(Duration),
    /// What came is an error or cannot be read; more of the same would come.
    Failed(ClientError),
}
