//! The zone reader beside BIND's: `named-compilezone` reads the same text, and what it writes in its raw format, which
//! is wire data, must be what we read.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use understudy::name::{Name, NameRef};
use understudy::rr::RrType;
use understudy::store::files::FileSources;
use understudy::zone::diagnostic::Severity;
use understudy::zone::rdata;
use understudy::zone::reader::{Reading, Source, read};
use understudy::zone::rrsets::Zone;

use crate::{files, rows};

/// (owner in lower case, type) → (TTL, data of each record, sorted).
type Sets = BTreeMap<(Vec<u8>, u16), (u32, Vec<Vec<u8>>)>;

const ORIGIN: &str = "x.test";
const HEAD: &str = "$TTL 300\n@ SOA ns.other. mbox.other. 1 2 3 4 5\n@ NS ns.other.\n";

/// What BIND reads from the file, or what it says is wrong.
fn bind(dir: &Path, file: &str) -> Result<Sets, String> {
    let raw = format!("{file}.raw");
    let mut command = Command::new(compilezone());
    for check in ["-i none", "-k ignore", "-n ignore", "-m ignore", "-M ignore", "-r ignore", "-S ignore", "-T ignore"]
    {
        command.args(check.split(' '));
    }
    let output = command.args(["-F", "raw", "-o", &raw, ORIGIN, file]).current_dir(dir).output().unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned());
    }
    Ok(raw_zone(&fs::read(dir.join(raw)).unwrap()))
}

/// Where `named-compilezone` is.
fn compilezone() -> &'static str {
    static FOUND: OnceLock<&str> = OnceLock::new();
    FOUND.get_or_init(|| {
        ["named-compilezone", "/usr/sbin/named-compilezone", "/usr/bin/named-compilezone"]
            .into_iter()
            .find(|program| Command::new(program).arg("-v").output().is_ok())
            .expect("named-compilezone is needed: install the package bind9-utils")
    })
}

/// BIND's raw format: a header, then each RRset with its length in front.
fn raw_zone(octets: &[u8]) -> Sets {
    let u16_at = |at: usize| usize::from(u16::from_be_bytes(octets[at..at + 2].try_into().unwrap()));
    let u32_at = |at: usize| u32::from_be_bytes(octets[at..at + 4].try_into().unwrap());
    assert_eq!(u32_at(0), 2, "not a raw zone");
    let mut at = if u32_at(4) == 0 { 12 } else { 24 };
    let mut sets = Sets::new();
    while at < octets.len() {
        let (length, rtype, ttl, count) = (u32_at(at) as usize, u16_at(at + 6), u32_at(at + 10), u32_at(at + 14));
        let owner_len = u16_at(at + 18);
        let owner = octets[at + 20..at + 20 + owner_len].to_ascii_lowercase();
        let mut record = at + 20 + owner_len;
        let set = sets.entry((owner, rtype as u16)).or_insert((ttl, Vec::new()));
        for _ in 0..count {
            let len = u16_at(record);
            set.1.push(octets[record + 2..record + 2 + len].to_vec());
            record += 2 + len;
        }
        set.1.sort();
        assert_eq!(record, at + length, "the raw zone is not what we think it is");
        at += length;
    }
    sets
}

fn ours(dir: &Path, file: &str) -> Reading {
    let mut files = FileSources::new(dir, false).unwrap();
    let root = files.root(file).unwrap();
    read(&Name::absolute(ORIGIN).unwrap(), root, &mut files)
}

fn sets(reading: Reading) -> Sets {
    let text = reading
        .into_text()
        .unwrap_or_else(|found| panic!("{}", found.iter().map(|d| format!("{d}\n")).collect::<String>()));
    let zone = Zone::new(Some(&text), None).unwrap();
    zone.rrsets()
        .map(|set| {
            let rdatas = set.rdatas().map(<[u8]>::to_vec).collect::<Vec<_>>();
            ((set.owner.as_wire().to_ascii_lowercase(), set.rtype.0), (set.ttl.seconds(), rdatas))
        })
        .collect()
}

