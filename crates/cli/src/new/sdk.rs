use std::fs;
use std::path::{Path, PathBuf};

use crate::error::CliError;
use crate::text::shell_word;

use super::template::toml_string;

/// Where the project takes `llamon-agent` from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sdk {
    /// The folder of the crate.
    Folder(String),
    /// A version requirement.
    Version(String),
}

impl Sdk {
    /// What the user asks for: a version requirement, a checkout, or the crate's folder in one.
    pub(crate) fn asked(asked: &str) -> Result<Self, CliError> {
        if semver::VersionReq::parse(asked).is_ok() {
            return Ok(Self::Version(asked.trim().to_owned()));
        }
        let folder = Path::new(asked);
        let found = [folder.join("crates/agent"), folder.to_owned()]
            .into_iter()
            .find(|folder| is_agent_crate(folder));
        let Some(found) = found else {
            let message = format!(
                "--sdk is {asked:?}, which is neither a version requirement such as 0.1 nor a \
                 folder with the crate llamon-agent"
            );
            return Err(CliError::usage(message).with_next(
                "give a checkout of llamon-agent, its crates/agent, or a version requirement",
            ));
        };
        // The project may lie elsewhere, and whoever builds it may stand elsewhere.
        let found = fs::canonicalize(&found).map_err(|error| {
            CliError::usage(format!(
                "--sdk is {asked:?}, which cannot be resolved: {error}"
            ))
        })?;
        Self::folder(&found)
    }

    /// The crate beside the command's own, `cli`, in the checkout that it was built from.
    pub(crate) fn of_checkout(cli: &Path) -> Result<Self, CliError> {
        let folder: PathBuf = cli.with_file_name("agent");
        if !is_agent_crate(&folder) {
            let message = format!(
                "the checkout that this llamon was built from is gone: {} has no llamon-agent",
                folder.display()
            );
            return Err(CliError::usage(message).with_next(
                "give --sdk PATH, a checkout of llamon-agent, or --sdk VERSION, a requirement \
                 such as 0.1",
            ));
        }
        Self::folder(&folder)
    }

    /// The version of the command, which is that of the crate.
    pub(crate) fn of_release() -> Self {
        Self::Version(env!("CARGO_PKG_VERSION").to_owned())
    }

    fn folder(folder: &Path) -> Result<Self, CliError> {
        match folder.to_str() {
            Some(folder) => Ok(Self::Folder(folder.to_owned())),
            None => Err(CliError::usage(format!(
                "the folder {folder:?} of llamon-agent is no UTF-8, which Cargo.toml must be"
            ))
            .with_next("give --sdk PATH, a checkout in another folder")),
        }
    }

    /// The dependency's value in `Cargo.toml`.
    pub(crate) fn to_toml(&self, features: &[&str]) -> String {
        let (key, value) = match self {
            Self::Folder(folder) => ("path", folder),
            Self::Version(version) => ("version", version),
        };
        let features: Vec<String> = features
            .iter()
            .map(|feature| toml_string(feature))
            .collect();
        let features = features.join(", ");
        format!(
            "{{ {key} = {}, features = [{features}] }}",
            toml_string(value)
        )
    }

    /// For people.
    pub(crate) fn whereabouts(&self) -> String {
        match self {
            Self::Folder(folder) => format!("the one in {folder}"),
            Self::Version(version) => format!("version {version} of a registry"),
        }
    }

    /// The command that installs `llamon` from the same place.
    pub(crate) fn install_command(&self) -> String {
        match self {
            Self::Folder(folder) => {
                let cli = Path::new(folder).with_file_name("cli");
                let cli = shell_word(&cli.to_string_lossy());
                format!("cargo install --locked --path {cli}")
            }
            Self::Version(_) => "cargo install --locked llamon".to_owned(),
        }
    }
}

fn is_agent_crate(folder: &Path) -> bool {
    let manifest = fs::read_to_string(folder.join("Cargo.toml"));
    manifest.is_ok_and(|manifest| {
        manifest
            .lines()
            .any(|line| line.trim() == r#"name = "llamon-agent""#)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Sdk;

    const CLI: &str = env!("CARGO_MANIFEST_DIR");

    fn agent() -> String {
        let agent = Path::new(CLI).with_file_name("agent");
        agent.to_str().unwrap().to_owned()
    }

    #[test]
    fn the_default_is_the_checkout() {
        let sdk = Sdk::of_checkout(Path::new(CLI)).unwrap();
        assert_eq!(sdk, Sdk::Folder(agent()));
        let toml = format!("{{ path = {:?}, features = [\"sqlite\"] }}", agent());
        assert_eq!(sdk.to_toml(&["sqlite"]), toml);
        assert!(sdk.install_command().ends_with("/crates/cli"));
    }

    #[test]
    fn a_released_command_takes_its_own_version() {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(Sdk::of_release(), Sdk::Version(version.to_owned()));
        assert_eq!(Sdk::asked(version).unwrap(), Sdk::of_release());
    }

    #[test]
    fn a_checkout_that_is_gone_is_an_error_with_a_way_out() {
        let error = Sdk::of_checkout(Path::new("/gone/crates/cli")).unwrap_err();
        assert!(error.to_string().contains("/gone/crates/agent"), "{error}");
        for way in ["--sdk PATH", "--sdk VERSION"] {
            assert!(error.next().unwrap().contains(way), "{error:?}");
        }
    }

    #[test]
    fn a_path_is_a_checkout_or_the_crate_in_it() {
        let expected = Sdk::Folder(agent());
        for path in ["../..", "../agent", "../agent/../agent/", "../agent/src/.."] {
            let path = format!("{CLI}/{path}");
            assert_eq!(Sdk::asked(&path).unwrap(), expected, "{path}");
        }
        for path in ["", "/", ".", "/gone", "0.1.x.y", "latest", "./0.1"] {
            let error = Sdk::asked(path).unwrap_err().to_string();
            assert!(error.contains(&format!("{path:?}")), "{error}");
            assert!(error.contains("version requirement"), "{error}");
        }
    }

    #[test]
    fn a_version_is_a_requirement_as_it_was_given() {
        for version in ["0.1", "=0.1.0", ">=0.1, <0.3", "1.0.0-rc.1", "^1"] {
            let sdk = Sdk::asked(version).unwrap();
            let toml = format!("{{ version = {version:?}, features = [\"a\", \"b\"] }}");
            assert_eq!(sdk.to_toml(&["a", "b"]), toml);
            assert!(sdk.install_command().ends_with(" llamon"));
        }
    }

    #[test]
    fn a_path_is_quoted_for_toml_and_for_the_shell() {
        let sdk = Sdk::Folder(r#"/a "b"\c/crates/agent"#.to_owned());
        let toml = r#"{ path = "/a \"b\"\\c/crates/agent", features = [] }"#;
        assert_eq!(sdk.to_toml(&[]), toml);
        assert!(sdk.install_command().ends_with(r#"'/a "b"\c/crates/cli'"#));
    }
}
