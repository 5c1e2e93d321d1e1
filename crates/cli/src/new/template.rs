use std::fmt::Write as _;

use super::name::PackageName;
use super::sdk::Sdk;

/// Kinds of agents that a project can begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Template {
    /// An async function that gets the message
    #[default]
    Function,
    /// An async function that gets a struct, filled with what input contracts find
    Structured,
    /// A graph of steps over a typed state, which remembers its conversations
    Graph,
    /// An async function that asks people and goes on with their answers
    Hitl,
    /// A Python script, or any other program, behind pipes
    Adapter,
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

/// What makes a kind of agent different from the others.
struct Kind {
    description: &'static str,
    /// Dependencies that only this kind has, as lines of the manifest.
    dependencies: &'static str,
    /// Features of the SDK.
    features: &'static [&'static str],
    /// What `main.rs` takes from `src/agent.rs`, and the agent that it makes of that.
    agent: [&'static str; 2],
    policy: Policy,
    /// Lines of `.env.example` that only this kind has.
    env: &'static str,
    /// Text and data of a call, as a format string has them.
    call: &'static str,
    /// Of the README: how it is called, and its files.
    calling: &'static str,
    files: &'static str,
    templates: &'static [(&'static str, &'static str)],
}

/// What the project says about the policy.
struct Policy {
    /// Over the server's builder.
    comment: &'static str,
    /// Lines of the builder.
    settings: &'static str,
    /// Of the README.
    keeps: &'static str,
}

/// A comment marker stands before the line that sets it.
const SET_BY_A_LINE: Policy = Policy {
    comment: "    // As it is, an answer has only what the agent made. Without the comment marker in the chain
    // below, the data and files that arrived follow it, unchanged.
",
    settings: "        // .upstream_parts_policy(\"append\")
",
    keeps: include_str!("../../templates/common/keeps.md.tmpl"),
};

/// Of all kinds. Their names end in `.tmpl` because Cargo, Git and rustfmt would take them for
/// their own.
const COMMON: &[(&str, &str)] = template! {
    "common":
    "Cargo.toml" = "Cargo.toml.tmpl",
    "README.md" = "README.md.tmpl",
    ".env.example" = "env.example.tmpl",
    ".gitignore" = "gitignore.tmpl",
    "src/main.rs" = "main.rs.tmpl",
    "src/lib.rs" = "lib.rs.tmpl",
};

const FUNCTION: Kind = Kind {
    description: "Counts the data and files that arrive",
    dependencies: "",
    features: &["sqlite"],
    agent: ["answer", "answer"],
    policy: SET_BY_A_LINE,
    env: "",
    call: r#""hello" --data '{{"n":1}}'"#,
    calling: include_str!("../../templates/function/calling.md.tmpl"),
    files: include_str!("../../templates/function/files.md.tmpl"),
    templates: template! {
        "function":
        "src/agent.rs" = "agent.rs.tmpl",
        "src/card.rs" = "card.rs.tmpl",
        "tests/agent.rs" = "test.rs.tmpl",
    },
};

const STRUCTURED: Kind = Kind {
    description: "Bills orders",
    dependencies: "serde = { version = \"1\", features = [\"derive\"] }\n",
    features: &["sqlite"],
    agent: ["answer", "answer"],
    policy: SET_BY_A_LINE,
    env: "",
    call: r#""bill it" --data '{{"order":{{"id":7,"cents":1250}}}}'"#,
    calling: include_str!("../../templates/structured/calling.md.tmpl"),
    files: include_str!("../../templates/structured/files.md.tmpl"),
    templates: template! {
        "structured":
        "src/agent.rs" = "agent.rs.tmpl",
        "src/card.rs" = "card.rs.tmpl",
        "tests/agent.rs" = "test.rs.tmpl",
        "contracts.json" = "contracts.json.tmpl",
        "examples/message.json" = "message.json.tmpl",
    },
};

const GRAPH: Kind = Kind {
    description: "Counts words and adds up numbers, step by step",
    dependencies: "serde = { version = \"1\", features = [\"derive\"] }\n",
    features: &["graph", "sqlite"],
    agent: ["{agent, threads}", "agent(threads().await?)?"],
    policy: SET_BY_A_LINE,
    env: "
# The file that keeps the graph's threads, one for each conversation.
LLAMON_THREADS=data/threads.db
",
    call: r#""3 llamas and 4 alpacas" --data '{{"n":1}}'"#,
    calling: include_str!("../../templates/graph/calling.md.tmpl"),
    files: include_str!("../../templates/graph/files.md.tmpl"),
    templates: template! {
        "graph":
        "src/agent.rs" = "agent.rs.tmpl",
        "src/card.rs" = "card.rs.tmpl",
        "tests/agent.rs" = "test.rs.tmpl",
    },
};

