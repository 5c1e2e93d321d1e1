//! Section 8: the agent card.

use llamon_itest::call::Caller;
use llamon_itest::http::{Request, Response, send};
use llamon_itest::raw::Raw;

use super::support::*;

async fn get(served: &Served) -> Response {
    let request = Request::get("/.well-known/agent-card.json").without("a2a-version");
    send(served.server.url(), &request).await
}

async fn card(served: &Served) -> Raw {
    Raw::parse(&get(served).await.body)
}

#[tokio::test]
async fn card_disc_001_the_card_is_at_its_well_known_place() {
    let response = get(&serve().await).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("application/json"));
    Raw::parse(&response.body);
}

#[tokio::test]
async fn card_proto_001_the_card_declares_every_binding_that_is_spoken() {
    let served = serve().await;
    let card = card(&served).await;
    let bindings: Vec<String> = card
        .list("supportedInterfaces")
        .iter()
        .map(|interface| interface.string("protocolBinding"))
        .collect();
    assert_eq!(bindings, ["JSONRPC", "HTTP+JSON", "GRPC"]);
}

#[tokio::test]
async fn card_proto_002_each_interface_has_its_url_and_version() {
    let served = serve().await;
    for interface in card(&served).await.list("supportedInterfaces") {
        assert_eq!(interface.string("protocolVersion"), "1.0");
        let url = interface.string("url");
        let authority = served
            .server
            .url()
            .trim_start_matches("http://")
            .trim_end_matches('/');
        assert!(url.contains(authority), "{url} {authority}");
    }
    for caller in served.callers() {
        task_id(&caller, "text").await;
    }
}

#[tokio::test]
async fn card_struct_001_the_card_has_all_fields_that_it_must_have() {
    let card = card(&serve().await).await;
    for field in [
        "name",
        "description",
        "version",
        "supportedInterfaces.0",
        "capabilities",
        "defaultInputModes.0",
        "defaultOutputModes.0",
        "skills.0.id",
        "skills.0.name",
        "skills.0.description",
        "skills.0.tags",
    ] {
        card.at(field);
    }
    assert_eq!(card.at("capabilities.streaming").text(), "true");
    assert_eq!(card.at("capabilities.pushNotifications").text(), "true");
}

#[tokio::test]
async fn card_cache_001_the_card_says_how_long_it_may_be_kept() {
    let response = get(&serve().await).await;
    let control = response.header("cache-control").expect("Cache-Control");
    assert!(control.contains("max-age="), "{control}");
}

#[tokio::test]
async fn card_cache_002_the_card_has_a_tag_that_saves_its_transfer() {
    let served = serve().await;
    let tag = get(&served).await.header("etag").expect("ETag").to_owned();
    let again = Request::get("/.well-known/agent-card.json").header("If-None-Match", &tag);
    let again = send(served.server.url(), &again).await;
    assert_eq!((again.status, &*again.body), (304, ""));
}

#[tokio::test]
async fn card_cache_003_the_card_says_when_it_was_changed() {
    let response = get(&serve().await).await;
    let date = response.header("last-modified").expect("Last-Modified");
    httpdate::parse_http_date(date).expect("a date");
}

#[tokio::test]
async fn bind_field_001_every_interface_of_the_card_answers() {
    let served = serve().await;
    let interfaces = card(&served).await.list("supportedInterfaces");
    assert_eq!(interfaces.len(), 3);
    for (interface, caller) in interfaces.iter().zip(served.callers()) {
        let url = interface.string("url");
        let url = if url.starts_with("http") {
            url
        } else {
            format!("http://{url}")
        };
        task_id(&Caller::new(&url, caller.binding), "text").await;
    }
}
