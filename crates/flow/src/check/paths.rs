//! One producer that reaches a step by several paths, and how much arrives if all agents append.

use super::contracts::passed_on;
use super::warning;
use crate::finding::Finding;
use crate::plan::{At, Dedupe, Plan, PlannedStep, Source};

/// Steps with repeats that are told; whoever reads these knows what kind of plan it is.
const MAX_REPEATS: usize = 100;
/// Outputs whose growth is estimated.
const MAX_GROWTHS: usize = 100;
/// Parts of an output from which on its growth is a warning, if there are several times as many
/// as producers.
const MANY_PARTS: u128 = 100;

/// How many parts a step's answer would have if every agent appended and made one part itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// The step.
    pub step: String,
    /// All parts, the run's input counted as one. At most `u128::MAX`.
    pub parts: u128,
    /// The producers that these are of.
    pub producers: usize,
    /// The producer with the most parts.
    pub most: String,
    /// How many of them are its.
    pub copies: u128,
}

pub(super) fn check(plan: &Plan, findings: &mut Vec<Finding>) -> Vec<Growth> {
    let mut paths = Paths::new(plan);
    let meets = meets(plan);
    let mut repeats = 0;
    for (at, step) in plan.steps.iter().enumerate() {
        if meets.get(at) != Some(&true) || step.dedupe() == Dedupe::ByContent {
            continue;
        }
        if repeats == MAX_REPEATS {
            let message = "repeats are looked for up to here; the plan has too many of them";
            findings.push(warning(plan, "not-looked-at", At::Step(at), step, message));
            break;
        }
        paths.to(at);
        if let Some(finding) = repeat(plan, &paths, at, step) {
            repeats += 1;
            findings.push(finding);
        }
    }
    let growth: Vec<Growth> = plan
        .outputs
        .iter()
        .take(MAX_GROWTHS)
        .filter_map(|output| growth(plan, &mut paths, *output))
        .collect();
    for (growth, (place, output)) in growth.iter().zip(plan.outputs.iter().enumerate()) {
        let Some(step) = plan.steps.get(*output) else {
            continue;
        };
        if growth.parts >= MANY_PARTS && growth.parts / 4 >= growth.producers as u128 {
            let message = format!(
                "if every agent appends, its answer has {} parts of {} producers, {} of them of {}",
                many(growth.parts),
                growth.producers,
                many(growth.copies),
                growth.most
            );
            findings.push(warning(plan, "growth", At::Output(place), step, message));
        }
    }
    growth
}

/// Whether two of the sources of a step have a producer in common, by step.
fn meets(plan: &Plan) -> Vec<bool> {
    // Of each step the set of its producers, a bit each; bit 0 is the input.
    let words = plan.steps.len() / 64 + 1;
    let mut producers = vec![Vec::new(); plan.steps.len()];
    let mut meets = vec![false; plan.steps.len()];
    for at in plan.order.iter().copied() {
        let Some(step) = plan.steps.get(at) else {
            continue;
        };
        let mut all = vec![0u64; words];
        let mut has_met = false;
        for source in passed_on(step) {
            let (node, before): (usize, &[u64]) = match source {
                Source::Input => (0, &[]),
                Source::Step(step) => (
                    step + 1,
                    producers.get(step).map(Vec::as_slice).unwrap_or_default(),
                ),
            };
            for (all, before) in all.iter_mut().zip(before) {
                has_met |= *all & before != 0;
                *all |= before;
            }
            if let Some(word) = all.get_mut(node / 64) {
                let bit = 1 << (node % 64);
                has_met |= *word & bit != 0;
                *word |= bit;
            }
        }
        if let (Some(producers), Some(meets)) = (producers.get_mut(at), meets.get_mut(at)) {
            (*producers, *meets) = (all, has_met);
        }
    }
    meets
}

/// A number that has stopped counting says so.
fn many(count: u128) -> String {
    if count == u128::MAX {
        return "more than 10^38".to_owned();
    }
    count.to_string()
}

fn repeat(plan: &Plan, paths: &Paths<'_>, at: usize, step: &PlannedStep) -> Option<Finding> {
    // The last producer before the paths part; those before it come along.
    let producers: Vec<usize> = (paths.visited.iter().copied())
        .filter(|node| *node != paths.node_of(at) && paths.is_repeated(*node))
        .collect();
    let nearest = *producers.first()?;
    let ways = paths.ways(nearest);
    let through: Vec<&str> = (ways.iter())
        .filter_map(|way| step.from.get(*way))
        .map(|source| plan.source_name(*source))
        .collect();
    if through.first() == through.get(1) {
        // The same source twice in `from`, which is told by itself.
        return None;
    }
    let place = At::From(at, *ways.get(1)?);
    let others = match producers.len() - 1 {
        0 => String::new(),
        1 => ", and so can that of 1 more before it".to_owned(),
        more => format!(", and so can that of {more} more before it"),
    };
    let message = format!(
        "what {} {} can arrive {} times, through {}, if the agents between append{others}; `dedupe: by-content` sends it once",
        paths.name(nearest),
        if nearest == 0 { "has" } else { "answers" },
        many(paths.count(nearest)),
        through.join(" and "),
    );
    Some(warning(plan, "repeated-parts", place, step, message))
}

