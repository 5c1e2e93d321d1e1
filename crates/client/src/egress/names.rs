//! Names of hosts that are not the internet's, whatever they resolve to.

use super::special::Reach;

const LOOPBACK: &[&str] = &[
    "localhost",
    "localhost.localdomain",
    "localhost6",
    "localhost6.localdomain6",
    "ip6-localhost",
    "ip6-loopback",
];

/// What only a machine in that cloud may ask.
const METADATA: &[&str] = &[
    "instance-data",
    "instance-data.ec2.internal",
    "metadata",
    "metadata.azure.internal",
    "metadata.goog",
    "metadata.google.internal",
    "metadata.packet.net",
    "metadata.platformequinix.com",
    "metadata.tencentyun.com",
    "rancher-metadata",
];

/// The ends of names that networks use among themselves.
const PRIVATE: &[&str] = &[
    "corp",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "lan",
    "local",
    "localdomain",
    "private",
];

/// Where a host of this name is, as far as the name tells, and what the name is called.
pub(super) fn reach(name: &str) -> (Reach, &'static str) {
    // A dot at the end says only that the name is complete.
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    if name.len() > 253
        || name
            .split('.')
            .any(|label| label.is_empty() || label.len() > 63)
    {
        return (Reach::Forbidden, "no name of a host");
    }
    if METADATA.iter().any(|metadata| is_in(&name, metadata)) {
        return (Reach::Forbidden, "a metadata service");
    }
    if LOOPBACK.contains(&name.as_str()) || is_in(&name, "localhost") {
        return (Reach::Loopback, "this machine's name");
    }
    if !name.contains('.') {
        return (Reach::Private, "a name without a domain");
    }
    if PRIVATE.iter().any(|end| is_in(&name, end)) {
        return (Reach::Private, "a private network's name");
    }
    (Reach::Public, "a public name")
}

/// Whether `name` is `domain` or under it.
fn is_in(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain)
        .is_some_and(|before| before.is_empty() || before.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::{Reach, reach};

    #[test]
    fn a_name_is_judged_with_its_case_and_last_dot_taken_off() {
        let label = |letters: usize| format!("{}.example.com", "a".repeat(letters));
        let name = |letters: usize| format!("{}{}", "a.".repeat((letters - 3) / 2), "com");
        let (label_63, label_64) = (label(63), label(64));
        let (name_253, name_255) = (name(253), name(255));
        let cases = [
            ("example.com", Reach::Public),
            ("localhost.example.com", Reach::Public),
            ("notlocalhost.com", Reach::Public),
            ("internal.example.com", Reach::Public),
            ("LOCALHOST.", Reach::Loopback),
            ("a.b.localhost", Reach::Loopback),
            ("ip6-loopback", Reach::Loopback),
            ("printer.local", Reach::Private),
            ("db.internal.", Reach::Private),
            ("intranet", Reach::Private),
            ("mylocalhost", Reach::Private),
            ("Metadata.Google.Internal", Reach::Forbidden),
            ("x.metadata.google.internal", Reach::Forbidden),
            ("metadata.google.internal.", Reach::Forbidden),
            ("example.com..", Reach::Forbidden),
            ("a..example.com", Reach::Forbidden),
            (".example.com", Reach::Forbidden),
            ("", Reach::Forbidden),
            (&label_63, Reach::Public),
            (&label_64, Reach::Forbidden),
            (&name_253, Reach::Public),
            (&name_255, Reach::Forbidden),
        ];
        for (name, expected) in cases {
            assert_eq!(reach(name).0, expected, "{name}");
        }
    }
}
