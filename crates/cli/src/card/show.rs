//! `llamon card URL`.

use llamon_agent::a2a::Skill;
use llamon_agent::client::Client;

use crate::args::AgentArgs;
use crate::call::connect;
use crate::error::CliError;
use crate::exit::Exit;
use crate::out::Out;
use crate::text::clean_line;

/// Prints the agent's card.
pub(super) async fn run(agent: &AgentArgs, as_json: bool) -> Result<Exit, CliError> {
    let mut out = Out::default();
    let client = connect(agent).await?;
    if as_json {
        out.raw(client.card_json())?;
        out.end_line()?;
    } else {
        out.text(&lines(&client))?;
    }
    Ok(Exit::Completed)
}

/// The card for people, with the interface that calls would go to.
fn lines(client: &Client) -> String {
    let card = client.card();
    let mut lines = Lines::default();
    let version = if card.version.is_empty() {
        String::new()
    } else {
        format!(" {}", card.version)
    };
    lines.push(&format!("{}{version}", card.name));
    lines.push(&card.description);
    if let Some(provider) = &card.provider {
        lines.field(
            "provider",
            &format!("{}, {}", provider.organization, provider.url),
        );
    }
    if let Some(url) = &card.documentation_url {
        lines.field("documentation", url);
    }
    // The client's URL is normalised: it ends with a slash where there is no path.
    let same_url = |url: &str| url.trim_end_matches('/') == client.url().trim_end_matches('/');
    for interface in &card.supported_interfaces {
        let is_used = interface.protocol_binding == client.binding().as_str();
        let mark = if is_used && same_url(&interface.url) {
            " (used)"
        } else {
            ""
        };
        lines.field(
            "interface",
            &format!(
                "{} {} {}{mark}",
                interface.protocol_binding, interface.protocol_version, interface.url
            ),
        );
    }
    let capabilities = &card.capabilities;
    let offered = [
        ("streaming", capabilities.streaming),
        ("push notifications", capabilities.push_notifications),
        ("extended card", capabilities.extended_agent_card),
    ];
    let offered: Vec<&str> = offered
        .into_iter()
        .filter_map(|(name, has)| has.then_some(name))
        .collect();
    lines.field("capabilities", &offered.join(", "));
    for extension in &capabilities.extensions {
        let required = if extension.required {
            " (required)"
        } else {
            ""
        };
        lines.field("extension", &format!("{}{required}", extension.uri));
    }
    lines.field("takes", &card.default_input_modes.join(", "));
    lines.field("gives", &card.default_output_modes.join(", "));
    for skill in &card.skills {
        lines.skill(skill);
    }
    lines.0
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn push(&mut self, line: &str) {
        if line.is_empty() {
            return;
        }
        self.0.push_str(&clean_line(line));
        self.0.push('\n');
    }

    fn field(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.push(&format!("  {name:<14}{value}"));
        }
    }

    fn skill(&mut self, skill: &Skill) {
        let tags = if skill.tags.is_empty() {
            String::new()
        } else {
            format!(" [{}]", skill.tags.join(", "))
        };
        self.field(
            "skill",
            &format!("{}: {}{tags}", skill.id, skill.description),
        );
        for example in &skill.examples {
            self.field("", &format!("e.g. {example}"));
        }
    }
}
