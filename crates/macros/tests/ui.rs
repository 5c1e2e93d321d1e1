//! What the derive says to mistakes. Every message is the derive's own, so that no new compiler
//! changes it. After a change of the wording: `TRYBUILD=overwrite cargo test -p llamon-macros`.

#[test]
fn a_mistake_is_told_with_the_field_and_the_fix() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
