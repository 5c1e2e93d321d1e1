//! What a peer is known to do otherwise.
//!
//! A line is `BINDING CHECK: TEXT`, where the binding may be `*`: that check fails, and what it
//! says contains the text. A check that fails in another way fails the run, and so does one that
//! passes: the peer has learned it, and the line has to go. Only where a line begins with
//! `sometimes`, because the peer loses a race, the check may pass, too; ` | ` stands between texts of which one has to
//! be in the error. Empty lines and lines with
//! `#` are for the reader.

use std::fs;

use llamon_agent::client::Binding;

use crate::peer::Outcome;

/// The lines of a file.
pub(crate) struct Expected {
    lines: Vec<Line>,
}

struct Line {
    binding: String,
    check: String,
    says: String,
    /// Whether the check may pass.
    sometimes: bool,
    used: bool,
}

impl Expected {
    pub(crate) fn read(file: Option<&str>) -> Result<Self, String> {
        let Some(file) = file else {
            return Ok(Self { lines: Vec::new() });
        };
        let text = fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let lines = lines.map(|line| {
            let unsteady = line.strip_prefix("sometimes ");
            let rest = unsteady.unwrap_or(line);
            let parsed = rest.split_once(": ").and_then(|(head, says)| {
                let (binding, check) = head.split_once(' ')?;
                Some(Line {
                    binding: binding.to_owned(),
                    check: check.trim().to_owned(),
                    says: says.trim().to_owned(),
                    sometimes: unsteady.is_some(),
                    used: false,
                })
            });
            parsed.ok_or_else(|| format!("{file}: {line:?} is not \"BINDING CHECK: TEXT\""))
        });
        Ok(Self {
            lines: lines.collect::<Result<_, _>>()?,
        })
    }

    /// What to print: as `Ok` where it went as it should.
    pub(crate) fn judge(
        &mut self,
        binding: &str,
        check: &str,
        outcome: Outcome,
    ) -> Result<String, String> {
        let name = format!("{binding} {check}");
        let line = self
            .lines
            .iter_mut()
            .find(|line| line.check == check && (line.binding == "*" || line.binding == binding));
        let Some(line) = line else {
            return match outcome {
                Ok(()) => Ok(format!("ok     {name}")),
                Err(error) => Err(format!("{name}: {error}")),
            };
        };
        line.used = true;
        match outcome {
            Ok(()) if line.sometimes => Ok(format!("ok     {name} (this time)")),
            Ok(()) => Err(format!(
                "{name}: passes, but the file of known differences says {:?}; take the line out",
                line.says
            )),
            Err(error) if line.says.split(" | ").any(|says| error.contains(says)) => {
                Ok(format!("known  {name}: {error}"))
            }
            Err(error) => Err(format!("{name}: {error}, and not {:?}", line.says)),
        }
    }

    /// Lines of these bindings that no check was judged by.
    pub(crate) fn unused(&self, bindings: &[Binding]) -> Vec<String> {
        let tried = |line: &Line| {
            line.binding == "*" || bindings.iter().any(|tried| tried.as_str() == line.binding)
        };
        let unused = self.lines.iter().filter(|line| !line.used && tried(line));
        unused
            .map(|line| format!("no check is called {:?} {:?}", line.binding, line.check))
            .collect()
    }
}
