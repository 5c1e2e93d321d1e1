//! Ids that are made, and ids that follow from others.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use uuid::{Builder, NoContext, Timestamp, Uuid};

/// An id that only depends on its parts.
pub(crate) fn derived(parts: &[&str]) -> String {
    let name = parts.join("\0");
    Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string()
}

/// A new id, a UUID of version 7: later ones of a process sort after earlier ones.
///
/// It is unique by what this process drew once and by a counter. Asking the system for chance each time
/// would take longer than all else in a super-step.
pub(crate) fn new() -> String {
    static PROCESS: LazyLock<[u8; 16]> = LazyLock::new(|| Uuid::new_v4().into_bytes());
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let (seconds, nanos) = Timestamp::now(NoContext).to_unix();
    let millis = seconds * 1000 + u64::from(nanos / 1_000_000);
    // The version takes the upper 4 bits of the first two bytes, the variant 2 of the next two.
    let mut bytes = [0; 10];
    bytes[..2].copy_from_slice(&((count >> 14) as u16 & 0x0fff).to_be_bytes());
    bytes[2..4].copy_from_slice(&(count as u16 & 0x3fff).to_be_bytes());
    bytes[4..].copy_from_slice(&PROCESS[10..]);
    Builder::from_unix_timestamp_millis(millis, &bytes)
        .into_uuid()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ids_are_uuids_of_version_7_that_differ_and_sort() {
        let ids: Vec<String> = (0..20_000).map(|_| new()).collect();
        assert!(ids.is_sorted_by(|earlier, later| earlier < later));
        let first: Uuid = ids[0].parse().unwrap();
        assert_eq!(first.get_version_num(), 7);
        assert_eq!(first.get_variant(), uuid::Variant::RFC4122);
    }
}
