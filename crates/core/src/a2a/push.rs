use std::fmt;
use std::sync::Arc;

use super::message::{missing, read_id, read_tenant};
use super::{ProtocolVersion, push_field, push_string_field};
use crate::json::{ReadError, Reader, Seen};

/// Where a task's events are sent to, and how the server shows who it is (section 4.3.1).
///
/// `Debug` shows no secret.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PushConfig {
    /// Names the configuration among its task's; the server chooses one if the client does not.
    pub id: Option<Arc<str>>,
    /// Where events are sent to, by POST.
    pub url: String,
    /// Sent along as it is, so that the receiver can tell its own notifications.
    pub token: Option<String>,
    /// How the server authenticates itself to the receiver.
    pub authentication: Option<PushAuthentication>,
    /// In which version the receiver is told: that in which the configuration was made. Written
    /// as `protocolVersion` where it is not 1.0.
    pub version: ProtocolVersion,
}

/// How a server authenticates itself to a receiver of notifications (section 4.3.2).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PushAuthentication {
    /// The scheme, as the `Authorization` header names it (`Bearer`), or `ApiKey`.
    pub scheme: String,
    /// What goes with it.
    pub credentials: Option<String>,
}

/// Whether secrets are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// They are, for the receiver's own server and for the store.
    Shown,
    /// They are left out, in everything that a server says.
    Hidden,
}

impl PushConfig {
    /// A configuration without authentication.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            id: None,
            url: url.into(),
            token: None,
            authentication: None,
            version: ProtocolVersion::V1_0,
        }
    }

    /// The same with an id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<Arc<str>>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// The same with a token.
    #[must_use]
    pub fn with_token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// The same with an authentication, such as `("Bearer", "...")`.
    #[must_use]
    pub fn with_authentication(
        mut self,
        scheme: impl Into<String>,
        credentials: impl Into<String>,
    ) -> Self {
        self.authentication = Some(PushAuthentication {
            scheme: scheme.into(),
            credentials: Some(credentials.into()),
        });
        self
    }

    /// Reads the configuration at the cursor. What the object says of where it belongs is
    /// returned as well.
    ///
    /// # Errors
    /// When `url` is missing or a field is wrong; naming it.
    pub fn read(reader: &mut Reader<'_>) -> Result<(Self, PushConfigPlace), ReadError> {
        let mut config = Self::new("");
        let mut place = PushConfigPlace::default();
        let mut url = None;
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "id" => {
                    seen.mark(0, "id")?;
                    config.id = read_id(reader).map_err(|e| e.within("id"))?;
                }
                "taskId" | "task_id" => {
                    seen.mark(1, "taskId")?;
                    place.task_id = read_id(reader).map_err(|e| e.within("taskId"))?;
                }
                "url" => {
                    seen.mark(2, "url")?;
                    url = reader.optional_string().map_err(|e| e.within("url"))?;
                }
                "token" => {
                    seen.mark(3, "token")?;
                    let token = reader.optional_string().map_err(|e| e.within("token"))?;
                    config.token = token.map(Into::into);
                }
                "authentication" => {
                    seen.mark(4, "authentication")?;
                    if !reader.null()? {
                        let read = PushAuthentication::read(reader);
                        config.authentication = Some(read.map_err(|e| e.within("authentication"))?);
                    }
                }
                "tenant" => {
                    seen.mark(5, "tenant")?;
                    place.tenant = read_tenant(reader)?;
                }
                "protocolVersion" => {
                    seen.mark(6, "protocolVersion")?;
                    let name = reader
                        .optional_string()
                        .map_err(|e| e.within("protocolVersion"))?;
                    let version = name.as_deref().and_then(ProtocolVersion::parse);
                    config.version = version.unwrap_or(ProtocolVersion::V1_0);
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        let url = url.filter(|url| !url.is_empty());
        config.url = url.ok_or_else(|| missing("url"))?.into();
        Ok((config, place))
    }

    /// Appends the configuration's JSON, with the task that it belongs to if that is given.
    pub fn write(&self, out: &mut String, task_id: Option<&str>, secrets: Secrets) {
        out.push('{');
        if let Some(id) = &self.id {
            push_string_field(out, "id", id);
        }
        if let Some(task_id) = task_id {
            push_string_field(out, "taskId", task_id);
        }
        push_string_field(out, "url", &self.url);
        if let (Some(token), Secrets::Shown) = (&self.token, secrets) {
            push_string_field(out, "token", token);
        }
        if let Some(authentication) = &self.authentication {
            push_field(out, "authentication");
            authentication.write(out, secrets);
        }
        if self.version != ProtocolVersion::V1_0 {
            push_string_field(out, "protocolVersion", self.version.as_str());
        }
        out.push('}');
    }
}

/// What a configuration's JSON says of where it belongs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PushConfigPlace {
    /// The task.
    pub task_id: Option<Arc<str>>,
    /// The tenant.
    pub tenant: Option<String>,
}

impl PushAuthentication {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ReadError> {
        let mut scheme = None;
        let mut credentials = None;
        let mut seen = Seen::default();
        let mut object = reader.object()?;
        while let Some(key) = reader.key(&mut object)? {
            match &*key {
                "scheme" => {
                    seen.mark(0, "scheme")?;
                    scheme = reader.optional_string().map_err(|e| e.within("scheme"))?;
                }
                "credentials" => {
                    seen.mark(1, "credentials")?;
                    let read = reader.optional_string();
                    credentials = read.map_err(|e| e.within("credentials"))?.map(Into::into);
                }
                _ => {
                    reader.skip().map_err(|e| e.within(key.into_owned()))?;
                }
            }
        }
        let scheme = scheme.filter(|scheme| !scheme.is_empty());
        Ok(Self {
            scheme: scheme.ok_or_else(|| missing("scheme"))?.into(),
            credentials,
        })
    }

    fn write(&self, out: &mut String, secrets: Secrets) {
        out.push('{');
        push_string_field(out, "scheme", &self.scheme);
        if let (Some(credentials), Secrets::Shown) = (&self.credentials, secrets) {
            push_string_field(out, "credentials", credentials);
        }
        out.push('}');
    }
}

impl fmt::Debug for PushConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL, too, often carries a secret.
        f.debug_struct("PushConfig")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PushAuthentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushAuthentication")
            .field("scheme", &self.scheme)
            .finish_non_exhaustive()
    }
}
