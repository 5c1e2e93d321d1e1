//! Calls as HTTP+JSON (A2A section 11).

use bytes::Bytes;
use llamon_core::a2a::{MEDIA_TYPE, ProtocolVersion};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::HeaderMap;
use url::Url;

use crate::binding::{Endpoint, Operation};
use crate::egress::{Body, Method, Request};
use crate::error::ClientError;

const JSON: &str = "application/a2a+json, application/json";
// An error comes as JSON also where a stream was asked for.
const STREAM_OR_JSON: &str = "text/event-stream, application/a2a+json, application/json";

/// What stands for itself in a URL (RFC 3986, section 2.3). A colon does not: the text after a
/// path's last colon is the operation.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

pub(crate) fn request(endpoint: &Endpoint, operation: &Operation) -> Result<Request, ClientError> {
    let (method, path) = route(operation)?;
    let bytes = match operation {
        Operation::Send(request) | Operation::Stream(request) => {
            let mut body = String::new();
            request.write(&mut body);
            Some(Bytes::from(body))
        }
        Operation::CreatePush(_) => {
            let mut body = String::new();
            operation.write(&mut body);
            Some(Bytes::from(body))
        }
        // The body may be empty; some servers parse one all the same.
        Operation::Cancel(_) => Some(Bytes::from_static(b"{}")),
        Operation::Get(_) | Operation::List(_) | Operation::Subscribe(_) => None,
        Operation::GetPush(_) | Operation::ListPush(_) | Operation::DeletePush(_) => None,
        Operation::ExtendedCard => None,
    };
    Ok(Request {
        method,
        url: url(endpoint, &path, &query(operation))?,
        version: ProtocolVersion::V1_0,
        accept: if operation.is_stream() {
            STREAM_OR_JSON
        } else {
            JSON
        },
        headers: HeaderMap::new(),
        body: bytes.map(|bytes| Body {
            media_type: MEDIA_TYPE,
            bytes,
        }),
    })
}

/// The method and the path of an operation.
pub(crate) fn route(operation: &Operation) -> Result<(Method, String), ClientError> {
    Ok(match operation {
        Operation::Send(_) => (Method::Post, "/message:send".to_owned()),
        Operation::Stream(_) => (Method::Post, "/message:stream".to_owned()),
        Operation::Get(request) => (
            Method::Get,
            format!("/tasks/{}", segment("task id", &request.id)?),
        ),
        Operation::List(_) => (Method::Get, "/tasks".to_owned()),
        Operation::Cancel(id) => (
            Method::Post,
            format!("/tasks/{}:cancel", segment("task id", id)?),
        ),
        Operation::Subscribe(id) => (
            Method::Post,
            format!("/tasks/{}:subscribe", segment("task id", id)?),
        ),
        Operation::CreatePush(request) => (Method::Post, push_path(&request.task_id, None)?),
        Operation::ListPush(request) => (Method::Get, push_path(&request.task_id, None)?),
        Operation::GetPush(request) => {
            (Method::Get, push_path(&request.task_id, Some(&request.id))?)
        }
        Operation::DeletePush(request) => (
            Method::Delete,
            push_path(&request.task_id, Some(&request.id))?,
        ),
        Operation::ExtendedCard => (Method::Get, "/extendedAgentCard".to_owned()),
    })
}

pub(crate) fn query(operation: &Operation) -> Vec<(&'static str, String)> {
    match operation {
        Operation::Get(request) => request
            .history_length
            .map(|n| ("historyLength", n.to_string()))
            .into_iter()
            .collect(),
        Operation::List(request) => request.query(),
        Operation::ListPush(request) => request.query(),
        _ => Vec::new(),
    }
}

pub(crate) fn url(
    endpoint: &Endpoint,
    path: &str,
    query: &[(&'static str, String)],
) -> Result<Url, ClientError> {
    let mut url = endpoint.url.clone();
    let base = url.path().trim_end_matches('/');
    let path = if endpoint.tenant.is_empty() {
        format!("{base}{path}")
    } else {
        let tenant = segment("tenant", &endpoint.tenant)?;
        format!("{base}/{tenant}{path}")
    };
    url.set_path(&path);
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    Ok(url)
}

fn push_path(task_id: &str, id: Option<&str>) -> Result<String, ClientError> {
    let configs = format!(
        "/tasks/{}/pushNotificationConfigs",
        segment("task id", task_id)?
    );
    match id {
        None => Ok(configs),
        Some(id) => {
            let id = segment("id of a push notification configuration", id)?;
            Ok(format!("{configs}/{id}"))
        }
    }
}

fn segment(what: &str, value: &str) -> Result<String, ClientError> {
    // Every URL parser on the way takes these two as a way to walk up, escaped or not.
    if matches!(value, "" | "." | "..") {
        return Err(ClientError::usage(format!(
            "the {what} {value:?} cannot stand in a URL; use one that the agent gave"
        )));
    }
    Ok(utf8_percent_encode(value, SEGMENT).to_string())
}

#[cfg(test)]
mod tests {
    use llamon_core::a2a::{ListTasksRequest, ProtocolVersion, TaskRequest};
    use url::Url;

    use super::request;
    use crate::binding::{Binding, Endpoint, Operation};

    fn url(base: &str, tenant: &str, operation: &Operation) -> String {
        let endpoint = Endpoint {
            url: Url::parse(base).unwrap(),
            binding: Binding::Rest,
            version: ProtocolVersion::V1_0,
            tenant: tenant.to_owned(),
        };
        request(&endpoint, operation).unwrap().url.into()
    }

    #[test]
    fn ids_are_percent_encoded() {
        let get = |id: &str| Operation::Get(TaskRequest::new(id));
        let base = "http://127.0.0.1/agent/";
        let cases = [
            ("plain-1.~_", "plain-1.~_"),
            ("a/b", "a%2Fb"),
            ("a:cancel", "a%3Acancel"),
            ("a?b#c%41", "a%3Fb%23c%2541"),
            ("과제", "%EA%B3%BC%EC%A0%9C"),
            ("../admin", "..%2Fadmin"),
        ];
        for (id, encoded) in cases {
            let expected = format!("http://127.0.0.1/agent/tasks/{encoded}");
            assert_eq!(url(base, "", &get(id)), expected);
        }
        for id in ["", ".", ".."] {
            let endpoint = Endpoint {
                url: Url::parse(base).unwrap(),
                binding: Binding::Rest,
                version: ProtocolVersion::V1_0,
                tenant: String::new(),
            };
            assert!(request(&endpoint, &get(id)).err().unwrap().is_usage());
        }
    }

    #[test]
    fn tenant_and_query_have_their_places() {
        let mut list = ListTasksRequest::default();
        list.context_id = Some("c 1&x".into());
        list.page_size = Some(2);
        assert_eq!(
            url("http://127.0.0.1", "t/1", &Operation::List(list)),
            "http://127.0.0.1/t%2F1/tasks?contextId=c+1%26x&pageSize=2"
        );
        let list = Operation::List(ListTasksRequest::default());
        assert_eq!(
            url("http://127.0.0.1/", "", &list),
            "http://127.0.0.1/tasks"
        );
    }
}
