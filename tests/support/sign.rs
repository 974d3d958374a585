//! Signs zones with `dnssec-signzone`, in every way that zones are signed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use sha2::{Digest as _, Sha256};
use understudy::name::Name;

/// How a zone is signed.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// The algorithm's number (RFC 8624).
    pub algorithm: u8,
    pub denial: Denial,
}

/// How a zone proves that something does not exist.
#[derive(Clone, Copy, Debug)]
pub enum Denial {
    Nsec,
    Nsec3 { iterations: u16, salt: &'static str, opt_out: bool },
}

const fn nsec3(iterations: u16, salt: &'static str, opt_out: bool) -> Denial {
    Denial::Nsec3 { iterations, salt, opt_out }
}

/// All ways that are tested.
pub const METHODS: &[Method] = &[
    Method { algorithm: 13, denial: Denial::Nsec },
    Method { algorithm: 13, denial: nsec3(0, "-", false) },
    Method { algorithm: 15, denial: nsec3(0, "-", true) },
    Method { algorithm: 8, denial: Denial::Nsec },
    Method { algorithm: 15, denial: nsec3(5, "AABBCCDD", false) },
    Method { algorithm: 8, denial: nsec3(1, "00", true) },
];

/// One key for each algorithm, and where zones are signed.
pub struct Signer {
    dir: tempfile::TempDir,
    keys: BTreeMap<u8, Key>,
}

/// A key as its files hold it.
struct Key {
    tag: u16,
    /// The public key's record without its owner: `IN DNSKEY 257 3 …`.
    public: String,
    private: String,
}

/// What keys are made for before zones take them over.
const MADE_FOR: &str = "made.for.tests";

impl Signer {
    pub fn new() -> Signer {
        let dir = tempfile::tempdir().unwrap();
        let keys = [(8, "RSASHA256"), (13, "ECDSAP256SHA256"), (15, "ED25519")];
        let keys = keys.map(|(number, name)| (number, Key::new(dir.path(), name))).into();
        Signer { dir, keys }
    }

    /// The zone with its signatures and proofs, valid from an hour ago for thirty days.
    pub fn sign(&self, origin: &Name, text: &str, method: Method) -> String {
        self.sign_with(origin, text, method, &[])
    }

    /// The same with more options of `dnssec-signzone`, which override those before them.
    pub fn sign_with(&self, origin: &Name, text: &str, method: Method, options: &[&str]) -> String {
        let dir = tempfile::tempdir_in(self.dir.path()).unwrap();
        let (unsigned, signed) = (dir.path().join("unsigned"), dir.path().join("signed"));
        let key = &self.keys[&method.algorithm];
        // A key's files are found by the zone's name in lower case.
        let lower = origin.as_ref().to_lowercase();
        let stem = dir.path().join(format!("K{lower}+{:03}+{:05}", method.algorithm, key.tag));
        fs::write(format!("{}.key", stem.display()), format!("{origin} {}\n", key.public)).unwrap();
        fs::write(format!("{}.private", stem.display()), &key.private).unwrap();
        fs::write(&unsigned, format!("{text}{origin} 3600 {}\n", key.public)).unwrap();
        let mut command = Command::new("dnssec-signzone");
        command.current_dir(dir.path()).args(["-q", "-P", "-z", "-O", "full", "-s", "now-3600", "-e", "now+2592000"]);
        if let Denial::Nsec3 { iterations, salt, opt_out } = method.denial {
            command.args(["-3", salt, "-H", &iterations.to_string()]);
            if opt_out {
                command.arg("-A");
            }
        }
        command.args(options).arg("-o").arg(origin.to_string()).arg("-f").arg(&signed).arg(&unsigned).arg(&stem);
        run(&mut command);
        fs::read_to_string(&signed).unwrap()
    }

    /// The DNSKEY record that a zone has when it is signed so: owner, class, type and data.
    pub fn dnskey(&self, origin: &Name, algorithm: u8) -> String {
        format!("{origin} {}", self.keys[&algorithm].public)
    }

    /// The data of its DS record.
    pub fn ds(&self, origin: &Name, algorithm: u8) -> String {
        let key = &self.keys[&algorithm];
        let base64: String = key.public.split_whitespace().skip(5).collect();
        let rdata = [&[1, 1, 3, algorithm][..], &decode_base64(&base64)].concat();
        let lower = origin.as_ref().to_lowercase();
        let digest = Sha256::new().chain_update(lower.as_ref().as_wire()).chain_update(rdata).finalize();
        let digest: String = digest.iter().map(|octet| format!("{octet:02X}")).collect();
        format!("{} {algorithm} 2 {digest}", key.tag)
    }
}

impl Key {
    fn new(dir: &Path, algorithm: &str) -> Key {
        let bits: &[&str] = if algorithm.starts_with("RSA") { &["-b", "1024"] } else { &[] };
        let mut command = Command::new("dnssec-keygen");
        command.current_dir(dir).args(["-q", "-f", "KSK", "-a", algorithm]).args(bits).arg(MADE_FOR);
        let stem = run(&mut command).trim().to_owned();
        let tag = stem.rsplit('+').next().unwrap().parse().unwrap();
        let read = |suffix| fs::read_to_string(dir.join(format!("{stem}.{suffix}"))).unwrap();
        let record = read("key");
        let line = record.lines().find(|line| !line.starts_with(';')).unwrap();
        let public = line.split_once(' ').unwrap().1.to_owned();
        Key { tag, public, private: read("private") }
    }
}

/// What a command prints; it must succeed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; ./scripts/test installs it"));
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    out.into_owned()
}

pub fn decode_base64(text: &str) -> Vec<u8> {
    let value = |digit: u8| match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|digit| *digit != b'=').map(value).collect();
    let group = |group: &[u8]| {
        let bits = group.iter().fold(0u32, |bits, digit| bits << 6 | u32::from(*digit)) << (6 * (4 - group.len()));
        bits.to_be_bytes()[1..group.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}
