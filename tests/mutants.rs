//! The test of a test: `recorded.rs`, which holds the engine to what BIND, NSD and Knot agreed on, notices each of these
//! faults when it is put into the engine.
//!
//! All faults are put into one copy of the core at once, each behind a switch, so that the copy is built once; then the
//! test runs on it once without a fault and once with each. The core stands alone (no sockets, no disk), so the copy is a
//! small crate. Budget: under two minutes on two cores from nothing, about half a minute from then on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fault: in which file, what text becomes what other one. `SWITCH` is true when the fault is on.
struct Mutant {
    fault: &'static str,
    file: &'static str,
    from: &'static str,
    to: &'static str,
}

const fn mutant(fault: &'static str, file: &'static str, from: &'static str, to: &'static str) -> Mutant {
    Mutant { fault, file, from, to }
}

const LOOKUP: &str = "snapshot/lookup.rs";
const COMPILE: &str = "snapshot/compile.rs";
const EMIT: &str = "snapshot/emit.rs";
const SOUGHT: &str = "snapshot/sought.rs";
const RESOLVE: &str = "serving/resolve.rs";
const VIEW: &str = "serving/view.rs";
const RRSETS: &str = "zone/rrsets.rs";

const MUTANTS: &[Mutant] = &[
    mutant(
        "names below a delegation are answered by the zone itself",
        LOOKUP,
        "if flags.has(Flags::CUT) {",
        "if flags.has(Flags::CUT) && !SWITCH {",
    ),
    mutant(
        "a DNAME does nothing to the names below it",
        LOOKUP,
        "if flags.has(Flags::DNAME) {",
        "if flags.has(Flags::DNAME) && !SWITCH {",
    ),
    mutant(
        "wildcards stand in for nothing",
        LOOKUP,
        "if flags.has(Flags::WILDCARD_CHILD)",
        "if flags.has(Flags::WILDCARD_CHILD) && !SWITCH",
    ),
    mutant(
        "a wildcard reaches across a closer name that exists (RFC 4592 section 2.2.1)",
        LOOKUP,
        "return Decider::None(skip);",
        "if SWITCH { continue; } return Decider::None(skip);",
    ),
    mutant(
        "a DS RRset is asked of the child",
        LOOKUP,
        "has(Flags::CUT) && rtype != RrType::DS {",
        "has(Flags::CUT) && (SWITCH || rtype != RrType::DS) {",
    ),
    mutant(
        "a name without the type does not exist",
        LOOKUP,
        "_ => Found::NoData(found),",
        "_ if SWITCH => Found::NameError { skip: 0 }, _ => Found::NoData(found),",
    ),
    mutant(
        "a name that does not exist is one without the type",
        RESOLVE,
        "Rcode::NXDOMAIN",
        "if SWITCH { Rcode::NOERROR } else { Rcode::NXDOMAIN }",
    ),
    mutant(
        "an answer without data has no SOA",
        RESOLVE,
        "Found::NoData(found) => {\n            put_soa(place, sink);",
        "Found::NoData(found) => {\n            if !SWITCH { put_soa(place, sink); }",
    ),
    mutant(
        "an alias into a delegation is not authoritative",
        RESOLVE,
        "aliases > 0 || !referred",
        "(!SWITCH && aliases > 0) || !referred",
    ),
    mutant(
        "referrals are authoritative",
        RESOLVE,
        "let referred = matches!(found, Found::Referral { .. });",
        "let referred = !SWITCH && matches!(found, Found::Referral { .. });",
    ),
    mutant(
        "referrals bring no glue",
        RESOLVE,
        "put_addresses(place, servers, spot, true, sink);",
        "if !SWITCH { put_addresses(place, servers, spot, true, sink); }",
    ),
    mutant(
        "at the origin of a child zone its own records answer for DS",
        VIEW,
        "if rtype == RrType::DS && zone.content",
        "if !SWITCH && rtype == RrType::DS && zone.content",
    ),
    mutant(
        "a substitute that is too long is no error (RFC 6672 section 2.2)",
        RESOLVE,
        "return Err(Rcode::YXDOMAIN)",
        "return Err(if SWITCH { Rcode::NXDOMAIN } else { Rcode::YXDOMAIN })",
    ),
    mutant(
        "a question for a CNAME goes on behind a DNAME",
        RESOLVE,
        "if rtype == RrType::CNAME {\n                return done;",
        "if rtype == RrType::CNAME && !SWITCH {\n                return done;",
    ),
    mutant(
        "only one alias is followed",
        RESOLVE,
        "aliases + 1 == MAX_ALIASES",
        "aliases + 1 == (if SWITCH { 1 } else { MAX_ALIASES })",
    ),
    mutant(
        "the TTL of a negative answer is MINIMUM, whatever the SOA's own (RFC 2308 section 3)",
        RRSETS,
        "self.ttl.min(self.minimum)",
        "if SWITCH { self.minimum } else { self.ttl.min(self.minimum) }",
    ),
    mutant(
        "empty non-terminals do not exist",
        COMPILE,
        "for up in (1..=missing).rev() {",
        "for up in (1..=missing).rev().filter(|_| !SWITCH) {",
    ),
    mutant(
        "what a delegation or a DNAME hides is served",
        COMPILE,
        "hidden_by = (flags.has(Flags::CUT)",
        "hidden_by = (!SWITCH && flags.has(Flags::CUT)",
    ),
    mutant(
        "a cut answer does not say so",
        EMIT,
        "self.truncated |= section != ",
        "self.truncated |= !SWITCH && section != ",
    ),
    mutant(
        "the case of a question counts",
        SOUGHT,
        "|octet| octet.to_ascii_lowercase()",
        "|octet| if SWITCH { octet } else { octet.to_ascii_lowercase() }",
    ),
];

