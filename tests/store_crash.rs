//! A writer is killed at random points, again and again: what it was told is written is there, and nothing is half there.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use understudy::name::Name;
use understudy::serial::Serial;
use understudy::store::Store;
use understudy::store::files::Kept;
use understudy::store::journal::{Actor, Entry, Journal, Publication, Sequence};
use understudy::store::texts::{Part, Role};
use understudy::time::Timestamp;

const DIRECTORY: &str = "UNDERSTUDY_TEST_WRITER";
const STREAM: &str = "wiki.example";

fn parts(generation: u64) -> Vec<Part> {
    let part = |role, path: &str, text: String| {
        let files = BTreeMap::from([(path.to_owned(), text.into_bytes().into())]);
        Part { role, kept: Kept { root: path.into(), files, ..Kept::default() } }
    };
    vec![
        part(Role::Common("knams".into()), "wiki.zone", format!("common {generation}\n").repeat(500)),
        part(Role::Site("knams".into()), "wiki.knams.zone", format!("site {generation}\n")),
    ]
}

/// Publishes one generation after the other, cleans up in between, and says what is written as it goes.
fn write_for_ever(dir: &Path) -> ! {
    let store = Store::open(Some(dir)).unwrap();
    let zone = Name::absolute(STREAM).unwrap();
    let mut journal = store.journal();
    let mut after = journal.latest(STREAM).unwrap().map(|row| row.sequence);
    let mut expected = journal.published().unwrap().first().map(|zone| zone.generation);
    loop {
        let generation = expected.unwrap_or(0) + 1;
        let holder = format!("plan {generation}");
        let live = store.texts().keep(&holder, zone.as_ref(), &parts(generation)).unwrap();
        let publication = Publication {
            zone: zone.clone(),
            expected,
            generation,
            // It wraps on the way (RFC 1982).
            serial: Serial((u32::MAX - 90).wrapping_add(generation as u32)),
            routing: json!({"generation": generation}),
            live,
        };
        let entry = Entry {
            stream: STREAM.into(),
            after,
            at: Timestamp(generation as i64),
            actor: Actor { uid: None, name: "test".into() },
            reason: String::new(),
            event: json!({"n": generation}),
            state: json!({"n": generation, "ballast": "s".repeat(2000)}),
            effects: json!([generation]),
            generation,
            publications: vec![publication],
        };
        after = Some(journal.commit(&entry).unwrap());
        expected = Some(generation);
        println!("written {generation}");
        store.texts().release(&holder).unwrap();
        store.texts().prune().unwrap();
    }
}

/// Not a test of its own: the process that is killed.
#[test]
fn writer() {
    if let Some(dir) = std::env::var_os(DIRECTORY) {
        write_for_ever(Path::new(&dir));
    }
}

#[test]
fn killed_at_any_point_it_goes_on_from_the_last_row() {
    let dir = TempDir::new().unwrap();
    let mut last_serial = None;
    let mut last_sequence = Sequence(0);
    for round in 0..80u32 {
        // So many are waited for, then a moment more: the kill strikes keeping, committing, or cleaning up.
        let acknowledged =
            write_and_kill(dir.path(), 1 + round % 5, Duration::from_micros(u64::from(round * 137 % 1500)));

        let store = Store::open(Some(dir.path())).unwrap();
        let journal = store.journal();
        let rows = journal.rows(STREAM, u32::MAX).unwrap();
        let numbers: Vec<u64> = rows.iter().rev().map(|row| row.sequence.0).collect();
        assert_eq!(numbers, (1..=rows.len() as u64).collect::<Vec<_>>(), "a gap");
        let (row, zone) = (&rows[0], &journal.published().unwrap()[0]);
        let n = zone.generation;
        assert!(n >= acknowledged && row.sequence > last_sequence, "an acknowledged row is lost");
        assert_eq!((row.generation, &row.event, &row.effects), (n, &json!({"n": n}), &json!([n])));
        assert_eq!((&row.state["n"], &zone.routing), (&json!(n), &json!({"generation": n})));
        assert!(last_serial.is_none_or(|last| zone.serial.is_above(last)), "{last_serial:?} → {}", zone.serial);
        assert_eq!(store.texts().bundle(zone.live).unwrap().unwrap().parts, parts(n));
        if n > 1 {
            let previous = zone.previous.expect("the texts changed");
            assert_eq!(store.texts().bundle(previous).unwrap().unwrap().parts, parts(n - 1));
        }
        (last_serial, last_sequence) = (Some(zone.serial), row.sequence);
    }
}

/// Runs the writer until it said so many times that it has written, and a moment more; returns what it said last.
fn write_and_kill(dir: &Path, times: u32, moment: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "writer", "--nocapture"])
        .env(DIRECTORY, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The test runner may have begun the line.
    let said = |line: String| line.rsplit_once("written ").and_then(|(_, n)| n.parse::<u64>().ok());
    let mut last = 0;
    for _ in 0..times {
        last = lines.by_ref().find_map(|line| said(line.unwrap())).expect("the writer ended by itself");
    }
    let until = Instant::now() + moment;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    lines.map_while(Result::ok).filter_map(said).last().unwrap_or(last)
}
