//! What OpenTelemetry records where a subscriber has its layer. A test file of its own: with threads
//! beside it that have no subscriber, `tracing` may take spans for ones that nobody wants.

#![expect(
    clippy::unwrap_used,
    reason = "a test may stop at the first surprise; clippy takes helpers of tests for no tests"
)]

#[path = "../traces/support.rs"]
mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use llamon_agent::client::Client;
use llamon_agent::core::Payload;
use llamon_agent::flow::run::{Runner, Stand, trace_of};
use llamon_agent::flow::store::RunStore;
use opentelemetry::Value;
use opentelemetry::trace::{SpanId, TracerProvider as _};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::layer::SubscriberExt as _;

use support::{plan, relay, witness};

/// Spans that have ended.
#[derive(Clone, Debug, Default)]
struct Ended(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Ended {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().unwrap().extend(batch);
        Ok(())
    }
}

impl Ended {
    fn all(&self) -> Vec<SpanData> {
        self.0.lock().unwrap().clone()
    }
}

/// The names from a span up to the first that is not recorded.
fn path(spans: &[SpanData], of: &SpanData) -> String {
    let mut path = of.name.to_string();
    let mut parent = of.parent_span_id;
    while parent != SpanId::INVALID {
        let Some(above) = spans
            .iter()
            .find(|span| span.span_context.span_id() == parent)
        else {
            break;
        };
        path = format!("{}/{path}", above.name);
        parent = above.parent_span_id;
    }
    path
}

fn number(span: &SpanData, name: &str) -> Option<i64> {
    let mut attributes = span.attributes.iter();
    let found = attributes.find(|attribute| attribute.key.as_str() == name)?;
    match found.value {
        Value::I64(number) => Some(number),
        _ => None,
    }
}

// One thread, so that what the test sets as subscriber is that of the servers and the runner.
#[tokio::test(flavor = "current_thread")]
async fn one_trace_shows_a_whole_run() {
    let ended = Ended::default();
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(ended.clone())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let subscriber = tracing_subscriber::registry().with(layer);
    let _subscriber = tracing::subscriber::set_default(subscriber);

    let last = witness("last").await;
    let behind = Client::discover(last.url()).await.unwrap();
    let between = relay("between", behind).await;
    let diamond = plan(&format!(
        "steps:
  a: {{agent: '{last}', from: [input]}}
  b: {{agent: '{between}', from: [a]}}
  c: {{agent: '{last}', from: [a, a]}}
outputs: [b, c]
",
        last = last.url(),
        between = between.url()
    ));
    let runner = Runner::new(RunStore::in_memory().unwrap());
    let input = Payload::new().with_text("go");
    let run = runner.begin(&diamond, input).await.unwrap();
    let stand = runner.drive(&run, &(), &CancellationToken::new()).await;
    assert!(matches!(stand.unwrap(), Stand::Ended { .. }));
    // The last turn may have answered a moment before its span ends.
    between.stop().await.unwrap();
    last.stop().await.unwrap();

    let spans = ended.all();
    let trace = trace_of(&run);
    let of_run: Vec<SpanData> = (spans.iter())
        .filter(|span| span.span_context.trace_id().to_string() == trace.trace_id())
        .cloned()
        .collect();
    let paths: BTreeSet<String> = of_run.iter().map(|span| path(&of_run, span)).collect();
    let expected = [
        "run",
        "run/a",
        "run/a/SendStreamingMessage",
        "run/a/SendStreamingMessage/turn",
        "run/b",
        "run/b/SendStreamingMessage",
        "run/b/SendStreamingMessage/turn",
        "run/b/SendStreamingMessage/turn/SendMessage",
        "run/b/SendStreamingMessage/turn/SendMessage/turn",
        "run/c",
        "run/c/SendStreamingMessage",
        "run/c/SendStreamingMessage/turn",
    ];
    assert_eq!(paths, expected.map(ToOwned::to_owned).into());
    let turns = spans.iter().filter(|span| span.name == "turn").count();
    assert_eq!(turns, 4, "no turn is in another trace");

    // What arrived twice at a step is in its span.
    let step = of_run.iter().find(|span| span.name == "c").unwrap();
    assert_eq!(number(step, "received"), Some(4), "{:?}", step.attributes);
    assert_eq!(number(step, "duplicates"), Some(1), "{:?}", step.attributes);
    assert!(number(step, "duplicate_bytes").unwrap() > 0);
}
