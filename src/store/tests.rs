//! What the state does when it is opened twice, damaged, full, locked, or cleaned up.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::audit::{Deed, Override};
use super::files::Kept;
use super::journal::{Actor, Entry, Journal, Publication};
use super::texts::{Bundle, BundleId, Part, Pruned, Role};
use super::*;
use crate::digest::Digest;
use crate::name::Name;
use crate::serial::Serial;
use crate::time::Timestamp;

fn zone(text: &str) -> Name {
    Name::absolute(text).unwrap()
}

fn actor() -> Actor {
    Actor { uid: None, name: "test".into() }
}

fn part(octets: impl AsRef<[u8]>) -> Part {
    let files = BTreeMap::from([("a.zone".to_owned(), Arc::from(octets.as_ref()))]);
    let kept = Kept { root: "a.zone".into(), files, ..Kept::default() };
    Part { role: Role::Site("knams".into()), kept }
}

/// Publishes `live` as the zone's next generation.
fn publish(store: &Store, name: &str, live: BundleId, state: Value) -> Result<(), StoreError> {
    let mut journal = store.journal();
    let last = journal.published()?.into_iter().find(|published| published.zone == zone(name));
    let expected = last.map(|last| last.generation);
    let generation = expected.unwrap_or(0) + 1;
    let publication =
        Publication { zone: zone(name), expected, generation, serial: Serial(1), routing: Value::Null, live };
    let entry = Entry {
        stream: name.into(),
        after: journal.latest(name)?.map(|row| row.sequence),
        at: Timestamp(0),
        actor: actor(),
        reason: String::new(),
        event: Value::Null,
        state,
        effects: json!([]),
        generation,
        publications: vec![publication],
    };
    journal.commit(&entry).map(|_| ())
}

#[test]
fn the_directory_is_made_for_us_alone_and_held_by_one() {
    let parent = TempDir::new().unwrap();
    let dir = parent.path().join("deep/var");
    let store = Store::open(Some(&dir)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for file in fs::read_dir(&dir).unwrap() {
        let path = file.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }

    let error = Store::open(Some(&dir)).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }));
    assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
    let handle = store.clone();
    drop(store);
    assert!(Store::open(Some(&dir)).is_err(), "a handle is left");
    drop(handle);
    assert!(Store::open(Some(&dir)).is_ok());
}

#[test]
fn a_directory_that_others_can_write_to_is_refused() {
    for mode in [0o777, 0o770, 0o702] {
        let dir = TempDir::new().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode)).unwrap();
        let error = Store::open(Some(dir.path())).unwrap_err();
        assert!(matches!(error, StoreError::Exposed { .. }));
        assert!(error.to_string().contains(&format!("chmod 700 {}", dir.path().display())), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing was made in it");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    assert!(matches!(Store::open(Some(file.path())), Err(StoreError::Directory { .. })));
}

/// A state of the first schema that was written to is brought up to date, and is no first start; one that was not written
/// to may be anybody's.
#[test]
fn an_older_state_is_migrated_and_has_begun_if_it_was_written_to() {
    for (written, begun) in [(true, true), (false, false)] {
        let dir = tempfile::tempdir().unwrap();
        drop(Store::open(Some(dir.path())).unwrap());
        let older = Connection::open(dir.path().join(super::open::DATABASE)).unwrap();
        let later = "DROP TABLE fact; DROP TABLE exposure; DROP TABLE resolver; DROP TABLE asked; DROP TABLE drill;
            PRAGMA user_version = 1";
        older.execute_batch(later).unwrap();
        if written {
            older
                .execute_batch("INSERT INTO journal VALUES (1, 'public', 5, NULL, 'ann', 'why', '{}', '{}', '[]', 1)")
                .unwrap();
        }
        drop(older);
        let store = Store::open(Some(dir.path())).unwrap();
        assert_eq!(store.has_begun().unwrap(), begun);
        assert_eq!(store.journal().rows("public", 9).unwrap().len(), usize::from(written));
        assert_eq!(store.initialise().unwrap(), !begun);
        assert!(store.has_begun().unwrap());
    }
}

