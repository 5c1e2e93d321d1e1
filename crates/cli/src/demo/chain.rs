use llamon_agent::a2a::{AgentCard, Skill};
use llamon_agent::core::{Part, Payload, UpstreamPartsPolicy};
use llamon_agent::flow::Plan;
use llamon_agent::flow::run::{Runner, Stand};
use llamon_agent::flow::store::{CallId, RunStore};
use llamon_agent::server::backend::sqlite::SqliteStore;
use llamon_agent::server::{ServeError, create_server};
use tokio::task::JoinSet;

use super::input::Input;
use super::worker::{Note, Recorder, Work, Worker};
use super::{audit, inventory, report};
use crate::error::CliError;
use crate::exit::Exit;

/// The agents in the order of the chain: name, what it does, how.
const AGENTS: [(&str, &str, Work); 3] = [
    (
        "inventory",
        "Lists the packages of a Cargo.lock in groups",
        inventory::work,
    ),
    (
        "audit",
        "Finds what is unusual in package groups",
        audit::work,
    ),
    ("report", "Writes a report on what arrives", report::work),
];

/// What is run: the plan that the examples have, too.
const PLAN: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../examples/lock-report.yaml"
));

/// The three agents under one policy, each a server on a port of its own.
pub(super) struct Team {
    pub(super) policy: UpstreamPartsPolicy,
    pub(super) members: Vec<Member>,
    recorder: Recorder,
    // Dropping it stops the servers.
    serving: JoinSet<Result<(), ServeError>>,
}

pub(super) struct Member {
    pub(super) name: &'static str,
    pub(super) url: String,
}

/// What happened to the input on its way through a team.
pub(super) struct Run {
    pub(super) policy: UpstreamPartsPolicy,
    pub(super) hops: Vec<Hop>,
}

/// One agent's turn.
pub(super) struct Hop {
    pub(super) agent: &'static str,
    /// What the agent got, as it noted it.
    pub(super) arrived: Payload,
    /// What the agent made, as it noted it.
    pub(super) produced: Payload,
    /// What its answer had, as the client got it.
    pub(super) answer: Payload,
}

impl Team {
    /// Starts the servers on free ports of loopback, with their tasks in `store` or in memory.
    pub(super) async fn start(
        policy: UpstreamPartsPolicy,
        store: Option<&SqliteStore>,
    ) -> Result<Self, CliError> {
        let recorder = Recorder::default();
        let mut members = Vec::new();
        let mut serving = JoinSet::new();
        for (name, description, work) in AGENTS {
            let card = AgentCard::new(name, description, env!("CARGO_PKG_VERSION"))
                .skill(Skill::new(name, name, description));
            let worker = Worker {
                work,
                recorder: recorder.clone(),
            };
            let mut server = create_server(card, worker).upstream_parts_policy(policy);
            if let Some(store) = store {
                // The teams share the file, and their agents have the same names.
                server = server.backend(store.backend(format!("{policy}/{name}")));
            }
            let bound = server
                .await
                .map_err(ServeError::from)
                .map_err(not_started)?
                .bind("127.0.0.1:0")
                .await
                .map_err(not_started)?;
            members.push(Member {
                name,
                url: bound.url().to_owned(),
            });
            // The command ends the servers, not a signal of their own.
            serving.spawn(bound.serve_until(std::future::pending()));
        }
        Ok(Self {
            policy,
            members,
            recorder,
            serving,
        })
    }

    /// Runs the plan with the input: what each agent answers goes to the next.
    pub(super) async fn drive(&mut self, input: &Input) -> Result<Run, CliError> {
        let plan = self.plan()?;
        let file = Part::file_bytes(&input.bytes)
            .with_filename("Cargo.lock")
            .with_media_type("text/plain");
        let message = Payload::new()
            .with_text("What is in this lock file?")
            .with_part(file);
        let runner = Runner::new(RunStore::in_memory().map_err(|error| broken(&error))?);
        let (id, stand) = runner
            .run(&plan, message)
            .await
            .map_err(|error| broken(&error))?;
        if let Stand::Ended {
            reason: Some(reason),
            ..
        } = stand
        {
            return Err(CliError::new(Exit::AgentFailed, reason).with_next(
                "run it again with -v to see the servers' log; a smaller --input may fit where \
                 this one does not",
            ));
        }
        let stored = runner.store().load(&id).await;
        let stored = stored.map_err(|error| broken(&error))?;
        let mut hops = Vec::new();
        for member in &self.members {
            let call = CallId::of_step(member.name);
            let context = call.context_id(&id);
            let mut calls = stored.calls.iter();
            let (Some(Note { arrived, produced }), Some(call)) = (
                self.recorder.take(&context),
                calls.find(|stored| stored.id == call),
            ) else {
                return Err(broken(&format_args!("{} was not called", member.name)));
            };
            hops.push(Hop {
                agent: member.name,
                arrived,
                produced,
                answer: call.parts.clone().into(),
            });
        }
        self.recorder.close();
        Ok(Run {
            policy: self.policy,
            hops,
        })
    }

