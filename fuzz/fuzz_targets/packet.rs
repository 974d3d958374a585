//! A packet in: an answer that strict readers take, or silence where that is right.
#![no_main]

mod support;

use std::cell::RefCell;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use support::fuzz;

static ZONES: LazyLock<fuzz::Corpus> = LazyLock::new(fuzz::Corpus::new);

thread_local! {
    static OUT: RefCell<Vec<u8>> = RefCell::new(vec![0; 65_535]);
}

fuzz_target!(|octets: &[u8]| {
    OUT.with_borrow_mut(|out| fuzz::packet(&ZONES.serving, octets, out).unwrap_or_else(|why| panic!("{why}")));
});