#[test]
fn damaged_foreign_and_later_databases_are_refused_and_left_as_they_are() {
    type Harm = fn(&Path);
    type Case<'a> = (&'a str, Box<dyn Fn(&Path)>, fn(&StoreError) -> bool);
    let with_sql = |sql: &'static str| move |path: &Path| Connection::open(path).unwrap().execute_batch(sql).unwrap();
    let later = with_sql("PRAGMA user_version = 99");
    let cases: [Case<'_>; 7] = [
        ("later", Box::new(later), |e| matches!(e, StoreError::Later { found: 99, .. })),
        ("no database", Box::new((|path| fs::write(path, [b'x'; 9000]).unwrap()) as Harm), is_damaged),
        (
            "cut",
            Box::new((|path| fs::OpenOptions::new().write(true).open(path).unwrap().set_len(8192).unwrap()) as Harm),
            is_damaged,
        ),
        ("emptied", Box::new((|path| fs::write(path, "").unwrap()) as Harm), is_damaged),
        ("removed", Box::new((|path| fs::remove_file(path).unwrap()) as Harm), is_damaged),
        ("overwritten", Box::new(overwrite_a_page as Harm), is_damaged),
        ("somebody else's", Box::new(with_sql("PRAGMA application_id = 7")), is_damaged),
    ];
    fn is_damaged(error: &StoreError) -> bool {
        matches!(error, StoreError::Damaged { .. })
    }
    fn overwrite_a_page(path: &Path) {
        let mut octets = fs::read(path).unwrap();
        octets[4096..8192].fill(0xAA);
        fs::write(path, octets).unwrap();
    }
    for (what, harm, expected) in cases {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("understudy.db");
        drop(Store::open(Some(dir.path())).unwrap());
        harm(&path);
        let before = fs::read(&path).ok();
        let error = Store::open(Some(dir.path())).unwrap_err();
        assert!(expected(&error), "{what}: {error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{what}: {error}");
        assert!(fs::read(&path).ok() == before, "{what}: the file was changed");
    }
}

/// A process that was ended while it made the database has lost nothing.
#[test]
fn a_start_that_never_came_to_a_database_is_a_fresh_one() {
    let dir = TempDir::new().unwrap();
    for file in ["understudy.lock", "understudy.db", "understudy.db-wal"] {
        fs::write(dir.path().join(file), "").unwrap();
    }
    drop(Store::open(Some(dir.path())).unwrap());
    Store::open(Some(dir.path())).unwrap();
}

#[test]
fn nothing_is_written_once_the_state_is_no_longer_where_it_was_opened() {
    type Harm = fn(&Path);
    let cases: [(&str, Harm); 4] = [
        ("moved", |dir| fs::rename(dir, dir.with_extension("old")).unwrap()),
        ("lock removed", |dir| fs::remove_file(dir.join("understudy.lock")).unwrap()),
        ("database removed", |dir| fs::remove_file(dir.join("understudy.db")).unwrap()),
        ("database replaced", |dir| {
            fs::copy(dir.join("understudy.db"), dir.join("copy")).unwrap();
            fs::rename(dir.join("copy"), dir.join("understudy.db")).unwrap();
        }),
    ];
    for (what, harm) in cases {
        let home = TempDir::new().unwrap();
        let dir = home.path().join("state");
        let store = Store::open(Some(&dir)).unwrap();
        let keep = |text| store.texts().keep("plan", zone("x").as_ref(), &[part(text)]);
        keep("before").unwrap();
        harm(&dir);
        let error = keep("after").unwrap_err();
        assert!(matches!(error, StoreError::Replaced { .. }), "{what}: {error}");
        assert!(error.to_string().contains(dir.to_str().unwrap()), "{what}: {error}");
    }
}

/// What is given away is the state, never what lies in a directory that a slip of the pen names.
#[test]
fn only_a_state_directory_is_given_away_and_only_what_is_ours() {
    use std::os::unix::fs::MetadataExt as _;
    if !nix::unistd::geteuid().is_root() {
        return eprintln!("this test needs root");
    }
    let home = TempDir::new().unwrap();
    let owner = |path: &Path| path.symlink_metadata().unwrap().uid();
    let other = home.path().join("etc");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("shadow"), "").unwrap();
    fs::set_permissions(&other, fs::Permissions::from_mode(0o700)).unwrap();
    let error = Store::give(&other, 4711, 4711).unwrap_err();
    assert!(matches!(error, StoreError::NotState { .. }) && error.to_string().contains("shadow"), "{error}");
    assert_eq!([owner(&other), owner(&other.join("shadow"))], [0, 0]);

    let state = home.path().join("new/state");
    Store::give(&state, 4711, 4711).unwrap();
    assert_eq!(owner(&state), 4711);
    drop(Store::open(Some(&state)).unwrap());
    fs::write(state.join("notes"), "").unwrap();
    Store::give(&state, 4711, 4711).unwrap();
    assert_eq!(["understudy.db", "understudy.lock", "notes"].map(|file| owner(&state.join(file))), [4711, 4711, 0]);
}

