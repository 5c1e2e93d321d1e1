//! Who the caller is: headers that go to one origin and no other.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::{Origin, Url};

use crate::egress;
use crate::error::ClientError;

/// What a [`Credentials`] returns: names and values of headers, or why there are none.
pub type Headers<'a> = Pin<
    Box<
        dyn Future<Output = Result<Vec<(String, String)>, Box<dyn Error + Send + Sync>>>
            + Send
            + 'a,
    >,
>;

/// The headers that say who the caller is, asked for anew for each call: a token that expires is
/// renewed here.
///
/// ```
/// use llamon_client::credentials::{Credentials, Headers};
///
/// struct Rotating(tokio::sync::watch::Receiver<String>);
///
/// impl Credentials for Rotating {
///     fn headers(&self) -> Headers<'_> {
///         let token = self.0.borrow().clone();
///         Box::pin(async move { Ok(vec![("authorization".into(), format!("Bearer {token}"))]) })
///     }
/// }
/// ```
pub trait Credentials: Send + Sync + 'static {
    /// The headers for the next call. The time that it takes counts towards the call's, and the
    /// future is dropped with it.
    fn headers(&self) -> Headers<'_>;
}

/// The settings of a builder: what is sent, and to whom besides the agent's own origin.
#[derive(Clone, Default)]
pub(crate) struct Settings {
    providers: Vec<Arc<dyn Credentials>>,
    origins: Vec<String>,
}

/// What is sent to whom.
#[derive(Clone, Default)]
pub(crate) struct Wallet {
    providers: Vec<Arc<dyn Credentials>>,
    origins: Vec<Origin>,
}

impl Settings {
    pub(crate) fn add(&mut self, credentials: impl Credentials) {
        self.providers.push(Arc::new(credentials));
    }

    pub(crate) fn add_header(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.add(Fixed {
            name: name.into(),
            value: value.into(),
        });
    }

    pub(crate) fn add_origin(&mut self, url: impl Into<String>) {
        self.origins.push(url.into());
    }

    /// Checks the origins. `named` is where the caller said that the agent is.
    pub(crate) fn check(self, named: Option<&Url>) -> Result<Wallet, ClientError> {
        let mut origins: Vec<Origin> = named.map(Url::origin).into_iter().collect();
        for text in &self.origins {
            origins.push(crate::address::parse(text)?.origin());
        }
        Ok(Wallet {
            providers: self.providers,
            origins,
        })
    }
}

impl Wallet {
    /// Checks that credentials may go to `url`, if there are any.
    pub(crate) fn permit(&self, url: &Url) -> Result<(), ClientError> {
        if self.providers.is_empty() || self.origins.contains(&url.origin()) {
            return Ok(());
        }
        let origin = url.origin().ascii_serialization();
        Err(ClientError::usage(format!(
            "the agent's interface is at {origin}, which the credentials were not given for, so they are not sent there; if it is right, name it with credentials_origin({origin:?})"
        )))
    }

    /// The headers for a request to `url`: none where they may not go.
    pub(crate) async fn headers(&self, url: &Url) -> Result<HeaderMap, ClientError> {
        let mut headers = HeaderMap::new();
        if !self.origins.contains(&url.origin()) {
            return Ok(headers);
        }
        for provider in &self.providers {
            let given = provider.headers().await.map_err(|error| {
                ClientError::usage(format!(
                    "there are no credentials for {}: {error}",
                    url.origin().ascii_serialization()
                ))
            })?;
            for (name, value) in given {
                let (name, value) = header(&name, &value)?;
                headers.append(name, value);
            }
        }
        Ok(headers)
    }
}

/// A header that is the same for every call.
struct Fixed {
    name: String,
    value: String,
}

impl Credentials for Fixed {
    fn headers(&self) -> Headers<'_> {
        Box::pin(std::future::ready(Ok(vec![(
            self.name.clone(),
            self.value.clone(),
        )])))
    }
}

/// Headers that a call sets itself.
const OURS: &[&str] = &["accept", "a2a-extensions", "a2a-version", "content-type"];

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), ClientError> {
    let (name, value) = egress::header(name, value)?;
    if OURS.contains(&name.as_str()) {
        return Err(ClientError::usage(format!(
            "the header {:?} carries no credentials; the client sets it itself",
            name.as_str()
        )));
    }
    Ok((name, value))
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("count", &self.providers.len())
            .field("origins", &self.origins.len())
            .finish()
    }
}
