//! One suite over both journals.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::store::Store;
use crate::store::files::Kept;
use crate::store::texts::{Part, Role};

/// Two bundles of `wiki.example` and a journal that knows them.
type Fixture = (Box<dyn Journal>, [BundleId; 2]);

fn parts(text: &str) -> Vec<Part> {
    let files = BTreeMap::from([("wiki.zone".to_owned(), text.as_bytes().into())]);
    vec![Part { role: Role::Common("knams".into()), kept: Kept { root: "wiki.zone".into(), files, ..Kept::default() } }]
}

fn zone() -> Name {
    Name::absolute("Wiki.Example").unwrap()
}

fn sqlite() -> Fixture {
    let store = Store::open(None).unwrap();
    let bundles = ["one", "two"].map(|text| store.texts().keep("test", zone().as_ref(), &parts(text)).unwrap());
    (Box::new(store.journal()), bundles)
}

fn memory() -> Fixture {
    (Box::new(MemoryJournal::default()), ["one", "two"].map(|text| BundleId::of(zone().as_ref(), &parts(text))))
}

fn copied() -> Fixture {
    let (journal, bundles) = sqlite();
    (Box::new(MemoryJournal::copy_of(&*journal, "wiki.example").unwrap()), bundles)
}

fn entry(after: Option<Sequence>, publications: Vec<Publication>) -> Entry {
    Entry {
        stream: "wiki.example".into(),
        after,
        at: Timestamp(1_270_000_000_000),
        actor: Actor { uid: Some(1000), name: "mark".into() },
        reason: "cooling failed".into(),
        event: json!({"Failover": {"to": "pmtpa"}}),
        state: json!({"share": 10_000}),
        effects: json!([{"id": 7, "publish": true}]),
        generation: 9,
        publications,
    }
}

fn publication(expected: Option<u64>, generation: u64, serial: u32, live: BundleId) -> Publication {
    Publication {
        zone: zone(),
        expected,
        generation,
        serial: Serial(serial),
        routing: json!({"default": "knams"}),
        live,
    }
}

fn on_each(test: impl Fn(&mut dyn Journal, [BundleId; 2])) {
    for make in [sqlite, memory, copied] {
        let (mut journal, bundles) = make();
        test(&mut *journal, bundles);
    }
}

#[test]
fn what_was_committed_reads_back() {
    on_each(|journal, [one, two]| {
        assert_eq!(journal.latest("wiki.example").unwrap(), None);
        let first = journal.commit(&entry(None, vec![publication(None, 1, 7, one)])).unwrap();
        let second = journal.commit(&entry(Some(first), vec![])).unwrap();
        let third = journal.commit(&entry(Some(second), vec![publication(Some(1), 5, 8, two)])).unwrap();
        assert_eq!([first, second, third], [Sequence(1), Sequence(2), Sequence(3)]);

        let written = entry(None, vec![]);
        let row = journal.latest("wiki.example").unwrap().unwrap();
        assert_eq!((row.sequence, row.at, row.generation), (third, written.at, written.generation));
        assert_eq!((row.actor, row.reason), (written.actor, written.reason));
        assert_eq!((row.event, row.state, row.effects), (written.event, written.state, written.effects));
        let numbers =
            |limit| journal.rows("wiki.example", limit).unwrap().iter().map(|r| r.sequence.0).collect::<Vec<_>>();
        assert_eq!((numbers(2), numbers(9)), (vec![3, 2], vec![3, 2, 1]));

        let published = journal.published().unwrap();
        assert_eq!(published.len(), 1);
        assert_eq!((&published[0].zone, published[0].generation, published[0].serial), (&zone(), 5, Serial(8)));
        assert_eq!((published[0].live, published[0].previous), (two, Some(one)));
        assert_eq!(published[0].routing, json!({"default": "knams"}));
    });
}

#[test]
fn a_delayed_writer_is_refused_and_writes_nothing() {
    on_each(|journal, [one, two]| {
        let first = journal.commit(&entry(None, vec![publication(None, 1, 1, one)])).unwrap();
        // Plan 41 is decided here, and delayed; plan 42 goes first.
        let delayed = entry(Some(first), vec![publication(Some(1), 2, 2, one)]);
        let second = journal.commit(&entry(Some(first), vec![publication(Some(1), 3, 2, two)])).unwrap();
        let before = (journal.rows("wiki.example", 9).unwrap(), journal.published().unwrap());

        let wrong = [
            delayed,
            entry(None, vec![]),
            entry(Some(Sequence(99)), vec![]),
            entry(Some(second), vec![publication(Some(1), 4, 3, one)]), // the zone moved on
            entry(Some(second), vec![publication(None, 4, 3, one)]),
            entry(Some(second), vec![publication(Some(4), 5, 3, one)]),
            // The first publication would do, the second would not: neither is written.
            entry(Some(second), vec![publication(Some(3), 4, 3, one), publication(Some(3), 5, 3, one)]),
        ];
        for wrong in wrong {
            let error = journal.commit(&wrong).unwrap_err();
            assert!(matches!(error, StoreError::MovedOn { .. }), "{error}");
            assert_eq!((journal.rows("wiki.example", 9).unwrap(), journal.published().unwrap()), before);
        }
        assert!(journal.commit(&entry(Some(second), vec![publication(Some(3), 4, 3, one)])).is_ok());
    });
}

