//! What a backend promises, as checks that any implementation can run.
//!
//! ```ignore
//! use llamon_server::backend::conformance::Subject;
//!
//! async fn make(limits: Limits) -> Subject {
//!     Subject::new(Arc::new(MyBackend::new(limits)))
//! }
//!
//! llamon_server::backend_conformance!(make); // one #[test] for each promise
//! ```
//! A backend that keeps its tasks gives its subject a way to open it again
//! ([`Subject::reopening`]) and runs `llamon_server::backend_conformance!(durable: make)`, which has the same
//! checks and more. The name of a check is the promise; each makes backends of its own, with the
//! limits that it needs, and leaves nothing behind.

mod bench;
mod commits;
mod content;
mod durable;
mod keeping;
mod listing;
mod logs;
mod once;
mod pushing;
mod races;
mod settling;
mod tasks;
mod working;

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use llamon_core::Limits;

use super::Backend;
use bench::Bench;

/// How long a check may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(180);

/// A backend that is to be checked, new and empty.
pub struct Subject {
    backend: Arc<dyn Backend>,
    reopen: Option<Reopen>,
    keep: Vec<Box<dyn Any + Send + Sync>>,
}

type Reopen = Arc<dyn Fn() -> BoxFuture<'static, Arc<dyn Backend>> + Send + Sync>;

impl Subject {
    /// A subject that is `backend`.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self {
            backend,
            reopen: None,
            keep: Vec::new(),
        }
    }

    /// Keeps something, such as a temporary directory, until the check is over.
    #[must_use]
    pub fn keeping(mut self, kept: impl Any + Send + Sync) -> Self {
        self.keep.push(Box::new(kept));
        self
    }

    /// Says how what was stored is opened again, after the backend was dropped.
    #[must_use]
    pub fn reopening<F>(mut self, reopen: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Arc<dyn Backend>> + Send + 'static,
    {
        self.reopen = Some(Arc::new(move || reopen().boxed()));
        self
    }
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Subject")
    }
}

/// Makes the backends of a check.
pub struct Make(Box<dyn Fn(Limits) -> BoxFuture<'static, Subject> + Send + Sync>);

impl Make {
    /// Makes them by `make`, which is told the limits that the check needs.
    pub fn new<F>(make: impl Fn(Limits) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Subject> + Send + 'static,
    {
        Self(Box::new(move |limits| make(limits).boxed()))
    }

    async fn bench(&self) -> Bench {
        self.bench_with(Limits::default()).await
    }

    async fn bench_with(&self, limits: Limits) -> Bench {
        Bench::new(self.0(limits).await).await
    }
}

impl fmt::Debug for Make {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Make")
    }
}

/// Runs one check to its end on a runtime of its own; for the tests that
/// `backend_conformance!` makes.
///
/// # Panics
/// When the promise is broken, and when the check does not end within three minutes.
pub fn run<F>(name: &str, check: impl FnOnce(Make) -> F, make: Make)
where
    F: Future<Output = ()>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let ended = runtime.block_on(async { tokio::time::timeout(PATIENCE, check(make)).await });
    assert!(
        ended.is_ok(),
        "{name}: the check did not end within {PATIENCE:?}"
    );
}

/// Lists the checks once: as functions and in the macro.
macro_rules! suite {
    ($d:tt every { $($module:ident { $($check:ident),* $(,)? })* }
     durable { $($durable:ident),* $(,)? }) => {
        $($(
            #[doc = concat!("Checks this promise: `", stringify!($check), "`.")]
            ///
            /// # Panics
            /// When the backend does not keep it.
            pub async fn $check(make: Make) {
                $module::$check(&make).await;
            }
        )*)*
        $(
            #[doc = concat!("Checks this promise of durable backends: `", stringify!($durable), "`.")]
            ///
            /// # Panics
            /// When the backend does not keep it.
            pub async fn $durable(make: Make) {
                durable::$durable(&make).await;
            }
        )*

        /// Makes one test for each promise of a backend; see
        /// [`llamon_server::backend::conformance`](crate::backend::conformance).
        #[macro_export]
        macro_rules! backend_conformance {
            (durable: $d make:path) => {
                $crate::backend_conformance!($d make);
                $(
                    #[test]
                    fn $durable() {
                        let make = $crate::backend::conformance::Make::new($d make);
                        let check = $crate::backend::conformance::$durable;
                        $crate::backend::conformance::run(stringify!($durable), check, make);
                    }
                )*
            };
            ($d make:path) => {
                $($(
                    #[test]
                    fn $check() {
                        let make = $crate::backend::conformance::Make::new($d make);
                        let check = $crate::backend::conformance::$check;
                        $crate::backend::conformance::run(stringify!($check), check, make);
                    }
                )*)*
            };
        }
    };
}

