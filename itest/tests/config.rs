//! Mistakes in a configuration: each is an error that says what was given and what is taken,
//! before a port is bound or a file exists.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::net::TcpListener;
use std::path::Path;

use llamon_agent::a2a::{AgentCard, AgentInterface, Skill};
use llamon_agent::core::{Limits, PolicyError, UpstreamPartsPolicy};
use llamon_agent::server::{
    AgentError, AgentHost, ConfigError, ServeError, Server, Turn, create_server,
};
use llamon_itest::agents::card;

async fn agent(turn: Turn) -> Result<String, AgentError> {
    Ok(turn.query().to_owned())
}

async fn server() -> Server {
    create_server(card("agent"), agent).await.expect("a server")
}

// === the policy ===

const WRONG: [&str; 8] = [
    "Append",
    " append",
    "append ",
    "APPEND",
    "",
    "merge",
    "append\n",
    "replace,append",
];

async fn policy<P>(policy: P) -> Result<Server, ConfigError>
where
    P: TryInto<UpstreamPartsPolicy>,
    P::Error: Into<PolicyError>,
{
    create_server(card("agent"), agent)
        .upstream_parts_policy(policy)
        .await
}

fn assert_policy_error(error: &ConfigError, value: &str) {
    assert!(error.is_policy(), "{error}");
    let text = error.to_string();
    for word in [&format!("{value:?}"), "\"replace\"", "\"append\""] {
        assert!(text.contains(word), "{word} is not in {text}");
    }
}

#[tokio::test]
async fn a_policy_value_that_is_none_fails_in_create_server() {
    for value in WRONG {
        assert_policy_error(&policy(value).await.unwrap_err(), value);
        assert_policy_error(&policy(value.to_owned()).await.unwrap_err(), value);
        assert_policy_error(&policy(&value.to_owned()).await.unwrap_err(), value);
    }
}

#[tokio::test]
async fn the_two_values_are_taken_in_each_type() {
    for (value, variant) in [
        ("replace", UpstreamPartsPolicy::Replace),
        ("append", UpstreamPartsPolicy::Append),
    ] {
        policy(value).await.unwrap();
        policy(value.to_owned()).await.unwrap();
        policy(&value.to_owned()).await.unwrap();
        policy(variant).await.unwrap();
    }
}

#[tokio::test]
async fn the_last_value_counts() {
    let builder = create_server(card("agent"), agent).upstream_parts_policy("merge");
    builder.upstream_parts_policy("append").await.unwrap();
    let builder = create_server(card("agent"), agent).upstream_parts_policy("append");
    let error = builder.upstream_parts_policy("merge").await.unwrap_err();
    assert_policy_error(&error, "merge");
}

fn files_under(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files_under(&path));
        }
        found.insert(path.display().to_string());
    }
    found
}

#[tokio::test]
async fn the_policy_error_wins_over_all_others_and_no_file_exists_afterwards() {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("policy-error");
    // It may be left from the run before.
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    std::env::set_current_dir(&directory).unwrap();
    let before = files_under(&directory);

    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for value in WRONG {
        let everything_wrong = async {
            let bad_card = AgentCard::new("", "", "")
                .interface(AgentInterface::new("relative", ""))
                .input_modes([""; 0]);
            let server = create_server(bad_card, agent)
                .limits(Limits::default().with_max_body_bytes(0))
                .public_url("not a url")
                .upstream_parts_policy(value)
                .await?;
            AgentHost::new()
                .agent("no slash", server)
                .serve(&address)
                .await
        };
        let error: ServeError = everything_wrong.await.unwrap_err();
        assert_policy_error(error.config().unwrap(), value);
    }
    assert_eq!(files_under(&directory), before);
}

// === the card ===

fn assert_mentions(error: &(impl ToString + Debug), words: &[&str]) {
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{word} is not in {text:?}");
    }
}