#[test]
fn streams_do_not_fence_each_other() {
    on_each(|journal, _| {
        let live = journal.commit(&entry(None, vec![])).unwrap();
        let drill = journal.commit(&Entry { stream: "drill/wiki.example".into(), ..entry(None, vec![]) }).unwrap();
        assert_eq!((live, drill), (Sequence(1), Sequence(2)));
        assert_eq!(journal.commit(&entry(Some(live), vec![])).unwrap(), Sequence(3));
        assert_eq!(journal.latest("drill/wiki.example").unwrap().unwrap().sequence, drill);
    });
}

#[test]
fn neither_generation_nor_serial_goes_back() {
    // Last serial, serial given, and whether it may be.
    for (last, given, taken) in [
        (2_024_120_501, 2_024_120_501, true), // routing changed, content didn't
        (2_024_120_501, 2_024_120_500, false),
        (2_024_120_501, 1_733_400_000, false),
        (u32::MAX, 0, true),
        (0, u32::MAX, false),
        (5, 5 + (1 << 31), false), // 2³¹ apart is not above
    ] {
        on_each(|journal, [one, _]| {
            let first = journal.commit(&entry(None, vec![publication(None, 1, last, one)])).unwrap();
            let outcome = journal.commit(&entry(Some(first), vec![publication(Some(1), 2, given, one)]));
            match (taken, outcome) {
                (true, Ok(_)) | (false, Err(StoreError::SerialBack { .. })) => {}
                (_, other) => panic!("{last} → {given}: {other:?}"),
            }
        });
    }
    on_each(|journal, [one, _]| {
        let first = journal.commit(&entry(None, vec![publication(None, 3, 1, one)])).unwrap();
        for generation in [2, 3] {
            let error =
                journal.commit(&entry(Some(first), vec![publication(Some(3), generation, 1, one)])).unwrap_err();
            assert!(matches!(error, StoreError::GenerationBack { .. }), "{error}");
        }
    });
}

#[test]
fn previous_is_the_last_other_texts() {
    on_each(|journal, [one, two]| {
        let mut after = None;
        let mut expected = None;
        for (generation, live, previous) in
            [(1, one, None), (2, one, None), (3, two, Some(one)), (4, two, Some(one)), (5, one, Some(two))]
        {
            after = Some(journal.commit(&entry(after, vec![publication(expected, generation, 1, live)])).unwrap());
            expected = Some(generation);
            let published = &journal.published().unwrap()[0];
            assert_eq!((published.live, published.previous), (live, previous), "generation {generation}");
        }
    });
}

#[test]
fn a_copy_goes_on_where_the_original_stands_and_leaves_it_alone() {
    let (mut original, [one, two]) = sqlite();
    let first = original.commit(&entry(None, vec![publication(None, 1, 1, one)])).unwrap();
    let mut copy = MemoryJournal::copy_of(&*original, "wiki.example").unwrap();
    assert_eq!(copy.published().unwrap(), original.published().unwrap());
    copy.commit(&entry(Some(first), vec![publication(Some(1), 2, 2, two)])).unwrap();
    assert_eq!(original.published().unwrap()[0].live, one);
    assert_eq!(original.latest("wiki.example").unwrap().unwrap().sequence, first);
}

#[test]
fn texts_that_are_not_kept_are_not_published() {
    let (mut journal, [one, _]) = sqlite();
    let other_zone = Publication { zone: Name::absolute("other.example").unwrap(), ..publication(None, 1, 1, one) };
    let unknown = publication(None, 1, 1, BundleId::of(zone().as_ref(), &parts("three")));
    for wrong in [other_zone, unknown] {
        let error = journal.commit(&entry(None, vec![wrong])).unwrap_err();
        assert!(matches!(error, StoreError::NotKept { .. }), "{error}");
    }
    assert_eq!(journal.latest("wiki.example").unwrap(), None);
}

#[test]
fn steps_that_belong_together_are_written_together() {
    on_each(|journal, [one, two]| {
        let step = |publications| entry(None, publications);
        let good =
            [step(vec![]), step(vec![publication(None, 1, 1, one)]), step(vec![publication(Some(1), 2, 1, two)])];
        let last = journal.commit_all(&good).unwrap().unwrap();
        assert_eq!(last, Sequence(3));
        // The last one was overtaken: nothing of the three is written.
        let overtaken = [entry(Some(last), vec![]), step(vec![]), step(vec![publication(Some(1), 3, 1, one)])];
        assert!(journal.commit_all(&overtaken).is_err());
        let numbers = |after| {
            let rows = journal.since("wiki.example", after, 9).unwrap();
            rows.iter().map(|row| row.sequence.0).collect::<Vec<_>>()
        };
        assert_eq!((numbers(Sequence(0)), numbers(Sequence(2))), (vec![1, 2, 3], vec![3]));
        let latest = journal.latest_of("wiki").unwrap();
        assert_eq!((latest.len(), latest[0].0.as_str(), latest[0].1.sequence), (1, "wiki.example", last));
        assert!(journal.latest_of("viki").unwrap().is_empty());
    });
}
