//! Our verdicts beside those of BIND, Knot and NSD, on every zone of the table.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use understudy::zone::diagnostic::Severity;

use super::table::all;

/// A peer's checker: its name, and its command line up to the file.
struct Peer {
    name: &'static str,
    command: &'static [&'static str],
    package: &'static str,
}

const PEERS: [Peer; 3] = [
    // `-i local`: ask no other server.
    Peer { name: "BIND", command: &["named-checkzone", "-i", "local", "wiki.example"], package: "bind9-utils" },
    Peer { name: "Knot", command: &["kzonecheck", "-d", "off", "-o", "wiki.example"], package: "knot-dnssecutils" },
    Peer { name: "NSD", command: &["nsd-checkzone", "wiki.example"], package: "nsd" },
];

/// Where a peer judges otherwise, and why we stay with our verdict: the id of a finding of ours, or what stands in the
/// zone; the peer; its verdict.
///
/// Two peers that refuse are followed without exception. One that refuses alone is followed where an RFC forbids what it
/// refuses, or where users would not get an answer at all.
const DIFFERENCES: &[(&str, &str, Verdict, &str)] = &[
    // We refuse, with the others.
    ("several-soas", "Knot", Accepts, "Knot keeps one of them; which one is luck (RFC 1035 §5.2: exactly one)"),
    (
        "soa-not-at-origin",
        "Knot",
        Accepts,
        "Knot answers it like data; a SOA marks the top of a zone (RFC 1034 §4.2.1)",
    ),
    ("no-ns", "NSD", Accepts, "NSD serves it; the apex NS set is required (RFC 1034 §4.2.1)"),
    ("ns-without-address", "NSD", Accepts, "NSD does not look into the data of NS records"),
    ("ns-is-alias", "NSD", Accepts, "NSD does not look into the data of NS records"),
    ("target-is-address", "NSD", Accepts, "NSD does not look into the data of NS records"),
    ("below-dname", "BIND", Accepts, "BIND loads it and never answers it (RFC 6672 §2.4)"),
    // We refuse with one of them.
    (
        "out-of-zone",
        "BIND",
        Accepts,
        "BIND ignores the record with a warning; a forgotten `$ORIGIN` then empties a zone",
    ),
    (
        "out-of-zone",
        "Knot",
        Accepts,
        "Knot ignores the record with a warning; a forgotten `$ORIGIN` then empties a zone",
    ),
    (
        "dname-and-ns",
        "BIND",
        Accepts,
        "BIND answers a referral and hides the DNAME, which RFC 6672 §2.3 forbids to stand there",
    ),
    ("dname-and-ns", "NSD", Accepts, "NSD answers the one or the other; RFC 6672 §2.3 forbids both to stand there"),
    ("unreachable-delegation", "BIND", Accepts, "BIND warns; nothing below the delegation can ever resolve"),
    ("unreachable-delegation", "NSD", Accepts, "NSD does not look into the data of NS records"),
    (
        "nsec3-iterations",
        "BIND",
        Accepts,
        "it loads it and answers slowly or as unsigned; hashing so often costs more than an answer (RFC 9276)",
    ),
    (
        "nsec3-iterations",
        "Knot",
        Accepts,
        "it loads it and answers slowly or as unsigned; hashing so often costs more than an answer (RFC 9276)",
    ),
    (
        "nsec3-iterations",
        "NSD",
        Accepts,
        "it loads it and answers slowly or as unsigned; hashing so often costs more than an answer (RFC 9276)",
    ),
    // We warn.
    ("missing-glue", "Knot", Refuses, "the delegation resolves by its other servers"),
    ("delegation-to-no-address", "Knot", Refuses, "the delegation resolves by its other servers"),
    ("delegation-to-alias", "Knot", Refuses, "many resolvers follow the alias; the zone below is not ours to cut off"),
    (
        "ds-digest",
        "Knot",
        Refuses,
        "validators pass such a DS record over; BIND and NSD serve it, and new digests come",
    ),
    ("wildcard-ns", "BIND", Refuses, "RFC 4592 §4.2 leaves it undefined and does not forbid it; Knot and NSD serve it"),
    ("ds-at-origin", "BIND", Refuses, "a DS there is useless and harms nobody; Knot and NSD serve it"),
    ("ns1 DS", "BIND", Refuses, "BIND takes a DS record right behind glue for one at the top: an oddity of its reader"),
    // Reading, not checking.
    (
        ".1\n@ SOA ns1 hostmaster 1 ",
        "NSD",
        Refuses,
        "NSD takes no SOA twice; the same record twice is one (RFC 2181 §5)",
    ),
    (
        "1 2001:db8::1",
        "Knot",
        Refuses,
        "Knot's reader wants a backslash before a colon in a name; RFC 1035 §5.1 does not",
    ),
    (
        "CNAME 2001:db8::1",
        "Knot",
        Refuses,
        "Knot's reader wants a backslash before a colon in a name; RFC 1035 §5.1 does not",
    ),
    ("ISSUE", "NSD", Refuses, "NSD's reader wants CAA tags in lower case; RFC 8659 §4.1 matches them without case"),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Accepts,
    Refuses,
}
use Verdict::{Accepts, Refuses};

