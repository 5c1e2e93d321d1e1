//! No address that is dialled is in the special-purpose table: held to a second table, which is
//! kept as the registries print it and compared bit by bit as text.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use futures_util::FutureExt as _;
use proptest::prelude::*;

use super::resolver::{Lookup, Resolve, Resolving};
use super::rules::Rules;

/// The IANA IPv4 and IPv6 Special-Purpose Address Registries, multicast, what is not global
/// unicast, and metadata services at other addresses.
const SPECIAL: &[&str] = &[
    "0.0.0.0/8",
    "0.0.0.0/32",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.9/32",
    "192.0.0.10/32",
    "192.0.0.170/32",
    "192.0.0.171/32",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "224.0.0.0/4",
    "168.63.129.16/32",
    "100.100.100.200/32",
    "::1/128",
    "::/128",
    "::/96",
    "::ffff:0:0/96",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:1::1/128",
    "2001:1::2/128",
    "2001:1::3/128",
    "2001:2::/48",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:30::/28",
    "2001:db8::/32",
    "2002::/16",
    "2620:4f:8000::/48",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
    // What is not in 2000::/3; of it, 64:ff9b::/96 is looked at first.
    "::/3",
    "4000::/2",
    "8000::/1",
];

const PRIVATE: &[&str] = &[
    "10.0.0.0/8",
    "100.64.0.0/10",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "fc00::/7",
];

const NEVER: &[&str] = &[
    "100.100.100.200/32",
    "fd00:ec2::254/128",
    "fd00:ec2::253/128",
    "fd00:ec2::123/128",
    "fd00:ec2::23/128",
    "fd20:ce::254/128",
    "fd00:c1::a9fe:a9fe/128",
    "fd00:42::42/128",
];

const LOOPBACK: &[&str] = &["127.0.0.0/8", "::1/128"];

fn bits(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.octets().map(|byte| format!("{byte:08b}")).concat(),
        IpAddr::V6(address) => address.octets().map(|byte| format!("{byte:08b}")).concat(),
    }
}

fn range(text: &str) -> (IpAddr, usize) {
    let (start, length) = text.split_once('/').unwrap();
    (start.parse().unwrap(), length.parse().unwrap())
}

fn is_in(address: IpAddr, table: &[&str]) -> bool {
    table.iter().any(|text| {
        let (start, length) = range(text);
        start.is_ipv4() == address.is_ipv4() && bits(start)[..length] == bits(address)[..length]
    })
}

/// The naive reading of the rules.
fn may_be_dialled(address: IpAddr, rules: &Rules) -> bool {
    let carried = bits(address)
        .strip_prefix(&bits("64:ff9b::".parse().unwrap())[..96])
        .map(|last| IpAddr::V4(Ipv4Addr::from(u32::from_str_radix(last, 2).unwrap())));
    if let Some(carried) = carried {
        return !is_in(carried, SPECIAL);
    }
    if is_in(address, NEVER) {
        return false;
    }
    !is_in(address, SPECIAL)
        || (rules.private_networks && is_in(address, PRIVATE))
        || (rules.loopback && is_in(address, LOOPBACK))
}

struct Answer(Vec<IpAddr>);

impl Resolve for Answer {
    fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
        let addresses = self.0.iter().map(|ip| SocketAddr::new(*ip, 53)).collect();
        Box::pin(async move { Ok(addresses) })
    }
}

/// What the HTTP client gets to dial for a name with this answer.
fn dialled_for_name(rules: &Arc<Rules>, answer: &[IpAddr]) -> Option<Vec<SocketAddr>> {
    rules.read("https://hook.example.com/").ok()?;
    let lookup = Lookup {
        resolver: Arc::new(Answer(answer.to_vec())),
        rules: Some(Arc::clone(rules)),
    };
    let found = lookup.addresses("hook.example.com").now_or_never();
    found.unwrap().ok()
}

/// What the HTTP client dials for a URL with this address in it, which it does without asking.
fn dialled_for_literal(rules: &Rules, address: IpAddr) -> Option<IpAddr> {
    let host = match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    let (url, _) = rules.read(&format!("https://{host}/")).ok()?;
    match url.host().unwrap() {
        url::Host::Ipv4(address) => Some(address.into()),
        url::Host::Ipv6(address) => Some(address.into()),
        url::Host::Domain(name) => panic!("{name} is an address"),
    }
}

fn rules() -> impl Strategy<Value = Arc<Rules>> {
    (any::<bool>(), any::<bool>()).prop_map(|(private_networks, loopback)| {
        Arc::new(Rules {
            named: Vec::new(),
            plain_http: false,
            private_networks,
            loopback,
        })
    })
}

/// Anything, and often something in a range of the tables, at its ends or just outside of it.
fn address() -> impl Strategy<Value = IpAddr> {
    let ranges: Vec<&str> = [SPECIAL, NEVER].concat();
    let near =
        (prop::sample::select(ranges), any::<u128>(), 0..6_u8).prop_map(|(text, chance, place)| {
            let (start, length) = range(text);
            let (start, width) = match start {
                IpAddr::V4(start) => (u128::from(start.to_bits()), 32 - length),
                IpAddr::V6(start) => (start.to_bits(), 128 - length),
            };
            let last = if width == 128 {
                u128::MAX
            } else {
                (1 << width) - 1
            };
            let bits = match place {
                0 => start,
                1 => start | last,
                2 => start.wrapping_sub(1),
                3 => (start | last).wrapping_add(1),
                _ => start | (chance & last),
            };
            if text.contains(':') {
                IpAddr::V6(Ipv6Addr::from_bits(bits))
            } else {
                IpAddr::V4(Ipv4Addr::from_bits(bits as u32))
            }
        });
    let carried = (near.clone(), 0..5_u8).prop_map(|(address, how)| {
        let IpAddr::V4(v4) = address else {
            return address;
        };
        let [a, b, c, d] = v4.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        IpAddr::V6(match how {
            0 => v4.to_ipv6_mapped(),
            1 => Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            2 => Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            3 => Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low),
            _ => Ipv6Addr::new(0x2001, 0, high, low, 0, 0, !high, !low),
        })
    });
    let public = any::<u32>().prop_map(|bits| IpAddr::V4(Ipv4Addr::from_bits(bits)));
    let global =
        any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits((bits >> 3) | (1 << 125))));
    let any_v6 = any::<u128>().prop_map(|bits| IpAddr::V6(Ipv6Addr::from_bits(bits)));
    prop_oneof![3 => near, 2 => carried, 2 => public, 2 => global, 1 => any_v6]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_name_is_dialled_only_at_addresses_that_are_all_allowed(
        rules in rules(),
        answer in prop::collection::vec(address(), 1..5),
    ) {
        // An IPv4 address in the form of IPv6 is dialled as IPv4.
        let plain: Vec<IpAddr> = answer.iter().map(IpAddr::to_canonical).collect();
        let allowed = plain.iter().all(|address| may_be_dialled(*address, &rules));
        let expected = allowed.then(|| {
            plain.iter().map(|address| SocketAddr::new(*address, 0)).collect::<Vec<_>>()
        });
        prop_assert_eq!(dialled_for_name(&rules, &answer), expected);
    }

    #[test]
    fn an_address_in_a_url_is_dialled_only_when_it_is_allowed(
        rules in rules(),
        address in address(),
    ) {
        let expected = may_be_dialled(address, &rules).then_some(address);
        prop_assert_eq!(dialled_for_literal(&rules, address), expected);
    }
}
