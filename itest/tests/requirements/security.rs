//! What SECURITY.md says is proven has a test of that name in that file.

use std::fs;
use std::path::Path;

#[test]
fn every_test_that_security_md_names_exists() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let text = read("SECURITY.md");
    let mut problems = Vec::new();
    let mut found = 0;
    for claim in text.split("\n\n").filter(|text| text.starts_with("Tests:")) {
        let mut source = String::new();
        let mut file = "";
        // What stands in backquotes: a file, then names of tests in it.
        for name in claim.split('`').skip(1).step_by(2) {
            if name.ends_with(".rs") || name.ends_with(".sh") {
                (file, source) = (name, read(name));
                if source.is_empty() {
                    problems.push(format!("there is no {file}"));
                }
            } else if !source.contains(&format!("fn {name}(")) {
                problems.push(format!("{file} has no {name}"));
            } else {
                found += 1;
            }
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(found > 40, "only {found} tests are named");
}
