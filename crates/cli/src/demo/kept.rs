use std::path::Path;

use super::chain::Team;
use super::input::Input;
use crate::text::shell_word;

/// Where the agents are, and calls to try. The first team's agents are called; which team it is,
/// an answer tells.
pub(super) fn text(input: &Input, teams: &[Team], store: &Path) -> String {
    let mut lines = vec![String::new(), "The agents stay up until Ctrl-C:".to_owned()];
    for team in teams {
        for member in &team.members {
            lines.push(format!(
                "  {:<8} {:<10} {}",
                team.policy.as_str(),
                member.name,
                member.url
            ));
        }
    }
    let store = shell_word(&store.display().to_string());
    lines.push(format!("Their tasks are in {store} and survive a restart."));
    lines.push(String::new());
    lines.push("Try:".to_owned());
    let file = input.path.as_deref().unwrap_or(Path::new("Cargo.lock"));
    let file = shell_word(&file.display().to_string());
    let group = r#"{"kind":"package-group","group":"mine","packages":[{"name":"a","version":"1.0.0","source":"path","dependencies":[]}]}"#;
    for team in teams {
        if let [inventory, audit, ..] = team.members.as_slice() {
            lines.push(format!(
                "  llamon send {} 'list it' --file {file}",
                inventory.url
            ));
            lines.push(format!(
                "  llamon send {} 'check it' --data '{group}' --json",
                audit.url
            ));
        }
    }
    let first = teams.first().and_then(|team| team.members.first());
    if let Some(member) = first {
        lines.push(format!("  llamon card {}", member.url));
        lines.push(format!("  llamon task list {}", member.url));
    }
    lines.push(format!("  llamon store stats {store}"));
    lines.push(String::new());
    lines.join("\n")
}