#[tokio::test]
async fn a_card_without_what_the_protocol_requires() {
    type Change = fn(&mut AgentCard);
    let interface = |url: &str, binding: &str| AgentInterface::new(url, binding);
    let cases: [(&str, Change); 16] = [
        ("name", |card| card.name = String::new()),
        ("name", |card| card.name = " \n".to_owned()),
        ("description", |card| card.description = String::new()),
        ("version", |card| card.version = String::new()),
        ("skills", |card| card.skills.clear()),
        ("defaultInputModes", |card| card.default_input_modes.clear()),
        ("defaultOutputModes", |card| {
            card.default_output_modes.clear()
        }),
        ("defaultInputModes", |card| {
            card.default_input_modes = vec!["text".to_owned()]
        }),
        ("defaultOutputModes", |card| {
            card.default_output_modes = vec!["/x".to_owned()]
        }),
        ("skills[0].id", |card| card.skills[0].id = String::new()),
        ("skills[0].name", |card| card.skills[0].name = String::new()),
        ("skills[0].description", |card| {
            card.skills[0].description = String::new()
        }),
        ("skills[0].tags", |card| card.skills[0].tags.clear()),
        ("skills[1].id", |card| {
            card.skills.push(card.skills[0].clone())
        }),
        ("skills[2].id", |card| {
            card.skills.push(Skill::new("other", "Other", "Is another"));
            card.skills
                .push(Skill::new("test", "Again", "Has the first one's id"));
        }),
        ("skills[1].name", |card| {
            card.skills.push(Skill::new("other", " ", "x"))
        }),
    ];
    for (field, change) in cases {
        let mut card = card("agent");
        change(&mut card);
        let error = create_server(card, agent).await.unwrap_err();
        assert!(error.is_card(), "{error}");
        assert_mentions(&error, &[&format!("{field} is")]);
    }
    // The duplicate itself is named.
    let twice = card("agent").skill(Skill::new("test", "Again", "Again"));
    let error = create_server(twice, agent).await.unwrap_err();
    assert_mentions(&error, &["\"test\"", "no other skill"]);

    let mut no_version = interface("https://example.com", "JSONRPC");
    no_version.protocol_version = String::new();
    let bad = [
        (
            interface("https://example.com", ""),
            "supportedInterfaces[0].protocolBinding",
        ),
        (no_version, "supportedInterfaces[0].protocolVersion"),
    ];
    for (interface, field) in bad {
        let error = create_server(card("agent").interface(interface), agent)
            .await
            .unwrap_err();
        assert!(error.is_card(), "{error}");
        assert_mentions(&error, &[field]);
    }
}

#[tokio::test]
async fn an_interface_whose_url_is_not_absolute() {
    let urls = [
        "",
        "/agents/audit",
        "agents/audit",
        "agents.example.com",
        "example.com:8080",
        "ftp://a/b",
        "http://",
        "https:///path",
        "https://example.com/?a=b",
        "https://example.com/#a",
        "https://user@example.com/",
    ];
    for binding in ["JSONRPC", "HTTP+JSON"] {
        for url in urls {
            let good = AgentInterface::new("https://example.com", "JSONRPC");
            let card = card("agent")
                .interface(good)
                .interface(AgentInterface::new(url, binding));
            let error = create_server(card, agent).await.unwrap_err();
            assert!(error.is_card(), "{error}");
            let field = "supportedInterfaces[1].url";
            assert_mentions(&error, &[field, &format!("{url:?}"), "absolute"]);
        }
        let card = card("agent").interface(AgentInterface::new("http://example.com/a", binding));
        create_server(card, agent).await.unwrap();
    }
}

// === limits ===

#[tokio::test]
async fn a_limit_that_cannot_be_kept() {
    type Set = fn(Limits, usize) -> Limits;
    let sizes: [(&str, Set); 11] = [
        ("max_body_bytes", Limits::with_max_body_bytes),
        ("max_message_parts", Limits::with_max_message_parts),
        ("max_part_bytes", Limits::with_max_part_bytes),
        ("max_artifact_bytes", Limits::with_max_artifact_bytes),
        ("max_artifacts", Limits::with_max_artifacts),
        ("max_history_messages", Limits::with_max_history_messages),
        ("max_concurrent_turns", Limits::with_max_concurrent_turns),
        (
            "max_subscribers_per_task",
            Limits::with_max_subscribers_per_task,
        ),
        ("max_open_tasks", Limits::with_max_open_tasks),
        ("max_finished_tasks", Limits::with_max_finished_tasks),
        ("max_finished_bytes", Limits::with_max_finished_bytes),
    ];
    const MOST: usize = 1 << 30;
    for (name, set) in sizes {
        for (value, fits) in [(0, false), (1, true), (MOST, true), (MOST + 1, false)] {
            let builder = create_server(card("agent"), agent);
            let built = builder.limits(set(Limits::default(), value)).await;
            assert_limit(built, fits, name, value, &["1", "1073741824"]);
        }
    }
    for (value, fits) in [(0, false), (7, false), (8, true), (120, true), (121, false)] {
        let limits = Limits::default().with_max_json_depth(value);
        let built = create_server(card("agent"), agent).limits(limits).await;
        assert_limit(built, fits, "max_json_depth", value as usize, &["8", "120"]);
    }
}

fn assert_limit(
    built: Result<Server, ConfigError>,
    fits: bool,
    name: &str,
    value: usize,
    allowed: &[&str],
) {
    match built {
        Ok(_) => assert!(fits, "{name} {value}"),
        Err(error) => {
            assert!(!fits && error.is_limit(), "{name} {value}: {error}");
            assert_mentions(&error, &[name, &value.to_string()]);
            assert_mentions(&error, allowed);
        }
    }
}

// === addresses ===

