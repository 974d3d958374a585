//! Waiting for what is to come.

use std::time::{Duration, Instant};

/// Long enough for any machine; reached only when a test fails.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long to wait before it is asked again.
const PAUSE: Duration = Duration::from_millis(20);

/// Asks again and again until there is what is waited for.
pub fn wait_for<T>(what: &str, mut ask: impl FnMut() -> Result<T, String>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match ask() {
            Ok(found) => return found,
            Err(seen) => assert!(Instant::now() < deadline, "{what} did not come; the last thing seen was {seen}"),
        }
        std::thread::sleep(PAUSE);
    }
}
