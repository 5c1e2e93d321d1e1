//! The last agent: writes down what arrived. Under `replace` that is what `audit` found; under
//! `append` it is also what `inventory` listed.

use std::fmt::{Display, Write as _};

use llamon_agent::core::{Payload, Upstream};
use llamon_agent::server::AgentError;

use super::items::{Fan, Foreign, Item, PATH, Versions, read};
use crate::text::count;

/// Lines of a list.
const MAX_LINES: usize = 5;

/// A report in Markdown and its numbers as a data part.
pub(super) fn work(upstream: &Upstream) -> Result<Payload, AgentError> {
    let arrived = Arrived::of(upstream);
    let missing = arrived.missing();
    let numbers = Item::Report {
        groups: arrived.groups.as_ref().map(Vec::len),
        packages: arrived.packages(),
        duplicate_versions: arrived.duplicates.as_ref().map(Vec::len),
        not_from_a_registry: arrived.foreign.as_ref().map(Vec::len),
        missing,
    };
    Ok(Payload::new()
        .with_text(arrived.markdown())
        .with_part(numbers.part()?))
}

/// What there is to report on; `None` is what did not arrive.
#[derive(Default)]
struct Arrived {
    checked: Option<usize>,
    groups: Option<Vec<(String, usize)>>,
    duplicates: Option<Vec<Versions>>,
    foreign: Option<Vec<Foreign>>,
    fans: Option<(Vec<Fan>, Vec<Fan>)>,
}

impl Arrived {
    fn of(upstream: &Upstream) -> Self {
        let mut arrived = Self::default();
        for item in read(upstream) {
            match item {
                Item::PackageGroup { group, packages } => {
                    let groups = arrived.groups.get_or_insert_default();
                    groups.push((group, packages.len()));
                }
                Item::DuplicateVersions { checked, packages } => {
                    arrived.checked = Some(checked);
                    arrived.duplicates = Some(packages);
                }
                Item::NotFromARegistry { checked, packages } => {
                    arrived.checked = Some(checked);
                    arrived.foreign = Some(packages);
                }
                Item::DependencyFans {
                    checked,
                    widest,
                    most_used,
                } => {
                    arrived.checked = Some(checked);
                    arrived.fans = Some((widest, most_used));
                }
                Item::Report { .. } => {}
            }
        }
        arrived
    }

    fn packages(&self) -> Option<usize> {
        let in_groups = |groups: &Vec<(String, usize)>| groups.iter().map(|(_, n)| n).sum();
        self.groups.as_ref().map(in_groups).or(self.checked)
    }

    fn missing(&self) -> Vec<String> {
        let parts = [
            ("package groups of inventory", self.groups.is_none()),
            ("duplicate versions of audit", self.duplicates.is_none()),
            (
                "packages not from a registry of audit",
                self.foreign.is_none(),
            ),
            ("dependency fans of audit", self.fans.is_none()),
        ];
        let missing = parts.into_iter().filter(|(_, is_missing)| *is_missing);
        missing.map(|(name, _)| name.to_owned()).collect()
    }

    fn markdown(&self) -> String {
        let mut report = Markdown::default();
        report.line("# Dependency report");
        if let Some(packages) = self.packages() {
            report.line("");
            report.line(count(packages, "package", "packages") + " in the lock file.");
        }
        if let Some(groups) = &self.groups {
            report.list(
                &format!("Groups: {}", groups.len()),
                groups.iter().map(|(name, packages)| {
                    format!("{name}: {}", count(*packages, "package", "packages"))
                }),
                usize::MAX,
            );
        }
        if let Some(duplicates) = &self.duplicates {
            report.list(
                &format!("Several versions: {}", duplicates.len()),
                duplicates
                    .iter()
                    .map(|package| format!("{}: {}", package.name, package.versions.join(", "))),
                MAX_LINES,
            );
        }
        if let Some(foreign) = &self.foreign {
            report.list(
                &format!("Not from a registry: {}", foreign.len()),
                foreign.iter().map(|package| {
                    let source = match package.source.as_str() {
                        PATH => "a path",
                        url => url,
                    };
                    format!("{} {} from {source}", package.name, package.version)
                }),
                MAX_LINES,
            );
        }
        if let Some((widest, most_used)) = &self.fans {
            let widest = widest.iter().map(|fan| {
                let dependencies = count(fan.count, "package", "packages");
                format!("{} depends on {dependencies}", fan.package)
            });
            let most_used = most_used.iter().map(|fan| {
                let users = count(fan.count, "package", "packages");
                format!("{} is used by {users}", fan.package)
            });
            // Two of each show the shape; the data part has the rest.
            report.list(
                "Largest fans",
                widest.take(2).chain(most_used.take(2)),
                MAX_LINES,
            );
        }
        let missing = self.missing();
        if !missing.is_empty() {
            report.list(
                "Did not arrive, so not in this report",
                missing.iter(),
                usize::MAX,
            );
        }
        report.0
    }
}

#[derive(Default)]
struct Markdown(String);

impl Markdown {
    fn line(&mut self, line: impl Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn list(&mut self, title: &str, items: impl Iterator<Item = impl Display>, max: usize) {
        self.line("");
        self.line(format!("## {title}"));
        let mut left_out = 0;
        for (index, item) in items.enumerate() {
            if index == 0 {
                self.line("");
            }
            if index < max {
                self.line(format!("- {item}"));
            } else {
                left_out += 1;
            }
        }
        if left_out > 0 {
            self.line(format!("- and {left_out} more"));
        }
    }
}

#[cfg(test)]
mod tests {
    use llamon_agent::core::{Part, Upstream};
    use serde_json::{Value, json};

    use super::work;

    fn result(upstream: &Upstream) -> (String, Value) {
        let payload = work(upstream).unwrap();
        let data: Vec<&str> = payload.data().collect();
        assert_eq!(data.len(), 1);
        (
            payload.text().into_owned(),
            serde_json::from_str(data[0]).unwrap(),
        )
    }

    #[test]
    fn the_report_says_what_arrived_and_what_did_not() {
        let versions: Vec<Value> = (0..7)
            .map(|n| json!({"name": format!("p{n}"), "versions": ["1.0.0", "2.0.0"]}))
            .collect();
        let duplicates = json!({"kind": "duplicate-versions", "checked": 9, "packages": versions});
        let (text, data) = result(&Upstream::of(&[Part::data(&duplicates).unwrap()]));
        assert!(text.contains("9 packages in the lock file"), "{text}");
        assert!(text.contains("- p4: 1.0.0, 2.0.0\n- and 2 more"), "{text}");
        assert!(text.contains("- package groups of inventory"), "{text}");
        assert_eq!(data["duplicateVersions"], 7);
        assert_eq!(data["groups"], Value::Null);
        assert_eq!(data["missing"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn nothing_arrived_is_a_report_too() {
        let (text, data) = result(&Upstream::empty());
        assert!(text.contains("Did not arrive"), "{text}");
        assert_eq!(data["packages"], Value::Null);
        assert_eq!(data["missing"].as_array().unwrap().len(), 4);
    }
}
