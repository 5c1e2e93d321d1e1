//! Who is at the other end of a connection, as far as the connection tells.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The ends of a connection, in the extensions of its requests as `Arc<Peer>`. A request that came
/// through somebody else's accept loop has none.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Where the request came from; a proxy's address behind a proxy.
    pub(crate) remote: SocketAddr,
    /// The address of this machine that it came to.
    pub(crate) local: SocketAddr,
    /// What the client has shown, where it has been checked.
    #[cfg(feature = "tls")]
    pub(crate) certificate: Option<crate::tls::ClientCertificate>,
}

impl Peer {
    pub(crate) fn new(remote: SocketAddr, local: SocketAddr) -> Self {
        Self {
            remote,
            local,
            #[cfg(feature = "tls")]
            certificate: None,
        }
    }
}

/// An address as what limits are counted by: of IPv6 the network, of which one machine has a
/// whole one to itself; of IPv4 the address, also where it is written as IPv6.
pub(crate) fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn a_network_of_ipv6_counts_as_one() {
        for (address, expected) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2::ffff", "2001:db8:1:2::"),
            ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ] {
            let found = counted(address.parse().unwrap());
            assert_eq!(found.to_string(), expected, "{address}");
        }
    }
}
