use std::future::Future;

use llamon_core::contracts::Inputs;

use crate::agent_error::AgentError;
use crate::answer::IntoAnswer;
use crate::turn::Turn;

/// Checks at compile time that a function is an agent, with an error that says which of the
/// conditions it breaks: what it takes, what it returns, or that its future is not `Send`.
///
/// ```
/// use llamon_server::{AgentError, Turn, check_agent};
///
/// async fn echo(turn: Turn) -> Result<String, AgentError> {
///     Ok(turn.query().to_owned())
/// }
/// check_agent!(echo);
/// ```
///
/// A future that holds an `Rc` over an `.await` is not `Send`:
///
/// ```compile_fail
/// use llamon_server::{AgentError, Turn, check_agent};
///
/// async fn echo(turn: Turn) -> Result<String, AgentError> {
///     let kept = std::rc::Rc::new(1);
///     turn.status("working").await?;
///     Ok(kept.to_string())
/// }
/// check_agent!(echo);
/// ```
///
/// An agent that takes its inputs as a struct is checked with the struct's type beside it:
/// `check_agent!(bill, Billing)`.
#[macro_export]
macro_rules! check_agent {
    ($agent:expr) => {
        const _: fn() = || $crate::__is_function_agent($agent);
    };
    ($agent:expr, $inputs:ty) => {
        const _: fn() = || $crate::__is_inputs_agent::<$inputs, _, _, _>($agent);
    };
}

/// For [`check_agent!`] only.
#[doc(hidden)]
pub fn is_function_agent<F, Fut, R>(_: F)
where
    F: Fn(Turn) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, AgentError>> + Send + 'static,
    R: IntoAnswer + 'static,
{
}

/// For [`check_agent!`] only.
#[doc(hidden)]
pub fn is_inputs_agent<I, F, Fut, R>(_: F)
where
    F: Fn(I, Turn) -> Fut + Send + Sync + 'static,
    I: Inputs,
    Fut: Future<Output = Result<R, AgentError>> + Send + 'static,
    R: IntoAnswer + 'static,
{
}
