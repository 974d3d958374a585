//! Which memory the real program has in large pages.

use crate::support::daemon::Home;

/// Octets of memory for which a process asks for large pages, as the kernel tells.
fn asked_for_large(pid: u32) -> u64 {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
    let mut size = 0;
    let mut all = 0;
    for line in maps.lines() {
        if let Some(text) = line.strip_prefix("Size:") {
            size = text.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10;
        }
        if line.strip_prefix("VmFlags:").is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hg")) {
            all += size;
        }
    }
    all
}

/// What is known of who was told what grows while queries are answered, when a large page may be waited for too long. (That what
/// is there in small pages stays in small ones as it grows, `pages` says.)
#[test]
fn beside_small_zones_only_the_rings_of_notes_are_to_lie_in_large_pages() {
    const RING: u64 = 2 << 20;
    let home = Home::new(
        "[server]\nlisten = ['127.0.0.1:0']\nworkers = 1\n[[zone]]\nname = 'a.example'\nfile = 'a.zone'\n",
        &[("a.zone", "$TTL 60\n@ IN SOA ns h 1 1h 10m 2w 60\n@ IN NS ns\nns IN A 192.0.2.1\n")],
    );
    let daemon = home.serve();
    let offered = std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists();
    assert_eq!(asked_for_large(daemon.pid()), if offered { RING } else { 0 });
}
