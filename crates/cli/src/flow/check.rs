use std::path::{Path, PathBuf};
use std::time::Duration;

use llamon_agent::core::json::push_string;
use llamon_agent::flow::check::{Cards, Growth, check};
use llamon_agent::flow::{Finding, Plan, PlanError, Severity};

use super::AgentsAt;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::text::{clean_line, count};

const HELP: &str = "\
Examples:
  llamon flow check plan.yaml
  llamon flow check plan.yaml --offline
  llamon flow check plan.yaml --json | jq '.findings[] | select(.severity == \"error\")'

Agents' cards are fetched, or read from the files that the plan names with --offline.
Exit codes: 0 no error, 2 usage, or the plan has an error, 3 the only errors are
agents that do not answer.";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct CheckArgs {
    /// The plan: a YAML or JSON document
    pub(super) plan: PathBuf,

    /// Ask nobody: read the cards that the plan's agents have saved (`card: FILE`)
    #[arg(long)]
    offline: bool,

    /// How long to wait for each agent, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    timeout: u64,

    #[command(flatten)]
    pub(super) at: AgentsAt,

    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Prints what is wrong with the plan, one finding a line.
pub(super) async fn run(args: CheckArgs, plan: Result<Plan, PlanError>) -> Result<Exit, CliError> {
    let (findings, growth) = match &plan {
        Err(error) => (error.findings().to_vec(), Vec::new()),
        Ok(plan) => {
            let cards = if args.offline {
                let folder = args.plan.parent().unwrap_or(Path::new("."));
                Cards::saved(plan, folder)
            } else {
                Cards::fetch(plan, Duration::from_secs(args.timeout)).await
            };
            let report = check(plan, &cards);
            (report.findings().to_vec(), report.growth().to_vec())
        }
    };
    let mut out = Out::default();
    if args.json {
        out.raw(&json(&findings, &growth))?;
    } else {
        for finding in &findings {
            // Names and reasons come from elsewhere.
            let line = clean_line(&format!(
                "{}:{}{finding}",
                args.plan.display(),
                gap(finding)
            ));
            out.line(&line)?;
        }
        out.line(&summary(plan.as_ref().ok(), &findings, &growth))?;
    }
    conclude(&findings)
}

fn gap(finding: &Finding) -> &'static str {
    if finding.place().is_some() { "" } else { " " }
}

fn summary(plan: Option<&Plan>, findings: &[Finding], growth: &[Growth]) -> String {
    let of = |severity| {
        findings
            .iter()
            .filter(|finding| finding.severity() == severity)
            .count()
    };
    let mut lines = Vec::new();
    for growth in growth {
        // Of a chain of one there is nothing to say.
        if growth.parts > 2 {
            lines.push(format!(
                "if every agent appends one part, {} answers with {} parts of {} producers (input included), {} of them of {}",
                growth.step, growth.parts, growth.producers, growth.copies, growth.most
            ));
        }
    }
    let steps = plan.map_or_else(String::new, |plan| {
        format!("{}: ", count(plan.steps().len(), "step", "steps"))
    });
    let errors = count(of(Severity::Error), "error", "errors");
    let warnings = count(of(Severity::Warning), "warning", "warnings");
    lines.push(format!("{steps}{errors}, {warnings}"));
    clean_lines(&lines)
}

fn clean_lines(lines: &[String]) -> String {
    let lines: Vec<String> = lines.iter().map(|line| clean_line(line)).collect();
    lines.join("\n")
}

fn conclude(findings: &[Finding]) -> Result<Exit, CliError> {
    let mut errors = findings
        .iter()
        .filter(|finding| finding.severity() == Severity::Error)
        .peekable();
    if errors.peek().is_none() {
        return Ok(Exit::Completed);
    }
    if errors.all(|finding| finding.kind() == "no-answer") {
        let error = CliError::new(Exit::Connect, "agents of the plan do not answer");
        return Err(
            error.with_next("start them, or check without them: llamon flow check --offline")
        );
    }
    Err(CliError::usage("the plan has errors").with_next("correct what is listed above"))
}

fn json(findings: &[Finding], growth: &[Growth]) -> String {
    let mut json = String::from("{\"findings\":[");
    for (index, finding) in findings.iter().enumerate() {
        json.push_str(if index > 0 { ",{" } else { "{" });
        let texts = [
            ("severity", Some(finding.severity().as_str())),
            ("kind", Some(finding.kind())),
            ("step", finding.step()),
            ("message", Some(finding.message())),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                push_string(&mut json, name);
                json.push(':');
                push_string(&mut json, text);
                json.push(',');
            }
        }
        match finding.place() {
            Some(place) => json.push_str(&format!(
                "\"line\":{},\"column\":{}}}",
                place.line, place.column
            )),
            None => json.push_str("\"line\":null,\"column\":null}"),
        }
    }
    json.push_str("],\"growth\":[");
    for (index, growth) in growth.iter().enumerate() {
        json.push_str(if index > 0 {
            ",{\"step\":"
        } else {
            "{\"step\":"
        });
        push_string(&mut json, &growth.step);
        // As texts: more than programs have exact numbers for.
        json.push_str(&format!(
            ",\"parts\":\"{}\",\"producers\":{},\"most\":",
            growth.parts, growth.producers
        ));
        push_string(&mut json, &growth.most);
        json.push_str(&format!(",\"copies\":\"{}\"}}", growth.copies));
    }
    json.push_str("]}\n");
    json
}