fn growth(plan: &Plan, paths: &mut Paths<'_>, output: usize) -> Option<Growth> {
    paths.to(output);
    let counts = paths.visited.iter().map(|node| (paths.count(*node), *node));
    let parts = counts
        .clone()
        .fold(0u128, |sum, (count, _)| sum.saturating_add(count));
    // Of several with the same number, the one that comes first in the run.
    let (copies, most) =
        counts.max_by_key(|(count, node)| (*count, std::cmp::Reverse(paths.rank(*node))))?;
    Some(Growth {
        step: plan.steps.get(output)?.name().to_owned(),
        parts,
        producers: paths.visited.len(),
        most: paths.name(most).to_owned(),
        copies,
    })
}

/// The paths from all producers to one step. Node 0 is the input, node `n` step `n - 1`.
struct Paths<'p> {
    plan: &'p Plan,
    /// The place of each step in the order of the run.
    positions: Vec<usize>,
    counts: Vec<u128>,
    /// The first two entries of the step's `from` that lead to a node.
    ways: Vec<[Option<usize>; 2]>,
    /// The nodes with a path, the nearest first.
    visited: Vec<usize>,
}

impl<'p> Paths<'p> {
    fn new(plan: &'p Plan) -> Self {
        let mut positions = vec![0; plan.steps.len()];
        for (position, step) in plan.order.iter().enumerate() {
            if let Some(slot) = positions.get_mut(*step) {
                *slot = position;
            }
        }
        Self {
            plan,
            positions,
            counts: vec![0; plan.steps.len() + 1],
            ways: vec![[None; 2]; plan.steps.len() + 1],
            visited: Vec::new(),
        }
    }

    fn position(&self, step: usize) -> usize {
        self.positions.get(step).copied().unwrap_or_default()
    }

    fn node_of(&self, step: usize) -> usize {
        step + 1
    }

    fn rank(&self, node: usize) -> usize {
        node.checked_sub(1)
            .map_or(0, |step| self.position(step) + 1)
    }

    fn count(&self, node: usize) -> u128 {
        self.counts.get(node).copied().unwrap_or_default()
    }

    /// In the order of `from`.
    fn ways(&self, node: usize) -> Vec<usize> {
        let ways = self.ways.get(node).into_iter().flatten().flatten();
        let mut ways: Vec<usize> = ways.copied().collect();
        ways.sort_unstable();
        ways
    }

    fn is_repeated(&self, node: usize) -> bool {
        self.count(node) > 1 && self.ways(node).len() > 1
    }

    fn name(&self, node: usize) -> &'p str {
        let source = node.checked_sub(1).map_or(Source::Input, Source::Step);
        self.plan.source_name(source)
    }

    /// Counts the paths to `target`, from the nearest producers back.
    fn to(&mut self, target: usize) {
        for node in std::mem::take(&mut self.visited) {
            if let (Some(count), Some(ways)) = (self.counts.get_mut(node), self.ways.get_mut(node))
            {
                (*count, *ways) = (0, [None; 2]);
            }
        }
        let plan = self.plan;
        self.arrive(self.node_of(target), 1, [None; 2]);
        let until = self.position(target);
        for step in plan.order.iter().take(until + 1).rev() {
            let node = self.node_of(*step);
            let count = self.count(node);
            let Some(planned) = plan.steps.get(*step).filter(|_| count > 0) else {
                continue;
            };
            self.visited.push(node);
            let ways = self.ways.get(node).copied().unwrap_or_default();
            for (entry, source) in planned.from.iter().enumerate() {
                if planned.each.as_ref().is_some_and(|each| each.of == *source) {
                    continue;
                }
                let from = match source {
                    Source::Input => 0,
                    Source::Step(step) => self.node_of(*step),
                };
                let ways = if *step == target {
                    [Some(entry), None]
                } else {
                    ways
                };
                self.arrive(from, count, ways);
            }
        }
        if self.count(0) > 0 {
            self.visited.push(0);
        }
    }

    fn arrive(&mut self, node: usize, count: u128, ways: [Option<usize>; 2]) {
        let (Some(slot), Some(known)) = (self.counts.get_mut(node), self.ways.get_mut(node)) else {
            return;
        };
        *slot = slot.saturating_add(count);
        for way in ways.into_iter().flatten() {
            if known.contains(&Some(way)) {
                continue;
            }
            if let Some(free) = known.iter_mut().find(|way| way.is_none()) {
                *free = Some(way);
            }
        }
    }
}
