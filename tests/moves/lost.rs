//! The state directory is gone: what was published is asked of those who may have seen it.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use understudy::name::Name;

use crate::support::daemon::{Daemon, Home};
use crate::support::lab::{Server, ZoneFile};
use crate::{COMMON, FAST, PMTPA, ZONE, client, failed, free_port, home_at, seen_by};

fn lose_state(home: &Home, daemon: Daemon) {
    daemon.stop();
    std::fs::remove_dir_all(home.path("var")).unwrap();
}

fn without_init(home: &Home) -> Daemon {
    Daemon::start(home.command(&["serve"]), home.path("log"))
}

/// A secondary tells a higher serial than the file: it goes on above that, and moves as ever.
#[test]
fn peer_a_name_server_that_tells_a_higher_serial_is_gone_above() {
    let origin = Name::absolute(ZONE).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let text = format!("$ORIGIN a.example.\n{}", COMMON.replace("host 100", "host 5000"));
    let nsd = Server::nsd(&[ZoneFile::write(dir.path(), &origin, text.as_bytes())]);
    let port = free_port();
    let home = home_at(port, &format!("'127.0.0.1:{port}', '{}'", nsd.address), FAST);
    lose_state(&home, home.serve());
    let daemon = without_init(&home);
    assert!(daemon.serial(ZONE) > 5000, "{}", daemon.serial(ZONE));
    assert!(home.expect(0, "status")["caution"].is_null());
    home.expect(0, "failover a.example --to pmtpa");
    assert_eq!(seen_by(&daemon, client(0)).0, PMTPA);
    assert!(daemon.log().contains("tell serial 5000"), "{}", daemon.log());
}

/// Nobody can be asked: the zone is served as its file has it, and said so; nothing moves until somebody has looked.
#[test]
fn where_nobody_tells_the_file_is_served_and_nothing_moves_until_it_is_accepted() {
    let port = free_port();
    // Somebody listens there and says nothing.
    let mute = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
    let home = home_at(port, &format!("'127.0.0.1:{port}', '{}'", mute.local_addr().unwrap()), FAST);
    lose_state(&home, home.serve());
    let daemon = without_init(&home);
    assert_eq!(daemon.serial(ZONE), 100);
    let caution = home.expect(0, "status")["caution"].as_str().unwrap().to_owned();
    assert!(caution.contains("state accept"), "{caution}");
    let refused = home.expect(1, "failover a.example --to pmtpa");
    assert!(failed(&refused).contains("state accept"), "{refused:#}");
    // It is not forgotten by another start.
    daemon.kill();
    let daemon = without_init(&home);
    home.expect(1, "failover a.example --to pmtpa");
    assert_eq!(daemon.serial(ZONE), 100);
    home.expect(0, "state accept --reason compared");
    assert!(home.expect(0, "status")["caution"].is_null());
    assert!(failed(&home.expect(1, "state accept")).contains("not in doubt"));
    home.expect(0, "failover a.example --to pmtpa");
    assert_eq!(seen_by(&daemon, client(0)).0, PMTPA);
}

/// `understudy init` says that there was nothing to lose.
#[test]
fn a_first_start_is_told_apart_from_a_loss() {
    let port = free_port();
    let home = home_at(port, &format!("'127.0.0.1:{port}'"), FAST);
    home.expect(0, "init");
    let daemon = without_init(&home);
    assert!(home.expect(0, "status")["caution"].is_null());
    home.expect(0, "failover a.example --to pmtpa");
    assert_eq!(seen_by(&daemon, client(0)).0, PMTPA);
}
