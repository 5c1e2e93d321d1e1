//! Calls in A2A 0.3, to agents that do not speak 1.0.
//!
//! Requests and answers are those of 1.0, text to text in the other form on their way out and in
//! (`llamon_core::a2a::v03`), so everything that makes the ones and reads the others knows one
//! version only. See `docs/adr/0010-how-0-3-is-spoken.md`.

mod answer;
mod request;

pub(crate) use answer::Answer;
pub(crate) use request::{check_extended_card, request};

use llamon_core::a2a::v03::Shape;

use crate::binding::Operation;

/// The header that names extensions, in a request and in its answer.
pub(crate) const EXTENSIONS_HEADER: &str = "x-a2a-extensions";

/// What an operation takes.
fn takes(operation: &Operation) -> Shape {
    match operation {
        Operation::Send(_) | Operation::Stream(_) => Shape::SendRequest,
        Operation::CreatePush(_) => Shape::PushConfig,
        Operation::GetPush(_) | Operation::DeletePush(_) => Shape::PushConfigRequest,
        Operation::ListPush(_) => Shape::PushConfigsRequest,
        Operation::Get(_) | Operation::List(_) | Operation::Cancel(_) => Shape::Same,
        Operation::Subscribe(_) | Operation::ExtendedCard => Shape::Same,
    }
}

/// What an operation answers with, once or in each event.
fn answers(operation: &Operation) -> Shape {
    match operation {
        Operation::Send(_) | Operation::Stream(_) => Shape::Event,
        Operation::Subscribe(_) => Shape::TaskEvent,
        Operation::Get(_) | Operation::Cancel(_) => Shape::Task,
        Operation::List(_) => Shape::Tasks,
        Operation::CreatePush(_) | Operation::GetPush(_) => Shape::PushConfig,
        Operation::ListPush(_) => Shape::PushConfigs,
        Operation::DeletePush(_) => Shape::Nothing,
        Operation::ExtendedCard => Shape::Same,
    }
}