/// What differs between the two, one line a set.
fn differences(bind: &Sets, ours: &Sets) -> Vec<String> {
    let keys = bind.keys().chain(ours.keys()).collect::<std::collections::BTreeSet<_>>();
    let differ = keys.into_iter().filter(|key| bind.get(key) != ours.get(key));
    differ
        .map(|key| {
            let owner = NameRef::read(&key.0).unwrap();
            format!("{owner} {}: BIND has {:?}, we {:?}", RrType(key.1), bind.get(key), ours.get(key))
        })
        .collect()
}

/// A zone with each row as a record of an owner of its own: `r0`, `r1`, ...
fn zone_of<'a>(rows: impl Iterator<Item = &'a str>) -> String {
    let lines = rows.enumerate().map(|(i, row)| format!("r{i} {row}\n"));
    HEAD.to_owned() + &lines.collect::<String>()
}

#[test]
fn rows_that_both_accept_have_the_same_data() {
    let dir = tempfile::tempdir().unwrap();
    let rows = || rows::GOOD.iter().copied();
    fs::write(dir.path().join("good"), zone_of(rows())).unwrap();
    let theirs = bind(dir.path(), "good").expect("BIND accepts all of these");
    let reading = ours(dir.path(), "good");
    let found: Vec<_> = reading.diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
    assert!(found.is_empty(), "{}", found.iter().map(|d| format!("{d}\n")).collect::<String>());
    let different = differences(&theirs, &sets(reading));
    assert!(
        different.is_empty(),
        "{}\n{}",
        different.join("\n"),
        rows().enumerate().map(|(i, r)| format!("r{i} {r}\n")).collect::<String>()
    );
}

#[test]
fn rows_that_both_refuse_are_all_named_at_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let rows = rows::BAD;
    fs::write(dir.path().join("bad"), zone_of(rows.iter().copied())).unwrap();
    let theirs = bind(dir.path(), "bad").expect_err("BIND refuses all of these");
    let reading = ours(dir.path(), "bad");
    let first = HEAD.lines().count() + 1;
    let mut messages = String::new();
    for (i, row) in rows.iter().enumerate() {
        let line = first + i;
        assert!(theirs.contains(&format!("bad:{line}: ")), "BIND says nothing of `{row}`");
        let found: Vec<_> = reading.diagnostics.iter().filter(|d| d.line as usize == line).collect();
        assert_eq!(found.len(), 1, "`{row}`: {found:?}");
        let (short, found) = (row.chars().take(60).collect::<String>(), found[0]);
        messages += &format!(
            "{short}\n  {}:{} [{}] {:?}: {}\n",
            found.severity as u8, found.column, found.id, found.text, found.message
        );
        messages += &if found.advice.is_empty() { String::new() } else { format!("  try: {}\n", found.advice) };
    }
    insta::assert_snapshot!(messages);
    assert!(reading.into_text().is_err());
}

#[test]
fn known_differences_are_as_the_table_says() {
    let dir = tempfile::tempdir().unwrap();
    for (name, rows, we_accept) in [("stricter", rows::STRICTER, false), ("laxer", rows::LAXER, true)] {
        if rows.is_empty() {
            continue;
        }
        fs::write(dir.path().join(name), zone_of(rows.iter().map(|(row, _)| *row))).unwrap();
        let theirs = bind(dir.path(), name);
        let reading = ours(dir.path(), name);
        for (i, (row, reason)) in rows.iter().enumerate() {
            let line = HEAD.lines().count() + 1 + i;
            let refused = reading.diagnostics.iter().any(|d| d.line as usize == line && d.severity == Severity::Error);
            assert_eq!(refused, !we_accept, "`{row}` ({reason})");
            let by_bind = theirs.as_ref().err().is_some_and(|said| said.contains(&format!("{name}:{line}: ")));
            assert_eq!(by_bind, we_accept, "BIND: `{row}` ({reason})");
        }
    }
}

