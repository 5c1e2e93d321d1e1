//! What agents did, in a file that no kill can take back, and what may be in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::Outcome;
use crate::agents::Kind;
use crate::figures::Figures;
use crate::plan::contexts;

/// A turn that an agent has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) kind: Kind,
    pub(crate) context: String,
    pub(crate) message: String,
    /// `-` where the agent has no tasks.
    pub(crate) task: String,
    /// Which one of the agent's own attempts at the turn.
    pub(crate) attempt: u32,
}

/// Writes the effect; it is on the disk when this returns.
pub(crate) fn append(folder: &Path, effect: &Effect) -> std::io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.join("effects"))?;
    let line = format!(
        "{}\t{}\t{}\t{}\t{}\n",
        effect.kind.as_str(),
        effect.context,
        effect.message,
        effect.task,
        effect.attempt
    );
    // One write, so that lines of two agents do not mix.
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

/// The effects of a run, by contextId.
fn of_run(folder: &Path, run: &str) -> Outcome<BTreeMap<String, Vec<Effect>>> {
    let mut effects: BTreeMap<String, Vec<Effect>> = BTreeMap::new();
    for line in std::fs::read_to_string(folder.join("effects"))?.lines() {
        let mut fields = line.split('\t').map(str::to_owned);
        let mut field = || {
            fields
                .next()
                .ok_or_else(|| format!("{line:?} is no effect"))
        };
        let effect = Effect {
            kind: Kind::parse(&field()?).ok_or("an effect of an unknown agent")?,
            context: field()?,
            message: field()?,
            task: field()?,
            attempt: field()?.parse()?,
        };
        if effect.context.split('/').next() == Some(run) {
            effects
                .entry(effect.context.clone())
                .or_default()
                .push(effect);
        }
    }
    Ok(effects)
}

/// Checks that the run did everything that it had to, and that nothing was done twice but where
/// the promise allows it. `shown` is the run as `llamon flow show --json` gives it, `died` the
/// agents that were killed meanwhile.
pub(crate) fn check(
    folder: &Path,
    run: &str,
    shown: &Value,
    died: &[Kind],
    figures: &mut Figures,
) -> Outcome<()> {
    let effects = of_run(folder, run)?;
    let reported = reported(shown)?;
    let expected: BTreeSet<String> = contexts(run).into_iter().collect();
    let done: BTreeSet<String> = effects.keys().cloned().collect();
    if done != expected {
        let missing: Vec<_> = expected.difference(&done).collect();
        let unknown: Vec<_> = done.difference(&expected).collect();
        return Err(format!(
            "effects that are missing: {missing:?}; that nobody expects: {unknown:?}"
        )
        .into());
    }
    if reported.keys().cloned().collect::<BTreeSet<_>>() != expected {
        return Err(format!("the run reports other calls: {reported:?}").into());
    }
    for (context, effects) in &effects {
        let reported = reported.get(context).copied().unwrap_or_default();
        figures.calls += 1;
        figures.effects += effects.len();
        figures.reported += reported;
        let allowed = check_call(effects, reported, died, figures);
        allowed.map_err(|wrong| {
            format!("{wrong}, reported as repeated {reported} times: {effects:#?}")
        })?;
    }
    Ok(())
}

fn check_call(
    effects: &[Effect],
    reported: usize,
    died: &[Kind],
    figures: &mut Figures,
) -> Result<(), &'static str> {
    let Some(first) = effects.first() else {
        return Err("no effect");
    };
    let repeats = effects.len() - 1;
    if !first.kind.has_tasks() {
        figures.resent += repeats;
        return if repeats > reported {
            Err("sent twice and not reported")
        } else {
            Ok(())
        };
    }
    if reported > 0 {
        return Err("an agent that lists its tasks is said to have had a message twice");
    }
    if effects.iter().any(|effect| effect.message != first.message) {
        return Err("an agent that lists its tasks was sent another message for the same call");
    }
    if effects.iter().any(|effect| effect.task != first.task) {
        if first.kind == Kind::Polled {
            return Err("sent twice to an agent that knows its messages");
        }
        // It was on its way for longer than the next runner waits for it.
        figures.late += repeats;
        return Ok(());
    }
    let attempts: BTreeSet<u32> = effects.iter().map(|effect| effect.attempt).collect();
    if attempts.len() != effects.len() {
        return Err("one attempt of the agent has had its effect twice");
    }
    if repeats > 0 && !died.contains(&first.kind) {
        return Err("an agent that has not died has worked twice");
    }
    figures.redone += repeats;
    Ok(())
}

/// How often the run says that each call may have been repeated, by contextId.
fn reported(shown: &Value) -> Outcome<BTreeMap<String, usize>> {
    let run = shown["run"].as_str().ok_or("a run without an id")?;
    let mut reported = BTreeMap::new();
    for call in shown["calls"].as_array().ok_or("a run without calls")? {
        let name = call["call"].as_str().ok_or("a call without a name")?;
        let context = format!("{run}/{name}");
        if let Some(told) = call["context"].as_str()
            && told != context
        {
            return Err(format!("the context of {name} is {told}, not {context}").into());
        }
        if call["state"] != "completed" {
            return Err(format!("the call {name} is {}", call["state"]).into());
        }
        let repeated = call["possiblyRepeated"].as_u64().unwrap_or_default();
        reported.insert(context, usize::try_from(repeated)?);
    }
    Ok(reported)
}
