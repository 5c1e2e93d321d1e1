use llamon_agent::core::{Part, PayloadError, Upstream};
use serde::{Deserialize, Serialize};

/// What the agents of the demo tell each other, one data part each.
#[derive(Debug, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "kebab-case",
    rename_all_fields = "camelCase"
)]
pub(super) enum Item {
    /// Of `inventory`: packages that belong together.
    PackageGroup {
        group: String,
        packages: Vec<Package>,
    },
    /// Of `audit`: packages with more than one version.
    DuplicateVersions {
        checked: usize,
        packages: Vec<Versions>,
    },
    /// Of `audit`: packages that no registry has.
    NotFromARegistry {
        checked: usize,
        packages: Vec<Foreign>,
    },
    /// Of `audit`: packages with the most dependencies, and those that the most depend on.
    DependencyFans {
        checked: usize,
        widest: Vec<Fan>,
        most_used: Vec<Fan>,
    },
    /// Of `report`: the numbers, absent where what they are counted from did not arrive.
    Report {
        groups: Option<usize>,
        packages: Option<usize>,
        duplicate_versions: Option<usize>,
        not_from_a_registry: Option<usize>,
        missing: Vec<String>,
    },
}

/// A package of a lock file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// `registry`, `path`, or the URL of another source.
    pub(super) source: String,
    /// Names and versions.
    pub(super) dependencies: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Versions {
    pub(super) name: String,
    pub(super) versions: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Foreign {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) source: String,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Fan {
    pub(super) package: String,
    pub(super) count: usize,
}

/// `Package::source` of a package from a registry.
pub(super) const REGISTRY: &str = "registry";
/// `Package::source` of a package of the workspace or of another path.
pub(super) const PATH: &str = "path";

impl Package {
    /// Name and version, as in [`Package::dependencies`].
    pub(super) fn spec(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

impl Item {
    pub(super) fn part(&self) -> Result<Part, PayloadError> {
        Part::data(self)
    }
}

/// The items among the data parts that arrived; what is none is somebody else's.
pub(super) fn read(upstream: &Upstream) -> Vec<Item> {
    upstream
        .data()
        .filter_map(|part| part.data_as().ok())
        .collect()
}
