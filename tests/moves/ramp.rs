//! Steps need every name server of the zone: one that is not ours would answer everybody from one site.

use understudy::name::Name;

use crate::support::lab::{Server, ZoneFile};
use crate::{COMMON, QUICK, ZONE, finding, free_port, home, home_at, moves};

#[test]
fn where_all_name_servers_are_ours_clients_move_by_steps() {
    let home = home(QUICK);
    let _daemon = home.serve();
    let would = home.expect(6, "switchover a.example --to pmtpa --dry-run");
    assert_eq!(would["steps"], serde_json::json!(["10%", "50%", "100%"]));
    assert_eq!(finding(&would, "plan.ramp-possible")["verdict"], "pass", "{would:#}");
}

/// A secondary that knows nothing of shares: the policy's steps become one, and that is said; steps that somebody asked
/// for are refused.
#[test]
fn peer_behind_a_foreign_name_server_a_move_is_one_step() {
    let origin = Name::absolute(ZONE).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let text = format!("$ORIGIN a.example.\n{COMMON}");
    let nsd = Server::nsd(&[ZoneFile::write(dir.path(), &origin, text.as_bytes())]);
    let port = free_port();
    let home = home_at(port, &format!("'127.0.0.1:{port}', '{}'", nsd.address), QUICK);
    let daemon = home.serve();
    let would = home.expect(6, "switchover a.example --to pmtpa --dry-run");
    assert_eq!(would["steps"], serde_json::json!(["100%"]));
    let possible = finding(&would, "plan.ramp-possible");
    assert_eq!(possible["verdict"], "warn");
    let address = nsd.address.to_string();
    assert!(possible["items"][0].as_str().unwrap().contains(&address), "{possible:#}");
    let serial = daemon.serial(ZONE);
    let refused = home.expect(3, "switchover a.example --to pmtpa --step 20%");
    assert_eq!(finding(&refused, "plan.ramp-possible")["verdict"], "block");
    assert_eq!((daemon.serial(ZONE), moves(&home).len()), (serial, 0));
    // It is gone: what is there is not known, which is no better.
    drop(nsd);
    let refused = home.expect(3, "switchover a.example --to pmtpa --step 20%");
    assert_eq!(finding(&refused, "plan.ramp-possible")["verdict"], "unknown");
}
