//! What is published is in the journal, or it is not published.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::failover::Order;
use super::reload::ReloadOutcome;
use super::setup::{Setup, SiteSpec, TextFile, ZoneSpec};
use super::{Driver, STREAM, daemon, now};
use crate::failover::plan::MoveRequest;
use crate::name::Name;
use crate::serving::Settings;
use crate::serving::content::Policy;
use crate::snapshot::sought::HashKey;
use crate::store::Store;
use crate::store::journal::{Entry, Journal};

fn setup(dir: &Path) -> Setup {
    let file = |name: &str| Some(TextFile { root: dir.into(), path: name.into() });
    let zone = ZoneSpec {
        origin: Name::absolute("a.example").unwrap(),
        common: file("common"),
        sites: ["knams", "pmtpa"].map(|name| SiteSpec { name: name.into(), file: file(name) }).into(),
        policy: Policy::default(),
        routes: BTreeMap::from([("default".into(), "knams".into())]),
    };
    Setup { zones: vec![zone], regions: Vec::new(), include_outside: false, settings: Settings::default() }
}

#[test]
fn what_the_journal_refuses_is_not_published() {
    let dir = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| std::fs::write(dir.path().join(file), text).unwrap();
    write("common", "$TTL 60\n@ SOA ns h 1 1h 10m 2w 20\n@ NS ns.else.\n");
    write("knams", "$TTL 60\nw A 192.0.2.1\n");
    write("pmtpa", "$TTL 60\nw A 198.51.100.1\n");
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
    let before = driver.serving().zone(origin.as_ref()).unwrap().clone();
    let order = Order { request: MoveRequest { to: "pmtpa".into(), ..MoveRequest::default() }, ..Order::default() };
    let refused = driver.fail_over(&origin, &order, &daemon()).unwrap_err().to_string();
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
