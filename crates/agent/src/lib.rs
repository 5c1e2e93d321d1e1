//! Agents as A2A servers, and the data that flows between them.
//!
//! An agent is a struct or an async function. `create_server` makes it a server that speaks
//! A2A 1.0 over JSON-RPC and REST; what its answer keeps of the data and files that arrived is
//! declared, not coded:
//!
//! ```no_run
//! use llamon_agent::prelude::*;
//!
//! async fn audit(turn: Turn) -> Result<impl IntoAnswer, AgentError> {
//!     let findings = turn.upstream().data().count();
//!     Ok((format!("{findings} inputs checked"), Json(findings)))
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let card = AgentCard::new("audit", "Checks what arrives", "1.0.0")
//!         .skill(Skill::new("audit", "Audit", "Checks data parts"));
//!     create_server(card, audit)
//!         .upstream_parts_policy("append")
//!         .await?
//!         .serve("127.0.0.1:8080")
//!         .await?;
//!     Ok(())
//! }
//! ```
//!
//! | path | what is there |
//! |---|---|
//! | [`prelude`] | what an agent's author types |
//! | [`server`] | `create_server`, agents, turns, backends |
//! | [`client`] | a client that calls agents |
//! | [`a2a`] | the protocol's types |
//! | [`contracts`] | input contracts: what an agent reads, declared |
//! | [`schemars`] | for the types of derived inputs |
//! | [`testing`] | a server for tests |
//! | [`guide`] | the user's guide |
//!
//! | feature | brings |
//! |---|---|
//! | `sqlite` | tasks in a file, `server::backend::sqlite`, and with `graph` its threads, too; SQLite is built in |
//! | `grpc` | gRPC beside JSON-RPC and REST, `server::GrpcAt` |
//! | `tls` | TLS of a server's own, `server::tls`, and clients by their certificates, `server::auth::MutualTls` |
//! | `graph` | `graph`: graphs of steps, and graphs as agents |
//! | `flow` | `flow`: workflows of agents, `flow::Plan`, and plans as agents, `flow::WorkflowAgent` |
//! | `otel` | traces: turns, calls and runs of workflows are spans of `tracing-opentelemetry`, see [`client::trace`] |
//! | `conformance` | `server::backend::conformance`: what a backend promises, as tests |

pub use llamon_client as client;
pub use llamon_core as core;
pub use llamon_core::a2a;
/// JSON Schemas of types, for those that are fields of a derived struct of inputs.
///
/// `use llamon_agent::schemars;`, then `#[derive(serde::Deserialize, schemars::JsonSchema)]`; no
/// dependency of your own is needed.
pub use llamon_core::contracts::__private::schemars;
pub use llamon_server as server;
pub use llamon_server::check_agent;

