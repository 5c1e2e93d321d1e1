//! The processes of an adapter: one request at a time each, and new ones for those that ended.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::program::{Program, Recipe};
use crate::agent_error::AgentError;
use crate::turn::Turn;

/// How processes are shared out.
#[derive(Clone, Debug)]
pub(super) struct Sharing {
    pub(super) workers: usize,
    pub(super) max_waiting: usize,
    pub(super) turns_per_process: usize,
    pub(super) first_pause: Duration,
    pub(super) longest_pause: Duration,
}

/// The processes.
pub(super) struct Pool {
    recipe: Recipe,
    sharing: Sharing,
    /// One permit a process.
    free: Arc<Semaphore>,
    /// One permit a turn that runs or waits.
    room: Arc<Semaphore>,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    idle: Vec<Program>,
    crashes_in_a_row: u32,
    not_before: Option<Instant>,
}

/// A process, for one turn. Dropped without [`Slot::give_back`], it is ended by force.
pub(super) struct Slot {
    pub(super) program: Program,
    shared: Arc<Mutex<Shared>>,
    turns_per_process: usize,
    _permits: [OwnedSemaphorePermit; 2],
}

impl Pool {
    /// Starts the first process, so that a program which is not there is found out at once.
    pub(super) fn start(recipe: Recipe, sharing: Sharing) -> std::io::Result<Self> {
        let first = recipe.start()?;
        let shared = Shared {
            idle: vec![first],
            ..Shared::default()
        };
        Ok(Self {
            free: Arc::new(Semaphore::new(sharing.workers)),
            room: Arc::new(Semaphore::new(sharing.workers + sharing.max_waiting)),
            recipe,
            sharing,
            shared: Arc::new(Mutex::new(shared)),
        })
    }

    /// A process for the turn, when one is free.
    pub(super) async fn take(&self, turn: &Turn) -> Result<Slot, AgentError> {
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else {
            let Sharing {
                workers,
                max_waiting,
                ..
            } = self.sharing;
            return Err(AgentError::public(format!(
                "the agent has no room: {workers} requests are at work and {max_waiting} wait \
                 (workers, max_waiting); send the message again later"
            )));
        };
        let canceled = || AgentError::public("the task was canceled");
        let free = tokio::select! {
            biased;
            () = turn.cancelled() => return Err(canceled()),
            free = Arc::clone(&self.free).acquire_owned() => free?,
        };
        if let Some(program) = self.idle() {
            return Ok(self.slot(program, [room, free]));
        }
        let not_before = lock(&self.shared).not_before;
        if let Some(not_before) = not_before {
            tokio::select! {
                biased;
                () = turn.cancelled() => return Err(canceled()),
                () = tokio::time::sleep_until(not_before) => {}
            }
        }
        match self.recipe.start() {
            Ok(program) => Ok(self.slot(program, [room, free])),
            Err(error) => {
                self.note_crash();
                tracing::error!(program = ?self.recipe.program, %error, "the program cannot be started");
                Err(AgentError::public(format!(
                    "the program behind this agent cannot be started ({})",
                    error.kind()
                )))
            }
        }
    }

    /// A process that waits for a request.
    fn idle(&self) -> Option<Program> {
        let mut shared = lock(&self.shared);
        while let Some(mut program) = shared.idle.pop() {
            if program.is_usable() {
                return Some(program);
            }
        }
        None
    }

    fn slot(&self, program: Program, permits: [OwnedSemaphorePermit; 2]) -> Slot {
        Slot {
            program,
            shared: Arc::clone(&self.shared),
            turns_per_process: self.sharing.turns_per_process,
            _permits: permits,
        }
    }

    /// A process ended amid a request, or did not start: the next one has to wait.
    pub(super) fn note_crash(&self) {
        let mut shared = lock(&self.shared);
        let Sharing {
            first_pause,
            longest_pause,
            ..
        } = self.sharing;
        let chance = uuid::Uuid::new_v4().as_u128();
        let pause = pause(first_pause, longest_pause, shared.crashes_in_a_row, chance);
        shared.crashes_in_a_row = shared.crashes_in_a_row.saturating_add(1);
        shared.not_before = Some(Instant::now() + pause);
    }
}

impl Slot {
    /// The turn is answered: the process waits for another one, if it may and can.
    pub(super) fn give_back(mut self) {
        let spent = self.program.answered() >= self.turns_per_process;
        if spent || !self.program.is_usable() {
            // Its place is free when it has ended; the answer does not wait for that.
            tokio::spawn(self.end());
            return;
        }
        let mut shared = lock(&self.shared);
        shared.crashes_in_a_row = 0;
        shared.not_before = None;
        shared.idle.push(self.program);
    }

    /// The process is not used any more.
    pub(super) async fn end(mut self) {
        self.program.end().await;
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("program", &self.recipe.program)
            .field("sharing", &self.sharing)
            .finish_non_exhaustive()
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pause after `crashes` in a row: it doubles each time, and half of it is chance, so that
/// servers whose programs failed together do not start them together.
fn pause(first: Duration, longest: Duration, crashes: u32, chance: u128) -> Duration {
    let doubled = 2_u32.saturating_pow(crashes);
    let half = first.saturating_mul(doubled).min(longest) / 2;
    let share = (chance % 1_000) as f64 / 1_000.0;
    half + half.mul_f64(share)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::pause;

    #[test]
    fn the_pause_doubles_up_to_the_longest_and_half_of_it_is_chance() {
        let millis = Duration::from_millis;
        let (first, longest) = (millis(100), millis(10_000));
        assert_eq!(pause(first, longest, 0, 0), millis(50));
        assert_eq!(pause(first, longest, 1, 500), millis(150));
        assert!(pause(first, longest, 0, 999) < millis(100));
        assert_eq!(pause(first, longest, u32::MAX, 0), millis(5_000));
        let most = Duration::MAX;
        assert!(pause(most, most, u32::MAX, 999) < most);
    }
}
