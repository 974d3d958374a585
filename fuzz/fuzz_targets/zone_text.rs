//! Zone text in: it is read and checked to an end.
#![no_main]

mod support;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| support::fuzz::zone_text(octets));
