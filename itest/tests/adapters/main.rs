//! The runtime adapters that the server comes with.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise; clippy takes helpers of tests for no tests"
)]

mod a2a;
mod process;
mod proxy;

/// Parts whose tokens every other way would change.
const ODD: [&str; 4] = [
    r#"{"data":{"n":1e400,"n":1.0,"big":12345678901234567890123,"s":"\ud800\u00e9"},"x-own":true}"#,
    r#"{"data":null}"#,
    r#"{"raw":"b3du","filename":"own.txt","mediaType":"text/plain"}"#,
    r#"{"url":"https://example.com/up","metadata":{"k":1.0}}"#,
];