const HITL: Kind = Kind {
    description: "Orders things when a person has agreed",
    dependencies: "",
    features: &["sqlite"],
    agent: ["answer", "answer"],
    env: "",
    policy: Policy {
        comment: "    // With people in the loop, upstream_parts_policy has no effect: what the agent returns is what
    // is sent. To keep what arrived, merge it in src/agent.rs with compose().
",
        settings: "        .hitl()\n",
        keeps: include_str!("../../templates/hitl/keeps.md.tmpl"),
    },
    call: r#""pencils""#,
    calling: include_str!("../../templates/hitl/calling.md.tmpl"),
    files: include_str!("../../templates/hitl/files.md.tmpl"),
    templates: template! {
        "hitl":
        "src/agent.rs" = "agent.rs.tmpl",
        "src/card.rs" = "card.rs.tmpl",
        "tests/agent.rs" = "test.rs.tmpl",
    },
};

const ADAPTER: Kind = Kind {
    description: "Counts the data and files that arrive, in Python",
    dependencies: "",
    features: &["sqlite"],
    agent: ["adapter", "adapter()?"],
    env: "",
    policy: Policy {
        comment: "    // On an adapter, upstream_parts_policy has no effect: what agent.py says is what is sent. To
    // keep what arrived, agent.py repeats it, or a RuntimeAdapter of your own uses compose().
",
        settings: "",
        keeps: include_str!("../../templates/adapter/keeps.md.tmpl"),
    },
    call: r#""hello" --data '{{"n":1}}'"#,
    calling: include_str!("../../templates/adapter/calling.md.tmpl"),
    files: include_str!("../../templates/adapter/files.md.tmpl"),
    templates: template! {
        "adapter":
        "agent.py" = "agent.py.tmpl",
        "src/agent.rs" = "agent.rs.tmpl",
        "src/card.rs" = "card.rs.tmpl",
        "tests/agent.rs" = "test.rs.tmpl",
    },
};

impl Template {
    /// What its agent does, unless the user says something else.
    pub(crate) fn description(self) -> &'static str {
        self.kind().description
    }

    fn kind(self) -> &'static Kind {
        match self {
            Self::Function => &FUNCTION,
            Self::Structured => &STRUCTURED,
            Self::Graph => &GRAPH,
            Self::Hitl => &HITL,
            Self::Adapter => &ADAPTER,
        }
    }
}

