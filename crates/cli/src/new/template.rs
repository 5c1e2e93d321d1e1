use std::fmt::Write as _;

use super::name::PackageName;
use super::sdk::Sdk;

/// Kinds of agents that a project can begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Template {
    #[default]
    Function,
}

/// What a project is told about itself.
pub(crate) struct Project<'a> {
    pub(crate) name: &'a PackageName,
    /// One line.
    pub(crate) description: &'a str,
    pub(crate) sdk: &'a Sdk,
}

/// A file of the project.
pub(crate) struct File {
    /// Below the project's folder.
    pub(crate) path: &'static str,
    pub(crate) text: String,
}

macro_rules! template {
    ($kind:literal: $($path:literal = $file:literal,)*) => {
        &[$(($path, include_str!(concat!("../../templates/", $kind, "/", $file)))),*]
    };
}

/// Their names end in `.tmpl` because Cargo, Git and rustfmt would take them for their own.
const FUNCTION: &[(&str, &str)] = template! {
    "function":
    "Cargo.toml" = "Cargo.toml.tmpl",
    "src/main.rs" = "main.rs.tmpl",
    "src/lib.rs" = "lib.rs.tmpl",
    "src/agent.rs" = "agent.rs.tmpl",
    "src/card.rs" = "card.rs.tmpl",
    "tests/agent.rs" = "test.rs.tmpl",
    "README.md" = "README.md.tmpl",
    ".env.example" = "env.example.tmpl",
    ".gitignore" = "gitignore.tmpl",
};

/// The files of a project of this kind.
pub(crate) fn files(template: Template, project: &Project<'_>) -> Vec<File> {
    let templates = match template {
        Template::Function => FUNCTION,
    };
    // Only names and texts that need no escaping are put into Rust code.
    let values = [
        ("name", project.name.as_str().to_owned()),
        ("crate", project.name.crate_name()),
        ("description", project.description.to_owned()),
        ("description_toml", toml_string(project.description)),
        ("sdk", project.sdk.whereabouts()),
        ("sdk_toml", project.sdk.to_toml()),
        ("install", project.sdk.install_command()),
    ];
    let file = |&(path, template): &(&'static str, &str)| File {
        path,
        text: fill(template, &values),
    };
    templates.iter().map(file).collect()
}

/// `text` as a basic string of TOML, quotes included.
pub(crate) fn toml_string(text: &str) -> String {
    let mut string = String::with_capacity(text.len() + 2);
    string.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => string.extend(['\\', c]),
            c if c.is_ascii_control() => {
                let _ = write!(string, "\\u{:04X}", u32::from(c));
            }
            c => string.push(c),
        }
    }
    string.push('"');
    string
}

/// The template with each `{{name}}` that has a value replaced by it. Values are not looked into,
/// and other double braces stay: Rust's format strings have them too.
fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, opened)) = rest.split_once("{{") {
        text.push_str(before);
        let value = opened.split_once("}}").and_then(|(name, after)| {
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((value, after))
        });
        rest = match value {
            Some((value, after)) => {
                text.push_str(value);
                after
            }
            None => {
                text.push_str("{{");
                opened
            }
        };
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::{FUNCTION, File, Project, Template, files, fill, toml_string};
    use crate::new::name::{MAX_LEN, PackageName};
    use crate::new::sdk::Sdk;

    const MARKED: &str = "\n        // .upstream_parts_policy(\"append\")\n        .await?\n";

    fn project(description: &str) -> Vec<File> {
        named("hello-agent", description)
    }

    fn named(name: &str, description: &str) -> Vec<File> {
        let project = Project {
            name: &PackageName::parse(name).unwrap(),
            description,
            sdk: &Sdk::Folder("/checkout/crates/agent".to_owned()),
        };
        files(Template::Function, &project)
    }

    fn text<'a>(files: &'a [File], path: &str) -> &'a str {
        let mut found = files.iter().filter(|file| file.path == path);
        &found.next().unwrap().text
    }

    #[test]
    fn known_placeholders_are_replaced_once_and_nothing_else() {
        let values = [
            ("a", "{{b}}".to_owned()),
            ("b", "B".to_owned()),
            ("empty", String::new()),
        ];
        let cases = [
            ("", ""),
            ("{{b}}{{b}} {{a}}", "BB {{b}}"),
            ("x{{empty}}y", "xy"),
            ("{{c}} {{ b }} {b} {{b}", "{{c}} {{ b }} {b} {{b}"),
            (r#"'{{"n":1}}' {{b}}"#, r#"'{{"n":1}}' B"#),
            ("{{{b}}}", "{{{b}}}"),
            ("{{{{b}}", "{{B"),
            ("{{", "{{"),
        ];
        for (template, expected) in cases {
            assert_eq!(fill(template, &values), expected, "{template}");
        }
    }

    #[test]
    fn toml_strings_are_escaped() {
        let cases = [
            ("", r#""""#),
            ("plain, 한국어", r#""plain, 한국어""#),
            (r#"a "b" \c"#, r#""a \"b\" \\c""#),
            ("a\tb\nc\u{7f}\0", r#""a\u0009b\u000Ac\u007F\u0000""#),
        ];
        for (text, expected) in cases {
            assert_eq!(toml_string(text), expected);
        }
    }

    #[test]
    fn every_placeholder_of_a_template_has_a_value() {
        for file in project("d") {
            for (at, _) in file.text.match_indices("{{") {
                let after = file.text[at..].trim_start_matches('{').chars().next();
                let is_name = after.is_some_and(|c| c.is_ascii_lowercase());
                assert!(!is_name, "{}: {}", file.path, &file.text[at..]);
            }
            assert!(file.text.ends_with('\n') && !file.text.ends_with("\n\n"));
        }
        assert!(FUNCTION.iter().any(|(path, _)| *path == "src/main.rs"));
    }

    #[test]
    fn what_the_user_says_is_escaped_where_it_stands() {
        let files = project(r#"Says "{{name}}" \o/"#);
        let manifest = text(&files, "Cargo.toml");
        let line = r#"description = "Says \"{{name}}\" \\o/""#;
        assert!(manifest.lines().any(|found| found == line), "{manifest}");
        let line = r#"llamon-agent = { path = "/checkout/crates/agent" }"#;
        assert!(manifest.lines().any(|found| found == line), "{manifest}");
        let readme = text(&files, "README.md");
        assert!(readme.contains("\nSays \"{{name}}\" \\o/\n"), "{readme}");
        for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
            assert!(!file.text.contains("Says"), "{}", file.path);
        }
    }

    #[test]
    fn no_name_makes_a_line_that_rustfmt_would_break() {
        let longest = "a".repeat(MAX_LEN);
        for file in named(&longest, "d") {
            if file.path.ends_with(".rs") {
                let widest = file.text.lines().map(str::len).max();
                assert!(widest.unwrap() <= 100, "{}: {widest:?}", file.path);
            }
        }
    }

    #[test]
    fn one_commented_line_stands_alone_in_the_builder_chain() {
        let files = project("d");
        let main = text(&files, "src/main.rs");
        assert_eq!(main.matches(MARKED).count(), 1, "{main}");
        assert_eq!(main.matches("upstream_parts_policy").count(), 1, "{main}");
    }
}
