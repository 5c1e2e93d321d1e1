//! Push notification configurations, which 0.3 nests and 1.0 does not.

use super::Form;
use super::walk::{again, list, object, raw, unless_null};
use crate::a2a::{push_field, push_string_field};
use crate::json::{ReadError, Reader, decode, string_token};

/// A configuration: `schemes` becomes `scheme`, and its receiver is told in 0.3.
pub(super) fn upgrade_config(reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
    object(reader, out, config_entry)?;
    out.pop();
    push_string_field(out, "protocolVersion", super::PROTOCOL_VERSION);
    out.push('}');
    Ok(())
}

fn config_entry(
    entry: &super::walk::Entry<'_>,
    reader: &mut Reader<'_>,
    out: &mut String,
) -> Result<(), ReadError> {
    match entry.key {
        "authentication" => {
            push_field(out, "authentication");
            unless_null(reader, out, upgrade_authentication)
        }
        // In 1.0 these would say something else.
        "taskId" | "task_id" | "protocolVersion" => reader.skip().map(drop),
        _ => entry.keep(reader, out),
    }
}

fn upgrade_authentication(reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
    object(reader, out, |entry, reader, out| match entry.key {
        "schemes" => {
            let mut first: Option<String> = None;
            let mut others = String::new();
            list(reader, &mut others, |reader, _| {
                let scheme = raw(reader)?;
                first.get_or_insert_with(|| scheme.to_owned());
                Ok(())
            })?;
            if let Some(first) = first {
                push_field(out, "scheme");
                out.push_str(&first);
            }
            Ok(())
        }
        "scheme" => reader.skip().map(drop),
        _ => entry.keep(reader, out),
    })
}

/// A configuration with its task, `{taskId, pushNotificationConfig}` or, in the protobuf form,
/// `{name, pushNotificationConfig}`, also in a `config` with the task in `parent`.
pub(super) fn upgrade_task_config(
    reader: &mut Reader<'_>,
    out: &mut String,
) -> Result<(), ReadError> {
    let mut found = Found::default();
    found.read(reader)?;
    out.push('{');
    if let Some(task_id) = found.task_id {
        push_field(out, "taskId");
        out.push_str(&task_id);
    }
    let config = found
        .config
        .ok_or_else(|| ReadError::invalid("is required").within("pushNotificationConfig"))?;
    let mut has_id = false;
    let mut fields = String::new();
    object(&mut again(config), &mut fields, |entry, reader, out| {
        if matches!(entry.key, "id") && matches!(reader.peek(), Some(b'n')) {
            return reader.skip().map(drop);
        }
        has_id |= entry.key == "id";
        config_entry(entry, reader, out)
    })
    .map_err(|error| error.within("pushNotificationConfig"))?;
    let fields = fields.get(1..fields.len() - 1).unwrap_or_default();
    if !fields.is_empty() {
        if !out.ends_with('{') {
            out.push(',');
        }
        out.push_str(fields);
    }
    if let Some(id) = found.id.filter(|_| !has_id) {
        push_field(out, "id");
        out.push_str(&id);
    }
    push_string_field(out, "protocolVersion", super::PROTOCOL_VERSION);
    out.push('}');
    Ok(())
}

/// String tokens, and the text of the configuration.
#[derive(Default)]
struct Found<'a> {
    task_id: Option<String>,
    id: Option<String>,
    config: Option<&'a str>,
}

impl<'a> Found<'a> {
    fn read(&mut self, reader: &mut Reader<'a>) -> Result<(), ReadError> {
        let mut entries = reader.object()?;
        while let Some(key) = reader.key(&mut entries)? {
            let within = |error: ReadError| error.within(key.clone().into_owned());
            match &*key {
                "taskId" | "task_id" => self.task_id = Some(raw(reader)?.to_owned()),
                "configId" | "config_id" => {
                    let id = reader.optional_string().map_err(within)?;
                    self.id = id.filter(|id| !id.is_empty()).map(|id| string_token(&id));
                }
                "name" | "parent" => {
                    let name = reader
                        .optional_string()
                        .map_err(within)?
                        .unwrap_or_default();
                    self.read_name(&name);
                }
                "config" if reader.peek() == Some(b'{') => self.read(reader).map_err(within)?,
                "pushNotificationConfig" | "push_notification_config" => {
                    self.config = Some(raw(reader)?).filter(|config| *config != "null");
                }
                _ => {
                    reader.skip().map_err(within)?;
                }
            }
        }
        Ok(())
    }

    /// `tasks/{task}/pushNotificationConfigs/{id}`, from its begin.
    fn read_name(&mut self, name: &str) {
        let mut segments = name.split('/');
        if segments.next() != Some("tasks") {
            return;
        }
        self.task_id = segments.next().map(string_token);
        if segments.next() == Some("pushNotificationConfigs") {
            let id = segments.next().filter(|id| !id.is_empty());
            self.id = id.map(string_token).or(self.id.take());
        }
    }
}

