//! What the derives say to mistakes. Every message is a derive's own, so that no new compiler
//! changes it. After a change of the wording: `TRYBUILD=overwrite cargo test -p llamon-macros`.

#[test]
fn a_mistake_is_told_with_the_field_and_the_fix() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/*.rs");
    cases.compile_fail("tests/ui_state/*.rs");
}
