use std::fmt;

/// Names that Cargo refuses, that a crate of the project's own dependencies has, or that Rust
/// code cannot import from; as crate names.
const TAKEN: [(&str, &[&str]); 4] = [
    (
        "is a word of the Rust language",
        &[
            "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
            "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen",
            "if", "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override",
            "priv", "pub", "ref", "return", "self", "static", "struct", "super", "trait", "true",
            "try", "type", "typeof", "unsafe", "unsized", "use", "virtual", "where", "while",
            "yield",
        ],
    ),
    (
        "is a crate of the Rust language",
        &["alloc", "core", "proc_macro", "std", "test"],
    ),
    (
        "is a folder of Cargo's build output",
        &["build", "deps", "examples", "incremental"],
    ),
    (
        "is a crate that the project needs",
        &[
            "llamon_agent",
            "llamon_client",
            "llamon_core",
            "llamon_server",
            "serde",
            "serde_json",
            "tokio",
            "tracing_subscriber",
        ],
    ),
];

/// The longest name that the registry takes; longer ones would also break the generated lines.
pub(super) const MAX_LEN: usize = 64;

/// A name that Cargo takes for a package, and for which rustc has no warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackageName(String);

impl PackageName {
    /// Checks a name. The error names the value and the rule.
    pub(crate) fn parse(name: &str) -> Result<Self, String> {
        let is_letter = |byte: u8| byte.is_ascii_lowercase();
        let is_word = |word: &str| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| is_letter(byte) || byte.is_ascii_digit())
        };
        // rustc asks for snake case: no capitals, and no two underscores in a row.
        let is_name = name.bytes().next().is_some_and(is_letter)
            && name.split(['-', '_']).all(is_word)
            && name.len() <= MAX_LEN;
        if !is_name {
            return Err(format!(
                "{name:?} is no package name; it begins with a lower-case letter and has \
                 lower-case letters and digits, with a single - or _ between them, at most \
                 {MAX_LEN} in all, such as hello-agent"
            ));
        }
        let name = Self(name.to_owned());
        let crate_name = name.crate_name();
        for (reason, taken) in TAKEN {
            if taken.contains(&&*crate_name) {
                return Err(format!(
                    "{:?} {reason}; choose another name, such as my-{}",
                    name.0, name.0
                ));
            }
        }
        Ok(name)
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name that Rust code imports the package by.
    pub(crate) fn crate_name(&self) -> String {
        self.0.replace('-', "_")
    }
}

impl fmt::Display for PackageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_LEN, PackageName};

    #[test]
    fn names_that_cargo_and_rustc_take() {
        let longest = format!("a{}", "b".repeat(MAX_LEN - 1));
        let names = [
            "a",
            "hello-agent",
            "a1-b_2",
            "agent",
            "card",
            "llamon",
            &longest,
        ];
        for name in names {
            assert_eq!(PackageName::parse(name).unwrap().as_str(), name);
        }
        let name = PackageName::parse("a1-b_2").unwrap();
        assert_eq!(name.crate_name(), "a1_b_2");
    }

    #[test]
    fn an_error_names_the_value_and_the_rule() {
        let too_long = format!("a{}", "b".repeat(MAX_LEN));
        let malformed = [
            "",
            "Hello",
            "1st",
            "-a",
            "_a",
            "a-",
            "a--b",
            "a__b",
            "a-_b",
            "a b",
            "a/b",
            "../a",
            ".",
            "a.b",
            "a\n",
            "에이전트",
            "a\"b",
            "{{name}}",
            &too_long,
        ];
        for name in malformed {
            let error = PackageName::parse(name).unwrap_err();
            assert!(error.contains(&format!("{name:?}")), "{error}");
            assert!(error.contains("lower-case letter"), "{error}");
        }
        let taken = [
            "fn",
            "gen",
            "std",
            "test",
            "build",
            "tokio",
            "serde-json",
            "llamon-agent",
        ];
        for name in taken {
            let error = PackageName::parse(name).unwrap_err();
            assert!(error.starts_with(&format!("{name:?} is a ")), "{error}");
            assert!(error.ends_with(&format!("such as my-{name}")), "{error}");
        }
    }
}
