//! A program that speaks the line protocol of `ProcessAdapter`; what it does is in the query.

#![expect(
    clippy::print_stderr,
    reason = "standard error is where it speaks to people"
)]

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::value::RawValue;

type Request<'a> = BTreeMap<String, &'a RawValue>;

fn main() -> io::Result<ExitCode> {
    let mut out = io::stdout();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let request: Request<'_> = serde_json::from_str(&line)?;
        let raw = |name: &str| request.get(name).map_or("null", |value| value.get());
        let query: String = serde_json::from_str(raw("query"))?;
        let id = raw("id");
        let mut say = |what: &str| {
            writeln!(out, r#"{{"id":{id},{what}}}"#)?;
            out.flush()
        };
        let (command, rest) = query.split_once(' ').unwrap_or((&query, ""));
        match command {
            "echo" => {
                let upstream = raw("upstream");
                let own = r#"{"text":"echoed"}"#;
                let list = upstream.trim_start_matches('[');
                let comma = if list == "]" { "" } else { "," };
                say(&format!(r#""done":[{own}{comma}{list}"#))?;
            }
            "line" => say(&format!(r#""done":{{"data":{line}}}"#))?,
            "replace" => {
                say(r#""status":"drafting""#)?;
                say(r#""emit":"a draft""#)?;
                say(r#""emit":[{"text":" more"},{"data":"draft"}]"#)?;
                say(r#""done":[{"text":"final"},{"data":1.0}]"#)?;
            }
            "keep" => {
                say(r#""emit":{"text":"one "}"#)?;
                say(r#""emit":[{"text":"two"},{"data":1e400}]"#)?;
                say(r#""keep":true"#)?;
            }
            "empty" => {
                say(r#""emit":"a draft""#)?;
                say(r#""done":[]"#)?;
            }
            "ask" if raw("turn") == "1" => {
                say(r#""ask":[{"text":"which?"},{"data":{"choices":[1,2]}}]"#)?;
            }
            "ask" | "two" => say(&format!(r#""done":{{"data":{}}}"#, raw("history")))?,
            "error" => say(r#""error":"there is no such file""#)?,
            "pid" => say(&format!(r#""done":"{}""#, std::process::id()))?,
            "hang" => {
                say(&format!(r#""emit":"{}""#, std::process::id()))?;
                loop {
                    std::thread::park();
                }
            }
            "meet" => {
                // Says that it is there and waits for the others.
                let folder = Path::new(rest);
                std::fs::write(folder.join(std::process::id().to_string()), "")?;
                while std::fs::read_dir(folder)?.count() < 3 {
                    std::thread::sleep(Duration::from_millis(5));
                }
                say(r#""done":"met""#)?;
            }
            "crash" => {
                say(r#""emit":"so far""#)?;
                for number in 1..=30 {
                    eprintln!("\u{1b}[31mline {number}");
                }
                eprint!("the last words, {}", "x".repeat(10_000));
                return Ok(ExitCode::from(3));
            }
            "leave" => return Ok(ExitCode::SUCCESS),
            "answer-and-leave" => {
                write!(out, r#"{{"id":{id},"done":"bye"}}"#)?;
                out.flush()?;
                return Ok(ExitCode::SUCCESS);
            }
            "garbage" => {
                writeln!(out, "Traceback (most recent call last):")?;
                out.flush()?;
            }
            "not-utf-8" => {
                out.write_all(b"{\"id\":\"\xff\"}\n")?;
                out.flush()?;
            }
            "other-id" => writeln!(out, r#"{{"id":"x","done":"for whom?"}}"#)?,
            "late" => {
                say(r#""done":"done""#)?;
                say(r#""emit":"one thing more""#)?;
            }
            "long" => say(&format!(r#""done":"{}""#, "x".repeat(10_000)))?,
            other => say(&format!(r#""error":"no {other}""#))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}
