//! Zone text in, answers out: they are as strict readers want them.
#![no_main]

mod support;

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;
use support::fuzz;

thread_local! {
    static OUT: RefCell<Vec<u8>> = RefCell::new(vec![0; 65_535]);
}

fuzz_target!(|octets: &[u8]| {
    OUT.with_borrow_mut(|out| fuzz::served_text(octets, out).unwrap_or_else(|why| panic!("{why}")));
});
