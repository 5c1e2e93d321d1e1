//! The first agent: reads a lock file and gives its packages in groups.

use std::collections::{BTreeMap, HashSet};

use cargo_lock::{Lockfile, SourceId};
use llamon_agent::core::{Part, PartKind, Payload, Upstream};
use llamon_agent::server::AgentError;

use super::items::{Item, PATH, Package, REGISTRY};
use crate::text::count;

/// Packages that a family of names has at least, to be a group of its own.
const MIN_FAMILY: usize = 3;
/// Families that are groups of their own at most; with the other four, that makes ten groups.
const MAX_FAMILIES: usize = 6;

const WORKSPACE: &str = "workspace";
const DIRECT: &str = "direct dependencies";
const OTHER_SOURCES: &str = "other sources";
const REST: &str = "everything else";

/// One data part for each group of packages, and a summary.
pub(super) fn work(upstream: &Upstream) -> Result<Payload, AgentError> {
    let Some(file) = upstream.files().find(|file| file.kind() == PartKind::Raw) else {
        let but = if upstream.is_empty() {
            ""
        } else {
            " (a file that is only a URL is not fetched)"
        };
        return Ok(Payload::new().with_text(format!(
            "No Cargo.lock arrived, so there is nothing to list{but}. Send one as a file part."
        )));
    };
    let packages = packages(file)?;
    let total = packages.len();
    let groups = group(packages);
    let sizes: Vec<String> = groups
        .iter()
        .map(|(name, packages)| format!("{name} {}", packages.len()))
        .collect();
    let mut payload = Payload::new().with_text(format!(
        "{} in {}: {}.",
        count(total, "package", "packages"),
        count(groups.len(), "group", "groups"),
        sizes.join(", ")
    ));
    for (group, packages) in groups {
        payload = payload.with_part(Item::PackageGroup { group, packages }.part()?);
    }
    Ok(payload)
}

fn packages(file: &Part) -> Result<Vec<Package>, AgentError> {
    let unreadable = |reason: String| {
        AgentError::public(format!(
            "the file part cannot be read as a Cargo.lock: {reason}"
        ))
    };
    let bytes = file
        .file_content()
        .map_err(|error| unreadable(error.to_string()))?;
    let text = std::str::from_utf8(&bytes).map_err(|error| unreadable(error.to_string()))?;
    let lock: Lockfile = text
        .parse()
        .map_err(|error: cargo_lock::Error| unreadable(error.to_string()))?;
    let package = |package: cargo_lock::Package| Package {
        name: package.name.to_string(),
        version: package.version.to_string(),
        source: source(package.source.as_ref()),
        dependencies: package
            .dependencies
            .iter()
            .map(|dependency| format!("{} {}", dependency.name, dependency.version))
            .collect(),
    };
    Ok(lock.packages.into_iter().map(package).collect())
}

fn source(source: Option<&SourceId>) -> String {
    match source {
        None => PATH.to_owned(),
        Some(source) if source.is_path() => PATH.to_owned(),
        Some(source) if source.is_registry() => REGISTRY.to_owned(),
        Some(source) => source.url().to_string(),
    }
}

/// The workspace first, then what it depends on, then what comes with that: families of names by
/// size, other sources, the rest. None is empty, and each package is in one.
fn group(packages: Vec<Package>) -> Vec<(String, Vec<Package>)> {
    let workspace = packages.iter().filter(|package| package.source == PATH);
    let used: HashSet<String> = workspace
        .flat_map(|package| package.dependencies.iter().cloned())
        .collect();
    let mut workspace = Vec::new();
    let mut direct = Vec::new();
    let mut elsewhere = Vec::new();
    let mut families: BTreeMap<String, Vec<Package>> = BTreeMap::new();
    for package in packages {
        match package.source.as_str() {
            PATH => workspace.push(package),
            REGISTRY if used.contains(&package.spec()) => direct.push(package),
            REGISTRY => families
                .entry(family(&package.name))
                .or_default()
                .push(package),
            _ => elsewhere.push(package),
        }
    }
    let mut families: Vec<_> = families.into_iter().collect();
    // Stable, so that families of one size stay in the order of their names.
    families.sort_by_key(|(_, packages)| std::cmp::Reverse(packages.len()));
    let large = families
        .iter()
        .take(MAX_FAMILIES)
        .take_while(|(_, packages)| packages.len() >= MIN_FAMILY)
        .count();
    let rest = families.split_off(large);
    let mut rest: Vec<Package> = rest
        .into_iter()
        .flat_map(|(_, packages)| packages)
        .collect();
    rest.sort_by(|a, b| a.name.cmp(&b.name));

    let mut groups = vec![
        (WORKSPACE.to_owned(), workspace),
        (DIRECT.to_owned(), direct),
    ];
    groups.extend(families);
    groups.push((OTHER_SOURCES.to_owned(), elsewhere));
    groups.push((REST.to_owned(), rest));
    groups.retain(|(_, packages)| !packages.is_empty());
    groups
}

/// A name up to its first `-` or `_`: `tokio` of `tokio-util`.
fn family(name: &str) -> String {
    let first = name.split(['-', '_']).next().unwrap_or(name);
    format!("{first}*")
}

#[cfg(test)]
mod tests {
    use llamon_agent::core::{Part, Upstream};

    use super::{group, work};
    use crate::demo::items::{PATH, Package, REGISTRY};

    fn package(name: &str, source: &str) -> Package {
        Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            source: source.to_owned(),
            dependencies: Vec::new(),
        }
    }

    #[test]
    fn groups_are_few_and_each_package_is_in_one() {
        let mut mine = package("mine", PATH);
        mine.dependencies.push("f14-0 1.0.0".to_owned());
        let mut packages = vec![mine, package("fork", "https://git")];
        for family in 0..20 {
            for member in 0..=family % 5 {
                packages.push(package(&format!("f{family}-{member}"), REGISTRY));
            }
        }
        let total = packages.len();
        let groups = group(packages);
        let names: Vec<&str> = groups.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "workspace",
            "direct dependencies",
            "f19*",
            "f4*",
            "f9*",
            "f13*",
            "f14*",
            "f18*",
            "other sources",
            "everything else",
        ];
        assert_eq!(names, expected);
        assert_eq!(groups.iter().map(|(_, p)| p.len()).sum::<usize>(), total);
        assert!(group(Vec::new()).is_empty());
    }

    #[test]
    fn what_did_not_arrive_is_said() {
        let nothing = work(&Upstream::empty()).unwrap();
        assert!(nothing.text().contains("No Cargo.lock arrived"));
        let url = Upstream::of(&[Part::file_url("https://example.com/Cargo.lock")]);
        assert!(work(&url).unwrap().text().contains("not fetched"));
        let no_lock = Upstream::of(&[Part::file_bytes("name = ")]);
        let error = work(&no_lock).unwrap_err().to_string();
        assert!(error.contains("cannot be read as a Cargo.lock"), "{error}");
    }
}
