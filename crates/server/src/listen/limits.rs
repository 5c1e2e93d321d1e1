use std::time::Duration;

use crate::config_error::ConfigError;

/// What a client may hold of a server without a request that is worth it: time, connections and
/// heads of requests. Given to [`crate::ServerBuilder::connection_limits`], or to
/// [`crate::AgentHost::connection_limits`] where several agents share a port.
///
/// ```
/// use std::time::Duration;
/// use llamon_server::ConnectionLimits;
///
/// let limits = ConnectionLimits::default()
///     .with_head_timeout(Duration::from_secs(10))
///     .with_max_connections_per_address(10_000);
/// assert_eq!(limits.max_connections, 10_000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionLimits {
    /// From the beginning of a connection, TLS included, to the end of its first request's head,
    /// and from one answer to the end of the next head in HTTP/1.1. Over it the connection is
    /// closed. Default 30 s.
    pub head_timeout: Duration,
    /// How long a request's body may send nothing while it is waited for. Over it the request is
    /// answered with 408. Default 30 s.
    pub body_idle_timeout: Duration,
    /// How long a request's body may take as a whole. Over it the request is answered with 408.
    /// Default 5 min.
    pub body_timeout: Duration,
    /// How long a client may take nothing of what is sent. Over it the connection is closed; tasks
    /// go on. Default 60 s.
    pub write_idle_timeout: Duration,
    /// Connections at the same time, on all ports. A new one over it takes the place of the one
    /// that has had no request for the longest time; where all have one, it is closed. At most
    /// three quarters of the file descriptors that the process may open. Default 10,000.
    pub max_connections: usize,
    /// The same for the connections of one address, or of one IPv6 network of 64 bits. All
    /// connections through a proxy come from its address. Default 1,000.
    pub max_connections_per_address: usize,
    /// Bytes of a request's head. Over it the request is answered with 431. Default 32 KiB.
    pub max_head_bytes: u32,
    /// Headers of a request. Over it the request is answered with 431. Default 100.
    pub max_headers: usize,
    /// Calls at the same time on one HTTP/2 connection. Default 250.
    pub max_http2_streams: u32,
    /// Calls on one HTTP/2 connection that the client has taken back before they were looked at.
    /// Over it the connection is closed. Default 20.
    pub max_http2_pending_resets: usize,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            head_timeout: Duration::from_secs(30),
            body_idle_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(300),
            write_idle_timeout: Duration::from_secs(60),
            max_connections: 10_000,
            max_connections_per_address: 1_000,
            max_head_bytes: 32 * 1024,
            max_headers: 100,
            max_http2_streams: 250,
            max_http2_pending_resets: 20,
        }
    }
}

macro_rules! setters {
    ($($setter:ident $field:ident: $type:ty),* $(,)?) => {
        impl ConnectionLimits {
            $(
                #[doc = concat!("Sets [`ConnectionLimits::", stringify!($field), "`].")]
                #[must_use]
                pub fn $setter(mut self, value: $type) -> Self {
                    self.$field = value;
                    self
                }
            )*
        }
    };
}

setters! {
    with_head_timeout head_timeout: Duration,
    with_body_idle_timeout body_idle_timeout: Duration,
    with_body_timeout body_timeout: Duration,
    with_write_idle_timeout write_idle_timeout: Duration,
    with_max_connections max_connections: usize,
    with_max_connections_per_address max_connections_per_address: usize,
    with_max_head_bytes max_head_bytes: u32,
    with_max_headers max_headers: usize,
    with_max_http2_streams max_http2_streams: u32,
    with_max_http2_pending_resets max_http2_pending_resets: usize,
}

impl ConnectionLimits {
    /// Checks that every limit can be kept.
    ///
    /// # Errors
    /// With the limit's name, its value and the allowed values.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let wrong = |name: &str, value: String, allowed: &str| {
            let message = format!("the limit {name} is {value}; it takes {allowed}");
            Err(ConfigError::limit(message))
        };
        let times = [
            ("head_timeout", self.head_timeout),
            ("body_idle_timeout", self.body_idle_timeout),
            ("body_timeout", self.body_timeout),
            ("write_idle_timeout", self.write_idle_timeout),
        ];
        let day = Duration::from_secs(24 * 3_600);
        for (name, value) in times {
            if value.is_zero() || value > day {
                return wrong(name, format!("{value:?}"), "more than zero, up to a day");
            }
        }
        let counts = [
            ("max_connections", self.max_connections, 1..=10_000_000),
            (
                "max_connections_per_address",
                self.max_connections_per_address,
                1..=10_000_000,
            ),
            ("max_headers", self.max_headers, 10..=10_000),
            (
                "max_http2_streams",
                self.max_http2_streams as usize,
                1..=100_000,
            ),
            (
                "max_http2_pending_resets",
                self.max_http2_pending_resets,
                1..=100_000,
            ),
            (
                "max_head_bytes",
                self.max_head_bytes as usize,
                1_024..=256 * 1024,
            ),
        ];
        for (name, value, allowed) in counts {
            if !allowed.contains(&value) {
                let allowed = format!("{} to {}", allowed.start(), allowed.end());
                return wrong(name, value.to_string(), &allowed);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ConnectionLimits;

    #[test]
    fn a_limit_that_cannot_be_kept_is_named() {
        let limits = ConnectionLimits::default;
        assert!(limits().check().is_ok());
        for (wrong, name) in [
            (limits().with_head_timeout(Duration::ZERO), "head_timeout"),
            (
                limits().with_body_timeout(Duration::from_secs(86_401)),
                "body_timeout",
            ),
            (limits().with_max_connections(0), "max_connections"),
            (limits().with_max_head_bytes(1_023), "max_head_bytes"),
            (limits().with_max_headers(9), "max_headers"),
        ] {
            let error = wrong.check().unwrap_err();
            assert!(error.is_limit(), "{error}");
            assert!(error.to_string().contains(name), "{error}");
        }
    }
}