/// Input contracts: what an agent reads of what arrives, declared, checked and explained.
///
/// An agent takes a struct and gets it filled; what is missing never reaches it:
///
/// ```
/// use llamon_agent::prelude::*;
/// use llamon_agent::schemars;
/// use llamon_agent::testing::TestServer;
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Order {
///     total: f64,
/// }
///
/// #[derive(InputContracts)]
/// struct Billing {
///     /// The order to bill.
///     order: Order,
///     #[input(default = r#""EUR""#)]
///     currency: String,
/// }
///
/// async fn bill(inputs: Billing, _turn: Turn) -> Result<String, AgentError> {
///     Ok(format!("{} {}", inputs.order.total, inputs.currency))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let card = AgentCard::new("billing", "Bills orders", "1.0.0")
///     .skill(Skill::new("bill", "Bill", "Bills an order"));
/// let server = TestServer::start(create_server(card, bill)).await?;
///
/// let order = Part::data_from_json(r#"{"total": 12.5}"#)?;
/// let reply = server.send(Outgoing::new().with_part(order)).await?;
/// assert_eq!(reply.text(), "12.5 EUR");
///
/// let reply = server.send("no order").await?;
/// let status = reply.status_text().unwrap_or_default();
/// assert!(status.starts_with("the data input \"order\" is missing (The order to bill)"));
/// # Ok(())
/// # }
/// ```
///
/// Contracts without a struct, as a struct agent has them, are built with
/// [`InputContracts::new`](contracts::InputContracts::new) and read with `turn.inputs()`.
pub mod contracts {
    pub use llamon_core::contracts::*;
    pub use llamon_macros::InputContracts;
}

/// Workflows between agents: plans, checked before they run.
#[cfg(feature = "flow")]
pub mod flow {
    pub use llamon_flow::*;
}

/// Graphs of steps, and a graph as an agent.
#[cfg(feature = "graph")]
pub mod graph {
    pub use llamon_graph::*;
    pub use llamon_macros::AgentGraphState as GraphState;
    pub use llamon_server::graph::*;
}

pub mod testing;

/// What an agent's author types.
pub mod prelude {
    pub use llamon_client::{Client, Outgoing, Reply};
    pub use llamon_core::a2a::{AgentCard, Skill};
    pub use llamon_core::contracts::{FilePart, InputContract, InputContracts, OnMissing, Pick};
    pub use llamon_core::{
        IntoPayload, Json, Limits, Part, PartKind, Payload, Untrusted, Upstream,
        UpstreamPartsPolicy, compose,
    };
    pub use llamon_macros::InputContracts;
    pub use llamon_server::{
        AdapterRequest, Agent, AgentError, AgentHost, Answer, Execution, IntoAnswer, Response,
        RuntimeAdapter, Server, TaskVisibility, Turn, create_server, hitl::Question,
    };
}

/// The user's guide.
pub mod guide {
    /// What an answer keeps of what arrived.
    #[doc = include_str!("../../../docs/guide/upstream-parts-policy.md")]
    pub mod upstream_parts_policy {}

    /// What an agent reads of what arrives.
    #[doc = include_str!("../../../docs/guide/input-contracts.md")]
    pub mod input_contracts {}

    /// Calling agents: which interface, as whom, over connections that break.
    #[doc = include_str!("../../../docs/guide/calling-agents.md")]
    pub mod calling_agents {}

    /// 에이전트 호출하기.
    #[doc = include_str!("../../../docs/guide/calling-agents.ko.md")]
    pub mod calling_agents_ko {}

    /// Tasks that survive a crash and a restart.
    #[cfg(feature = "sqlite")]
    #[doc = include_str!("../../../docs/guide/durable-tasks.md")]
    pub mod durable_tasks {}

    /// 죽음과 재시작을 넘어 살아남는 태스크.
    #[cfg(feature = "sqlite")]
    #[doc = include_str!("../../../docs/guide/durable-tasks.ko.md")]
    pub mod durable_tasks_ko {}

    /// Who may call, as whom, and with what.
    #[doc = include_str!("../../../docs/guide/callers.md")]
    pub mod callers {}

    /// 누가, 누구로서, 무엇을 가지고 호출하는가.
    #[doc = include_str!("../../../docs/guide/callers.ko.md")]
    pub mod callers_ko {}

    /// Hosts, pages, connections.
    #[doc = include_str!("../../../docs/guide/serving.md")]
    pub mod serving {}

    /// 호스트, 페이지, 연결.
    #[doc = include_str!("../../../docs/guide/serving.ko.md")]
    pub mod serving_ko {}

    /// What strangers wrote, and agents that set each other off.
    #[doc = include_str!("../../../docs/guide/untrusted-content.md")]
    pub mod untrusted_content {}

    /// 남이 쓴 것, 그리고 서로를 부르는 에이전트.
    #[doc = include_str!("../../../docs/guide/untrusted-content.ko.md")]
    pub mod untrusted_content_ko {}

    /// Events that are sent to a receiver of the client's.
    #[doc = include_str!("../../../docs/guide/push-notifications.md")]
    pub mod push_notifications {}
    /// Agents that stop to ask.
    #[doc = include_str!("../../../docs/guide/human-in-the-loop.md")]
    pub mod human_in_the_loop {}

    /// Somebody else's runtime behind a server.
    #[doc = include_str!("../../../docs/guide/runtime-adapters.md")]
    pub mod runtime_adapters {}

    /// Agents that take several steps.
    #[cfg(feature = "graph")]
    #[doc = include_str!("../../../docs/guide/graphs.md")]
    pub mod graphs {}

    /// 여러 단계를 밟는 에이전트.
    #[cfg(feature = "graph")]
    #[doc = include_str!("../../../docs/guide/graphs.ko.md")]
    pub mod graphs_ko {}

    /// Plans of agents.
    #[cfg(feature = "flow")]
    #[doc = include_str!("../../../docs/guide/workflows.md")]
    pub mod workflows {}

    /// 에이전트들의 계획.
    #[cfg(feature = "flow")]
    #[doc = include_str!("../../../docs/guide/workflows.ko.md")]
    pub mod workflows_ko {}

    /// One trace through all agents.
    #[doc = include_str!("../../../docs/guide/traces.md")]
    pub mod traces {}

    /// 모든 에이전트를 지나는 하나의 트레이스.
    #[doc = include_str!("../../../docs/guide/traces.ko.md")]
    pub mod traces_ko {}

    /// What a server accepts and keeps.
    #[doc = include_str!("../../../docs/guide/limits.md")]
    pub mod limits {}

    /// 답변이 상류 파트 가운데 무엇을 유지하는가.
    #[doc = include_str!("../../../docs/guide/upstream-parts-policy.ko.md")]
    pub mod upstream_parts_policy_ko {}

    /// 에이전트가 도착한 것 가운데 무엇을 읽는가.
    #[doc = include_str!("../../../docs/guide/input-contracts.ko.md")]
    pub mod input_contracts_ko {}

    /// 이벤트를 클라이언트의 수신자에게 보내기.
    #[doc = include_str!("../../../docs/guide/push-notifications.ko.md")]
    pub mod push_notifications_ko {}
    /// 멈추고 질문하는 에이전트.
    #[doc = include_str!("../../../docs/guide/human-in-the-loop.ko.md")]
    pub mod human_in_the_loop_ko {}

    /// 서버 뒤에 둔 다른 런타임.
    #[doc = include_str!("../../../docs/guide/runtime-adapters.ko.md")]
    pub mod runtime_adapters_ko {}
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
