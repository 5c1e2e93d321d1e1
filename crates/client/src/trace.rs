//! W3C trace context: the trace that work belongs to, carried from callers to the agents that are
//! called.
//!
//! A server takes the context from each request (`traceparent`, `tracestate`) and runs the turn
//! [`within`] it; a [`Client`](crate::Client) that is used there sends it on. So one trace joins
//! all agents of a chain, also where an agent on the way records nothing of its own.
//!
//! With feature `otel`, work that runs in a span of `tracing` whose subscriber has the layer of
//! `tracing-opentelemetry` is recorded: turns, calls and runs are spans of the caller's trace, and
//! what is sent on names the span that sends it.
//!
//! ```
//! use llamon_client::trace::{TraceContext, within};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() {
//! let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
//! let context = TraceContext::parse(parent, None).expect("it is well-formed");
//! assert_eq!(context.trace_id(), "0af7651916cd43dd8448eb211c80319c");
//!
//! let inside = within(Some(context), tracing::Span::none(), async {
//!     TraceContext::current().map(|current| current.traceparent().to_owned())
//! });
//! assert_eq!(inside.await.as_deref(), Some(parent));
//! # }
//! ```

use std::fmt;
use std::future::Future;

use futures_util::future::Either;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tracing::{Instrument as _, Span};

/// The header of the trace and the span that called.
pub const TRACEPARENT_HEADER: &str = "traceparent";
/// The header of what tracing systems add.
pub const TRACESTATE_HEADER: &str = "tracestate";

/// The longest `tracestate` that is carried; a longer one is left out, as the recommendation
/// allows.
const MAX_STATE_BYTES: usize = 512;

tokio::task_local! {
    static CURRENT: TraceContext;
}

/// Which trace a piece of work belongs to, and the span that asked for it.
#[derive(Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// Well-formed, of version 00.
    parent: Box<str>,
    state: Option<Box<str>>,
}

impl TraceContext {
    /// Reads the values of the two headers (W3C Trace Context, sections 3.2 and 3.3). `None` where
    /// the parent is not well-formed, as the recommendation asks: a new trace then begins. A
    /// parent of a later version is carried as one of version 00; a state that is not text or
    /// longer than 512 bytes is left out.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let (version, rest) = traceparent.trim().split_once('-')?;
        let fields = rest.get(..TRACE_AND_SPAN_AND_FLAGS)?;
        let more = &rest[TRACE_AND_SPAN_AND_FLAGS..];
        let (trace, span) = (fields.get(..32)?, fields.get(33..49)?);
        let flags = fields.get(50..)?;
        let dashes = (fields.get(32..33)?, fields.get(49..50)?);
        let well_formed = is_hex(version)
            && version.len() == 2
            && version != "ff"
            && (more.is_empty() || (version != "00" && more.starts_with('-')))
            && dashes == ("-", "-")
            && [trace, span, flags].iter().all(|field| is_hex(field))
            && [trace, span].iter().all(|id| !is_zero(id));
        let state = tracestate.map(str::trim).filter(|state| {
            let is_text = state.bytes().all(|byte| matches!(byte, b' '..=b'~'));
            !state.is_empty() && state.len() <= MAX_STATE_BYTES && is_text
        });
        well_formed.then(|| Self {
            parent: format!("00-{fields}").into(),
            state: state.map(Into::into),
        })
    }

    /// The context of work that nobody's trace belongs to, made from a name: the same name is the
    /// same trace, whichever process goes on with the work. It says that the trace is recorded.
    pub fn of_name(name: &str) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, name.as_bytes());
        let hex = |bytes: &[u8]| -> String { bytes.iter().map(|b| format!("{b:02x}")).collect() };
        let bytes = digest.as_ref();
        let (trace, span) = (hex(&bytes[..16]), hex(&bytes[16..24]));
        Self {
            parent: format!("00-{trace}-{span}-01").into(),
            state: None,
        }
    }

    /// The context that the present task of the runtime works in: with feature `otel` that of its
    /// span, otherwise that of the nearest [`within`]. A task that was spawned there has none of
    /// its own: hand the context on, or wrap it in [`within`], too.
    pub fn current() -> Option<Self> {
        #[cfg(feature = "otel")]
        if let Some(recorded) = otel::of(&Span::current()) {
            return Some(recorded);
        }
        CURRENT.try_with(Clone::clone).ok()
    }

    /// The trace: 32 hexadecimal digits.
    pub fn trace_id(&self) -> &str {
        &self.parent[3..35]
    }

    /// The value of `traceparent`.
    pub fn traceparent(&self) -> &str {
        &self.parent
    }

    /// The value of `tracestate`.
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// Sets the headers of a request.
    pub(crate) fn put(&self, headers: &mut HeaderMap) {
        let mut put = |name, value: &str| {
            // What was parsed is visible ASCII.
            if let Ok(value) = HeaderValue::try_from(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        };
        put(TRACEPARENT_HEADER, &self.parent);
        if let Some(state) = &self.state {
            put(TRACESTATE_HEADER, state);
        }
    }
}

