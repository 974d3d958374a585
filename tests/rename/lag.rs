//! A name server of the zone that lags delays the turn, and the fresh name is not poisoned.

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use understudy::name::Name;
use understudy::rr::RrType;

use crate::support::daemon::{Home, query};
use crate::support::lab::{Server, ZoneFile};
use crate::{COMMON, KNAMS, home, led, site, stages, until_stage, wait_for};

/// A real NSD with the zone as it was before, and where its file is.
pub(crate) struct Lagging {
    pub server: Server,
    file: ZoneFile,
    _dir: TempDir,
}

impl Lagging {
    pub fn start() -> Lagging {
        let dir = tempfile::tempdir().unwrap();
        let text = format!("{COMMON}{}", site(KNAMS));
        let file = ZoneFile::write(dir.path(), &Name::absolute("a.example").unwrap(), text.as_bytes());
        let server = Server::nsd(std::slice::from_ref(&file));
        Lagging { server, file, _dir: dir }
    }

    /// Gives it a zone with this serial and these records more.
    pub fn take(&self, serial: u32, more: &str) {
        let text = format!("{COMMON}{}{more}", site(KNAMS)).replace("host 100 ", &format!("host {serial} "));
        // NSD looks at the file's time, in seconds.
        std::fs::write(&self.file.path, text).unwrap();
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(u64::from(serial) % 1000 + 5);
        std::fs::File::options().append(true).open(&self.file.path).unwrap().set_modified(later).unwrap();
        kill(Pid::from_raw(self.server.pid() as i32), Signal::SIGHUP).unwrap();
        wait_for("NSD's new serial", || {
            match self.ask("a.example", RrType::SOA).windows(4).any(|part| part == serial.to_be_bytes()) {
                true => Ok(()),
                false => Err(self.server.log()),
            }
        });
    }

    fn ask(&self, name: &str, rtype: RrType) -> Vec<u8> {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        socket.send_to(&query(name, rtype), self.server.address).unwrap();
        let mut answer = vec![0; 4096];
        let (length, _) = socket.recv_from(&mut answer).unwrap();
        answer.truncate(length);
        answer
    }
}

/// The fresh name as NSD's file has it once it does not lag.
pub(crate) const TAKEN: &str = "edge-r1 A 192.0.2.1\n_443._tcp.edge-r1 TLSA 3 1 1 00\n";

pub(crate) fn why(home: &Home) -> String {
    let renames = crate::renames(home);
    renames.last().map(|last| last["waits_for"].to_string()).unwrap_or_default()
}

pub(crate) fn until_it_waits(home: &Home, part: &str) {
    wait_for(part, || {
        let why = why(home);
        if why.contains(part) { Ok(()) } else { Err(format!("{why} {:?}", stages(home))) }
    });
}

#[test]
fn peer_nothing_leads_to_the_fresh_name_before_the_last_server_has_it() {
    let lagging = Lagging::start();
    let home = home(&[lagging.server.address]);
    let daemon = home.serve();
    let mut following = crate::beside(&home, "rename a.example edge");
    until_it_waits(&home, "tells serial 100, not ");
    assert!(why(&home).contains(&lagging.server.address.to_string()), "it is named: {}", why(&home));
    assert_eq!(led(&daemon, "www.a.example").0, ["edge.a.example"]);

    // A serial alone is not enough.
    let serial = daemon.serial("a.example");
    lagging.take(serial, "");
    until_it_waits(&home, "edge-r1.a.example. A with NXDOMAIN");
    assert_eq!(led(&daemon, "www.a.example").0, ["edge.a.example"]);
    // Nor is some other answer.
    lagging.take(serial + 1, &TAKEN.replace("192.0.2.1", "203.0.113.9"));
    until_it_waits(&home, "edge-r1.a.example. A with 203.0.113.9");

    lagging.take(serial + 2, TAKEN);
    until_stage(&home, "referenced");
    assert_eq!(led(&daemon, "www.a.example").0, ["edge-r1.a.example"]);
    assert!(following.wait().unwrap().success(), "who follows it is told");
}