#[test]
fn files_come_out_as_in_bind() {
    use crate::files::Expect;
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files::INCLUDED {
        fs::write(dir.path().join(path), text).unwrap();
    }
    let judge = |(number, (about, text, expect)): (usize, &(&str, &str, Expect))| {
        let file = format!("zone{number}");
        fs::write(dir.path().join(&file), text.replace("{H}", HEAD)).unwrap();
        let theirs = bind(dir.path(), &file);
        let reading = ours(dir.path(), &file);
        let said = reading.diagnostics.iter().map(|d| format!("{d}\n")).collect::<String>();
        let we_accept = reading.clone().into_text().is_ok();
        let came = match (&theirs, we_accept) {
            (Ok(theirs), true) => match differences(theirs, &sets(reading)).as_slice() {
                [] => "Same".to_owned(),
                different => format!("other data: {}", different.join("; ")),
            },
            (Err(_), false) => "Refused".to_owned(),
            (Ok(_), false) => "Stricter".to_owned(),
            (Err(_), true) => "Laxer".to_owned(),
        };
        let wanted = format!("{expect:?}");
        let wanted = wanted.split('(').next().unwrap();
        (came != wanted).then(|| format!("{about}: {came}, not {expect:?}\n{said}BIND: {:?}\n", theirs.err()))
    };
    // A process a file: two at a time.
    let cases: Vec<_> = files::FILES.iter().enumerate().collect();
    let wrong = std::thread::scope(|scope| {
        let halves: Vec<_> = cases
            .chunks(cases.len().div_ceil(2))
            .map(|half| scope.spawn(|| half.iter().filter_map(|case| judge(*case)).collect::<Vec<_>>()))
            .collect();
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every good record as `\#`, in each of several ways damaged: what is well-formed data of a type is for BIND and us
/// the same.
#[test]
fn damaged_data_is_refused_where_bind_refuses_it() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("good"), zone_of(rows::GOOD.iter().copied())).unwrap();
    let text = ours(dir.path(), "good").into_text().unwrap();
    let mut rows = Vec::new();
    for record in text.records.iter().filter(|record| record.rtype != RrType::SOA) {
        let whole = record.rdata;
        let cut = (0..whole.len()).step_by(whole.len() / 12 + 1).map(|len| whole[..len].to_vec());
        let flipped = (0..whole.len()).step_by(whole.len() / 12 + 1).flat_map(|at| {
            [0x01, 0x40, 0x80, 0xFF].map(|bits| {
                let mut octets = whole.to_vec();
                octets[at] ^= bits;
                octets
            })
        });
        let longer = [[whole, &[0]].concat(), [whole, &[1, 2]].concat()];
        for octets in cut.chain(flipped).chain(longer) {
            let hex = octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
            rows.push(format!("TYPE{} \\# {} {hex}", record.rtype.0, octets.len()));
        }
    }
    fs::write(dir.path().join("damaged"), zone_of(rows.iter().map(String::as_str))).unwrap();
    let theirs = bind(dir.path(), "damaged").expect_err("BIND refuses many");
    let refused: HashSet<usize> = theirs
        .lines()
        .filter_map(|said| said.strip_prefix("dns_rdata_fromtext: damaged:")?.split(':').next()?.parse().ok())
        .collect();
    let wrong = rows.iter().enumerate().filter_map(|(i, row)| {
        let line = HEAD.lines().count() + 1 + i;
        let (number, hex) = row.strip_prefix("TYPE")?.split_once(' ')?;
        let octets = hex.rsplit_once(' ')?.1.as_bytes().chunks(2);
        let octets: Vec<u8> =
            octets.map(|digits| u8::from_str_radix(std::str::from_utf8(digits).unwrap(), 16).unwrap()).collect();
        let rtype = RrType(number.parse().unwrap());
        let ours = rdata::validate(rtype, &octets);
        let known = rows::STRICTER.iter().any(|(known, _)| *known == format!("{rtype} {hex}"));
        (ours.is_err() != refused.contains(&line) && !known)
            .then(|| format!("{rtype} {hex}: we say {ours:?}, not BIND"))
    });
    let wrong: Vec<_> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

/// The good rows with letters and words changed, left out, doubled: on each of them BIND and we agree, and where both
/// accept one, on its data.
#[test]
fn rows_changed_at_random_are_taken_as_bind_takes_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(20_100_324);
    // Behind an error BIND goes on in the middle of the line, and is thrown off by what stands in quotes there.
    let plain = rows::GOOD.iter().filter(|row| !row.contains(['"', '(', ')', ';']));
    let changed = plain.flat_map(|row| (0..24).map(|_| change(row, &mut random)).collect::<Vec<_>>());
    let rows: Vec<String> = changed.collect();
    // Kinds of row that the table of known differences has.
    let known = |row: &str| {
        row.starts_with("EUI")
            || row.contains("alpn=f")
            || row.contains("KEY ")
            || row.starts_with("LOC") && row.contains("-0.")
            || row.starts_with("TYPE+")
    };
    fs::write(dir.path().join("changed"), zone_of(rows.iter().map(String::as_str))).unwrap();
    let theirs = bind(dir.path(), "changed").expect_err("BIND refuses many");
    let harmless = ["signature has expired", "old style DNSSEC", "MAXTTL", "not at top of zone"];
    let line_of = |said: &str| said.split_once("changed:")?.1.split(':').next()?.parse().ok();
    let lines = |wanted: &dyn Fn(&str) -> bool| -> HashSet<usize> {
        theirs.lines().filter(|said| wanted(said)).filter_map(line_of).collect()
    };
    let refused = lines(&|said| !harmless.iter().any(|harmless| said.contains(harmless)));
    // Behind a line that ends too soon BIND leaves out the next.
    let cut = lines(&|said| said.contains("unexpected end of line"));
    let (mut both, mut wrong) = (Vec::new(), Vec::new());
    for (i, row) in rows.iter().enumerate() {
        let octets = format!("$TTL 300\nr0 {row}\n").into_bytes().into();
        let source = Source { path: String::new(), octets };
        let reading = read(&Name::absolute(ORIGIN).unwrap(), source, &mut FileSources::new(dir.path(), false).unwrap());
        let line = HEAD.lines().count() + 1 + i;
        if cut.contains(&(line - 1)) {
            continue;
        }
        let said = reading.diagnostics.first().map(|d| d.message.clone()).unwrap_or_default();
        match (reading.into_text(), refused.contains(&line)) {
            (Ok(text), false) if text.records.get(0).rtype != RrType::SOA => both.push(row.as_str()),
            (Ok(_), true) => wrong.push(format!("{row}: only BIND refuses it")),
            (Err(_), false) if !known(row) => wrong.push(format!("{row}: only we refuse it: {said}")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {}\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    fs::write(dir.path().join("both"), zone_of(both.iter().copied())).unwrap();
    let theirs = bind(dir.path(), "both").unwrap();
    let different = differences(&theirs, &sets(ours(dir.path(), "both")));
    assert!(both.len() > 500 && different.is_empty(), "{}\n{}", both.len(), different.join("\n"));
}

/// The same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// A row with a letter or a word changed, quotes and parentheses left alone.
fn change(row: &str, random: &mut Random) -> String {
    let mut letters: Vec<char> = row.chars().collect();
    let mut words: Vec<&str> = row.split(' ').collect();
    let at = random.below(letters.len());
    let word = random.below(words.len());
    let alone = |letter: char| "\"()\\;".contains(letter);
    match random.below(6) {
        0 if !alone(letters[at]) => drop(letters.remove(at)),
        1 if !alone(letters[at]) => letters.insert(at, letters[at]),
        2 if !alone(letters[at]) => {
            let set: Vec<char> = "0129afzAFZ-.:=,!@*/+_$#|~".chars().collect();
            letters[at] = set[random.below(set.len())];
        }
        3 if !words[word].contains(alone) => {
            words.remove(word);
            return words.join(" ");
        }
        4 if !words[word].contains(alone) => {
            words.insert(word, words[word]);
            return words.join(" ");
        }
        5 if !words[word].contains(alone) => {
            words[word] =
                ["0", "1", "65536", "x", "a.b.", "-", "AQ==", "abcd", "::1", "A", "192.0.2.1"][random.below(11)];
            return words.join(" ");
        }
        _ => {}
    }
    letters.into_iter().collect()
}
