//! The second agent: looks for what is wrong with the packages that `inventory` found.

use std::collections::BTreeMap;

use llamon_agent::core::{Payload, Upstream};
use llamon_agent::server::AgentError;

use super::items::{Fan, Foreign, Item, Package, REGISTRY, Versions, read};
use crate::text::count;

/// Fans that are named.
const MAX_FANS: usize = 5;

/// One data part for each class of findings, and a summary.
pub(super) fn work(upstream: &Upstream) -> Result<Payload, AgentError> {
    let packages = packages(upstream);
    if packages.is_empty() {
        return Ok(Payload::new().with_text(
            "No package groups arrived, so nothing was checked. Send what inventory answers.",
        ));
    }
    let checked = packages.len();
    let duplicates = duplicates(&packages);
    let foreign = foreign(&packages);
    let widest = widest(&packages);
    let most_used = most_used(&packages);
    let text = format!(
        "{} checked: {} with several versions, {} not from a registry, {} in the widest fan.",
        count(checked, "package", "packages"),
        duplicates.len(),
        foreign.len(),
        count(
            widest.first().map_or(0, |fan| fan.count),
            "dependency",
            "dependencies"
        ),
    );
    let findings = [
        Item::DuplicateVersions {
            checked,
            packages: duplicates,
        },
        Item::NotFromARegistry {
            checked,
            packages: foreign,
        },
        Item::DependencyFans {
            checked,
            widest,
            most_used,
        },
    ];
    let mut payload = Payload::new().with_text(text);
    for finding in findings {
        payload = payload.with_part(finding.part()?);
    }
    Ok(payload)
}

fn packages(upstream: &Upstream) -> Vec<Package> {
    read(upstream)
        .into_iter()
        .filter_map(|item| match item {
            Item::PackageGroup { packages, .. } => Some(packages),
            _ => None,
        })
        .flatten()
        .collect()
}

fn duplicates(packages: &[Package]) -> Vec<Versions> {
    let mut versions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for package in packages {
        let known = versions.entry(&package.name).or_default();
        // One version from two sources is no second version.
        if !known.contains(&package.version) {
            known.push(package.version.clone());
        }
    }
    versions
        .into_iter()
        .filter(|(_, versions)| versions.len() > 1)
        .map(|(name, versions)| Versions {
            name: name.to_owned(),
            versions,
        })
        .collect()
}

fn foreign(packages: &[Package]) -> Vec<Foreign> {
    packages
        .iter()
        .filter(|package| package.source != REGISTRY)
        .map(|package| Foreign {
            name: package.name.clone(),
            version: package.version.clone(),
            source: package.source.clone(),
        })
        .collect()
}

fn widest(packages: &[Package]) -> Vec<Fan> {
    let fans = packages.iter();
    largest(fans.map(|package| (package.spec(), package.dependencies.len())))
}

fn most_used(packages: &[Package]) -> Vec<Fan> {
    let mut users: BTreeMap<&str, usize> = BTreeMap::new();
    for dependency in packages.iter().flat_map(|package| &package.dependencies) {
        *users.entry(dependency).or_default() += 1;
    }
    largest(
        users
            .into_iter()
            .map(|(name, count)| (name.to_owned(), count)),
    )
}

fn largest(fans: impl Iterator<Item = (String, usize)>) -> Vec<Fan> {
    let mut fans: Vec<Fan> = fans
        .filter(|(_, count)| *count > 0)
        .map(|(package, count)| Fan { package, count })
        .collect();
    fans.sort_by(|a, b| {
        b.count
            .cmp(&a.count)
            .then_with(|| a.package.cmp(&b.package))
    });
    fans.truncate(MAX_FANS);
    fans
}

#[cfg(test)]
mod tests {
    use llamon_agent::core::{Part, Upstream};
    use serde_json::{Value, json};

    use super::work;

    #[test]
    fn each_class_of_findings_is_a_data_part() {
        let group = json!({"kind": "package-group", "group": "all", "packages": [
            {"name": "a", "version": "1.0.0", "source": "registry", "dependencies": []},
            {"name": "a", "version": "2.0.0", "source": "registry", "dependencies": ["b 1.0.0"]},
            {"name": "b", "version": "1.0.0", "source": "https://git", "dependencies": []},
            {"name": "c", "version": "1.0.0", "source": "path", "dependencies": ["a 1.0.0", "b 1.0.0"]},
        ]});
        let other = Part::data(&"somebody else's").unwrap();
        let upstream = Upstream::of(&[other, Part::data(&group).unwrap()]);
        let payload = work(&upstream).unwrap();
        let data: Vec<Value> = payload
            .data()
            .map(|json| serde_json::from_str(json).unwrap())
            .collect();
        let expected = [
            json!({"kind": "duplicate-versions", "checked": 4,
                "packages": [{"name": "a", "versions": ["1.0.0", "2.0.0"]}]}),
            json!({"kind": "not-from-a-registry", "checked": 4, "packages": [
                {"name": "b", "version": "1.0.0", "source": "https://git"},
                {"name": "c", "version": "1.0.0", "source": "path"}]}),
            json!({"kind": "dependency-fans", "checked": 4,
                "widest": [{"package": "c 1.0.0", "count": 2}, {"package": "a 2.0.0", "count": 1}],
                "mostUsed": [{"package": "b 1.0.0", "count": 2}, {"package": "a 1.0.0", "count": 1}]}),
        ];
        assert_eq!(data, expected);
        assert_eq!(
            payload.text(),
            "4 packages checked: 1 with several versions, 2 not from a registry, 2 dependencies in the widest fan."
        );
    }

    #[test]
    fn what_did_not_arrive_is_said() {
        let payload = work(&Upstream::of(&[Part::file_bytes("x")])).unwrap();
        assert!(payload.text().contains("No package groups arrived"));
        assert_eq!(payload.data().count(), 0);
    }
}