    /// The plan, with the agents where they are.
    fn plan(&self) -> Result<Plan, CliError> {
        let mut members = self.members.iter();
        let plan = Plan::from_yaml(PLAN);
        let plan = members.try_fold(plan.map_err(|error| broken(&error))?, |plan, member| {
            plan.with_agent_at(member.name, &member.url)
        });
        plan.map_err(|error| broken(&error))
    }

    /// Resolves when a server ends, which none should.
    pub(super) async fn broken(mut self) -> Option<CliError> {
        match self.serving.join_next().await? {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(not_started(error)),
            Err(error) => Some(CliError::new(
                Exit::Protocol,
                format!("a server of the demo broke: {error}"),
            )),
        }
    }
}

impl Run {
    /// The last agent's text.
    pub(super) fn report(&self) -> String {
        let last = self.hops.last();
        last.map_or_else(String::new, |hop| hop.answer.text().into_owned())
    }

    /// Checks that every answer is what the policy says, token for token.
    pub(super) fn check(&self) -> Result<(), CliError> {
        for hop in &self.hops {
            let kept = match self.policy {
                UpstreamPartsPolicy::Replace => None,
                UpstreamPartsPolicy::Append => Some(&hop.arrived),
            };
            let expected_data = hop
                .produced
                .data()
                .chain(kept.iter().flat_map(|p| p.data()));
            let expected_files = hop
                .produced
                .files()
                .chain(kept.iter().flat_map(|p| p.files()));
            let is_kept = hop.answer.text() == hop.produced.text()
                && hop.answer.data().eq(expected_data)
                && hop.answer.files().eq(expected_files);
            if !is_kept {
                return Err(CliError::new(
                    Exit::Protocol,
                    format!(
                        "the answer of {} is not what the policy {} says",
                        hop.agent, self.policy
                    ),
                )
                .with_next(
                    "this is a bug; please report it with the output of llamon demo --json",
                ));
            }
        }
        Ok(())
    }
}

fn broken(error: &dyn std::fmt::Display) -> CliError {
    CliError::new(Exit::Protocol, format!("the demo broke: {error}"))
        .with_next("this is a bug; please report it with the output of llamon -v demo")
}

fn not_started(error: ServeError) -> CliError {
    CliError::new(
        Exit::Connect,
        format!("the agents cannot be started: {error}"),
    )
    .with_next("check that this machine has a loopback interface with free ports")
}

#[cfg(test)]
mod tests {
    use llamon_agent::core::{Payload, UpstreamPartsPolicy};

    use super::{Hop, Run};
    use crate::exit::Exit;

    fn payload(text: &str, data: &[i32]) -> Payload {
        data.iter().fold(Payload::new().with_text(text), |p, n| {
            p.with_data(n).unwrap()
        })
    }

    #[test]
    fn an_answer_that_is_not_what_the_policy_says_is_found() {
        use UpstreamPartsPolicy::{Append, Replace};
        let cases = [
            (Replace, payload("own", &[1]), true),
            (Replace, payload("own", &[1, 2, 2]), false),
            (Append, payload("own", &[1, 2, 2]), true),
            (Append, payload("own", &[1]), false),
            (Append, payload("own", &[1, 2]), false),
            (Append, payload("own", &[2, 2, 1]), false),
            (Append, payload("other", &[1, 2, 2]), false),
        ];
        for (policy, answer, is_right) in cases {
            let hop = Hop {
                agent: "audit",
                arrived: payload("query", &[2, 2]),
                produced: payload("own", &[1]),
                answer,
            };
            let hops = vec![hop];
            let checked = Run { policy, hops }.check();
            let exit = checked.map_err(|error| error.exit());
            let expected = if is_right {
                Ok(())
            } else {
                Err(Exit::Protocol)
            };
            assert_eq!(exit, expected, "{policy}");
        }
    }
}
