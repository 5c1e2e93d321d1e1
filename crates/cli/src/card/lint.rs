//! `llamon card lint`.

use llamon_agent::a2a::{CardFinding, Severity, lint_card};
use llamon_agent::core::json::string_token;

use super::{LintArgs, source};
use crate::document::push_list;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::text::{clean_line, count};

/// Says what is wrong with a card.
pub(super) async fn run(args: &LintArgs) -> Result<Exit, CliError> {
    let card = source::card(&args.source).await?;
    let findings = lint_card(&card).map_err(|error| {
        CliError::new(Exit::Protocol, format!("the agent card {error}"))
            .with_next("correct the JSON; what follows cannot be checked before")
    })?;
    let of = |severity| findings.iter().filter(|f| f.severity == severity).count();
    let (errors, warnings) = (of(Severity::Error), of(Severity::Warning));
    let mut out = Out::default();
    if args.json {
        let findings: Vec<String> = findings.iter().map(json).collect();
        let mut json = format!("{{\"errors\":{errors},\"warnings\":{warnings},\"findings\":");
        push_list(&mut json, findings.iter().map(String::as_str));
        out.raw(&format!("{json}}}\n"))?;
    } else {
        for finding in &findings {
            let CardFinding {
                severity,
                path,
                message,
                ..
            } = finding;
            out.line(&clean_line(&format!("{severity}: {path} {message}")))?;
        }
        out.line(&format!(
            "{}, {}",
            count(errors, "error", "errors"),
            count(warnings, "warning", "warnings")
        ))?;
    }
    if errors > 0 {
        return Ok(Exit::Protocol);
    }
    Ok(Exit::Completed)
}

fn json(finding: &CardFinding) -> String {
    format!(
        "{{\"severity\":\"{}\",\"path\":{},\"message\":{}}}",
        finding.severity,
        string_token(&finding.path),
        string_token(&finding.message)
    )
}
