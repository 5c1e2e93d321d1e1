#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| llamon_fuzz_targets::plan(data));