/// The crates that the core may name; `layers.rs` holds it to them.
const CRATES: [&str; 7] = ["foldhash", "ring", "serde", "sha1", "sha2", "siphasher", "thiserror"];
/// Modules of the vocabulary and the core that the test needs.
const MODULES: [&str; 18] = [
    "count", "digest", "door", "drill", "evidence", "gate", "name", "net", "prefetch", "rename", "rr", "serial",
    "serving", "share", "snapshot", "table", "time", "zone",
];
/// Files of `tests/support/` that the test needs.
const SUPPORT: [&str; 5] = ["compare", "corpus", "engine", "generate", "message"];

/// The switch: which fault is on is told by the environment.
const SWITCHES: &str = r#"
/// Which fault is on.
pub mod switches {
    /// Whether this one is.
    pub fn is_on(number: u32) -> bool {
        static ON: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
        number == *ON.get_or_init(|| std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0))
    }
}
"#;

#[test]
fn every_mutant_of_the_engine_is_caught() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants");
    write_copy(root, &copy);
    let program = build(&copy);
    let passes = |number: usize| {
        let output = Command::new(&program)
            .env("MUTANT", number.to_string())
            .env("RUST_BACKTRACE", "0")
            .current_dir(&copy)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        (output.status.success(), said)
    };
    let (sound, said) = passes(0);
    assert!(sound, "the copy fails even without a fault:\n{said}");
    let survivors: Vec<&str> =
        MUTANTS.iter().enumerate().filter(|(index, _)| passes(index + 1).0).map(|(_, mutant)| mutant.fault).collect();
    assert!(survivors.is_empty(), "not noticed: {survivors:#?}");
}

/// Writes the copy, touching only what has changed, so that little is built anew.
fn write_copy(root: &Path, copy: &Path) {
    let mut files = BTreeMap::new();
    for module in MODULES {
        collect(&root.join("src"), Path::new(module), &mut files);
    }
    for (index, mutant) in MUTANTS.iter().enumerate() {
        let file = files.get_mut(Path::new("src").join(mutant.file).as_path());
        let text = file.unwrap_or_else(|| panic!("there is no {}", mutant.file));
        let before = String::from_utf8(std::mem::take(text)).unwrap();
        assert_eq!(
            before.matches(mutant.from).count(),
            1,
            "{} has changed: `{}` is not there exactly once. Make the mutant \"{}\" anew.",
            mutant.file,
            mutant.from,
            mutant.fault
        );
        let to = mutant.to.replace("SWITCH", &format!("crate::switches::is_on({})", index + 1));
        *text = before.replace(mutant.from, &to).into_bytes();
    }
    let modules: String = MODULES.iter().map(|module| format!("pub mod {module};\n")).collect();
    files.insert("src/lib.rs".into(), format!("#![allow(warnings)]\n{modules}{SWITCHES}").into_bytes());

    files.insert("tests/recorded.rs".into(), fs::read(root.join("tests/recorded.rs")).unwrap());
    for module in SUPPORT {
        let path = PathBuf::from(format!("tests/support/{module}.rs"));
        let text = fs::read(root.join(&path)).unwrap();
        files.insert(path, text);
    }
    let modules: String = SUPPORT.iter().map(|module| format!("pub mod {module};\n")).collect();
    files.insert("tests/support/mod.rs".into(), format!("#![allow(warnings)]\n{modules}").into_bytes());
    files.insert("tests/support/agreed.bin".into(), fs::read(root.join("tests/support/agreed.bin")).unwrap());

    let mut manifest: toml::Table = fs::read_to_string(root.join("Cargo.toml")).unwrap().parse().unwrap();
    manifest.remove("dev-dependencies");
    manifest.remove("lints");
    manifest.remove("bench");
    manifest["dependencies"].as_table_mut().unwrap().retain(|name, _| CRATES.contains(&name));
    // A workspace of its own, wherever the target directory is.
    manifest.insert("workspace".into(), toml::Table::new().into());
    files.insert("Cargo.toml".into(), manifest.to_string().into_bytes());
    let lock = copy.join("Cargo.lock");
    if !lock.exists() {
        fs::create_dir_all(copy).unwrap();
        fs::copy(root.join("Cargo.lock"), lock).unwrap();
    }

    for (path, octets) in files {
        let path = copy.join(path);
        if fs::read(&path).ok().as_ref() != Some(&octets) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, octets).unwrap();
        }
    }
}

/// The source files of a module and of those in it, by their paths from the root.
fn collect(src: &Path, module: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let file = module.with_extension("rs");
    if let Ok(octets) = fs::read(src.join(&file)) {
        files.insert(Path::new("src").join(file), octets);
    }
    for entry in fs::read_dir(src.join(module)).into_iter().flatten() {
        let inner = module.join(entry.unwrap().path().file_stem().unwrap());
        collect(src, &inner, files);
    }
}

/// Builds the copy's test; returns where the program is.
fn build(copy: &Path) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--no-run", "--test", "recorded", "--message-format", "json"])
        .current_dir(copy)
        .env("CARGO_TARGET_DIR", copy.join("target"))
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let (mut program, mut errors) = (None, String::new());
    for message in messages {
        match (message["executable"].as_str(), message["message"]["rendered"].as_str()) {
            (Some(path), _) if message["target"]["name"] == "recorded" => program = Some(PathBuf::from(path)),
            (_, Some(text)) if message["message"]["level"] == "error" => errors += text,
            _ => {}
        }
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the copy does not build:\n{errors}\n{said}");
    program.expect("cargo says where the test is")
}
