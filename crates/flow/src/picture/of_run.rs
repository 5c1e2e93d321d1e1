use super::{BEFORE_STEPS, Picture, Traffic};
use crate::plan::{Plan, Source};
use crate::run::{RunError, answers};
use crate::store::{StepState, StoredCall, StoredRun};

impl Picture {
    /// The plan with what its run has sent so far: on each edge the parts and their bytes, with
    /// those that had arrived before marked, and at each step what became of it. What was sent is
    /// found from the answers again, in the way it was found for the agents.
    ///
    /// # Errors
    /// When the stored plan cannot be read.
    pub fn of_run(run: &StoredRun) -> Result<Self, RunError> {
        let (plan, answers) = answers(run)?;
        let mut picture = Self::of_plan(&plan);
        for step in &run.steps {
            if let Some(at) = plan.step_index(&step.step) {
                let calls = run.calls.iter().filter(|call| call.id.step == step.step);
                picture.note(at, &became(step.state, calls));
            }
        }
        let mut items: Option<(usize, Vec<crate::data::Item>)> = None;
        for call in &run.calls {
            let Some(at) = plan.step_index(&call.id.step) else {
                continue;
            };
            // The calls of a step stand together.
            if call.id.item.is_some() && items.as_ref().is_none_or(|(of, _)| *of != at) {
                items = plan.items(at, &answers).ok().map(|items| (at, items));
            }
            let item = match (call.id.item, &items) {
                (Some(_), Some((_, items))) => items.get(call.id.index()),
                _ => None,
            };
            // A call whose message could not be made was not sent.
            if let Ok(message) = plan.message(at, &answers, item) {
                picture = picture.with_message(at, &message);
            }
        }
        for at in plan.outputs() {
            let (from, traffic) = (Source::Step(*at), answered(&plan, *at, run));
            picture = picture.with_traffic(from, None, traffic);
        }
        Ok(picture)
    }

    /// One more line at a step.
    fn note(&mut self, step: usize, line: &str) {
        if let Some(node) = self.nodes.get_mut(step + BEFORE_STEPS) {
            node.label.push(line.to_owned());
        }
    }
}

/// What a step has become, and how many of its calls may have been sent twice.
fn became<'c>(state: StepState, calls: impl Iterator<Item = &'c StoredCall>) -> String {
    let (mut open, mut repeated) = (0, 0);
    for call in calls {
        open += u32::from(call.question.is_some());
        repeated += call.possibly_repeated;
    }
    let mut line = if open > 0 { "asks" } else { state.as_str() }.to_owned();
    if repeated > 0 {
        line.push_str(&format!(", {repeated} possibly sent twice"));
    }
    line
}

fn answered(plan: &Plan, step: usize, run: &StoredRun) -> Traffic {
    let name = plan.steps().get(step).map_or("", |step| step.name());
    let calls = run.calls.iter().filter(|call| call.id.step == name);
    let mut traffic = Traffic::default();
    for part in calls.flat_map(|call| &call.parts) {
        traffic.parts += 1;
        traffic.bytes += part.json().len();
    }
    traffic
}
