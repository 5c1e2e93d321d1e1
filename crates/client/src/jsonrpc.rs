//! Calls as JSON-RPC 2.0 (A2A section 9).

use llamon_core::a2a::ProtocolVersion;
use llamon_core::json::string_token;
use reqwest::header::HeaderMap;

use crate::binding::{Endpoint, Operation};
use crate::egress::{Body, Method, Request};

const JSON: &str = "application/json";
// An error comes as JSON also where a stream was asked for.
const STREAM_OR_JSON: &str = "text/event-stream, application/json";

pub(crate) fn request(endpoint: &Endpoint, operation: &Operation) -> Request {
    // One call per HTTP request: the id tells nothing apart.
    let mut body = format!(
        r#"{{"jsonrpc":"2.0","id":"1","method":"{}","params":"#,
        operation.name()
    );
    let params = body.len();
    operation.write(&mut body);
    if !endpoint.tenant.is_empty() {
        insert_tenant(&mut body, params, &endpoint.tenant);
    }
    body.push('}');
    Request {
        method: Method::Post,
        url: endpoint.url.clone(),
        version: ProtocolVersion::V1_0,
        accept: if operation.is_stream() {
            STREAM_OR_JSON
        } else {
            JSON
        },
        headers: HeaderMap::new(),
        body: Some(Body {
            media_type: JSON,
            bytes: body.into(),
        }),
    }
}

/// Puts the tenant into the object that begins at `params`.
fn insert_tenant(body: &mut String, params: usize, tenant: &str) {
    let first_field = params + 1;
    let comma = match body.as_bytes().get(first_field) {
        Some(b'}') | None => "",
        Some(_) => ",",
    };
    let field = format!("\"tenant\":{}{comma}", string_token(tenant));
    body.insert_str(first_field, &field);
}

#[cfg(test)]
mod tests {
    use llamon_core::a2a::{ListTasksRequest, ProtocolVersion, TaskRequest};
    use url::Url;

    use super::request;
    use crate::binding::{Binding, Endpoint, Operation};

    fn body(tenant: &str, operation: &Operation) -> String {
        let endpoint = Endpoint {
            url: Url::parse("http://127.0.0.1/").unwrap(),
            binding: Binding::JsonRpc,
            version: ProtocolVersion::V1_0,
            tenant: tenant.to_owned(),
        };
        let body = request(&endpoint, operation).body.unwrap();
        String::from_utf8(body.bytes.to_vec()).unwrap()
    }

    #[test]
    fn the_tenant_is_one_of_the_parameters() {
        let get = Operation::Get(TaskRequest::new("t1"));
        let list = Operation::List(ListTasksRequest::default());
        let head = r#"{"jsonrpc":"2.0","id":"1","method":"#;
        assert_eq!(
            body("", &get),
            format!(r#"{head}"GetTask","params":{{"id":"t1"}}}}"#)
        );
        assert_eq!(
            body("a\"b", &get),
            format!(r#"{head}"GetTask","params":{{"tenant":"a\"b","id":"t1"}}}}"#)
        );
        assert_eq!(
            body("x", &list),
            format!(r#"{head}"ListTasks","params":{{"tenant":"x"}}}}"#)
        );
    }
}