impl fmt::Debug for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.parent)
    }
}

/// Runs a future in a span, as a piece of work of this trace. Without a context it works in the
/// one that is current where it is polled.
///
/// Cancel-safe where the future is.
pub fn within<F: Future>(
    context: Option<TraceContext>,
    span: Span,
    future: F,
) -> impl Future<Output = F::Output> {
    #[cfg(feature = "otel")]
    if let Some(context) = &context {
        otel::set_parent(&span, context);
    }
    let future = future.instrument(span);
    match context {
        Some(context) => Either::Left(CURRENT.scope(context, future)),
        None => Either::Right(future),
    }
}

/// The length of what follows the version.
const TRACE_AND_SPAN_AND_FLAGS: usize = 32 + 1 + 16 + 1 + 2;

fn is_hex(text: &str) -> bool {
    text.bytes()
        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_zero(id: &str) -> bool {
    id.bytes().all(|byte| byte == b'0')
}

#[cfg(feature = "otel")]
mod otel {
    use opentelemetry::Context;
    use opentelemetry::trace::{
        SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState,
    };
    use tracing::Span;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    use super::TraceContext;

    /// The context of a span that is recorded or was given one.
    pub(super) fn of(span: &Span) -> Option<TraceContext> {
        let context = span.context();
        let span = context.span();
        let span = span.span_context();
        if !span.is_valid() {
            return None;
        }
        let parent = format!(
            "00-{}-{}-{:02x}",
            span.trace_id(),
            span.span_id(),
            span.trace_flags().to_u8()
        );
        TraceContext::parse(&parent, Some(&span.trace_state().header()))
    }

    pub(super) fn set_parent(span: &Span, context: &TraceContext) {
        let text = &context.parent;
        let (Ok(trace), Ok(id), Ok(flags)) = (
            TraceId::from_hex(&text[3..35]),
            SpanId::from_hex(&text[36..52]),
            u8::from_str_radix(&text[53..55], 16),
        ) else {
            return;
        };
        let state = context.tracestate().unwrap_or_default();
        let state = state.parse::<TraceState>().unwrap_or_default();
        let remote = SpanContext::new(trace, id, TraceFlags::new(flags), true, state);
        // A span that nobody records has no parent.
        let _ = span.set_parent(Context::new().with_remote_span_context(remote));
    }
}

#[cfg(test)]
mod tests {
    use super::TraceContext;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn a_parent_is_read_as_the_recommendation_says() {
        let fields = format!("{TRACE}-b7ad6b7169203331-01");
        let zeros = "0".repeat(32);
        for (text, expected) in [
            (format!("00-{fields}"), true),
            (format!(" 00-{fields}\t"), true),
            // A later version may have more, and is carried as 00.
            (format!("cc-{fields}"), true),
            (format!("cc-{fields}-what-else"), true),
            (format!("cc-{fields}what"), false),
            (format!("00-{fields}-more"), false),
            (format!("ff-{fields}"), false),
            (format!("0-{fields}"), false),
            (format!("00-{}", fields.to_uppercase()), false),
            (format!("00-{zeros}-b7ad6b7169203331-01"), false),
            (format!("00-{TRACE}-0000000000000000-01"), false),
            (format!("00-{TRACE}_b7ad6b7169203331-01"), false),
            (format!("00-{TRACE}-b7ad6b7169203331-0"), false),
            (format!("00-{TRACE}-b7ad6b716920333-001"), false),
            (format!("00-{}é-b7ad6b7169203331-01", &TRACE[..30]), false),
            ("00".to_owned(), false),
            (String::new(), false),
        ] {
            let read = TraceContext::parse(&text, None);
            let carried = read.as_ref().map(TraceContext::traceparent);
            let whole = format!("00-{fields}");
            assert_eq!(carried, expected.then_some(whole.as_str()), "{text:?}");
        }
    }

    #[test]
    fn a_state_that_cannot_be_carried_is_left_out() {
        let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
        let (fits, long) = ("x".repeat(512), "x".repeat(513));
        for (state, expected) in [
            (None, None),
            (Some(""), None),
            (Some(" a=1,b=2 "), Some("a=1,b=2")),
            (Some("a=1\nb=2"), None),
            (Some("a=é"), None),
            (Some(&*fits), Some(&*fits)),
            (Some(&*long), None),
        ] {
            let read = TraceContext::parse(&parent, state).unwrap();
            assert_eq!(read.tracestate(), expected, "{state:?}");
        }
    }

    #[test]
    fn a_name_is_always_the_same_trace() {
        let context = TraceContext::of_name("run 7");
        let again = TraceContext::parse(context.traceparent(), None);
        assert_eq!(again.as_ref(), Some(&context));
        assert_eq!(TraceContext::of_name("run 7"), context);
        assert_ne!(TraceContext::of_name("run 8"), context);
    }
}