#[tokio::test]
async fn a_public_url_that_is_not_absolute() {
    let urls = [
        "",
        "/audit",
        "example.com",
        "ftp://example.com",
        "http://",
        "https://example.com?a=b",
        "https://example.com/#a",
        "https://me@example.com",
    ];
    for url in urls {
        let builder = create_server(card("agent"), agent).public_url(url);
        let error = builder.await.unwrap_err();
        assert!(error.is_address(), "{error}");
        assert_mentions(&error, &[&format!("{url:?}"), "absolute"]);
    }
}

#[tokio::test]
async fn an_address_that_is_none() {
    for address in [
        "abc",
        "127.0.0.1:99999",
        "127.0.0.1",
        "",
        ":",
        "127.0.0.1:-1",
        "127.0.0.1:http",
    ] {
        let error = server().await.bind(address).await.unwrap_err();
        assert!(
            error.config().is_some_and(ConfigError::is_address),
            "{error}"
        );
        assert_mentions(&error, &[&format!("{address:?}"), "127.0.0.1:8080"]);
        assert!(server().await.serve(address).await.is_err());
    }
}

#[tokio::test]
async fn a_port_that_is_in_use() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = server().await.serve(&address).await.unwrap_err();
    assert!(error.is_bind(), "{error}");
    assert!(error.config().is_none());
    assert_mentions(&error, &[&address, "another port"]);
}

#[tokio::test]
async fn all_addresses_need_a_public_url_or_an_interface_on_the_card() {
    for address in ["0.0.0.0:0", "[::]:0"] {
        let server = create_server(card("agent"), agent).allow_anonymous();
        let error = server.await.unwrap().bind(address).await.unwrap_err();
        assert!(
            error.config().is_some_and(ConfigError::is_address),
            "{error}"
        );
        assert_mentions(&error, &[address, "public_url"]);
    }
    let builder = create_server(card("agent"), agent)
        .public_url("https://example.com/agent/")
        .allow_anonymous();
    let bound = builder.await.unwrap().bind("0.0.0.0:0").await.unwrap();
    assert_eq!(bound.url(), "https://example.com/agent");
    let interface = AgentInterface::new("https://example.com/card", "JSONRPC");
    let named = create_server(card("agent").interface(interface), agent)
        .allow_anonymous()
        .await
        .unwrap();
    let bound = named.bind("0.0.0.0:0").await.unwrap();
    assert_eq!(bound.url(), "https://example.com/card");
}

#[tokio::test]
async fn port_0_is_a_free_port_that_is_told() {
    let bound = server().await.bind("127.0.0.1:0").await.unwrap();
    let address = bound.local_addr();
    assert_ne!(address.port(), 0);
    assert_eq!(bound.url(), format!("http://{address}"));
    assert!(TcpListener::bind(address).is_err(), "it is in use");
    drop(bound);
    TcpListener::bind(address).unwrap();
}

// === paths ===

#[tokio::test]
async fn a_path_that_cannot_be_used() {
    let paths = [
        "audit", "", "/a b", "/{x}", "/*x", "/:x", "/a//b", "//a", "/.", "/..", "/a/../b", "/a?b",
        "/a#b", "/a%20b", "/é", "/a\n", "a/", "/a:b",
    ];
    // A port that is free: nothing may be bound before the paths are checked.
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for path in paths {
        let host = AgentHost::new()
            .agent("/good", server().await)
            .agent(path, server().await);
        let error = host.bind(&address).await.unwrap_err();
        assert!(
            error.config().is_some_and(ConfigError::is_path),
            "{path:?}: {error}"
        );
        assert_mentions(&error, &[&format!("{path:?}")]);
    }
    for (first, second) in [("/a", "/a"), ("/a", "/a/"), ("/", "/"), ("/a/b/", "/a/b")] {
        let host = AgentHost::new()
            .agent(first, server().await)
            .agent(second, server().await);
        let error = host.bind(&address).await.unwrap_err();
        assert!(error.config().is_some_and(ConfigError::is_path), "{error}");
        assert_mentions(&error, &[&format!("{second:?}"), "two agents"]);
    }
    let error = AgentHost::new().bind(&address).await.unwrap_err();
    assert!(error.config().is_some_and(ConfigError::is_path), "{error}");
}

#[tokio::test]
async fn a_path_that_meets_a_route_of_another_agent_is_served_or_refused() {
    // What must not happen is a panic.
    let pairs = [
        ("/", "/tasks"),
        ("/", "/tasks/x"),
        ("/", "/message"),
        ("/", "/extendedAgentCard"),
        ("/", "/.well-known"),
        ("/", "/.well-known/agent-card.json"),
        ("/audit", "/audit/tasks"),
        ("/audit/tasks", "/audit"),
    ];
    let mut panicked = Vec::new();
    for (first, second) in pairs {
        let started = tokio::spawn(async move {
            let host = AgentHost::new().agent(first, server().await);
            let host = host.agent(second, server().await);
            host.bind("127.0.0.1:0").await.map(drop)
        });
        match started.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => assert!(error.config().is_some_and(ConfigError::is_path)),
            Err(_) => panicked.push((first, second)),
        }
    }
    assert_eq!(panicked, []);
}
