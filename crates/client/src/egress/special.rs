//! Which addresses are not the public internet: the IANA special-purpose registries for IPv4 and
//! IPv6, and where the large clouds keep what only their own machines may ask.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use Reach::{Forbidden, Loopback, Private};

/// Where an address leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// A host of the internet.
    Public,
    /// A host of the operator's own network.
    Private,
    /// This machine.
    Loopback,
    /// Nowhere that a URL from outside may lead to, whatever the operator allows for such URLs.
    Forbidden,
}

type Range<T> = (T, u32, Reach, &'static str);

const fn v4(a: u8, b: u8, c: u8, d: u8) -> Ipv4Addr {
    Ipv4Addr::new(a, b, c, d)
}

const fn v6(start: [u16; 4]) -> Ipv6Addr {
    Ipv6Addr::new(start[0], start[1], start[2], start[3], 0, 0, 0, 0)
}

/// The first range that holds an address decides.
const IPV4: &[Range<Ipv4Addr>] = &[
    (v4(100, 100, 100, 200), 32, Forbidden, "a metadata service"),
    // Azure's is in the middle of public space.
    (v4(168, 63, 129, 16), 32, Forbidden, "a metadata service"),
    (v4(0, 0, 0, 0), 8, Forbidden, "an address of this network"),
    (v4(10, 0, 0, 0), 8, Private, "a private address"),
    (v4(100, 64, 0, 0), 10, Private, "a shared address (CGNAT)"),
    (v4(127, 0, 0, 0), 8, Loopback, "a loopback address"),
    (v4(169, 254, 0, 0), 16, Forbidden, "a link-local address"),
    (v4(172, 16, 0, 0), 12, Private, "a private address"),
    (v4(192, 0, 0, 0), 24, Forbidden, "a protocol's address"),
    (v4(192, 0, 2, 0), 24, Forbidden, "a documentation address"),
    (v4(192, 31, 196, 0), 24, Forbidden, "an AS112 address"),
    (v4(192, 52, 193, 0), 24, Forbidden, "an AMT address"),
    (v4(192, 88, 99, 0), 24, Forbidden, "a 6to4 relay"),
    (v4(192, 168, 0, 0), 16, Private, "a private address"),
    (v4(192, 175, 48, 0), 24, Forbidden, "an AS112 address"),
    (v4(198, 18, 0, 0), 15, Forbidden, "a benchmarking address"),
    (
        v4(198, 51, 100, 0),
        24,
        Forbidden,
        "a documentation address",
    ),
    (v4(203, 0, 113, 0), 24, Forbidden, "a documentation address"),
    (v4(224, 0, 0, 0), 4, Forbidden, "a multicast address"),
    // With the broadcast address.
    (v4(240, 0, 0, 0), 4, Forbidden, "a reserved address"),
];

const METADATA_V6: &[Ipv6Addr] = &[
    // Amazon: instances, pods, containers' credentials, DNS and time.
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x253),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x123),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    // Google, Oracle, Scaleway.
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe),
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

/// Within 2000::/3, outside of which nothing is public, and the ranges outside of it that have a
/// name worth saying.
const IPV6: &[Range<Ipv6Addr>] = &[
    (Ipv6Addr::LOCALHOST, 128, Loopback, "a loopback address"),
    (Ipv6Addr::UNSPECIFIED, 128, Forbidden, "no address"),
    (
        Ipv6Addr::UNSPECIFIED,
        96,
        Forbidden,
        "an IPv4-compatible address",
    ),
    (
        v6([0x64, 0xff9b, 1, 0]),
        48,
        Forbidden,
        "a local NAT64 address",
    ),
    (v6([0x100, 0, 0, 0]), 64, Forbidden, "a discard address"),
    // Teredo, benchmarking, ORCHID and the like.
    (v6([0x2001, 0, 0, 0]), 23, Forbidden, "a protocol's address"),
    (
        v6([0x2001, 0xdb8, 0, 0]),
        32,
        Forbidden,
        "a documentation address",
    ),
    (v6([0x2002, 0, 0, 0]), 16, Forbidden, "a 6to4 address"),
    (
        v6([0x2620, 0x4f, 0x8000, 0]),
        48,
        Forbidden,
        "an AS112 address",
    ),
    (
        v6([0x3fff, 0, 0, 0]),
        20,
        Forbidden,
        "a documentation address",
    ),
    (v6([0xfc00, 0, 0, 0]), 7, Private, "a unique local address"),
    (v6([0xfe80, 0, 0, 0]), 10, Forbidden, "a link-local address"),
    (v6([0xfec0, 0, 0, 0]), 10, Forbidden, "a site-local address"),
    (v6([0xff00, 0, 0, 0]), 8, Forbidden, "a multicast address"),
];

