//! The program as operators run it: a directory with a configuration and zones, `understudy serve` on it, commands
//! beside it, and questions over the network.

use std::hash::{BuildHasher as _, RandomState};
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use understudy::name::Name;
use understudy::rr::RrType;

use super::message::{self, Message};

/// Long enough for any machine; reached only when a test fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// The sites of a zone in a configuration, each with its file; who is in no other region is answered from `knams`.
pub const TWO_SITES: &str = "  [[zone.site]]
  name = 'knams'
  file = 'knams.zone'
  [[zone.site]]
  name = 'pmtpa'
  file = 'pmtpa.zone'
  [zone.routing]
  default = ['knams', 'pmtpa']
";

/// A directory with a configuration, zones and state.
pub struct Home {
    pub dir: tempfile::TempDir,
}

/// What a command did.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub json: Value,
    pub stderr: String,
}

impl Home {
    /// With `understudy.toml` and these files.
    pub fn new(config: &str, files: &[(&str, &str)]) -> Home {
        let home = Home { dir: tempfile::tempdir().unwrap() };
        home.write("understudy.toml", &format!("version = 1\n{config}"));
        files.iter().for_each(|(file, text)| home.write(file, text));
        home
    }

    pub fn path(&self, file: &str) -> PathBuf {
        self.dir.path().join(file)
    }

    pub fn write(&self, file: &str, text: &str) {
        std::fs::write(self.path(file), text).unwrap();
    }

