//! Killed between any two steps, a rename goes on at the right one.

use crate::lag::{Lagging, TAKEN, until_it_waits};
use crate::support::daemon::{Daemon, Home};
use crate::{KNAMS, beside, follow, home, led, stages, until_stage};

/// Kills it and starts it again, on the same port.
fn again(home: &Home, daemon: Daemon) -> Daemon {
    let serial = daemon.serial("a.example");
    daemon.kill();
    let daemon = home.serve();
    assert!(daemon.serial("a.example") >= serial, "the serial fell from {serial} to {}", daemon.serial("a.example"));
    daemon
}

#[test]
fn peer_killed_at_each_step_it_goes_on_from_there() {
    let lagging = Lagging::start();
    let home = home(&[lagging.server.address]);
    let mut daemon = home.serve();
    let _ = beside(&home, "rename a.example edge").kill();
    let mut begun = beside(&home, "rename a.example edge");
    until_it_waits(&home, "tells serial");
    // Who follows it goes away, and it is killed, again and again: it is staged, and no second one is.
    let _ = begun.kill();
    let _ = begun.wait();
    for _ in 0..2 {
        daemon = again(&home, daemon);
        assert_eq!(stages(&home), [("edge-r1.a.example.".to_owned(), "staged".to_owned())]);
        assert_eq!(led(&daemon, "edge-r1.a.example").1, Some(KNAMS), "what was published stays");
        assert_eq!(led(&daemon, "www.a.example").0, ["edge.a.example"], "and nothing leads there");
    }
    lagging.take(daemon.serial("a.example"), TAKEN);
    daemon = again(&home, daemon);
    until_stage(&home, "referenced");
    daemon = again(&home, daemon);
    assert_eq!(led(&daemon, "www.a.example"), (vec!["edge-r1.a.example".into()], Some(KNAMS)));
    assert_eq!(led(&daemon, "www.b.example").0, ["edge-r1.a.example"]);
    home.expect(0, "rename a.example edge --undo");
    daemon = again(&home, daemon);
    assert_eq!(led(&daemon, "www.b.example").0, ["edge.a.example"]);
    assert_eq!(led(&daemon, "edge-r1.a.example").1, Some(KNAMS));
}

/// At any moment, whatever is being written then.
#[test]
fn killed_at_any_moment_it_comes_to_the_same_end() {
    let home = home(&[]);
    for round in 1..=6u64 {
        let daemon = home.serve();
        let mut begun = beside(&home, &format!("rename a.example edge --reason round{round}"));
        std::thread::sleep(std::time::Duration::from_millis(15 * round));
        daemon.kill();
        let _ = begun.kill();
        let _ = begun.wait();
        let daemon = home.serve();
        if let Some((fresh, _)) = stages(&home).last().cloned() {
            crate::wait_for("its end", || {
                let last = stages(&home).last().cloned().unwrap();
                if last.1 == "referenced" { Ok(()) } else { Err(format!("{last:?}")) }
            });
            assert_eq!(led(&daemon, "www.a.example").0, [fresh.trim_end_matches('.')]);
            assert_eq!(led(&daemon, "www.b.example").0, [fresh.trim_end_matches('.')]);
        } else {
            assert_eq!(led(&daemon, "www.a.example").0, ["edge.a.example"], "it had not begun");
        }
    }
    let _daemon = home.serve();
    follow(&home, 0, "rename a.example edge");
}