pub(super) fn downgrade_config(reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
    object(reader, out, |entry, reader, out| match entry.key {
        "authentication" => {
            push_field(out, "authentication");
            unless_null(reader, out, downgrade_authentication)
        }
        "id" | "url" | "token" => entry.keep(reader, out),
        _ => reader.skip().map(drop),
    })
}

fn downgrade_authentication(reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
    object(reader, out, |entry, reader, out| match entry.key {
        "scheme" => {
            push_field(out, "schemes");
            out.push('[');
            out.push_str(raw(reader)?);
            out.push(']');
            Ok(())
        }
        "credentials" => entry.keep(reader, out),
        _ => reader.skip().map(drop),
    })
}

pub(super) fn downgrade_task_config(
    reader: &mut Reader<'_>,
    form: Form,
    out: &mut String,
) -> Result<(), ReadError> {
    let text = raw(reader)?;
    let (task_id, id) = (string_field(text, "taskId")?, string_field(text, "id")?);
    let task_id = task_id.unwrap_or_default();
    out.push('{');
    match form {
        Form::JsonRpc => {
            push_field(out, "taskId");
            out.push_str(&string_token(&task_id));
        }
        Form::Rest => {
            let id = id.unwrap_or_default();
            let name = format!("tasks/{task_id}/pushNotificationConfigs/{id}");
            push_field(out, "name");
            out.push_str(&string_token(&name));
        }
    }
    push_field(out, "pushNotificationConfig");
    downgrade_config(&mut again(text), out)?;
    out.push('}');
    Ok(())
}

/// A page: `configs` in the protobuf form, the bare array over JSON-RPC.
pub(super) fn upgrade_configs(reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
    if matches!(reader.peek(), Some(b'[' | b'n')) {
        out.push_str("{\"configs\":");
        list(reader, out, upgrade_task_config)?;
        out.push('}');
        return Ok(());
    }
    object(reader, out, |entry, reader, out| match entry.key {
        "configs" => {
            push_field(out, "configs");
            list(reader, out, upgrade_task_config)
        }
        _ => entry.keep(reader, out),
    })
}

pub(super) fn downgrade_configs(
    reader: &mut Reader<'_>,
    form: Form,
    out: &mut String,
) -> Result<(), ReadError> {
    let mut configs = "[]".to_owned();
    let mut page = String::new();
    object(reader, &mut page, |entry, reader, out| match entry.key {
        "configs" => {
            configs.clear();
            list(reader, &mut configs, |reader, out| {
                downgrade_task_config(reader, form, out)
            })
        }
        "nextPageToken" => entry.keep(reader, out),
        _ => reader.skip().map(drop),
    })?;
    match form {
        Form::JsonRpc => out.push_str(&configs),
        Form::Rest => {
            page.pop();
            push_field(&mut page, "configs");
            out.push_str(&page);
            out.push_str(&configs);
            out.push('}');
        }
    }
    Ok(())
}

/// The first of a page.
pub(super) fn downgrade_first(
    reader: &mut Reader<'_>,
    form: Form,
    out: &mut String,
) -> Result<(), ReadError> {
    let mut first: Option<String> = None;
    let mut page = String::new();
    object(reader, &mut page, |entry, reader, out| match entry.key {
        "configs" => list(reader, out, |reader, _| {
            let config = raw(reader)?;
            first.get_or_insert_with(|| config.to_owned());
            Ok(())
        }),
        _ => reader.skip().map(drop),
    })?;
    let first = first.ok_or_else(|| {
        ReadError::invalid("there is no push notification configuration for this task")
    })?;
    downgrade_task_config(&mut again(&first), form, out)
}

/// `{id: task, pushNotificationConfigId}` and `{taskId, id}`.
pub(super) fn upgrade_request(reader: &mut Reader<'_>, out: &mut String) -> Result<(), ReadError> {
    object(reader, out, |entry, reader, out| {
        let name = match entry.key {
            "id" => "taskId",
            "pushNotificationConfigId" | "push_notification_config_id" => "id",
            _ => return reader.skip().map(drop),
        };
        push_field(out, name);
        out.push_str(raw(reader)?);
        Ok(())
    })
}

pub(super) fn downgrade_request(
    reader: &mut Reader<'_>,
    out: &mut String,
) -> Result<(), ReadError> {
    object(reader, out, |entry, reader, out| {
        let name = match entry.key {
            "taskId" => "id",
            "id" => "pushNotificationConfigId",
            _ => return reader.skip().map(drop),
        };
        push_field(out, name);
        out.push_str(raw(reader)?);
        Ok(())
    })
}

/// A string of an object's text.
fn string_field(text: &str, name: &str) -> Result<Option<String>, ReadError> {
    let mut reader = again(text);
    let mut found = None;
    let mut entries = reader.object()?;
    while let Some(key) = reader.key(&mut entries)? {
        let value = raw(&mut reader)?;
        if key == name && value.starts_with('"') {
            found = Some(decode(value)?.into_owned());
        }
    }
    Ok(found)
}
