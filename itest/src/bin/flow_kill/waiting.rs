//! A step that waits for a person survives the death of everybody else.

use std::time::Duration;

use crate::agents::Kind;
use crate::runner::Run;
use crate::{Agent, Outcome};

/// How long a process may take to come to its next word.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a plan to its question, kills the agent while nobody runs the run, answers while the agent
/// is dead, kills the process that tries to deliver that, and goes on.
pub(crate) fn check(run: &Run<'_>) -> Outcome<()> {
    let mut agent = Agent::start(Kind::Asking, run.folder)?;
    let url = format!("http://{}", agent.address);
    let plan = format!(
        "name: question\nsteps:\n  ask: {{agent: '{url}', from: [input], \
         retry: {{attempts: 100, backoff: 50ms, max_backoff: 500ms}}}}\noutputs: [ask]\n"
    );
    std::fs::write(run.plan(), plan)?;
    let status = run.begin()?.wait()?;
    if status.code() != Some(5) {
        return Err(format!("a run that waits ended with {status}: {}", run.complaints()).into());
    }
    agent.kill();
    let mut driver = run.answer("ask", "the second one")?;
    run.wait_until(&mut driver, r#""event":"retrying""#, PATIENCE)?;
    driver.kill()?;
    let shown = run.show()?.ok_or("the run is gone")?;
    if shown["calls"][0]["state"] != "asking" {
        return Err(format!("its answer is not kept: {shown}").into());
    }
    let driver = run.resume()?;
    agent.revive(run.folder)?;
    let status = driver.wait()?;
    let said = run.said()?;
    if !status.success() || !said.contains("told: the second one") {
        return Err(format!("it ended with {status}: {said}{}", run.complaints()).into());
    }
    Ok(())
}
