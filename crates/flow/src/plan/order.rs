use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::PlannedStep;

/// All steps, each after those that it needs, otherwise in the order of the document; or a cycle,
/// each step needing the one after it and the last one the first.
pub(super) fn order(steps: &[PlannedStep]) -> Result<Vec<usize>, Vec<usize>> {
    let mut waiting: Vec<usize> = steps.iter().map(|step| step.needs.len()).collect();
    let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    for (at, step) in steps.iter().enumerate() {
        for need in &step.needs {
            if let Some(list) = needed_by.get_mut(*need) {
                list.push(at);
            }
        }
    }
    let begin = waiting.iter().enumerate().filter(|(_, count)| **count == 0);
    let mut ready: BinaryHeap<Reverse<usize>> = begin.map(|(at, _)| Reverse(at)).collect();
    let mut order = Vec::with_capacity(steps.len());
    while let Some(Reverse(at)) = ready.pop() {
        order.push(at);
        for next in needed_by.get(at).into_iter().flatten() {
            if let Some(count) = waiting.get_mut(*next) {
                *count -= 1;
                if *count == 0 {
                    ready.push(Reverse(*next));
                }
            }
        }
    }
    if order.len() == steps.len() {
        return Ok(order);
    }
    Err(cycle(steps, &waiting))
}

/// A cycle among the steps that still wait: each of them needs another one of them.
fn cycle(steps: &[PlannedStep], waiting: &[usize]) -> Vec<usize> {
    let is_waiting = |at: &usize| waiting.get(*at).is_some_and(|count| *count > 0);
    let Some(mut at) = (0..steps.len()).find(is_waiting) else {
        return Vec::new();
    };
    let mut seen = vec![None; steps.len()];
    let mut path = Vec::new();
    loop {
        match seen.get_mut(at) {
            Some(Some(first)) => return path.split_off(*first),
            Some(slot) => *slot = Some(path.len()),
            None => return Vec::new(),
        }
        path.push(at);
        let needs = steps.get(at).map(|step| &*step.needs).unwrap_or_default();
        match needs.iter().copied().find(is_waiting) {
            Some(next) => at = next,
            None => return Vec::new(),
        }
    }
}
