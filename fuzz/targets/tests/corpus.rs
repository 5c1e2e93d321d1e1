//! The committed inputs, which were findings or reach what others do not.

use std::path::Path;

use llamon_fuzz_targets::TARGETS;

/// Beyond this an input is no example any more.
const MAX_INPUT_BYTES: u64 = 16 << 10;

#[test]
fn every_input_of_the_corpus_keeps_the_promises() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for (name, target) in TARGETS {
        let mut count = 0;
        for entry in std::fs::read_dir(corpus.join(name)).expect(name) {
            let path = entry.unwrap().path();
            assert!(
                path.metadata().unwrap().len() <= MAX_INPUT_BYTES,
                "{path:?}"
            );
            println!("{}", path.display());
            target(&std::fs::read(&path).unwrap());
            count += 1;
        }
        assert!(count > 0, "{name} has no corpus");
    }
}

#[test]
fn every_corpus_has_its_target() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
    for entry in std::fs::read_dir(corpus).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(TARGETS.iter().any(|(known, _)| *known == name), "{name}");
    }
}