const GLOBAL_UNICAST: Ipv6Addr = v6([0x2000, 0, 0, 0]);
const NAT64: Ipv6Addr = v6([0x64, 0xff9b, 0, 0]);

/// Where `address` leads to, and what it is called.
pub(super) fn reach(address: IpAddr) -> (Reach, &'static str) {
    match address.to_canonical() {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> (Reach, &'static str) {
    let within = |start: Ipv4Addr, bits: u32| {
        (start.to_bits() ^ address.to_bits())
            .checked_shr(32 - bits)
            .is_none_or(|differing| differing == 0)
    };
    find(IPV4, within).unwrap_or((Reach::Public, "a public address"))
}

fn reach_v6(address: Ipv6Addr) -> (Reach, &'static str) {
    if METADATA_V6.contains(&address) {
        return (Forbidden, "a metadata service");
    }
    let within = |start: Ipv6Addr, bits: u32| {
        (start.to_bits() ^ address.to_bits())
            .checked_shr(128 - bits)
            .is_none_or(|differing| differing == 0)
    };
    if within(NAT64, 96) {
        // Where a network has only IPv6, public IPv4 hosts look like this. Others do not (RFC
        // 6052, section 3.1), and "allowed here" would mean allowed at the translator.
        let [.., a, b, c, d] = address.octets();
        return match reach_v4(v4(a, b, c, d)) {
            (Reach::Public, name) => (Reach::Public, name),
            _ => (Forbidden, "a NAT64 address of one that is not public"),
        };
    }
    if let Some(found) = find(IPV6, within) {
        return found;
    }
    if within(GLOBAL_UNICAST, 3) {
        (Reach::Public, "a public address")
    } else {
        (Forbidden, "not a global unicast address")
    }
}

fn find<T: Copy>(
    ranges: &[Range<T>],
    within: impl Fn(T, u32) -> bool,
) -> Option<(Reach, &'static str)> {
    let mut ranges = ranges.iter();
    let (.., reach, name) = ranges.find(|(start, bits, ..)| within(*start, *bits))?;
    Some((*reach, name))
}

#[cfg(test)]
mod tests {
    use super::{Reach, reach};

    #[test]
    fn ranges_end_where_the_registries_say() {
        let cases = [
            ("9.255.255.255", Reach::Public),
            ("10.0.0.0", Reach::Private),
            ("10.255.255.255", Reach::Private),
            ("11.0.0.0", Reach::Public),
            ("100.63.255.255", Reach::Public),
            ("100.64.0.0", Reach::Private),
            ("100.100.100.199", Reach::Private),
            ("100.100.100.200", Reach::Forbidden),
            ("100.127.255.255", Reach::Private),
            ("100.128.0.0", Reach::Public),
            ("126.255.255.255", Reach::Public),
            ("127.255.255.255", Reach::Loopback),
            ("128.0.0.0", Reach::Public),
            ("168.63.129.15", Reach::Public),
            ("168.63.129.16", Reach::Forbidden),
            ("172.15.255.255", Reach::Public),
            ("172.31.255.255", Reach::Private),
            ("172.32.0.0", Reach::Public),
            ("192.0.1.0", Reach::Public),
            ("198.17.255.255", Reach::Public),
            ("198.19.255.255", Reach::Forbidden),
            ("198.20.0.0", Reach::Public),
            ("223.255.255.255", Reach::Public),
            ("224.0.0.0", Reach::Forbidden),
            ("::1", Reach::Loopback),
            ("::2", Reach::Forbidden),
            ("::ffff:127.0.0.1", Reach::Loopback),
            ("::ffff:1.1.1.1", Reach::Public),
            ("64:ff9b::1.1.1.1", Reach::Public),
            ("64:ff9b::10.0.0.1", Reach::Forbidden),
            ("64:ff9b::127.0.0.1", Reach::Forbidden),
            ("64:ff9b:0:0:0:1:101:101", Reach::Forbidden),
            ("1fff:ffff::", Reach::Forbidden),
            ("2000::", Reach::Public),
            ("2001:1ff:ffff::", Reach::Forbidden),
            ("2001:200::", Reach::Public),
            ("2001:db7:ffff::", Reach::Public),
            ("2001:db8::", Reach::Forbidden),
            ("2001:db9::", Reach::Public),
            ("2003::", Reach::Public),
            ("3ffe:ffff::", Reach::Public),
            ("3fff:fff::", Reach::Forbidden),
            ("3fff:1000::", Reach::Public),
            ("4000::", Reach::Forbidden),
            ("fbff::", Reach::Forbidden),
            ("fc00::", Reach::Private),
            ("fdff::", Reach::Private),
            ("fd00:ec2::254", Reach::Forbidden),
            ("fd00:ec2::255", Reach::Private),
        ];
        for (address, expected) in cases {
            assert_eq!(reach(address.parse().unwrap()).0, expected, "{address}");
        }
    }
}