    pub fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.path(file)).unwrap()
    }

    /// Replaces a text in a file; it has to be there.
    pub fn edit(&self, file: &str, from: &str, to: &str) {
        let text = self.read(file);
        assert!(text.contains(from), "{file} has no `{from}`:\n{text}");
        self.write(file, &text.replace(from, to));
    }

    pub fn command(&self, line: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_understudy"));
        command.current_dir(self.dir.path()).args(line).stdin(Stdio::null());
        command
    }

    /// Runs a command with `--json`.
    pub fn run(&self, line: &[&str]) -> Done {
        let output = self.command(line).arg("--json").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        let json = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        Done { code: output.status.code().unwrap_or(-1), json, stderr }
    }

    /// Runs a command whose words have no blanks in them, with `--json`.
    pub fn cli(&self, line: &str) -> Done {
        self.run(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// The same, and it has to end with this code.
    pub fn expect(&self, code: i32, line: &str) -> Value {
        let done = self.cli(line);
        assert_eq!(done.code, code, "understudy {line}\n{:#}\n{}", done.json, done.stderr);
        done.json
    }

    /// Starts the daemon on what stands here and waits until it says where it listens.
    pub fn serve(&self) -> Daemon {
        self.serve_with(&[])
    }

    pub fn serve_with(&self, args: &[&str]) -> Daemon {
        Daemon::start(self.command(&[&["serve", "--init"], args].concat()), self.path("log"))
    }

    /// Runs `serve`, which has to end by itself.
    pub fn serve_in_vain(&self) -> Done {
        let done = self.cli("serve --init");
        assert_ne!(done.code, 0, "{done:?}");
        done
    }

    /// How the zone stands, by `status`.
    pub fn zone(&self, origin: &str) -> Value {
        let status = self.expect(0, "status");
        let zones = status["zones"].as_array().unwrap();
        let wanted = format!("{origin}.");
        zones.iter().find(|zone| zone["name"] == wanted.as_str()).unwrap_or_else(|| panic!("{status:#}")).clone()
    }
}

/// A running daemon. It is killed when it is dropped.
pub struct Daemon {
    child: Child,
    pub address: SocketAddr,
    log: PathBuf,
}

impl Daemon {
    /// What it writes to standard error goes to the end of `log`.
    pub fn start(command: Command, log: PathBuf) -> Daemon {
        Daemon::try_start(command, log).unwrap_or_else(|log| panic!("the daemon did not start:\n{log}"))
    }

    /// Or what it said instead.
    pub fn try_start(mut command: Command, log: PathBuf) -> Result<Daemon, String> {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&log).unwrap();
        let mut child = command.arg("--json").stdout(Stdio::piped()).stderr(file).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().and_then(Result::ok).and_then(|line| serde_json::from_str::<Value>(&line).ok());
        let address = line.as_ref().and_then(|line| line["listening"][0].as_str()).and_then(|text| text.parse().ok());
        let Some(address) = address else {
            let rest: Vec<String> = lines.map_while(Result::ok).collect();
            let _ = child.wait();
            return Err(format!("{line:?} {}\n{}", rest.join("\n"), std::fs::read_to_string(log).unwrap()));
        };
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Daemon { child, address, log })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).unwrap();
    }

    /// `kill -9`, and it is gone when this returns.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// SIGTERM, and it is gone when this returns.
    pub fn stop(mut self) -> ExitStatus {
        self.signal(Signal::SIGTERM);
        self.child.wait().unwrap()
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }

    /// What it wrote to standard error, with that of those before it.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Waits until the log has this text behind its first `from` octets.
    pub fn wait_for_log(&self, from: usize, text: &str) {
        let deadline = std::time::Instant::now() + PATIENCE;
        while !self.log()[from..].contains(text) {
            assert!(std::time::Instant::now() < deadline, "the log has no `{text}`:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The answer to a question over UDP.
    pub fn ask(&self, name: &str, rtype: RrType) -> Message {
        self.ask_from(Ipv4Addr::LOCALHOST.into(), name, rtype)
    }

    pub fn ask_from(&self, source: IpAddr, name: &str, rtype: RrType) -> Message {
        let socket = UdpSocket::bind((source, 0)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.send_to(&query(name, rtype), self.address).unwrap();
        let mut buffer = [0; 4096];
        let length = socket.recv(&mut buffer).unwrap_or_else(|error| panic!("{name} {rtype}: {error}"));
        message::read(&buffer[..length]).unwrap_or_else(|error| panic!("{name} {rtype}: {error}"))
    }

    pub fn ask_tcp(&self, name: &str, rtype: RrType) -> Message {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let query = query(name, rtype);
        stream.write_all(&[&(query.len() as u16).to_be_bytes(), &query[..]].concat()).unwrap();
        let mut length = [0; 2];
        stream.read_exact(&mut length).unwrap();
        let mut answer = vec![0; u16::from_be_bytes(length).into()];
        stream.read_exact(&mut answer).unwrap();
        message::read(&answer).unwrap()
    }

    /// The data of the answers to a question, sorted, each as octets.
    pub fn data(&self, name: &str, rtype: RrType) -> Vec<Vec<u8>> {
        data_of(&self.ask(name, rtype), rtype)
    }

    /// The zone's serial on the wire.
    pub fn serial(&self, origin: &str) -> u32 {
        serial_in(&self.ask(origin, RrType::SOA)).unwrap_or_else(|| panic!("{origin} has no SOA"))
    }

    /// Datagrams that its sockets lost for want of room, by the kernel's count (what `SO_RXQ_OVFL` tells, too).
    pub fn overflowed(&self) -> u64 {
        let table = std::fs::read_to_string("/proc/net/udp").unwrap();
        let port = format!(":{:04X}", self.address.port());
        let ours = table.lines().filter(|line| line.split_whitespace().nth(1).is_some_and(|at| at.ends_with(&port)));
        let drops: Vec<u64> = ours.map(|line| line.split_whitespace().last().unwrap().parse().unwrap()).collect();
        assert!(!drops.is_empty(), "no socket of {port} in\n{table}");
        drops.iter().sum()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The answer of a listener over UDP; none if nobody listens there, or not any more.
pub fn try_ask(listener: SocketAddr, source: IpAddr, name: &str, rtype: RrType) -> Option<Message> {
    let socket = UdpSocket::bind((source, 0)).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    socket.connect(listener).unwrap();
    socket.send(&query(name, rtype)).ok()?;
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).ok()?;
    Some(message::read(&buffer[..length]).unwrap_or_else(|error| panic!("{name} {rtype}: {error}")))
}

/// Without EDNS: reasons that are told there come and go with the state of the files.
pub fn query(name: &str, rtype: RrType) -> Vec<u8> {
    message::query(0x5555, Name::absolute(name).unwrap().as_ref(), rtype, false, None)
}

pub fn data_of(message: &Message, rtype: RrType) -> Vec<Vec<u8>> {
    let records = message.answers.iter().filter(|record| record.rtype == rtype);
    let mut data: Vec<_> = records.map(|record| record.rdata.clone()).collect();
    data.sort();
    data
}

/// The serial of the SOA in an answer, wherever it stands.
pub fn serial_in(message: &Message) -> Option<u32> {
    let soa = message.answers.iter().chain(&message.authorities).find(|record| record.rtype == RrType::SOA)?;
    let at = soa.rdata.len() - 20;
    Some(u32::from_be_bytes(soa.rdata[at..at + 4].try_into().unwrap()))
}

/// A digest of all files below a directory, with their names.
pub fn digest_of(dir: &Path) -> understudy::digest::Digest {
    let mut files = Vec::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in std::fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            match path.metadata().unwrap() {
                meta if meta.is_dir() => dirs.push(path),
                meta if meta.is_file() => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    let parts =
        files.into_iter().flat_map(|path| [path.display().to_string().into_bytes(), std::fs::read(path).unwrap()]);
    understudy::digest::Digest::of_parts(parts)
}

/// How to run something where it may mount; nothing where that is not allowed.
pub fn may_mount() -> Option<Vec<&'static str>> {
    [vec!["--mount"], vec!["--mount", "--user", "--map-root-user"]].into_iter().find(|args| {
        let mounted = Command::new("unshare").args(args).args(["mount", "-t", "tmpfs", "none", "/mnt"]).output();
        mounted.is_ok_and(|output| output.status.success())
    })
}

/// A port that is free, and that the system gives to nobody by itself while a daemon is down between two starts.
pub fn free_port() -> u16 {
    // Tests that begin at the same moment are not to pick the same one.
    let first = RandomState::new().hash_one(std::process::id());
    let ports = (0..10_000).map(|n| 12_000 + (first.wrapping_add(n * 7) % 20_000) as u16);
    let is_free = |port: &u16| {
        UdpSocket::bind((Ipv4Addr::LOCALHOST, *port)).is_ok() && TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok()
    };
    ports.into_iter().find(is_free).unwrap()
}
