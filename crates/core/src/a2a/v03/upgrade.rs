//! From 0.3 to 1.0.

use super::walk::{again, list, object, raw, rename, unless_null};
use super::{Form, Shape, part, push, upgraded_role, upgraded_state};
use crate::a2a::push_field;
use crate::json::{ReadError, Reader};

/// Appends to `out`, in 1.0, the value of 0.3 that is at the cursor. What it does not know, it
/// copies; what is wrong in itself, such as a missing id, is for the reader of 1.0 to say.
///
/// # Errors
/// When the text is not JSON, and when a name or a part has no counterpart in 1.0; naming the
/// field.
pub fn upgrade(
    reader: &mut Reader<'_>,
    shape: Shape,
    form: Form,
    out: &mut String,
) -> Result<(), ReadError> {
    let upgrade = Upgrade { form };
    match shape {
        Shape::SendRequest => upgrade.send_request(reader, out),
        Shape::Message => upgrade.message(reader, out),
        Shape::Task => upgrade.task(reader, out),
        Shape::Tasks => object(reader, out, |entry, reader, out| match entry.key {
            "tasks" => {
                push_field(out, "tasks");
                list(reader, out, |r, out| upgrade.task(r, out))
            }
            _ => entry.keep(reader, out),
        }),
        Shape::Event | Shape::TaskEvent => upgrade.event(reader, out),
        Shape::PushConfig | Shape::FirstPushConfig => push::upgrade_task_config(reader, out),
        Shape::PushConfigs => push::upgrade_configs(reader, out),
        Shape::PushConfigRequest | Shape::PushConfigsRequest => push::upgrade_request(reader, out),
        Shape::Nothing => {
            out.push_str("{}");
            reader.skip().map(drop)
        }
        Shape::Same => super::walk::copy(reader, out),
    }
}

#[derive(Clone, Copy)]
struct Upgrade {
    form: Form,
}

impl Upgrade {
    fn send_request(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        object(reader, out, |entry, reader, out| match entry.key {
            "message" | "request" => {
                push_field(out, "message");
                unless_null(reader, out, |r, out| self.message(r, out))
            }
            "configuration" => {
                push_field(out, "configuration");
                unless_null(reader, out, |r, out| self.configuration(r, out))
            }
            _ => entry.keep(reader, out),
        })
    }

    fn configuration(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        // Over JSON-RPC it waits unless it is told not to, as the official SDKs do; the protobuf
        // form leaves out what is false.
        let mut waits = self.form == Form::JsonRpc;
        object(reader, out, |entry, reader, out| match entry.key {
            "blocking" => {
                if let Some(blocking) = reader.optional_bool()? {
                    waits = blocking;
                }
                Ok(())
            }
            "pushNotificationConfig" | "pushNotification" | "push_notification" => {
                push_field(out, "taskPushNotificationConfig");
                unless_null(reader, out, push::upgrade_config)
            }
            "returnImmediately" | "return_immediately" => reader.skip().map(drop),
            _ => entry.keep(reader, out),
        })?;
        if !waits {
            out.pop();
            push_field(out, "returnImmediately");
            out.push_str("true}");
        }
        Ok(())
    }

    fn message(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        object(reader, out, |entry, reader, out| match entry.key {
            "kind" => reader.skip().map(drop),
            "role" => {
                push_field(out, "role");
                rename(reader, out, upgraded_role)
            }
            "parts" | "content" => {
                push_field(out, "parts");
                list(reader, out, |r, out| part::upgrade(r, self.form, out))
            }
            _ => entry.keep(reader, out),
        })
    }

    fn status(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        object(reader, out, |entry, reader, out| match entry.key {
            "state" => {
                push_field(out, "state");
                rename(reader, out, upgraded_state)
            }
            "message" | "update" => {
                push_field(out, "message");
                unless_null(reader, out, |r, out| self.message(r, out))
            }
            _ => entry.keep(reader, out),
        })
    }

    fn artifact(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        object(reader, out, |entry, reader, out| match entry.key {
            "parts" => {
                push_field(out, "parts");
                list(reader, out, |r, out| part::upgrade(r, self.form, out))
            }
            _ => entry.keep(reader, out),
        })
    }

    fn task(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        object(reader, out, |entry, reader, out| match entry.key {
            "kind" => reader.skip().map(drop),
            "status" => {
                push_field(out, "status");
                self.status(reader, out)
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
        })
    }

    fn update(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        object(reader, out, |entry, reader, out| match entry.key {
            // 1.0 says with the state whether it is the last.
            "kind" | "final" => reader.skip().map(drop),
            "status" => {
                push_field(out, "status");
                self.status(reader, out)
            }
            "artifact" => {
                push_field(out, "artifact");
                self.artifact(reader, out)
            }
            _ => entry.keep(reader, out),
        })
    }

    /// A bare value with its kind, or one in the protobuf form's wrapper.
    fn event(self, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        if reader.peek() != Some(b'{') {
            return Err(reader.wrong_type("an object"));
        }
        let text = raw(reader)?;
        let mut reader = again(text);
        let Some(kind) = find_kind(text)? else {
            return object(&mut reader, out, |entry, reader, out| {
                let name = match entry.key {
                    "task" => "task",
                    "message" | "msg" => "message",
                    "statusUpdate" | "status_update" => "statusUpdate",
                    "artifactUpdate" | "artifact_update" => "artifactUpdate",
                    _ => return entry.keep(reader, out),
                };
                push_field(out, name);
                unless_null(reader, out, |r, out| self.named(name, r, out))
            });
        };
        let name = match &*kind {
            "task" => "task",
            "message" => "message",
            "status-update" => "statusUpdate",
            "artifact-update" => "artifactUpdate",
            other => {
                let kinds = "task, message, status-update and artifact-update";
                return Err(super::unknown(other, "kind of answer", kinds).within("kind"));
            }
        };
        out.push('{');
        push_field(out, name);
        self.named(name, &mut reader, out)?;
        out.push('}');
        Ok(())
    }

    fn named(self, name: &str, reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
        match name {
            "task" => self.task(reader, out),
            "message" => self.message(reader, out),
            _ => self.update(reader, out),
        }
    }
}

fn find_kind(text: &str) -> Result<Option<String>, ReadError> {
    let mut reader = again(text);
    let mut found = None;
    let mut entries = reader.object()?;
    while let Some(key) = reader.key(&mut entries)? {
        if key == "kind" && reader.peek() == Some(b'"') {
            found = Some(reader.string()?.into_owned());
        } else {
            reader.skip()?;
        }
    }
    Ok(found)
}
