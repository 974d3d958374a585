//! What is published is in the journal, or it is not published.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::moves::{MoveOutcome, Order};
use super::reload::ReloadOutcome;
use super::setup::{Setup, SiteSpec, TextFile, ZoneSpec};
use super::{Driver, STREAM, daemon, now};
use crate::evidence::Verdict;
use crate::exposure::note::{Note, NotedNetwork};
use crate::exposure::{Exposures, Limits};
use crate::failover::plan::{Kind, MoveRequest};
use crate::gate::id;
use crate::name::Name;
use crate::net::{ClientNet, Network, Region};
use crate::rr::RrType;
use crate::serve::{ListenSettings, Listeners};
use crate::serving::Settings;
use crate::serving::content::Policy;
use crate::serving::told::{Decided, Rule};
use crate::serving::units::Units;
use crate::snapshot::sought::HashKey;
use crate::store::Store;
use crate::store::journal::{Entry, Journal};
use crate::time::{Timestamp, Ttl};

fn setup(dir: &Path) -> Setup {
    let file = |name: &str| Some(TextFile { root: dir.into(), path: name.into() });
    let zone = ZoneSpec {
        origin: Name::absolute("a.example").unwrap(),
        common: file("common"),
        sites: ["knams", "pmtpa"].map(|name| SiteSpec { name: name.into(), file: file(name) }).into(),
        policy: Policy::default(),
        moves: Default::default(),
        drill: None,
        spare_levers: 0,
        name_servers: None,
        routes: BTreeMap::from([("default".into(), "knams".into())]),
    };
    Setup {
        resolvers: Vec::new(),
        daily_questions: 0,
        exposures: None,
        drill_listen: Default::default(),
        zones: vec![zone],
        regions: Vec::new(),
        units: Units::default(),
        include_outside: false,
        settings: Settings::default(),
    }
}

/// An operator's wish to answer from another site at once.
fn failover(to: &str) -> Order {
    Order {
        kind: Kind::Failover,
        request: MoveRequest { to: to.into(), ..MoveRequest::default() },
        steps: None,
        dry_run: false,
        plan: None,
        reason: String::new(),
        overrides: Vec::new(),
    }
}

fn write_zone(dir: &Path) {
    let write = |file: &str, text: &str| std::fs::write(dir.join(file), text).unwrap();
    write("common", "$TTL 60\n@ SOA ns h 1 1h 10m 2w 20\n@ NS ns.else.\n");
    write("knams", "$TTL 60\nw A 192.0.2.1\n");
    write("pmtpa", "$TTL 60\nw A 198.51.100.1\n");
}

