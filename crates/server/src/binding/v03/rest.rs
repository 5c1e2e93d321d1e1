//! REST of 0.3, under `/v1`.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Method, Request, Response, Uri};
use axum::response::IntoResponse as _;
use llamon_core::a2a::A2aError;
use llamon_core::a2a::v03::{Form, MAX_DEPTH, Shape, downgrade, upgrade};
use llamon_core::json::{Reader, check_syntax};
use tower::Service as _;

use super::super::rest::{Failure, no_route};
use super::super::{body, http};
use super::{Translator, reply, upgrade_head};

/// The routes that calls are translated for.
pub(super) struct Rest {
    pub(super) inner: Router,
    pub(super) translator: Arc<Translator>,
}

/// Anything under `/v1`.
pub(super) async fn call(
    State(rest): State<Arc<Rest>>,
    request: Request<Body>,
) -> Result<Response<Body>, Failure> {
    let (mut parts, body) = request.into_parts();
    let prefix = &rest.translator.prefix;
    let path = parts.uri.path().strip_prefix(&**prefix).unwrap_or_default();
    let path = path.strip_prefix("/v1").unwrap_or_default().to_owned();
    let route = Route::of(&parts.method, &path);
    let (true, Some(route)) = (http::is_v03(&parts.headers, &parts.uri), route) else {
        return Ok(no_route(&parts.method, parts.uri.path()));
    };
    let query = parts.uri.query().map(|query| format!("?{query}"));
    let target = format!("{prefix}{}{}", route.path, query.unwrap_or_default());
    let Ok(target) = target.parse::<Uri>() else {
        return Ok(no_route(&parts.method, &path));
    };
    if let Err(refused) = rest.translator.authenticate(&mut parts).await {
        let response = Failure::from(refused).into_response();
        return Ok(reply::translate(response, str::to_owned).await);
    }
    parts.uri = target;
    upgrade_head(&mut parts);
    let body = match route.takes {
        None => body,
        Some(shape) => Body::from(upgraded(&rest.translator, body, shape).await?),
    };
    let request = Request::from_parts(parts, body);
    let response = match rest.inner.clone().call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    let translated = reply::translate(response, move |text| {
        downgraded(text, route.answers).unwrap_or_else(|error| {
            let mut out = String::new();
            error.write_rest(&mut out);
            out
        })
    });
    Ok(translated.await)
}

/// A route of 0.3 as it is in 1.0.
struct Route {
    path: String,
    /// `None` where the body is the same.
    takes: Option<Shape>,
    answers: Shape,
}

impl Route {
    fn of(method: &Method, path: &str) -> Option<Self> {
        let reads = matches!(*method, Method::GET | Method::HEAD);
        let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let (takes, answers) = match &segments[..] {
            ["message:send" | "message:stream"] => (Some(Shape::SendRequest), Shape::Event),
            ["card"] => {
                return Some(Self {
                    path: "/extendedAgentCard".to_owned(),
                    takes: None,
                    answers: Shape::Same,
                });
            }
            ["tasks"] => (None, Shape::Tasks),
            ["tasks", task] if task.ends_with(":subscribe") => (None, Shape::TaskEvent),
            ["tasks", _] => (None, Shape::Task),
            ["tasks", _, "pushNotificationConfigs"] if reads => (None, Shape::PushConfigs),
            ["tasks", _, "pushNotificationConfigs"] => (Some(Shape::PushConfig), Shape::PushConfig),
            ["tasks", _, "pushNotificationConfigs", _] if *method == Method::DELETE => {
                (None, Shape::Nothing)
            }
            ["tasks", _, "pushNotificationConfigs", _] => (None, Shape::PushConfig),
            _ => return None,
        };
        Some(Self {
            path: path.to_owned(),
            takes,
            answers,
        })
    }
}

async fn upgraded(translator: &Translator, body: Body, shape: Shape) -> Result<String, A2aError> {
    let source = body::read(body, translator.max_body_bytes).await?;
    let mut out = String::with_capacity(source.len());
    let mut reader = Reader::of_str(&source, translator.max_json_depth);
    let read = upgrade(&mut reader, shape, Form::Rest, &mut out).and_then(|()| reader.end());
    read.map_err(|error| {
        // A text that is no JSON is that first of all.
        let error = check_syntax(&source).err().unwrap_or(error);
        A2aError::of_params(&error)
    })?;
    Ok(out)
}

/// An answer of 1.0 in 0.3; an error is the same in both.
fn downgraded(text: &str, answers: Shape) -> Result<String, A2aError> {
    if text.starts_with("{\"error\":") {
        return Ok(text.to_owned());
    }
    let mut out = String::with_capacity(text.len() + 64);
    let mut reader = Reader::of_str(text, MAX_DEPTH);
    downgrade(&mut reader, answers, Form::Rest, &mut out)
        .map_err(|error| reply::no_answer(&error, answers))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use axum::http::Method;

    use super::Route;

    #[test]
    fn routes_are_those_of_the_new_version_without_v1() {
        for (method, path, expected) in [
            (Method::POST, "/message:send", Some("/message:send")),
            (
                Method::GET,
                "/tasks/a%2Fb:subscribe",
                Some("/tasks/a%2Fb:subscribe"),
            ),
            (Method::GET, "/card", Some("/extendedAgentCard")),
            (Method::GET, "/", None),
            (Method::GET, "/extendedAgentCard", None),
            (Method::GET, "/tasks/t/pushNotificationConfigs/p/q", None),
        ] {
            let route = Route::of(&method, path);
            assert_eq!(route.map(|route| route.path).as_deref(), expected, "{path}");
        }
    }
}