suite! { $
    every {
        tasks {
            a_created_task_is_found_with_all_it_has,
            an_unknown_task_is_not_found_by_any_method,
            a_task_of_another_scope_is_not_found_by_any_method,
            agents_and_tenants_do_not_mix_up_their_names,
            a_hidden_task_appears_with_its_first_events,
            a_direct_answer_removes_the_task,
            open_tasks_are_limited_and_finishing_makes_room,
            finished_tasks_go_oldest_first_and_live_ones_never,
            health_is_good_and_sweeping_ends,
        }
        commits {
            errors_come_in_their_order,
            the_first_terminal_state_wins,
            a_commit_expects_its_generation,
            an_old_fence_is_refused,
            without_a_fence_only_a_parked_task_changes,
            a_state_that_cannot_follow_is_a_conflict,
            after_a_cancel_only_canceled_settles_the_task,
            a_cancel_of_an_ended_task_is_refused,
            settling_ends_the_turn,
            a_follow_up_begins_a_turn_and_joins_the_history,
            a_refused_commit_changes_nothing,
            many_events_of_one_commit_are_one_step,
        }
        logs {
            a_follower_sees_what_comes_from_now_on,
            a_follower_goes_on_after_its_position,
            all_followers_see_the_same_without_gaps,
            a_slow_follower_loses_nothing,
            a_log_ends_with_its_task,
            followers_are_limited_from_now_on_only,
            a_follower_of_a_removed_task_gets_its_end,
            a_dropped_read_loses_nothing,
            a_hidden_task_can_be_followed,
            an_interrupted_log_goes_on_with_the_next_turn,
            a_late_follower_of_an_ended_task_gets_its_end,
        }
        settling {
            a_settled_task_is_returned_at_once,
            who_waits_is_woken_by_every_settled_state,
            who_waits_gets_a_direct_answer,
            who_waits_for_a_hidden_task_is_woken,
            who_waits_gets_a_task_that_is_removed_right_after,
            many_who_wait_are_all_woken,
            a_question_and_its_answer_settle_twice,
        }
        listing {
            the_newest_status_comes_first,
            pages_have_every_task_once,
            a_page_token_of_nobody_is_refused,
            filters_choose_and_totals_count,
            what_cannot_be_seen_is_not_listed,
            a_listed_task_has_what_was_asked_for,
            page_tokens_have_one_secret,
        }
        working {
            a_turn_without_a_worker_is_claimed_once,
            the_oldest_turns_are_claimed_first,
            a_claim_raises_fence_and_attempt,
            a_released_turn_is_claimed_again_without_a_crash,
            only_the_holder_releases_a_turn,
            a_dead_workers_turns_are_claimed_again_as_crashes,
            a_living_workers_turns_are_left_alone,
            held_tells_what_the_store_has,
            a_follow_up_counts_its_attempts_anew,
            a_turn_of_a_worker_that_never_was_is_claimed,
        }
        keeping {
            what_a_turn_remembers_stays_with_its_task,
            only_the_attempt_at_work_remembers,
            what_is_remembered_is_limited,
            a_name_is_held_by_one_task_of_a_living_worker,
            tasks_that_wait_are_found_by_how_long,
        }
        pushing {
            receivers_are_put_read_and_deleted,
            a_receiver_of_the_same_id_is_replaced,
            receivers_are_limited,
            a_receiver_gets_events_from_when_it_came,
            a_receiver_is_claimed_until_it_has_everything,
            a_receiver_that_is_given_up_is_left_alone,
            a_living_workers_receivers_are_left_alone,
            a_receiver_can_read_its_events_after_the_end,
            notes_of_what_is_gone_do_nothing,
        }
        once {
            a_message_creates_one_task,
            a_message_is_committed_once,
            a_message_id_with_another_content_is_refused,
            message_ids_of_scopes_are_apart,
            a_direct_answer_is_remembered,
            a_message_id_goes_with_its_task,
            one_of_many_equal_messages_creates_the_task,
        }
        content {
            parts_come_back_token_for_token,
            large_parts_come_back_however_often_they_were_sent,
            everything_of_a_task_comes_back,
            the_task_is_the_fold_of_its_events,
            long_text_in_small_chunks_is_one_part,
            an_empty_part_that_looks_stored_stays_what_it_is,
        }
        races {
            one_of_many_commits_wins_each_generation,
            one_terminal_state_wins_a_race,
            one_of_many_workers_claims_a_turn,
            a_dropped_create_happens_whole_or_not_at_all,
            a_dropped_commit_happens_whole_or_not_at_all,
            a_cancel_races_with_the_end,
        }
    }
    durable {
        tasks_survive,
        logs_and_positions_survive,
        hidden_tasks_survive_hidden,
        message_ids_and_direct_answers_survive,
        receivers_survive_with_their_progress_and_secrets,
        an_accepted_cancel_survives,
        the_turns_of_a_process_that_died_are_claimed_again,
        a_fence_from_before_is_refused,
        large_and_odd_parts_survive,
        lists_survive,
        the_secret_of_page_tokens_survives,
        what_a_turn_remembers_survives,
    }
}