/// What is published is in the audit trail; where that can't be written, it is published all the same, and both are said.
#[test]
fn an_audit_trail_that_cannot_be_written_makes_no_failure_of_what_was_published() {
    let (dir, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_zone(dir.path());
    let store = Store::open(Some(state.path())).unwrap();
    store.initialise().unwrap();
    let mut driver = Driver::start(setup(dir.path()), store.clone(), HashKey::new([1; 16])).unwrap();
    let first = driver.reload(setup(dir.path()), &[], &daemon());
    assert_eq!(driver.record_reload(&first, &[], &daemon()), None);
    let deed = store.audit().latest(1).unwrap().remove(0);
    assert_eq!((deed.command.as_str(), deed.outcome.as_str()), ("reload", "published 1 of 1 zones: a.example. 1"));
    let same = driver.reload(setup(dir.path()), &[], &daemon());
    driver.record_reload(&same, &[], &daemon());
    assert_eq!(store.audit().latest(9).unwrap().len(), 1, "nothing was done");

    let database = rusqlite::Connection::open(store.path().unwrap()).unwrap();
    let broken = "CREATE TRIGGER broken BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'broken'); END";
    database.execute_batch(broken).unwrap();
    let origin = Name::absolute("a.example").unwrap();
    let order = failover("pmtpa");
    let report = driver.move_traffic(&origin, &order, &daemon()).unwrap().unwrap();
    assert!(matches!(report.outcome, MoveOutcome::Done { confirmed: true, .. }), "{report:?}");
    assert!(report.warnings[0].contains("not in the audit trail"), "{report:?}");
    std::fs::write(dir.path().join("knams"), "$TTL 60\nw A 192.0.2.2\n").unwrap();
    let reloaded = driver.reload(setup(dir.path()), &[], &daemon());
    assert!(matches!(reloaded[0].outcome, ReloadOutcome::Published { .. }), "{reloaded:?}");
    assert!(driver.record_reload(&reloaded, &[], &daemon()).unwrap().contains("not in the audit trail"));
}

/// A site that the configuration has no files for by now has nothing that could be read: that is not the same as good.
#[test]
fn a_target_that_is_no_longer_configured_is_unknown() {
    let dir = tempfile::tempdir().unwrap();
    write_zone(dir.path());
    let mut driver = Driver::start(setup(dir.path()), Store::open(None).unwrap(), HashKey::new([1; 16])).unwrap();
    driver.reload(setup(dir.path()), &[], &daemon());
    driver.setup.zones[0].sites.pop();
    let order = failover("pmtpa");
    let report = driver.move_traffic(&Name::absolute("a.example").unwrap(), &order, &daemon()).unwrap().unwrap();
    let loads = report.findings.iter().find(|finding| finding.gate == id::LOADS).unwrap();
    assert_eq!((report.outcome, loads.verdict), (MoveOutcome::Blocked, Verdict::Unknown), "{loads:?}");
}

/// Each socket has its own time, and is asked for what changed, too.
#[test]
fn a_socket_that_does_not_answer_is_no_confirmation() {
    let dir = tempfile::tempdir().unwrap();
    write_zone(dir.path());
    let mut driver = Driver::start(setup(dir.path()), Store::open(None).unwrap(), HashKey::new([1; 16])).unwrap();
    driver.reload(setup(dir.path()), &[], &daemon());
    let settings = ListenSettings {
        addresses: vec!["127.0.0.1:0".parse().unwrap()],
        workers: NonZeroUsize::MIN,
        ..Default::default()
    };
    let listeners = Listeners::bind(&settings).unwrap();
    let served = listeners.addresses()[0];
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let _guard = runtime.enter();
    let running = listeners.run(driver.stage()).unwrap();
    let (origin, changed) = (Name::absolute("a.example").unwrap(), Name::absolute("w.a.example").unwrap());
    let changed = Some((changed.as_ref(), RrType::A));
    driver.set_listeners(vec![served]);
    assert!(driver.confirm(&origin, changed));
    // A port that nobody listens on refuses at once; the one behind it is asked all the same.
    let refused = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    driver.set_listeners(vec![refused, served]);
    assert!(!driver.confirm(&origin, changed));
    running.stop();
    driver.set_listeners(vec![served]);
    assert!(!driver.confirm(&origin, None));
}

#[test]
fn what_the_journal_refuses_is_not_published() {
    let dir = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| std::fs::write(dir.path().join(file), text).unwrap();
    write_zone(dir.path());
    let store = Store::open(None).unwrap();
    let mut driver = Driver::start(setup(dir.path()), store.clone(), HashKey::new([1; 16])).unwrap();
    let first = driver.reload(setup(dir.path()), &[], &daemon());
    assert!(matches!(first[0].outcome, ReloadOutcome::Published { .. }), "{first:?}");

    // Somebody else writes in between: what the driver decides from here on was decided on an old state.
    let mut journal = store.journal();
    let last = journal.latest(STREAM).unwrap().unwrap();
    let entry = Entry {
        stream: STREAM.into(),
        after: Some(last.sequence),
        at: now(),
        actor: daemon(),
        reason: String::new(),
        event: json!("another writer"),
        state: json!({}),
        effects: json!([]),
        generation: last.generation,
        publications: Vec::new(),
    };
    journal.commit(&entry).unwrap();
    let origin = Name::absolute("a.example").unwrap();
    journal.commit(&Entry { stream: Driver::stream(&origin), after: None, ..entry }).unwrap();

    let before = driver.serving().zone(origin.as_ref()).unwrap().clone();
    let order = failover("pmtpa");
    let refused = driver.move_traffic(&origin, &order, &daemon()).unwrap_err().to_string();
    assert!(refused.contains("has moved on"), "{refused}");
    write("knams", "$TTL 60\nw A 192.0.2.2\n");
    let reloaded = driver.reload(setup(dir.path()), &[], &daemon());
    assert!(matches!(&reloaded[0].outcome, ReloadOutcome::NotPublished(why) if why.contains("has moved on")));

    for serving in [Arc::clone(driver.serving()), driver.stage().load().clone()] {
        let zone = serving.zone(origin.as_ref()).unwrap();
        assert!(Arc::ptr_eq(&zone.content, &before.content), "neither edit nor move is answered");
        assert_eq!((&zone.routing, zone.serial, serving.generation), (&before.routing, before.serial, last.generation));
    }
}

/// Files that did not change are not read again, whatever the site; and an edit of any of them is seen.
#[test]
fn a_failover_reads_what_changed_and_nothing_else() {
    let (dir, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let write = |file: &str, text: &str| std::fs::write(dir.path().join(file), text).unwrap();
    write_zone(dir.path());
    write("pmtpa", "$TTL 60\nw A 198.51.100.1\n$INCLUDE more\n");
    write("more", "v A 198.51.100.7\n");
    let store = Store::open(Some(state.path())).unwrap();
    store.initialise().unwrap();
    let mut driver = Driver::start(setup(dir.path()), store.clone(), HashKey::new([1; 16])).unwrap();
    driver.reload(setup(dir.path()), &[], &daemon());
    let spec = driver.setup.zones[0].clone();
    let origin = spec.origin.clone();
    let served = |driver: &Driver| driver.serving().zone(origin.as_ref()).unwrap().clone();
    let read = |driver: &Driver| -> Vec<bool> {
        let zone = served(driver);
        let shape = driver.shape(&zone.content.policy);
        let loading = driver.load(&spec, false, shape, Some(&zone.content));
        assert!(loading.sites.iter().zip(&zone.content.sites).all(|(site, known)| site.name == known.name));
        loading.sites.iter().map(|site| !site.texts.is_empty()).collect()
    };
    assert_eq!(read(&driver), [true, true], "they were written just now");
    while driver.readings.are_racy() {
        std::thread::sleep(std::time::Duration::from_millis(50));
        driver.readings.settle();
    }
    assert_eq!(read(&driver), [false, false], "they have lain still since, and were looked at again");

    // The texts that were published are those of what is published now; none is kept anew.
    let published = |store: &Store| store.journal().published().unwrap().remove(0).live;
    let before = published(&store);
    let order = failover;
    write("more", "w AAAA 2001:db8::1\n");
    assert_eq!(read(&driver), [false, true]);
    write("knams", "$TTL 60\nw A 192.0.2.1\nw AAAA 2001:db8::2\n");
    let reloaded = driver.reload(setup(dir.path()), &[], &daemon());
    assert!(matches!(reloaded[0].outcome, ReloadOutcome::Published { .. }), "{reloaded:?}");
    let after = published(&store);
    assert_ne!(after, before);
    while driver.readings.are_racy() {
        std::thread::sleep(std::time::Duration::from_millis(50));
        driver.readings.settle();
    }
    assert_eq!(read(&driver), [false, false]);
    let content = served(&driver).content;
    let report = driver.move_traffic(&origin, &order("pmtpa"), &daemon()).unwrap().unwrap();
    assert!(matches!(report.outcome, MoveOutcome::Done { .. }), "{report:?}");
    assert_eq!(published(&store), after);
    let now_served = served(&driver);
    for (site, was) in now_served.content.sites.iter().zip(&content.sites) {
        assert!(Arc::ptr_eq(&site.zone, &was.zone) && Arc::ptr_eq(&site.snapshot, &was.snapshot));
    }
    // What was published without keeping a text is what a restart publishes.
    drop(driver);
    let driver = Driver::start(setup(dir.path()), store, HashKey::new([1; 16])).unwrap();
    let restored = served(&driver);
    assert_eq!((restored.serial, &restored.routing.sites), (now_served.serial, &now_served.routing.sites));
    assert!(restored.content.sites.iter().zip(&content.sites).all(|(site, was)| site.zone.same_as(&was.zone)));
}

/// What a failover would ask is asked before, and anew whenever what is served changes.
#[test]
fn moves_are_verified_in_advance() {
    let dir = tempfile::tempdir().unwrap();
    write_zone(dir.path());
    let mut driver = Driver::start(setup(dir.path()), Store::open(None).unwrap(), HashKey::new([1; 16])).unwrap();
    let origin = Name::absolute("a.example").unwrap();
    assert!(driver.standby.memo(&origin).is_empty());
    driver.reload(setup(dir.path()), &[], &daemon());
    driver.standby.wait();
    let known = |driver: &Driver, to: u16| {
        let zone = driver.serving().zone(origin.as_ref()).unwrap();
        let mut routing = zone.routing.clone();
        routing.set(Default::default(), crate::serving::content::SiteId(to), 9);
        let loads = crate::gate::Finding::pass(id::LOADS, origin.as_ref(), "");
        let proposal = crate::door::Proposal { content: Arc::clone(&zone.content), routing, loads, restored: None };
        let candidate = crate::door::Candidate::new(Arc::clone(driver.serving()), vec![proposal], now());
        let mut all = (*driver.standby.memo(&origin)).clone();
        let before = all.len();
        all.learn(&candidate.learn());
        (before, all.len())
    };
    let (before, after) = known(&driver, 1);
    assert_eq!((before > 3, before), (true, after), "all that the move would be judged by is known");
    let order = failover("pmtpa");
    let report = driver.move_traffic(&origin, &order, &daemon()).unwrap().unwrap();
    assert!(matches!(report.outcome, MoveOutcome::Done { .. }), "{report:?}");
    driver.standby.wait();
    let (before, after) = known(&driver, 0);
    assert_eq!((before > 3, before), (true, after), "the way back, too");
}

/// Where one of two regions at a site moves, what the other one is told there is no old answer: it is right for it.
#[test]
fn only_a_region_that_moves_holds_old_answers() {
    let (dir, origin) = (tempfile::tempdir().unwrap(), Name::absolute("a.example").unwrap());
    let write = |file: &str, text: &str| std::fs::write(dir.path().join(file), text).unwrap();
    write("common", "$TTL 60\n@ SOA ns h 1 1h 10m 2w 20\n@ NS ns.else.\nwww 5 CNAME edge\n");
    write("knams", "edge 600 A 192.0.2.1\n");
    write("pmtpa", "edge 600 A 198.51.100.1\n");
    let limits = Limits { memory: 1 << 20, retention: Duration::from_secs(3600) };
    let setup = || {
        let networks = vec![Network::new([203, 0, 113, 0].into(), 24).unwrap()];
        let mut setup = setup(dir.path());
        setup.zones[0].routes.insert("europe".into(), "knams".into());
        Setup { regions: vec![Region { name: "europe".into(), networks }], exposures: Some(limits), ..setup }
    };
    let mut driver = Driver::start(setup(), Store::open(None).unwrap(), HashKey::new([1; 16])).unwrap();
    driver.reload(setup(), &[], &daemon());
    let usual = failover("pmtpa");
    let order = Order { request: MoveRequest { region: Some("europe".into()), ..usual.request }, ..usual };
    let report = driver.move_traffic(&origin, &order, &daemon()).unwrap().unwrap();
    assert!(matches!(report.outcome, MoveOutcome::Done { .. }), "{report:?}");

    let state = driver.traffic(&origin).unwrap();
    let moving = state.moves.values().next().unwrap_or_else(|| panic!("{state:?}")).clone();
    let serving = Arc::clone(driver.serving());
    let zone = serving.zone(origin.as_ref()).unwrap();
    let ways = |region: &str, site: &str| {
        let note = Note {
            network: NotedNetwork::of(ClientNet::from_source([203, 0, 113, 1].into())),
            region: serving.regions.named(region).unwrap(),
            proven: false,
            edition: zone.edition(zone.content.site_named(site).unwrap()),
            decided: Decided {
                rule: Rule::Exact,
                name: serving.key.of(Name::absolute("www.a.example").unwrap().as_ref()),
            },
            rtype: RrType::A,
            ttl: Ttl::new(600).unwrap(),
            at: now(),
        };
        driver.exposures().unwrap().change(|known| {
            // All that was told is known.
            *known = Exposures::new(limits, 7, Timestamp(0));
            known.published(&serving, Timestamp(0));
            known.fold(&[note]);
        });
        let ways = driver.ways_round(&origin, None, Some(&moving));
        ways.into_iter().map(|way| way.lever.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ways("europe", "knams"), ["edge.a.example."]);
    assert!(ways("default", "knams").is_empty(), "it is answered so still");
    assert!(ways("europe", "pmtpa").is_empty(), "that is the new answer");
}