#[test]
fn bundles_read_back_with_their_inclusions() {
    let store = Store::open(None).unwrap();
    let texts = store.texts();
    let mut common = Part { role: Role::Common("knams".into()), ..part("$INCLUDE b.inc") };
    common.kept.files.insert("sub/b.inc".into(), Arc::from(*b"b A 192.0.2.1"));
    common.kept.included.insert(("a.zone".into(), "b.inc".into()), "sub/b.inc".into());
    let parts = [common, part("")];
    let id = texts.keep("plan", zone("Wiki.Example").as_ref(), &parts).unwrap();
    assert_eq!(texts.keep("plan", zone("wiki.example").as_ref(), &parts).unwrap(), id, "kept again");
    let bundle = texts.bundle(id).unwrap().unwrap();
    assert_eq!((bundle.zone, &bundle.parts[..]), (zone("wiki.example"), &parts[..]));

    // Order, role, paths and inclusions all count.
    let [a, b] = parts.clone();
    let (mut role, mut led) = (parts.clone(), parts.clone());
    role[0].role = Role::Site("common".into());
    led[0].kept.included.insert(("a.zone".into(), "b.inc".into()), "a.zone".into());
    for other in [[b, a], role, led] {
        assert_ne!(texts.keep("plan", zone("wiki.example").as_ref(), &other).unwrap(), id);
    }
    assert_eq!(texts.bundle(BundleId(Digest::of(b""))).unwrap(), None);
    assert_eq!(texts.holders().unwrap(), ["plan"]);
}

#[test]
fn a_text_that_changed_in_the_database_is_not_given_out() {
    let store = Store::open(None).unwrap();
    let id = store.texts().keep("plan", zone("x").as_ref(), &[part("good")]).unwrap();
    store.connection().execute("UPDATE text SET octets = x'00'", []).unwrap();
    assert!(matches!(store.texts().bundle(id), Err(StoreError::Damaged { .. })));
}

#[test]
fn a_full_disk_changes_nothing_and_can_be_got_over() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(Some(dir.path())).unwrap();
    let id = store.texts().keep("plan", zone("x").as_ref(), &[part("text")]).unwrap();
    let pages: i64 = store.connection().pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    store.connection().pragma_update_and_check(None, "max_page_count", pages + 40, |_| Ok(())).unwrap();

    let state = |n: usize| json!({"n": n, "ballast": "x".repeat(3000)});
    let mut written = 0;
    let error = loop {
        match publish(&store, "x", id, state(written + 1)) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
        assert!(written < 1000, "the disk never fills");
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    let text = store.texts().keep("plan", zone("x").as_ref(), &[part(vec![b'y'; 200_000])]);
    assert!(matches!(text, Err(StoreError::Full { .. })));

    let row = store.journal().latest("x").unwrap().unwrap();
    assert_eq!((row.sequence.0 as usize, row.state), (written, state(written)));
    assert_eq!(store.journal().published().unwrap()[0].generation as usize, written);

    store.connection().pragma_update_and_check(None, "max_page_count", 1_000_000, |_| Ok(())).unwrap();
    publish(&store, "x", id, state(written + 1)).unwrap();
    drop(store);
    let store = Store::open(Some(dir.path())).unwrap();
    assert_eq!(store.journal().latest("x").unwrap().unwrap().sequence.0 as usize, written + 1);
}

#[test]
fn locked_and_read_only_are_told_apart() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(Some(dir.path())).unwrap();
    let keep = || store.texts().keep("plan", zone("x").as_ref(), &[part("text")]);

    store.connection().busy_timeout(Duration::ZERO).unwrap();
    let other = Connection::open(store.path().unwrap()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = keep().unwrap_err();
    assert!(matches!(error, StoreError::Busy { .. }), "{error}");
    other.execute_batch("ROLLBACK").unwrap();

    store.connection().pragma_update(None, "query_only", true).unwrap();
    let error = keep().unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    store.connection().pragma_update(None, "query_only", false).unwrap();
    assert!(keep().is_ok());
}

#[test]
fn secrets_are_made_once() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(Some(dir.path())).unwrap();
    let share: [u8; 16] = store.secret("share").unwrap();
    let cookie: [u8; 32] = store.secret("cookie").unwrap();
    assert_ne!(share, cookie[..16]);
    drop(store);
    let store = Store::open(Some(dir.path())).unwrap();
    assert_eq!((store.secret("share").unwrap(), store.secret("cookie").unwrap()), (share, cookie));
    assert!(matches!(store.secret::<16>("cookie"), Err(StoreError::Damaged { .. })), "of another length");
}

