//! Ways to start: bare files, several zones, two daemons, as root.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use understudy::rr::RrType;

use crate::support::daemon::{Daemon, Home};
use crate::{KNAMS, config, home};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o7777
}

const ZONE: &str = "$TTL 60\n@ IN SOA ns host 5 1h 10m 2w 20\n@ IN NS ns.else.\nw IN CNAME w.b.example.\n";

#[test]
fn bare_files_are_served_wherever_they_lie() {
    let (here, elsewhere) = (Home::new("", &[("a.zone", ZONE)]), tempfile::tempdir().unwrap());
    let other = elsewhere.path().join("b.zone");
    std::fs::write(&other, ZONE.replace("w IN CNAME w.b.example.", "$INCLUDE more")).unwrap();
    std::fs::write(elsewhere.path().join("more"), "w IN A 192.0.2.9\n").unwrap();
    let zones = ["--zone", "a.example=a.zone", "--zone", &format!("b.example={}", other.display())];
    let zones = [&["--listen", "127.0.0.1:0"], &zones[..]].concat();
    let daemon = here.serve_with(&zones);
    assert_eq!(daemon.data("w.a.example", RrType::A), [[192, 0, 2, 9]], "a chain goes on in the other zone");
    assert!(!here.path("var").exists(), "state is in memory");
    here.expect(1, "status --state-dir var");
    drop(daemon);

    // With a state directory it can be reached, and reads the same files again.
    let daemon = here.serve_with(&[&zones[..], &["--state-dir", "kept"]].concat());
    assert_eq!((mode(&here.path("kept")), mode(&here.path("kept/control.sock"))), (0o700, 0o600));
    std::fs::write(elsewhere.path().join("more"), "w IN A 192.0.2.10\n").unwrap();
    here.expect(0, "reload --state-dir kept");
    assert_eq!(daemon.data("w.a.example", RrType::A), [[192, 0, 2, 10]]);
    assert_eq!(daemon.serial("b.example"), 6);
}

/// A path that leaves the configuration's directory is one that an operator wrote: it is served as it is checked.
#[test]
fn a_zone_of_the_configuration_may_lie_elsewhere() {
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().join("b.zone");
    std::fs::write(&file, ZONE).unwrap();
    let config =
        format!("[server]\nlisten = ['127.0.0.1:0']\n[[zone]]\nname = 'a.example'\nfile = '{}'\n", file.display());
    let home = Home::new(&config, &[]);
    home.expect(0, "check");
    assert_eq!(home.serve().serial("a.example"), 5);
}

#[test]
fn a_second_daemon_on_the_same_state_is_refused_and_the_first_goes_on() {
    let home = home();
    let daemon = home.serve();
    let failed = home.serve_in_vain();
    assert!(
        failed.stderr.contains(&format!("in use by process {}", daemon.pid()))
            || failed.json.to_string().contains("in use"),
        "{failed:?}"
    );
    home.expect(0, "failover a.example --to pmtpa");
    // Nor does one that wants the same port take queries away.
    let port = daemon.address.to_string();
    let mut command = home.command(&["serve", "--init", "--state-dir", "other", "--listen", &port]);
    assert_ne!(command.output().unwrap().status.code(), Some(0));
    assert_eq!(daemon.data("www.a.example", RrType::A).len(), 1);
}

#[test]
fn nothing_to_serve_is_no_start() {
    let home = home();
    home.write("common.zone", "nonsense\n");
    let failed = home.serve_in_vain();
    assert_eq!(failed.code, 1);
    assert!(format!("{}{}", failed.stderr, failed.json).contains("common.zone:1"), "{failed:?}");
}

/// As root it becomes the configured user, and all it needs afterwards is that user's.
#[test]
fn root_is_given_up() {
    if !nix::unistd::geteuid().is_root() {
        eprintln!("this test needs root");
        return;
    }
    let home = home();
    home.edit("understudy.toml", "workers = 1", "workers = 1\nuser = 'nobody'");
    // Others may pass through, so that the user finds the files.
    std::fs::set_permissions(home.dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let nobody = nix::unistd::User::from_name("nobody").unwrap().unwrap().uid.as_raw();
    // State of root's own, from a run before the user was configured.
    let plain = home.read("understudy.toml");
    home.edit("understudy.toml", "\nuser = 'nobody'", "");
    home.serve();
    home.write("understudy.toml", &plain);
    for to in ["pmtpa", "knams"] {
        let daemon = home.serve();
        let status = std::fs::read_to_string(format!("/proc/{}/status", daemon.pid())).unwrap();
        let uids = status.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap();
        assert!(uids.split_whitespace().all(|uid| uid.parse() == Ok(nobody)), "{uids}");
        for entry in std::fs::read_dir(home.path("var")).unwrap() {
            let path = entry.unwrap().path();
            assert_eq!((path.metadata().unwrap().uid(), mode(&path) & 0o077), (nobody, 0), "{}", path.display());
        }
        home.expect(0, &format!("failover a.example --to {to}"));
        daemon.kill();
    }
}

/// A slip of the pen in `state_dir` gives nothing away.
#[test]
fn a_directory_that_is_not_state_is_not_given_away() {
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("this test needs root");
    }
    let home = home();
    home.edit("understudy.toml", "workers = 1", "workers = 1\nuser = 'nobody'");
    std::fs::create_dir(home.path("var")).unwrap();
    home.write("var/important", "");
    std::fs::set_permissions(home.path("var"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let failed = home.serve_in_vain();
    assert!(failed.json["failure"]["what"].as_str().unwrap().contains("important"), "{failed:?}");
    for path in ["var", "var/important"] {
        assert_eq!(home.path(path).metadata().unwrap().uid(), 0, "{path}");
    }
}

#[test]
fn a_group_may_be_let_in() {
    let group = nix::unistd::Group::from_gid(nix::unistd::getegid()).unwrap().unwrap();
    let home = home();
    home.edit("understudy.toml", "[[region]]", &format!("[control]\ngroup = '{}'\n\n[[region]]", group.name));
    for _ in 0..2 {
        let daemon = home.serve();
        assert_eq!((mode(&home.path("var")), mode(&home.path("var/control.sock"))), (0o710, 0o660));
        home.expect(0, "status");
        daemon.kill();
    }
}

/// It listens where it is told, on IPv6 as well.
#[test]
fn both_families_are_served() {
    let home = home();
    home.edit("understudy.toml", "['127.0.0.1:0']", "['[::1]:0']");
    let daemon = match Daemon::try_start(home.command(&["serve", "--init"]), home.path("log")) {
        Ok(daemon) => daemon,
        Err(log) => return assert!(log.contains("IPv6") || log.contains("No interface"), "{log}"),
    };
    let message = daemon.ask_from("::1".parse().unwrap(), "direct.a.example", RrType::A);
    assert_eq!(message.answers[0].rdata[0], KNAMS);
    assert_eq!(daemon.ask_tcp("direct.a.example", RrType::A).answers[0].rdata[0], KNAMS);
    assert!(config().contains("127.0.0.1:0"));
}
