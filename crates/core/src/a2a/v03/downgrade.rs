//! From 1.0 to 0.3.

use super::walk::{list, object, raw, rename, unless_null};
use super::{Form, Shape, downgraded_role, downgraded_state, part, push};
use crate::a2a::{TaskState, push_field, push_string_field};
use crate::json::{ReadError, Reader};

/// Appends to `out`, in 0.3, the value of 1.0 that is at the cursor.
///
/// # Errors
/// When the text is not JSON, or is not what `shape` says.
pub fn downgrade(
    reader: &mut Reader<'_>,
    shape: Shape,
    form: Form,
    out: &mut String,
) -> Result<(), ReadError> {
    let downgrade = Downgrade {
        form,
        ends: match shape {
            Shape::TaskEvent => TaskState::is_terminal,
            _ => TaskState::is_settled,
        },
    };
    match shape {
        Shape::SendRequest => downgrade.send_request(reader, out),
        Shape::Message => downgrade.message(reader, out),
        Shape::Task => downgrade.task(reader, out),
        Shape::Tasks => object(reader, out, |entry, reader, out| match entry.key {
            "tasks" => {
                push_field(out, "tasks");
                list(reader, out, |r, out| downgrade.task(r, out))
            }
            _ => entry.keep(reader, out),
        }),
        Shape::Event | Shape::TaskEvent => downgrade.event(reader, out),
        Shape::PushConfig => push::downgrade_task_config(reader, form, out),
        Shape::PushConfigs => push::downgrade_configs(reader, form, out),
        Shape::FirstPushConfig => push::downgrade_first(reader, form, out),
        Shape::PushConfigRequest | Shape::PushConfigsRequest => {
            push::downgrade_request(reader, out)
        }
        Shape::Nothing => {
            out.push_str(match form {
                Form::JsonRpc => "null",
                Form::Rest => "{}",
            });
            reader.skip().map(drop)
        }
        Shape::Same => super::walk::copy(reader, out),
    }
}

#[derive(Clone, Copy)]
struct Downgrade {
    form: Form,
    /// Whether a stream ends at a state.
    ends: fn(TaskState) -> bool,
}

impl Downgrade {
    fn send_request(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        let mut configured = false;
        object(reader, out, |entry, reader, out| match entry.key {
            "message" => {
                push_field(out, "message");
                self.message(reader, out)
            }
            "configuration" => {
                configured = true;
                push_field(out, "configuration");
                self.configuration(reader, out)
            }
            "metadata" => entry.keep(reader, out),
            _ => reader.skip().map(drop),
        })?;
        if !configured {
            out.pop();
            push_field(out, "configuration");
            out.push_str("{\"blocking\":true}}");
        }
        Ok(())
    }

    fn configuration(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        let mut blocking = true;
        object(reader, out, |entry, reader, out| match entry.key {
            "returnImmediately" => {
                blocking = !reader.optional_bool()?.unwrap_or_default();
                Ok(())
            }
            "taskPushNotificationConfig" => {
                let name = match self.form {
                    Form::JsonRpc => "pushNotificationConfig",
                    Form::Rest => "pushNotification",
                };
                push_field(out, name);
                unless_null(reader, out, push::downgrade_config)
            }
            "acceptedOutputModes" | "historyLength" => entry.keep(reader, out),
            _ => reader.skip().map(drop),
        })?;
        out.pop();
        push_field(out, "blocking");
        out.push_str(if blocking { "true}" } else { "false}" });
        Ok(())
    }

    fn message(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        object(reader, out, |entry, reader, out| match entry.key {
            "role" => {
                push_field(out, "role");
                rename(reader, out, |name| downgraded_role(name, self.form))
            }
            "parts" => {
                let name = match self.form {
                    Form::JsonRpc => "parts",
                    Form::Rest => "content",
                };
                push_field(out, name);
                list(reader, out, |r, out| part::downgrade(r, self.form, out))
            }
            // Not in the protobuf file.
            "referenceTaskIds" if self.form == Form::Rest => reader.skip().map(drop),
            _ => entry.keep(reader, out),
        })?;
        self.push_kind("message", out);
        Ok(())
    }

    /// Returns the state's name in 1.0.
    fn status(self, reader: &mut Reader<'_>, out: &mut String) -> Result<String, ReadError> {
        let mut state = String::new();
        object(reader, out, |entry, reader, out| match entry.key {
            "state" => {
                push_field(out, "state");
                rename(reader, out, |name| {
                    name.clone_into(&mut state);
                    downgraded_state(name, self.form)
                })
            }
            "message" => {
                push_field(out, "message");
                unless_null(reader, out, |r, out| self.message(r, out))
            }
            _ => entry.keep(reader, out),
        })?;
        Ok(state)
    }

    fn artifact(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        object(reader, out, |entry, reader, out| match entry.key {
            "parts" => {
                push_field(out, "parts");
                list(reader, out, |r, out| part::downgrade(r, self.form, out))
            }
            _ => entry.keep(reader, out),
        })
    }

    fn task(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        object(reader, out, |entry, reader, out| match entry.key {
            "status" => {
                push_field(out, "status");
                self.status(reader, out).map(drop)
            }
            "artifacts" => {
                push_field(out, "artifacts");
                list(reader, out, |r, out| self.artifact(r, out))
            }
            "history" => {
                push_field(out, "history");
                list(reader, out, |r, out| self.message(r, out))
            }
            _ => entry.keep(reader, out),
        })?;
        self.push_kind("task", out);
        Ok(())
    }

    fn status_update(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        let mut state = String::new();
        object(reader, out, |entry, reader, out| match entry.key {
            "status" => {
                push_field(out, "status");
                state = self.status(reader, out)?;
                Ok(())
            }
            _ => entry.keep(reader, out),
        })?;
        let is_final = TaskState::parse(&state).is_ok_and(self.ends);
        out.pop();
        push_field(out, "final");
        out.push_str(if is_final { "true}" } else { "false}" });
        self.push_kind("status-update", out);
        Ok(())
    }

    fn artifact_update(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        object(reader, out, |entry, reader, out| match entry.key {
            "artifact" => {
                push_field(out, "artifact");
                self.artifact(reader, out)
            }
            _ => entry.keep(reader, out),
        })?;
        self.push_kind("artifact-update", out);
        Ok(())
    }

    /// Takes the value out of its wrapper; the protobuf form keeps that.
    fn event(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        let mut written = String::new();
        object(reader, &mut written, |entry, reader, out| {
            let mut inner = String::new();
            match entry.key {
                "task" => self.task(reader, &mut inner)?,
                "message" => self.message(reader, &mut inner)?,
                "statusUpdate" => self.status_update(reader, &mut inner)?,
                "artifactUpdate" => self.artifact_update(reader, &mut inner)?,
                _ => return raw(reader).map(drop),
            }
            match self.form {
                Form::JsonRpc => *out = inner,
                Form::Rest => {
                    push_field(out, entry.key);
                    out.push_str(&inner);
                }
            }
            Ok(())
        })?;
        if self.form == Form::JsonRpc {
            // The brace that closes the wrapper.
            written.pop();
            if written == "{" {
                let names = "one of task, message, statusUpdate and artifactUpdate";
                return Err(ReadError::invalid("is required").within(names));
            }
        }
        out.push_str(&written);
        Ok(())
    }

    /// Puts the kind into the object that was just written.
    fn push_kind(self, kind: &str, out: &mut String) {
        if self.form == Form::JsonRpc {
            out.pop();
            push_string_field(out, "kind", kind);
            out.push('}');
        }
    }
}