fn verdict(peer: &Peer, file: &Path) -> (Verdict, String) {
    let output = Command::new(peer.command[0]).args(&peer.command[1..]).arg(file).output().unwrap_or_else(|error| {
        panic!("{} can't be run ({error}): install the package {}", peer.command[0], peer.package)
    });
    let said = [output.stdout, output.stderr].map(|octets| String::from_utf8_lossy(&octets).into_owned()).concat();
    (if output.status.success() { Accepts } else { Refuses }, said)
}

/// What is not explained about a zone, and which of the differences it shows.
fn compare(text: &str, file: &Path) -> (Vec<String>, Vec<usize>) {
    let found = super::findings(text);
    let ours = if found.iter().any(|finding| finding.severity == Severity::Error) { Refuses } else { Accepts };
    let (mut unexplained, mut used, mut refusals) = (Vec::new(), Vec::new(), 0);
    for peer in &PEERS {
        let (theirs, said) = verdict(peer, file);
        refusals += usize::from(theirs == Refuses);
        if theirs == ours {
            continue;
        }
        let reason = DIFFERENCES.iter().position(|(id, name, verdict, _)| {
            (*name, *verdict) == (peer.name, theirs)
                && (text.contains(id) || found.iter().any(|finding| finding.id == *id))
        });
        match reason {
            Some(at) => used.push(at),
            None => {
                let told = super::told(&found);
                unexplained.push(format!("{} {theirs:?} what we don't:\n{text}{said}\nwe find:\n{told}", peer.name));
            }
        }
    }
    if refusals >= 2 && ours == Accepts {
        unexplained.push(format!("two refuse, and we accept:\n{text}"));
    }
    (unexplained, used)
}

#[test]
fn verdicts_differ_from_those_of_the_peers_only_where_we_say_why() {
    let zones: Vec<String> = all().into_iter().collect();
    assert!(zones.len() >= 300, "{} zones are few", zones.len());

    let directory = tempfile::tempdir().unwrap();
    let next = AtomicUsize::new(0);
    let unexplained = Mutex::new(Vec::new());
    let used = Mutex::new(BTreeSet::new());
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(text) = zones.get(at) else { break };
            let file = directory.path().join(format!("{at}.zone"));
            std::fs::write(&file, text).unwrap();
            let (wrong, reasons) = compare(text, &file);
            unexplained.lock().unwrap().extend(wrong);
            used.lock().unwrap().extend(reasons);
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));

    let unexplained = unexplained.into_inner().unwrap();
    assert!(unexplained.is_empty(), "{} unexplained:\n{}", unexplained.len(), unexplained.join("\n"));
    let used = used.into_inner().unwrap();
    for (at, difference) in DIFFERENCES.iter().enumerate() {
        assert!(used.contains(&at), "no zone shows the difference {difference:?}");
    }
}
