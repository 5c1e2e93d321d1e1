//! Runs the scenarios and prints the table.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use crate::Outcome;
use crate::load::{Server, message, request};

const ROUNDS: usize = 5;
const CONNECTIONS: usize = 8;

struct Scenario {
    name: &'static str,
    request: Vec<u8>,
    count: usize,
    /// The ratio that must not be exceeded.
    goal: f64,
}

pub(crate) fn run() -> Outcome<()> {
    let mut out = String::new();
    writeln!(
        out,
        "| scenario | request bytes | response bytes | baseline, CPU µs | ours, CPU µs | ratio | goal |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|---|")?;
    for scenario in scenarios() {
        compare(&scenario, &mut out)?;
    }
    writeln!(out)?;
    chunks(&mut out)?;
    writeln!(out)?;
    list(&mut out)?;
    writeln!(out)?;
    crate::contracts::run(&mut out)?;
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}

/// A small message with one data part: 400 bytes.
pub(crate) fn small_message() -> Vec<u8> {
    let order = r#"{"customer":4711,"total":99.90,"items":[{"sku":"a-1","count":2},{"sku":"b-2","count":1}]}"#;
    let text = "check this order, please: it came in by mail this morning, the customer is waiting for an answer and would like it today";
    request("SendMessage", &message(text, &[order.to_owned()]))
}

fn scenarios() -> [Scenario; 3] {
    let record = |index: usize| {
        let filler = "lorem ipsum dolor sit amet, ".repeat(33);
        format!(r#"{{"index":{index},"price":12.50,"tags":["a","b"],"note":"{filler}"}}"#)
    };
    let many: Vec<String> = (0..99).map(record).collect();
    [
        Scenario {
            name: "blocking SendMessage, 400 B",
            request: small_message(),
            count: 40_000,
            goal: 2.5,
        },
        Scenario {
            name: "99 data parts (97 kB), append",
            request: request("SendMessage", &message("check", &many)),
            count: 4_000,
            goal: 1.8,
        },
        Scenario {
            name: "stream of 20 events",
            request: request("SendStreamingMessage", &message("stream", &[])),
            count: 12_000,
            goal: 1.8,
        },
    ]
}

fn compare(scenario: &Scenario, out: &mut String) -> Outcome<()> {
    let ours = Server::start("serve-ours")?;
    let baseline = Server::start("serve-baseline")?;
    let mut times = (Vec::new(), Vec::new());
    let mut ratios = Vec::new();
    let mut sizes = (0, 0);
    let warm_up = scenario.count / 10;
    ours.measure(&scenario.request, warm_up, CONNECTIONS)?;
    baseline.measure(&scenario.request, warm_up, CONNECTIONS)?;
    for _ in 0..ROUNDS {
        let (theirs, size) = baseline.measure(&scenario.request, scenario.count, CONNECTIONS)?;
        sizes.0 = size;
        let (own, size) = ours.measure(&scenario.request, scenario.count, CONNECTIONS)?;
        sizes.1 = size;
        times.0.push(micros(theirs));
        times.1.push(micros(own));
        ratios.push(own.as_secs_f64() / theirs.as_secs_f64());
    }
    let difference = sizes.0.abs_diff(sizes.1) as f64 / sizes.0 as f64;
    if difference > 0.02 {
        return Err(format!(
            "{}: responses of {sizes:?} bytes differ by more than 2%",
            scenario.name
        )
        .into());
    }
    writeln!(
        out,
        "| {} | {} | {} / {} | {:.1} | {:.1} | {:.2} | {:.1} |",
        scenario.name,
        body_size(&scenario.request),
        sizes.0,
        sizes.1,
        median(&mut times.0),
        median(&mut times.1),
        median(&mut ratios),
        scenario.goal,
    )?;
    Ok(())
}

fn body_size(request: &[u8]) -> usize {
    let head = request.windows(4).position(|bytes| bytes == b"\r\n\r\n");
    head.map_or(0, |head| request.len() - head - 4)
}

/// Chunks appended to one task: the cost of each must not grow with their number.
fn chunks(out: &mut String) -> Outcome<()> {
    let server = Server::start("serve-ours")?;
    writeln!(
        out,
        "| chunks in one task | CPU µs per chunk | ratio to 1,000 |"
    )?;
    writeln!(out, "|---|---|---|")?;
    let mut first = None;
    for count in [1_000_u32, 2_000, 4_000, 8_000] {
        let request = request("SendMessage", &message(&format!("chunks {count}"), &[]));
        server.measure(&request, 8, 2)?;
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            let (cpu, _) = server.measure(&request, 96_000 / count as usize, 2)?;
            rounds.push(micros(cpu) / f64::from(count));
        }
        let each = median(&mut rounds);
        let base = *first.get_or_insert(each);
        writeln!(out, "| {count} | {each:.3} | {:.2} |", each / base)?;
    }
    Ok(())
}

/// A page of the list over a store that is full.
fn list(out: &mut String) -> Outcome<()> {
    let server = Server::start("serve-ours")?;
    let fill = request("SendMessage", &message("fill", &[]));
    server.measure(&fill, 12_000, CONNECTIONS)?;
    writeln!(out, "| ListTasks, page of 50 of 10,000 | CPU µs | goal |")?;
    writeln!(out, "|---|---|---|")?;
    for (name, params) in [
        ("no filter", r#"{"pageSize":50}"#),
        (
            "status filter that matches all",
            r#"{"pageSize":50,"status":"TASK_STATE_COMPLETED"}"#,
        ),
        (
            "status filter that matches none",
            r#"{"pageSize":50,"status":"TASK_STATE_FAILED"}"#,
        ),
        (
            "context filter that matches none",
            r#"{"pageSize":50,"contextId":"none"}"#,
        ),
        (
            "with artifacts",
            r#"{"pageSize":50,"includeArtifacts":true}"#,
        ),
    ] {
        let request = request("ListTasks", params);
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(micros(server.measure(&request, 800, 2)?.0));
        }
        writeln!(out, "| {name} | {:.0} | 1,000 |", median(&mut rounds))?;
    }
    Ok(())
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Only the selection of inputs, for work on it.
pub(crate) fn contracts_only() -> Outcome<()> {
    let mut out = String::new();
    crate::contracts::run(&mut out)?;
    std::io::stdout().write_all(out.as_bytes())?;
    Ok(())
}
