//! A lab of name servers: BIND, NSD, Knot and ours, in a network of its own that has nothing but loopback.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use understudy::name::Name;
use understudy::rr::RrType;

use super::message;

/// How long a server may take until it answers for all its zones.
const START_DEADLINE: Duration = Duration::from_secs(20);

/// Where the re-executed test notes that it ran.
const MARKER: &str = "UNDERSTUDY_TEST_RAN";

/// Runs `body`, the whole of the test function that is called `test`, in a network namespace of its own: as root or, by
/// a user namespace, as anybody. The test's process is started anew in there, also in a process namespace, so that
/// nothing that it starts outlives it. Where neither is allowed it runs where it is; its servers are on loopback anyway.
pub fn isolated(test: &str, body: impl FnOnce()) {
    if let Some(marker) = std::env::var_os(MARKER) {
        fs::write(marker, "").unwrap();
        return body();
    }
    const COMMON: [&str; 5] = ["--net", "--pid", "--fork", "--kill-child", "--"];
    let can = |args: &[&str]| {
        let unshare = Command::new("unshare").args(args).args(COMMON).args(["ip", "link", "set", "lo", "up"]).output();
        unshare.is_ok_and(|output| output.status.success())
    };
    let args = match () {
        () if can(&[]) => &[][..],
        () if can(&["--user", "--map-root-user"]) => &["--user", "--map-root-user"],
        () => {
            eprintln!("no namespaces here: the servers of this test run on the machine's own loopback");
            return body();
        }
    };
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("ran");
    let status = Command::new("unshare")
        .args(args)
        .args(COMMON)
        .args(["sh", "-c", "ip link set lo up && exec \"$@\"", "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(MARKER, &marker)
        .status()
        .unwrap();
    assert!(status.success(), "`{test}` failed in its namespace (above)");
    assert!(marker.exists(), "there is no test `{test}` in this binary: the name given to `isolated` is wrong");
}

/// Whether this process runs in a namespace that [`isolated`] made.
pub fn is_isolated() -> bool {
    std::env::var_os(MARKER).is_some()
}

/// A zone for servers to load.
#[derive(Clone, Debug)]
pub struct ZoneFile {
    pub origin: Name,
    pub path: PathBuf,
}

impl ZoneFile {
    /// Writes a master file into `dir`.
    pub fn write(dir: &Path, origin: &Name, text: &[u8]) -> ZoneFile {
        let name = origin.to_string().replace(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-', "_");
        let path = dir.join(format!("{name}zone"));
        fs::write(&path, text).unwrap();
        ZoneFile { origin: origin.clone(), path }
    }

    /// The origin as configurations have it: in quotes, no final dot.
    fn domain(&self) -> String {
        self.origin.to_string().trim_end_matches('.').to_owned()
    }
}

/// A running server. It is killed, by its own process handle, when this is dropped.
pub struct Server {
    pub name: &'static str,
    pub address: SocketAddr,
    child: Child,
    /// Configuration, logs and state.
    dir: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// BIND, without rate limiting; everything that it likes to add is added, so that it can be compared.
    pub fn bind(zones: &[ZoneFile]) -> Server {
        let config = |dir: &Path, port: u16| {
            let mut text = format!(
                "options {{ directory \"{dir}\"; pid-file none; session-keyfile none; lock-file none;
                 managed-keys-directory \"{dir}\"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};
                 recursion no; notify no; zero-no-soa-ttl no; minimal-responses no; minimal-any yes; empty-zones-enable no;
                 dnssec-validation no; edns-udp-size 1232; max-udp-size 1232; rrset-order {{ order none; }};
                 answer-cookie no; check-names primary ignore; check-integrity no; check-sibling no;
                 check-mx-cname ignore; check-srv-cname ignore; allow-transfer {{ none; }}; }};
                 controls {{ }};
                 logging {{ channel log {{ stderr; severity warning; }}; category default {{ log; }}; }};\n",
                dir = dir.display()
            );
            for zone in zones {
                let (domain, path) = (zone.domain(), zone.path.display());
                text += &format!("zone \"{domain}\" {{ type primary; file \"{path}\"; check-dup-records ignore; }};\n");
            }
            text
        };
        Server::start("BIND", "named", &["-f", "-n", "1", "-c"], zones, config)
    }

    /// NSD, without rate limiting.
    pub fn nsd(zones: &[ZoneFile]) -> Server {
        let config = |dir: &Path, port: u16| {
            let mut text = format!(
                "server:\n ip-address: 127.0.0.1@{port}\n username: \"\"\n chroot: \"\"\n zonesdir: \"{dir}\"\n \
                 database: \"\"\n pidfile: \"{dir}/nsd.pid\"\n xfrdfile: \"\"\n xfrdir: \"{dir}\"\n \
                 zonelistfile: \"{dir}/zone.list\"\n cookie-secret-file: \"{dir}/cookies\"\n server-count: 1\n \
                 minimal-responses: no\n round-robin: no\n ipv4-edns-size: 1232\n rrl-ratelimit: 0\n \
                 rrl-whitelist-ratelimit: 0\nremote-control:\n control-enable: no\n",
                dir = dir.display()
            );
            for zone in zones {
                text += &format!("zone:\n name: \"{}\"\n zonefile: \"{}\"\n", zone.domain(), zone.path.display());
            }
            text
        };
        Server::start("NSD", "nsd", &["-d", "-c"], zones, config)
    }

    /// Knot DNS, without rate limiting.
    pub fn knot(zones: &[ZoneFile]) -> Server {
        Server::knot_on(zones, "")
    }

    /// The same on more addresses, each with a comma in front and `@` before the port.
    pub fn knot_on(zones: &[ZoneFile], more: &str) -> Server {
        let config = |dir: &Path, port: u16| {
            let mut text = format!(
                "server:\n  rundir: \"{dir}\"\n  listen: [ 127.0.0.1@{port}{more} ]\n  udp-workers: 1\n  tcp-workers: 1\n  \
                 background-workers: 1\n  udp-max-payload: 1232\ndatabase:\n  storage: \"{dir}\"\n\
                 log:\n - target: stderr\n   any: warning\n\
                 template:\n - id: default\n   storage: \"{dir}\"\n   zonefile-sync: -1\n   zonefile-load: whole\n   \
                 journal-content: none\nzone:\n",
                dir = dir.display()
            );
            for zone in zones {
                text += &format!(" - domain: \"{}.\"\n   file: \"{}\"\n", zone.domain(), zone.path.display());
            }
            text
        };
        Server::start("Knot", "knotd", &["-c"], zones, config)
    }

    /// Ours, as `understudy serve` with bare files.
    pub fn understudy(zones: &[ZoneFile]) -> Server {
        Server::understudy_on(zones, &["127.0.0.1:0"])
    }

    /// The same on other addresses.
    pub fn understudy_on(zones: &[ZoneFile], addresses: &[&str]) -> Server {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_understudy"));
        command.arg("serve");
        for address in addresses {
            command.args(["--listen", address]);
        }
        for zone in zones {
            command.arg("--zone").arg(format!("{}={}", zone.origin, zone.path.display()));
        }
        let log = fs::File::create(dir.path().join("log")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).current_dir(dir.path());
        let mut child = command.spawn().unwrap();
        // It says which port it was given.
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.by_ref().find_map(|line| address_in(&line));
        // What it prints from here on is read away, so that it never waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut server = Server { name: "understudy", address: address.unwrap_or(nowhere), child, dir };
        if address.is_none() {
            let status = server.child.wait().unwrap();
            panic!("understudy ended ({status}) before it said where it listens:\n{}", server.log());
        }
        server.wait_for(zones);
        server
    }

    fn start(
        name: &'static str,
        program: &str,
        args: &[&str],
        zones: &[ZoneFile],
        config: impl Fn(&Path, u16) -> String,
    ) -> Server {
        let dir = tempfile::tempdir().unwrap();
        let port = free_port();
        let path = dir.path().join("conf");
        fs::write(&path, config(dir.path(), port)).unwrap();
        let program = unconfined(&find(program), dir.path());
        let log = fs::File::create(dir.path().join("log")).unwrap();
        let child = Command::new(&program)
            .args(args)
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{name} ({}): {error}; ./scripts/test installs it", program.display()));
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut server = Server { name, address, child, dir };
        server.wait_for(zones);
        server
    }

    /// Waits until the server answers for every zone.
    fn wait_for(&mut self, zones: &[ZoneFile]) {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let deadline = Instant::now() + START_DEADLINE;
        for (id, zone) in zones.iter().enumerate() {
            let query = message::query(id as u16, zone.origin.as_ref(), RrType::SOA, false, None);
            loop {
                if let Some(status) = self.child.try_wait().unwrap() {
                    panic!("{} ended at its start ({status}):\n{}", self.name, self.log());
                }
                assert!(Instant::now() < deadline, "{} does not serve {}:\n{}", self.name, zone.origin, self.log());
                let _ = socket.send_to(&query, self.address);
                let mut buffer = [0; 4096];
                if let Ok((length, _)) = socket.recv_from(&mut buffer)
                    && let Ok(answer) = message::read(&buffer[..length])
                    && answer.id == id as u16
                    && answer.flags.aa()
                    && !answer.answers.is_empty()
                {
                    break;
                }
                // A refused port answers at once; a short pause keeps this from being a busy loop.
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    /// What the server wrote so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }

    /// Its process id, to be measured or sent a signal.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

/// The socket address that a line tells of, if any.
fn address_in(line: &str) -> Option<SocketAddr> {
    line.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '"' | '\'' | '`' | '='))
        .map(|word| word.trim_end_matches(['.', ')']).trim_start_matches('('))
        .find_map(|word| word.parse().ok())
        .filter(|address: &SocketAddr| address.port() != 0)
}

/// A port that is free for UDP and TCP.
fn free_port() -> u16 {
    loop {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = udp.local_addr().unwrap().port();
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}

/// Where a program is; an ordinary user's path has no sbin.
pub(super) fn find(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|dir| dir.join(program))
        .find(|path| path.is_file())
        .unwrap_or_else(|| program.into())
}

/// A program that AppArmor does not keep from our directories: its profiles go by path, so that a copy has none.
pub(super) fn unconfined(program: &Path, dir: &Path) -> PathBuf {
    let enabled = fs::read_to_string("/sys/module/apparmor/parameters/enabled").is_ok_and(|text| text.starts_with('Y'));
    let profile = program.display().to_string().trim_start_matches('/').replace('/', ".");
    if !enabled || !Path::new("/etc/apparmor.d").join(profile).exists() {
        return program.to_owned();
    }
    let copy = dir.join(program.file_name().unwrap());
    fs::copy(program, &copy).unwrap();
    copy
}
