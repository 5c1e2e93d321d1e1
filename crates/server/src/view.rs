//! What of a task goes into which response; the same on every binding.

use llamon_core::a2a::{ListTasksRequest, SendMessageRequest, SendResult, TaskRequest, TaskView};

pub(crate) fn of_send(request: &SendMessageRequest) -> TaskView {
    TaskView {
        history_length: request.configuration.history_length,
        artifacts: true,
    }
}

pub(crate) fn of_task(request: &TaskRequest) -> TaskView {
    TaskView {
        history_length: request.history_length,
        artifacts: true,
    }
}

/// A list shows what tasks there are; their history comes when it is asked for.
pub(crate) fn of_list(request: &ListTasksRequest) -> TaskView {
    TaskView {
        history_length: Some(request.history_length.unwrap_or(0)),
        artifacts: request.include_artifacts,
    }
}

/// Appends the result of SendMessage as JSON.
pub(crate) fn write_send_result(result: &SendResult, view: TaskView, out: &mut String) {
    match result {
        SendResult::Task(task) => {
            out.push_str("{\"task\":");
            task.write(out, view);
        }
        SendResult::Message(message) => {
            out.push_str("{\"message\":");
            message.write(out);
        }
    }
    out.push('}');
}