/// The files of a project of this kind.
pub(crate) fn files(template: Template, project: &Project<'_>) -> Vec<File> {
    let kind = template.kind();
    let install = ("install", project.sdk.install_command());
    // Only names and texts that need no escaping are put into Rust code.
    let values = [
        ("name", project.name.as_str().to_owned()),
        ("crate", project.name.crate_name()),
        ("description", project.description.to_owned()),
        ("description_toml", toml_string(project.description)),
        ("sdk", project.sdk.whereabouts()),
        ("sdk_toml", project.sdk.to_toml(kind.features)),
        ("dependencies", kind.dependencies.to_owned()),
        ("agent", kind.agent[0].to_owned()),
        ("agent_value", kind.agent[1].to_owned()),
        ("policy_comment", kind.policy.comment.to_owned()),
        ("settings", kind.policy.settings.to_owned()),
        ("keeps", kind.policy.keeps.to_owned()),
        ("env", kind.env.to_owned()),
        ("call", kind.call.to_owned()),
        (
            "calling",
            fill(kind.calling, std::slice::from_ref(&install)),
        ),
        ("files", kind.files.to_owned()),
    ];
    let file = |&(path, template): &(&'static str, &str)| File {
        path,
        text: fill(template, &values),
    };
    COMMON.iter().chain(kind.templates).map(file).collect()
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
    use clap::ValueEnum;

    use super::{File, Project, Template, files, fill, toml_string};
    use crate::new::name::{MAX_LEN, PackageName};
    use crate::new::sdk::Sdk;

    const MARKED: &str = "\n        // .upstream_parts_policy(\"append\")\n        .await?\n";

    /// The files of a project of each kind.
    fn projects(name: &str, description: &str) -> Vec<Vec<File>> {
        let templates = Template::value_variants().iter();
        let projects = templates.map(|template| project(*template, name, description));
        projects.collect()
    }

    fn project(template: Template, name: &str, description: &str) -> Vec<File> {
        let project = Project {
            name: &PackageName::parse(name).unwrap(),
            description,
            sdk: &Sdk::Folder("/checkout/crates/agent".to_owned()),
        };
        files(template, &project)
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
        for file in projects("hello-agent", "d").iter().flatten() {
            for (at, _) in file.text.match_indices("{{") {
                let after = file.text[at..].trim_start_matches('{').chars().next();
                let is_name = after.is_some_and(|c| c.is_ascii_lowercase());
                assert!(!is_name, "{}: {}", file.path, &file.text[at..]);
            }
            assert!(file.text.ends_with('\n') && !file.text.ends_with("\n\n"));
            // Python's style has two blank lines between functions.
            let is_python = file.path.ends_with(".py");
            assert!(is_python || !file.text.contains("\n\n\n"), "{}", file.path);
        }
    }

    #[test]
    fn what_the_user_says_is_escaped_where_it_stands() {
        for files in projects("hello-agent", r#"Says "{{name}}" \o/"#) {
            let manifest = text(&files, "Cargo.toml");
            let line = r#"description = "Says \"{{name}}\" \\o/""#;
            assert!(manifest.lines().any(|found| found == line), "{manifest}");
            let line = r#"llamon-agent = { path = "/checkout/crates/agent", features = ["#;
            assert!(
                manifest.lines().any(|found| found.starts_with(line)),
                "{manifest}"
            );
            let readme = text(&files, "README.md");
            assert!(readme.contains("\nSays \"{{name}}\" \\o/\n"), "{readme}");
            for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
                assert!(!file.text.contains("Says"), "{}", file.path);
            }
        }
    }

    #[test]
    fn no_name_makes_a_line_that_rustfmt_would_break() {
        let longest = "a".repeat(MAX_LEN);
        for file in projects(&longest, "d").iter().flatten() {
            if file.path.ends_with(".rs") {
                let widest = file.text.lines().map(str::len).max();
                assert!(widest.unwrap() <= 100, "{}: {widest:?}", file.path);
            }
        }
    }

    #[test]
    fn one_commented_line_stands_alone_in_the_builder_chain() {
        for template in Template::value_variants() {
            let files = project(*template, "hello-agent", "d");
            let main = text(&files, "src/main.rs");
            // Where the policy has no effect, one comment says so and what to do.
            let has_effect = !matches!(template, Template::Hitl | Template::Adapter);
            let marked = main.matches(MARKED).count();
            assert_eq!(marked, usize::from(has_effect), "{main}");
            assert_eq!(main.matches("upstream_parts_policy").count(), 1, "{main}");
            let says_so = main.contains("upstream_parts_policy has no effect: what");
            assert_eq!(says_so && main.contains("compose()"), !has_effect, "{main}");
        }
    }

    #[test]
    fn the_readme_names_the_files_and_how_the_agent_is_called() {
        for files in projects("hello-agent", "d") {
            let readme = text(&files, "README.md");
            for file in &files {
                let is_told = readme.contains(&format!("`{}`", file.path));
                let is_plain = ["Cargo.toml", "README.md", ".gitignore", "src/lib.rs"];
                assert!(is_told || is_plain.contains(&file.path), "{}", file.path);
            }
            assert!(
                readme.contains("\n`cargo install --locked --path "),
                "{readme}"
            );
            // The server prints the same call as the README has.
            let call = readme
                .lines()
                .find_map(|line| line.split_once("llamon send http://127.0.0.1:8080 "));
            let call = call.unwrap().1.replace('{', "{{").replace('}', "}}");
            assert!(text(&files, "src/main.rs").contains(&format!("{{url}} {call}\"#")));
        }
    }

    #[test]
    fn a_project_has_the_features_that_its_agent_needs() {
        for (template, features) in [
            (Template::Function, r#"features = ["sqlite"]"#),
            (Template::Graph, r#"features = ["graph", "sqlite"]"#),
        ] {
            let files = project(template, "hello-agent", "d");
            assert!(text(&files, "Cargo.toml").contains(features), "{features}");
        }
    }

    #[test]
    fn contracts_of_a_structured_project_select_from_its_example() {
        use llamon_agent::contracts::InputContracts;
        use llamon_agent::core::Part;

        let files = project(Template::Structured, "hello-agent", "d");
        let contracts = InputContracts::from_json(text(&files, "contracts.json")).unwrap();
        let message: serde_json::Value =
            serde_json::from_str(text(&files, "examples/message.json")).unwrap();
        let parts = message["message"]["parts"].as_array().unwrap();
        let parts: Vec<Part> = parts
            .iter()
            .map(|part| Part::from_json(part.to_string()).unwrap())
            .collect();
        let selected = contracts.compile().unwrap().select(&parts).unwrap();
        let found: Vec<usize> = ["order", "discounts", "scan"]
            .map(|name| selected.get(name).items().len())
            .to_vec();
        assert_eq!(found, [1, 2, 1]);
    }
}
