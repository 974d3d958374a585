//! How each server is configured, started and asked to reload.

use std::fs;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};

use super::mix::ORIGIN;
use super::process::Process;

/// A server that can be started.
pub struct Server {
    pub name: String,
    pub command: Vec<String>,
    pub address: SocketAddr,
    /// The zone's file.
    pub zone: PathBuf,
    /// None for the floor.
    pub reload: Option<Reload>,
}

/// How it is asked to reload.
pub enum Reload {
    Signal(Signal),
    Command(Vec<String>),
}

impl Server {
    /// Writes what the server needs into `dir`; none if it is not installed.
    pub fn prepare(name: &str, dir: &Path, zone: &Path) -> Option<Server> {
        for part in ["", "zones", "run", "state"] {
            fs::create_dir_all(dir.join(part)).expect("a directory");
        }
        // gdnsd wants a directory that nobody else can look into.
        fs::set_permissions(dir.join("run"), fs::Permissions::from_mode(0o700)).expect("the directory is ours");
        let address = free_address();
        let zone_file = dir.join("zones").join(ORIGIN);
        let (config, command, reload) = match name {
            "understudy" => {
                let command =
                    "{own} serve --init --listen {address} --zone {origin}={zone} --workers 1 --state-dir {dir}/state";
                ("", command, Some(Reload::Signal(Signal::SIGHUP)))
            }
            "floor" => ("", "{self} --echo {address}", None),
            "gdnsd" => (GDNSD, "/usr/sbin/gdnsd -c {dir} start", command("/usr/bin/gdnsdctl -c {dir} reload-zones")),
            "nsd" => (
                NSD,
                "/usr/sbin/nsd -d -c {dir}/config",
                command("/usr/sbin/nsd-control -c {dir}/config reload {origin}"),
            ),
            "knot" => (
                KNOT,
                "/usr/sbin/knotd -c {dir}/config",
                command("/usr/sbin/knotc -s {dir}/knot.sock zone-reload {origin}"),
            ),
            other => panic!("{other} is no server that is known here"),
        };
        let program = command.split(' ').next().unwrap_or_default();
        if program.starts_with('/') && !Path::new(program).exists() {
            println!("{name} is not installed: left out");
            return None;
        }
        let fill = |text: &str| {
            let own = std::env::current_exe().expect("this program has a path");
            [
                ("{own}", env!("CARGO_BIN_EXE_understudy").to_owned()),
                ("{self}", own.display().to_string()),
                ("{address}", address.to_string()),
                ("{ip}", address.ip().to_string()),
                ("{port}", address.port().to_string()),
                ("{origin}", ORIGIN.to_owned()),
                ("{zone}", zone_file.display().to_string()),
                ("{dir}", dir.display().to_string()),
            ]
            .iter()
            .fold(text.to_owned(), |text, (field, value)| text.replace(field, value))
        };
        let words = |text: &str| text.split(' ').map(fill).collect::<Vec<_>>();
        fs::write(dir.join("config"), fill(config)).expect("the configuration is written");
        fs::copy(zone, &zone_file).expect("the zone is copied");
        let reload = reload.map(|reload| match reload {
            Reload::Command(command) => Reload::Command(command.iter().map(|word| fill(word)).collect()),
            signal => signal,
        });
        Some(Server { name: name.into(), command: words(command), address, zone: zone_file, reload })
    }

    /// Has it read the zone's file again; some commands end only when that is done, so nobody waits for them.
    pub fn ask_to_reload(&self, process: &Process) {
        match &self.reload {
            Some(Reload::Signal(signal)) => kill(process.id(), *signal).expect("it runs"),
            Some(Reload::Command(command)) => {
                let mut asked = Command::new(&command[0])
                    .args(&command[1..])
                    .stdout(Stdio::null())
                    .spawn()
                    .expect("it is installed");
                std::thread::spawn(move || {
                    let done = asked.wait().expect("it was started");
                    assert!(done.success(), "the command to reload failed");
                });
            }
            None => {}
        }
    }
}

fn command(text: &str) -> Option<Reload> {
    Some(Reload::Command(text.split(' ').map(str::to_owned).collect()))
}

/// An address that is free for UDP and TCP.
pub fn free_address() -> SocketAddr {
    loop {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let address = socket.local_addr().expect("a bound socket has an address");
        if TcpListener::bind(address).is_ok() {
            return address;
        }
    }
}

const GDNSD: &str = r#"
options => {
  listen => { {address} => { udp_threads = 1, tcp_threads = 1 } }
  run_dir => "{dir}/run"
  state_dir => "{dir}/state"
}
"#;

/// Debian's NSD limits the rate of answers unless it is told not to.
const NSD: &str = r#"
server:
  server-count: 1
  ip-address: {ip}@{port}
  do-ip6: no
  database: ""
  username: ""
  zonesdir: "{dir}"
  pidfile: "{dir}/nsd.pid"
  xfrdfile: "{dir}/xfrd.state"
  zonelistfile: "{dir}/zone.list"
  xfrdir: "{dir}"
  logfile: "{dir}/nsd.log"
  rrl-ratelimit: 0
  rrl-whitelist-ratelimit: 0
  minimal-responses: yes
remote-control:
  control-enable: yes
  control-interface: "{dir}/control"
zone:
  name: {origin}
  zonefile: "{zone}"
"#;

const KNOT: &str = r#"
server:
  rundir: "{dir}"
  listen: {ip}@{port}
  udp-workers: 1
  tcp-workers: 1
control:
  listen: "{dir}/knot.sock"
database:
  storage: "{dir}"
log:
  - target: "{dir}/knot.log"
    any: warning
template:
  - id: default
    journal-content: none
    zonefile-load: whole
    zonefile-sync: -1
    semantic-checks: off
zone:
  - domain: {origin}
    file: "{zone}"
"#;
