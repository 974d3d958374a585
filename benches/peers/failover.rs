//! How long a failover takes: from the command's arrival at the server to the first new answer on the wire.
//!
//! A zone has two sites, each with a whole zone of its own; of their names one in a hundred differs. The control socket is
//! given the request, and meanwhile the zone's serial is asked for every fifth of a millisecond. *Cold*: the server has
//! just started, and nothing was found out in advance. *Verified*: it has said that moves were verified in advance. Beside
//! it stands what the disk takes for a write that lasts.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::mix::{Mix, ORIGIN};
use super::process::Process;
use super::{PATIENCE, median, serial};

pub const SITES: [&str; 2] = ["one", "other"];
/// How often a server is started for what is measured cold.
const STARTS: usize = 3;
/// Between two questions.
const PAUSE: Duration = Duration::from_micros(200);
/// Files are trusted by their times once they have lain still for so long.
pub const STILL: Duration = Duration::from_secs(3);

/// Measures failovers of a zone of so many names.
pub fn measure(names: usize, rounds: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let mix = Mix::of(names);
    for (site, version) in SITES.into_iter().zip(1..) {
        fs::write(dir.path().join(site), mix.text(version)).expect("the zone is written");
    }
    drop(mix);
    std::thread::sleep(STILL);
    compare_memory(dir.path());
    let mut cold = Vec::new();
    for start in 0..STARTS {
        let server = Started::new(&dir.path().join(format!("start{start}")), dir.path(), &SITES);
        let (took, mut generation) = server.fail_over(SITES[1]);
        cold.push(took);
        if start + 1 < STARTS {
            continue;
        }
        let sync = sync_times(dir.path());
        let verified: Vec<f64> = (0..rounds)
            .map(|round| {
                server.wait_until_verified(generation);
                let (took, next) = server.fail_over(SITES[round % 2]);
                generation = next;
                took
            })
            .collect();
        let goal = 10.0 + 2.0 * sync[sync.len() * 99 / 100];
        println!("\nfailover, {names} names, from the command's arrival to the first new answer; ms");
        println!("{:24}{:9.1} median of {STARTS} {cold:.1?}", "nothing verified", median(cold.clone()));
        println!("{:24}{:9.1} median of {rounds} {verified:.1?}", "verified in advance", median(verified.clone()));
        println!(
            "{:24}{:9.1} median, {:.1} the 99th of 100",
            "fsync",
            median(sync.clone()),
            sync[sync.len() * 99 / 100]
        );
        println!("{:24}{goal:9.1} 10 ms and twice the 99th of 100 fsync", "goal");
    }
}

/// What the second site costs, once all of it has settled.
fn compare_memory(dir: &Path) {
    let [one, both] = [&SITES[..1], &SITES].map(|sites| {
        let server = Started::new(&dir.join(format!("sites{}", sites.len())), dir, sites);
        server.wait_until_verified(1);
        server.process.megabytes()
    });
    println!("\nmemory: {one:.1} MB with one site, {both:.1} MB with two: {:.3} times", both / one);
}

/// Our server with a zone of two sites.
pub struct Started {
    pub process: Process,
    pub address: SocketAddr,
    /// The control socket; each command has a connection of its own.
    control: PathBuf,
    output: PathBuf,
}

impl Started {
    /// Starts it with these sites of the zone, whose files are in `zones`; the first one is served.
    pub fn new(own: &Path, zones: &Path, sites: &[&str]) -> Started {
        let state = own.join("state");
        fs::create_dir_all(&state).expect("a directory");
        let address = super::servers::free_address();
        let listed = sites.iter().map(|site| format!("\"{site}\"")).collect::<Vec<_>>().join(", ");
        let sites: String =
            sites.iter().map(|site| format!("[[zone.site]]\nname = \"{site}\"\nfile = \"{site}\"\n")).collect();
        let config = format!(
            "version = 1\nstate_dir = \"{}\"\n[server]\nlisten = [\"{address}\"]\n[[zone]]\nname = \"{ORIGIN}\"\n{sites}\
             [zone.routing]\ndefault = [{listed}]\n",
            state.display(),
        );
        let path = zones.join("understudy.toml");
        fs::write(&path, config).expect("the configuration is written");
        let program = env!("CARGO_BIN_EXE_understudy").to_owned();
        let command = [program, "serve".into(), "--init".into(), "--config".into(), path.display().to_string()];
        let process = Process::start_anywhere(&command, own);
        let begun = Instant::now();
        while serial(address).is_none() {
            let said = || fs::read_to_string(own.join("output")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE && process.is_running(), "no answer: {}", said());
            std::thread::sleep(Duration::from_millis(2));
        }
        let control = state.join("control.sock");
        Started { process, address, control, output: own.join("output") }
    }

    /// Waits until the server has said that moves away from what it serves now were verified.
    pub fn wait_until_verified(&self, generation: u64) {
        let begun = Instant::now();
        let wanted = format!("generation={generation}");
        let said = || {
            let output = fs::read_to_string(&self.output).unwrap_or_default();
            output.lines().any(|line| line.contains("verified in advance") && line.ends_with(&wanted))
        };
        while !said() {
            assert!(begun.elapsed() < PATIENCE && self.process.is_running(), "moves are not verified");
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(100));
    }

    /// Milliseconds until the zone's serial is another one; and the generation that it was published as.
    pub fn fail_over(&self, to: &str) -> (f64, u64) {
        let before = serial(self.address).expect("it answers");
        let body = format!("{{\"kind\":\"failover\",\"zone\":\"{ORIGIN}\",\"to\":\"{to}\"}}");
        let request = format!(
            "POST /v1/move HTTP/1.1\r\nhost: understudy\r\ncontent-type: application/json\r\ncontent-length: \
             {}\r\n\r\n{body}",
            body.len()
        );
        let mut control = UnixStream::connect(&self.control).expect("it listens for commands");
        let begun = Instant::now();
        control.write_all(request.as_bytes()).expect("it takes commands");
        while serial(self.address).is_none_or(|now| now == before) {
            assert!(begun.elapsed() < PATIENCE, "no failover to {to}: {}", answer(&mut control));
            std::thread::sleep(PAUSE);
        }
        let took = begun.elapsed();
        let answer = answer(&mut control);
        assert!(answer.contains("200 OK"), "{answer}");
        let generation =
            answer.split_once("\"generation\":").map(|(_, rest)| rest.split([',', '}']).next().unwrap_or(rest));
        let generation = generation.and_then(|digits| digits.parse().ok());
        (took.as_secs_f64() * 1000.0, generation.expect("it says what it was published as"))
    }
}

/// The head of the answer to a command, once all of it was sent.
fn answer(control: &mut UnixStream) -> String {
    let mut answer = Vec::new();
    let mut some = [0; 65_536];
    loop {
        let len = control.read(&mut some).expect("it answers commands");
        answer.extend_from_slice(&some[..len]);
        let text = String::from_utf8_lossy(&answer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if len == 0 || length.is_some_and(|length: usize| body.len() >= length) {
            return format!("{head}\n{}", body);
        }
    }
}

/// What a hundred small writes that last take, in milliseconds, sorted.
fn sync_times(dir: &Path) -> Vec<f64> {
    let mut file = File::create(dir.join("sync")).expect("a file");
    let mut times: Vec<f64> = (0..100)
        .map(|_| {
            let begun = Instant::now();
            file.write_all(&[7; 4096]).and_then(|()| file.sync_data()).expect("the disk takes it");
            begun.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    times.sort_unstable_by(f64::total_cmp);
    times
}
