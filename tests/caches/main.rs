//! Simulated resolvers on this product's real answers: each habit shows, and the closed form of how caches drain agrees with
//! them, though the two share no code.

mod drain;
mod habits;

use understudy::name::Name;

fn name(text: &str) -> Name {
    Name::absolute(text).unwrap()
}

/// Each proves the other only as long as they share nothing that could be wrong in both.
#[test]
fn the_simulation_knows_nothing_of_the_forecast() {
    let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/world/sim");
    let mut read = 0;
    for file in ["chance", "crowd", "message", "population", "resolver"] {
        let text = std::fs::read_to_string(dir.join(format!("{file}.rs"))).unwrap();
        for other in ["crate::drain", "crate::profile", "crate::serving", "crate::snapshot", "crate::zone", "hickory"] {
            assert!(!text.contains(other), "{file}.rs names {other}");
        }
        read += text.len();
    }
    assert!(read > 20_000);
}