#[test]
fn the_audit_trail_reads_back_newest_first() {
    let store = Store::open(None).unwrap();
    let deeds: Vec<Deed> = (0..5)
        .map(|n| Deed {
            at: Timestamp(n),
            actor: Actor { uid: Some(1000), name: "mark".into() },
            command: format!("failover wiki.example --to site{n}"),
            reason: "drill".into(),
            overrides: vec![Override {
                gate: "site.load".into(),
                digest: Digest::of(b"findings"),
                covered: vec!["knams is at 80 %".into()],
            }],
            outcome: "done".into(),
        })
        .collect();
    deeds.iter().for_each(|deed| store.audit().record(deed).unwrap());
    assert_eq!(store.audit().latest(2).unwrap(), [deeds[4].clone(), deeds[3].clone()]);
    assert_eq!(store.audit().latest(99).unwrap().len(), 5);
}

#[test]
fn what_is_referred_to_cannot_be_removed_even_by_hand() {
    let store = Store::open(None).unwrap();
    let id = store.texts().keep("plan", zone("x").as_ref(), &[part("text")]).unwrap();
    publish(&store, "x", id, Value::Null).unwrap();
    store.texts().release("plan").unwrap();
    for sql in ["DELETE FROM text", "DELETE FROM bundle"] {
        assert!(store.connection().execute(sql, []).is_err(), "{sql}");
    }
}

/// Something that is done to the texts: zones, texts and holders by number.
#[derive(Clone, Debug)]
enum Act {
    Keep { holder: usize, zone: usize, texts: Vec<u8> },
    Publish { zone: usize, pick: usize },
    Release { holder: usize },
    Prune,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0..3usize, 0..2usize, prop::collection::vec(0..6u8, 1..4))
            .prop_map(|(holder, zone, texts)| Act::Keep { holder, zone, texts }),
        3 => (0..2usize, 0..8usize).prop_map(|(zone, pick)| Act::Publish { zone, pick }),
        2 => (0..3usize).prop_map(|holder| Act::Release { holder }),
        2 => Just(Act::Prune),
    ];
    prop::collection::vec(act, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// What is live, previous or kept for a holder reads back whole after anything; pruning leaves that and no more.
    #[test]
    fn pruning_never_removes_what_is_needed(acts in acts()) {
        const ZONES: [&str; 2] = ["a.example", "b.example"];
        const HOLDERS: [&str; 3] = ["plan 41", "plan 42", "candidate"];
        let store = Store::open(None).unwrap();
        let texts = store.texts();
        let mut kept: BTreeMap<BundleId, Bundle> = BTreeMap::new();
        let mut held: BTreeSet<(usize, BundleId)> = BTreeSet::new();
        for act in acts {
            let published = store.journal().published().unwrap();
            let needed = |held: &BTreeSet<(usize, BundleId)>| -> BTreeSet<BundleId> {
                let of_zones = published.iter().flat_map(|zone| [Some(zone.live), zone.previous]).flatten();
                of_zones.chain(held.iter().map(|(_, id)| *id)).collect()
            };
            match act {
                Act::Keep { holder, zone: z, texts: numbers } => {
                    let parts: Vec<Part> = numbers.iter().map(|n| part([*n])).collect();
                    let id = texts.keep(HOLDERS[holder], zone(ZONES[z]).as_ref(), &parts).unwrap();
                    held.insert((holder, id));
                    kept.insert(id, Bundle { zone: zone(ZONES[z]), parts });
                }
                Act::Publish { zone: z, pick } => {
                    let of_zone: Vec<_> = kept.iter().filter(|(_, b)| b.zone == zone(ZONES[z])).collect();
                    if let Some((id, _)) = of_zone.get(pick % of_zone.len().max(1)) {
                        publish(&store, ZONES[z], **id, Value::Null).unwrap();
                    }
                }
                Act::Release { holder } => {
                    texts.release(HOLDERS[holder]).unwrap();
                    held.retain(|(of, _)| *of != holder);
                }
                Act::Prune => {
                    let needed = needed(&held);
                    let before = kept.len();
                    kept.retain(|id, _| needed.contains(id));
                    let pruned = texts.prune().unwrap();
                    prop_assert_eq!(pruned.bundles, before - kept.len());
                    prop_assert_eq!(texts.prune().unwrap(), Pruned::default());
                    let count: usize =
                        store.connection().query_row("SELECT count(*) FROM text", [], |row| row.get(0)).unwrap();
                    let left: BTreeSet<&[u8]> =
                        kept.values().flat_map(|b| b.parts.iter().map(|part| &part.kept.files["a.zone"][..])).collect();
                    prop_assert_eq!(count, left.len());
                }
            }
            for (id, bundle) in &kept {
                let read = texts.bundle(*id).unwrap();
                prop_assert_eq!(read.as_ref(), Some(bundle));
            }
        }
    }
}
