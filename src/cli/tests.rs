//! Command lines and what they mean, and reports as people see them.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::CommandFactory as _;

use super::command::{AskedOf, Command, Question, Subject, Watch};
use super::render::Report;
use super::*;
use crate::config::Origin;
use crate::control::api::drain::DrainRequest;
use crate::control::api::drain::{DarkReport, KeeperReport};
use crate::control::api::moves::*;
use crate::control::api::probe::*;
use crate::control::api::rename::*;
use crate::control::api::*;
use crate::digest::Digest;
use crate::evidence::Verdict;
use crate::name::Name;
use crate::rr::RrType;
use crate::time::Timestamp;

fn words(line: &str) -> Vec<String> {
    std::iter::once("understudy").chain(line.split_whitespace()).map(|word| word.replace('_', " ")).collect()
}

fn name(text: &str) -> Name {
    Name::absolute(text).unwrap()
}

#[test]
fn the_definitions_are_consistent() {
    args::Args::command().debug_assert();
}

/// `_` stands for a blank in a word.
#[test]
fn commands_are_resolved() {
    let usual = Source::default();
    let file = |path: &str| Source { origin: Origin::File(Some(path.into())), ..Source::default() };
    let bare = |zones: &[(&str, &str)]| {
        Origin::Bare(zones.iter().map(|(origin, file)| (name(origin), PathBuf::from(file))).collect())
    };
    let failover = MoveRequest {
        kind: MoveKind::Failover,
        zone: "wiki.example".into(),
        to: Some("pmtpa".into()),
        steps: Vec::new(),
        from: None,
        region: None,
        dry_run: false,
        plan: None,
        reason: None,
        overrides: Vec::new(),
    };
    let question = |asked_of| Question { name: name("www.wiki.example"), rtype: RrType::AAAA, asked_of };
    let table: Vec<(&str, Command)> = vec![
        ("serve", Command::Serve(usual.clone(), false)),
        ("serve --init", Command::Serve(usual.clone(), true)),
        ("--config a.toml serve", Command::Serve(file("a.toml"), false)),
        ("serve --config a.toml --json", Command::Serve(file("a.toml"), false)),
        (
            "serve --zone wiki.example=w.zone --zone b.example.=b=2 --listen [::1]:0 --listen 127.0.0.1:53 --workers 3 --state-dir s",
            Command::Serve(
                Source {
                    origin: bare(&[("wiki.example", "w.zone"), ("b.example", "b=2")]),
                    listen: vec!["[::1]:0".parse().unwrap(), "127.0.0.1:53".parse().unwrap()],
                    workers: std::num::NonZeroUsize::new(3),
                    state_dir: Some("s".into()),
                },
                false,
            ),
        ),
        ("check", Command::Check(Subject::Config(usual.clone()), false)),
        ("probe list", Command::Profiles(usual.clone(), ProfilesRequest { resolver: None })),
        ("probe show quad9", Command::Profiles(usual.clone(), ProfilesRequest { resolver: Some("quad9".into()) })),
        (
            "probe watch www.wiki.example",
            Command::Look(
                usual.clone(),
                LookRequest { name: name("www.wiki.example"), rtype: RrType::A },
                Some(std::time::Duration::from_secs(5)),
            ),
        ),
        (
            "probe watch www.wiki.example. AAAA --once",
            Command::Look(usual.clone(), LookRequest { name: name("www.wiki.example"), rtype: RrType::AAAA }, None),
        ),
        ("probe calibrate", Command::Calibrate(usual.clone(), Some(CalibrateRequest::default()))),
        ("probe calibrate --attach", Command::Calibrate(usual.clone(), None)),
        (
            "probe calibrate quad9 --ttl 30 --ttl 5m --watch 1h",
            Command::Calibrate(
                usual.clone(),
                Some(CalibrateRequest {
                    resolvers: vec!["quad9".into()],
                    ttls: [30, 300].into_iter().filter_map(crate::time::Ttl::new).collect(),
                    watch: Some(3600),
                }),
            ),
        ),
        ("check a.toml", Command::Check(Subject::Config(file("a.toml")), false)),
        ("check --config a.toml", Command::Check(Subject::Config(file("a.toml")), false)),
        ("check --levers", Command::Check(Subject::Config(usual.clone()), true)),
        ("check wiki.example w.zone", Command::Check(Subject::Zone(name("wiki.example."), "w.zone".into()), false)),
        (
            "rename wiki.example",
            Command::Renames(usual.clone(), RenamesRequest { zone: "wiki.example".into(), fronts: true, print: false }),
        ),
        (
            "rename wiki.example --print",
            Command::Renames(usual.clone(), RenamesRequest { zone: "wiki.example".into(), fronts: false, print: true }),
        ),
        (
            "rename wiki.example www --undo --dry-run",
            Command::Rename(
                usual.clone(),
                RenameRequest {
                    zone: "wiki.example".into(),
                    name: "www".into(),
                    action: RenameAction::Undo,
                    dry_run: true,
                    plan: None,
                    reason: None,
                    overrides: Vec::new(),
                },
            ),
        ),
        (
            "reload --accept 3F9C --accept 0123456789",
            Command::Reload(usual.clone(), ReloadRequest { accept: vec!["3f9c".into(), "0123456789".into()] }),
        ),
        (
            "status --state-dir s",
            Command::Status(Source { state_dir: Some("s".into()), ..Source::default() }, Watch::Once),
        ),
        ("query www.wiki.example aaaa", Command::Query(usual.clone(), question(AskedOf::Anybody))),
        (
            "query www.wiki.example. TYPE28 --site knams",
            Command::Query(usual.clone(), question(AskedOf::Site("knams".into()))),
        ),
        (
            "query www.wiki.example AAAA --client 192.0.2.0/24",
            Command::Query(usual.clone(), question(AskedOf::Client("192.0.2.0/24".parse().unwrap()))),
        ),
        ("failover wiki.example --to pmtpa", Command::Move(usual.clone(), failover.clone(), Until::Moved)),
        (
            "failover wiki.example --to pmtpa --from knams --region europe --dry-run --plan 5D0C9E11 --reason it_is_hot \
             --override zone.nothing-vanishes@3f9c21aa --override a@bcde",
            Command::Move(
                usual.clone(),
                MoveRequest {
                    from: Some("knams".into()),
                    region: Some("europe".into()),
                    dry_run: true,
                    plan: Some("5d0c9e11".into()),
                    reason: Some("it is hot".into()),
                    overrides: vec!["zone.nothing-vanishes@3f9c21aa".parse().unwrap(), "a@bcde".parse().unwrap()],
                    ..failover.clone()
                },
                Until::Moved,
            ),
        ),
        (
            "switchover wiki.example --to pmtpa --step 5% --step 50%",
            Command::Move(
                usual.clone(),
                MoveRequest { kind: MoveKind::Switchover, steps: vec!["5%".into(), "50%".into()], ..failover.clone() },
                Until::Done,
            ),
        ),
        (
            "rollback wiki.example --until done",
            Command::Move(usual.clone(), MoveRequest { kind: MoveKind::Rollback, to: None, ..failover }, Until::Done),
        ),
        (
            "abort wiki.example --region europe --reason no",
            Command::Steer(
                usual.clone(),
                SteerRequest {
                    action: Action::Abort,
                    zone: "wiki.example".into(),
                    region: Some("europe".into()),
                    reason: Some("no".into()),
                },
            ),
        ),
        (
            "site down knams",
            Command::Site(
                usual.clone(),
                SiteRequest { site: "knams".into(), health: ForcedHealth::Down, zone: None, reason: None },
            ),
        ),
        ("history --limit 3", Command::History(usual.clone(), HistoryRequest { zone: None, limit: 3 })),
        (
            "drain wiki.example www.wiki.example",
            Command::Drain(
                usual.clone(),
                DrainRequest { zone: "wiki.example".into(), name: Some(name("www.wiki.example")) },
            ),
        ),
        ("status --watch", Command::Status(usual.clone(), Watch::UntilStopped)),
        ("state accept", Command::AcceptState(usual.clone(), AcceptRequest { reason: None })),
        ("completions fish", Command::Completions(clap_complete::Shell::Fish)),
    ];
    for (line, command) in table {
        let invocation = parse(words(line)).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(invocation.command, command, "{line}");
        assert_eq!(invocation.json, line.contains("--json"), "{line}");
    }
}

#[test]
fn wrong_command_lines_are_explained() {
    let mut shown = String::new();
    for line in [
        "",
        "sevre",
        "serve --listen 127.0.0.1",
        "serve --zone wiki.example",
        "serve --zone wiki.example=",
        "serve --zone *.example=x",
        "serve --zone a=x --zone A.=y",
        "serve --zone a=x --config a.toml",
        "serve --workers 0",
        "serve --force",
        "check a b c",
        "check a.toml --config b.toml",
        "check a..b c",
        "reload --accept all",
        "query www.wiki.example",
        "query www.wiki.example AAAAA",
        "query wïki.example A",
        "query a A --site x --client 192.0.2.0/24",
        "query a A --client 192.0.2.1/24",
        "failover wiki.example",
        "failover wiki.example --to pmtpa --force",
        "failover wiki.example --to pmtpa --override zone.nothing-vanishes",
        "failover wiki.example --to pmtpa --override zone.nothing-vanishes@x",
        "failover wiki.example --to pmtpa --override @3f9c",
        "failover wiki.example --to pmtpa --override zone.loads@3f9c",
        "simulate --step 0%",
        "simulate --step 50% --step 10%",
        "simulate --capacity new=5 --capacity 6",
        "completions cmd",
    ] {
        let error = parse(words(line)).expect_err(line);
        assert!(error.use_stderr() || line.is_empty(), "{line}");
        let _ = writeln!(shown, "$ understudy {line}\n{error}");
    }
    insta::assert_snapshot!("usage_errors", shown);
}

#[test]
fn help_texts() {
    let mut shown = String::new();
    let commands = ["serve", "check", "failover", "query", "simulate", "probe calibrate"];
    for line in std::iter::once("--help".to_owned()).chain(commands.map(|command| format!("{command} --help"))) {
        let _ = writeln!(shown, "$ understudy {line}\n{}", parse(words(&line)).unwrap_err());
    }
    assert!(!shown.contains("--force"));
    insta::assert_snapshot!("help", shown);
}

/// What is broken into lines by hand fits where it is shown: what were wider would be broken again, within a word's reach.
#[test]
fn what_stands_behind_the_options_is_shown_as_it_was_written() {
    fn look(command: &clap::Command, wide: &mut Vec<String>) {
        let behind = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        wide.extend(behind.lines().filter(|line| line.chars().count() > 100).map(str::to_owned));
        command.get_subcommands().for_each(|sub| look(sub, wide));
    }
    let mut wide = Vec::new();
    look(&args::Args::command(), &mut wide);
    assert!(wide.is_empty(), "{wide:#?}");
}

fn finding(gate: &str, verdict: Verdict, items: &[&str]) -> Finding {
    Finding {
        gate: gate.into(),
        verdict,
        reason: format!("{} names that are answered now would not be", items.len()),
        remedy: "add the missing records to wiki.example.pmtpa.zone".into(),
        digest: Digest::of(gate.as_bytes()),
        items: items.iter().map(|item| item.to_string()).collect(),
        asked: Vec::new(),
        overridden: false,
        overridable: gate != "zone.loads",
    }
}

fn failover(outcome: MoveOutcome, findings: Vec<Finding>) -> MoveReport {
    let route = |region: &str| Route { region: region.into(), site: "knams".into() };
    MoveReport {
        kind: MoveKind::Failover,
        zone: name("wiki.example"),
        to: "pmtpa".into(),
        dry_run: outcome == MoveOutcome::WouldChange,
        moves: vec![route("europe"), route("default")],
        plan: Digest::of(b"plan"),
        findings,
        diff: vec![
            RecordDiff {
                name: name("www.wiki.example"),
                rtype: RrType::CNAME,
                before: vec!["300 IN CNAME text.knams.wiki.example.".into()],
                after: vec!["300 IN CNAME text.pmtpa.wiki.example.".into()],
            },
            RecordDiff {
                name: name("wiki.example"),
                rtype: RrType::MX,
                before: vec!["300 IN MX 10 mx1".into(), "300 IN MX 20 mx2".into()],
                after: vec!["300 IN MX 20 mx2".into(), "300 IN MX 30 mx3".into()],
            },
        ],
        unlisted: 0,
        steps: vec!["100%".into()],
        old_ttl: 300,
        weighed: Vec::new(),
        old_until: matches!(outcome, MoveOutcome::Done { .. }).then_some(Timestamp(1_269_453_900_000)),
        old_share: matches!(outcome, MoveOutcome::Done { .. }).then(|| "38.5%".into()),
        offline: None,
        forecast: None,
        dark: None,
        proposals: Vec::new(),
        warnings: Vec::new(),
        outcome,
    }
}

fn show_all<R: Report>(reports: Vec<R>) -> String {
    reports.iter().fold(String::new(), |mut shown, report| {
        let _ = writeln!(shown, "{}[exit {}]\n", report.text(), report.exit() as u8);
        shown
    })
}

#[test]
fn failovers_are_shown() {
    let vanishing = ["www.wiki.example. AAAA: NODATA", "static.wiki.example. A: NXDOMAIN"];
    let vanishes = || finding("zone.nothing-vanishes", Verdict::Block, &vanishing);
    let loads = || finding("zone.loads", Verdict::Pass, &[]);
    let many: Vec<String> = (0..60).map(|n| format!("h{n}.wiki.example. A: NXDOMAIN")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let overridden = Finding { overridden: true, ..vanishes() };
    let done = |confirmed| MoveOutcome::Done { generation: 18, serial: 2026112902, confirmed, run: 3 };
    let broken = Finding {
        reason: "the zone can't be loaded".into(),
        ..finding("zone.loads", Verdict::Block, &["wiki.example.pmtpa.zone:3:1: error: no such type [unknown-type]"])
    };
    let population = crate::profile::Population::proposed();
    let darkness = |seconds| {
        let ttl = crate::time::Ttl::new(seconds).unwrap();
        crate::drain::dark::Denied { ttl, population: &population, measured: Vec::new() }.darkness()
    };
    let campus = KeeperReport {
        name: "campus".into(),
        share: Some("12.5%".into()),
        during: 600,
        afterwards: 3600,
        at_least: true,
    };
    let dark = DarkReport {
        questions: 2,
        asked: Some(0.125),
        during: darkness(30),
        afterwards: darkness(3600),
        measured: vec![campus],
    };
    let offline = Offline {
        state_dir: "/var/lib/understudy".into(),
        written: Timestamp(1_269_450_000_000),
        at: Timestamp(1_269_453_900_250),
        under_way: Vec::new(),
        unknown: vec!["whether the sites are up".into()],
    };
    insta::assert_snapshot!(
        "failovers",
        show_all(vec![
            failover(
                MoveOutcome::Blocked,
                vec![Finding { asked: vec![AskedItem { item: vanishing[1].into(), count: 1234 }], ..vanishes() }],
            ),
            MoveReport { dark: Some(dark), ..failover(MoveOutcome::Blocked, vec![loads(), vanishes()]) },
            failover(MoveOutcome::Blocked, vec![broken, finding("zone.nothing-vanishes", Verdict::Block, &many)]),
            failover(MoveOutcome::WouldChange, vec![loads(), overridden]),
            failover(done(true), vec![loads(), finding("zone.cross-closure", Verdict::Warn, &["a.wiki.example."])]),
            failover(done(false), vec![loads()]),
            failover(MoveOutcome::NothingToDo, vec![]),
            MoveReport { offline: Some(offline), ..failover(MoveOutcome::WouldChange, vec![loads()]) },
        ])
    );
    // What a rename would gain is said with the condition: what resolvers are stuck with.
    for (stuck, condition) in [
        (crate::profile::Kind::Negative, "where resolvers hold that the lever is not there"),
        (crate::profile::Kind::Positive, "where resolvers hold an old answer of the lever"),
    ] {
        let gain = GainReport { stuck, certain: 0.25, possible: 0.5, sooner_seconds: 90.0, by: Vec::new() };
        let command = "understudy rename wiki.example edge.wiki.example".into();
        let proposals = vec![Proposal { lever: name("edge.wiki.example"), gain, command }];
        let text = MoveReport { proposals, ..failover(MoveOutcome::WouldChange, vec![loads()]) }.text();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("{condition}, users of 25.0 %")), "{text}");
    }
    let report = failover(done(true), vec![vanishes()]);
    insta::assert_snapshot!("failover_json", render::json(&report));
    assert_eq!(serde_json::from_str::<MoveReport>(&render::json(&report)).unwrap(), report);
}

#[test]
fn reloads_are_shown() {
    let zone = |zone: &str, outcome| ZoneReload { name: name(zone), outcome };
    let published =
        ReloadOutcome::Published { generation: 3, serial: 9, added: 1, removed: 0, changed: 2, findings: Vec::new() };
    let refused =
        ReloadOutcome::Refused { findings: vec![finding("zone.blast-radius", Verdict::Block, &["a.b.", "c.b."])] };
    let accepted = ReloadOutcome::Published {
        generation: 4,
        serial: 10,
        added: 0,
        removed: 2,
        changed: 0,
        findings: vec![Finding { overridden: true, ..finding("zone.blast-radius", Verdict::Block, &["a.b.", "c.b."]) }],
    };
    let kept =
        ReloadOutcome::KeptLastGood { diagnostics: vec!["c.zone:1:1: error: no SOA [no-soa]\n    try: one".into()] };
    let good =
        vec![zone("a.example", ReloadOutcome::Unchanged), zone("b.example", published), zone("e.example", accepted)];
    let partly = [good.clone(), vec![zone("c.example", refused)]].concat();
    let worst = [partly.clone(), vec![zone("d.example", kept)]].concat();
    let reports: Vec<ReloadReport> =
        [good, partly, worst].map(|zones| ReloadReport { zones, ..ReloadReport::default() }).into();
    for report in &reports {
        assert_eq!(serde_json::from_str::<ReloadReport>(&render::json(report)).unwrap(), *report);
    }
    insta::assert_snapshot!("reloads", show_all(reports));
}

#[test]
fn status_fits_a_terminal() {
    let route = |(region, site): &(&str, &str)| Route { region: region.to_string(), site: site.to_string() };
    let zone = |zone: &str, serial, routes: &[(&str, &str)], content| ZoneStatus {
        name: name(zone),
        serial,
        epoch: 4,
        routes: routes.iter().map(route).collect(),
        moves: Vec::new(),
        sites: Vec::new(),
        old_until: None,
        last_drill: None,
        drill_listeners: Vec::new(),
        renames: Vec::new(),
        levers: serial.map(|_| LeverCount { fronts: 12, with_lever: 9 }),
        content,
    };
    let split =
        [("default", "pmtpa"), ("europe", "knams"), ("asia", "knams"), ("africa", "esams"), ("oceania", "eqsin")];
    let diagnostics =
        || vec!["w.zone:3:1: error: no such type [unknown-type]\n    at: AAAAA\n    try: AAAA".to_owned()];
    let report = StatusReport {
        caution: None,
        version: "0.1.0".into(),
        pid: 4711,
        uptime_seconds: 11_530,
        generation: 17,
        listeners: (1..6).map(|n| format!("192.0.2.{n}:53").parse().unwrap()).collect(),
        encrypted: ["DoT", "DoQ"]
            .map(|transport| EncryptedListener {
                transport: transport.into(),
                address: "192.0.2.1:853".parse().unwrap(),
            })
            .into(),
        zones: vec![
            ZoneStatus {
                renames: vec![RenameStatus {
                    lever: name("edge.wiki.example"),
                    fresh: name("edge-r1.wiki.example"),
                    stage: "staged".into(),
                    spare: false,
                    waits_for: vec!["192.0.2.53:53 tells serial 2026112900, not 2026112901".into()],
                    try_next: None,
                }],
                ..zone(
                    "wiki.example",
                    Some(2026112901),
                    &[("default", "pmtpa"), ("europe", "pmtpa")],
                    ContentStatus::Loaded,
                )
            },
            zone(
                "edit.example",
                Some(7),
                &[("default", "main")],
                ContentStatus::RefusedEdit {
                    diagnostics: vec!["zone.blast-radius [3f9c21aa]: too many names go".into()],
                },
            ),
            zone("split.example", Some(u32::MAX), &split, ContentStatus::LastGood { diagnostics: diagnostics() }),
            zone(
                "a-name-that-is-much-too-long-for-its-column.wiki.example",
                None,
                &[("default", "main")],
                ContentStatus::Broken { diagnostics: diagnostics() },
            ),
        ],
        last_failover: Some(LastAct {
            at: Timestamp(1_796_000_060_000),
            ok: true,
            summary: "wiki.example to pmtpa: done".into(),
        }),
        last_reload: Some(LastAct { at: Timestamp(1_796_000_000_000), ok: false, summary: "1 zone is broken".into() }),
    };
    let text = report.text();
    // A command stands on a line, whole.
    let is_command = |line: &str| line.starts_with("    type: ") || line.starts_with("      or: ");
    assert!(text.lines().all(|line| is_command(line) || line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!("status", text);
    assert_eq!(serde_json::from_str::<StatusReport>(&render::json(&report)).unwrap(), report);
}

/// Each state of a move, and each other matter: what is wrong and what to type stands above all else.
#[test]
fn the_status_says_first_what_is_wrong() {
    let route = |region: &str| Route { region: region.into(), site: "knams".into() };
    let site = |site: &str, health: &str| SiteStatus {
        site: site.into(),
        health: health.into(),
        measured: "unknown".into(),
        forced: (health != "unknown").then(|| "ann (fire)".into()),
    };
    let moving = |phase: &str, share: &str, held: Option<&str>| MoveStatus {
        run: 3,
        kind: MoveKind::Switchover,
        by: "ann".into(),
        from: ["default", "europe"].map(route).into(),
        to: "pmtpa".into(),
        phase: phase.into(),
        share: share.into(),
        back: false,
        until: held.is_none().then_some(Timestamp(1_796_000_043_000)),
        basis: None,
        bound: None,
        sample: Default::default(),
        late: Vec::new(),
        unsure: Vec::new(),
        renames: Vec::new(),
        held: held.map(str::to_owned),
        since: Timestamp(1_796_000_000_000),
        began: Timestamp(1_796_000_000_000),
    };
    let zone = ZoneStatus {
        name: name("wiki.example"),
        serial: Some(2026112901),
        epoch: 4,
        routes: ["default", "europe"].map(route).into(),
        moves: Vec::new(),
        sites: ["esams", "knams", "pmtpa"].map(|name| site(name, "unknown")).into(),
        old_until: None,
        last_drill: None,
        drill_listeners: Vec::new(),
        renames: Vec::new(),
        levers: None,
        content: ContentStatus::Loaded,
    };
    let with = |run: MoveStatus| ZoneStatus { moves: vec![run], ..zone.clone() };
    let down = |down: &[&str], zone: ZoneStatus| {
        let health = |site: &str| if down.contains(&site) { "down" } else { "unknown" };
        ZoneStatus { sites: ["esams", "knams", "pmtpa"].map(|name| site(name, health(name))).into(), ..zone }
    };
    let two = |held: Option<&str>| {
        let europe = MoveStatus { from: vec![route("europe")], run: 4, ..moving("shifting", "50%", held) };
        let default = MoveStatus { from: vec![route("default")], ..moving("shifting", "10%", None) };
        ZoneStatus { moves: vec![default, europe], ..zone.clone() }
    };
    let late = SampledResolver {
        name: "campus".into(),
        sight: crate::observation::sight::Sight::Old,
        question: "www.wiki.example. A".into(),
        said: "192.0.2.1".into(),
        ttl: Some(300),
        at: Timestamp(1_796_000_043_000),
        past_seconds: 43,
        text: "campus still gives 192.0.2.1 for www.wiki.example. A, 43 s behind the bound".into(),
    };
    let report = |zones, caution: Option<&str>| StatusReport {
        version: "0.1.0".into(),
        pid: 4711,
        uptime_seconds: 90,
        generation: 17,
        listeners: vec!["192.0.2.1:53".parse().unwrap()],
        encrypted: Vec::new(),
        zones,
        caution: caution.map(str::to_owned),
        last_reload: None,
        last_failover: None,
    };
    let back = MoveStatus { back: true, ..moving("shifting", "10%", Some("knams, to go back to, is down")) };
    let moved = |run: MoveStatus| {
        let routes = zone.routes.iter().map(|route| Route { site: "pmtpa".into(), ..route.clone() }).collect();
        ZoneStatus { routes, ..with(run) }
    };
    let mut shown = String::new();
    for (state, zone) in [
        ("nothing", zone.clone()),
        ("lowering", with(moving("lowering", "0%", None))),
        ("shifting", with(moving("shifting", "10%", None))),
        ("draining", moved(moving("draining", "100%", None))),
        ("baking", moved(moving("baking", "100%", None))),
        ("awaiting approval", with(moving("awaiting approval", "0%", None))),
        ("held", with(moving("shifting", "10%", Some("ann said so: look")))),
        ("held at the end", moved(moving("draining", "100%", Some("ann said so: look")))),
        ("held, its target down", down(&["pmtpa"], with(moving("shifting", "10%", Some("pmtpa is down"))))),
        ("moved, and the target down", down(&["pmtpa"], moved(moving("baking", "100%", Some("pmtpa is down"))))),
        ("held on its way back", down(&["knams"], with(back))),
        ("one of two held", two(Some("bob said so: wait"))),
        (
            "another name server lags",
            moved(MoveStatus {
                basis: Some(format!("{}: 192.0.2.53:53 tells serial 1, not 2", crate::failover::story::LAG)),
                ..moving("draining", "100%", None)
            }),
        ),
        ("late", moved(MoveStatus { late: vec![late.clone()], ..moving("draining", "100%", None) })),
        ("late, and waited for no more", moved(MoveStatus { late: vec![late], ..moving("baking", "100%", None) })),
        ("a site down", down(&["knams"], zone.clone())),
        ("its users leaving", down(&["knams"], with(moving("shifting", "10%", None)))),
        ("all down", down(&["esams", "knams", "pmtpa"], zone.clone())),
        ("a site down that nobody is at", down(&["esams"], zone.clone())),
    ] {
        let _ = writeln!(shown, "# {state}\n{}", report(vec![zone], None).text());
    }
    let broken = ZoneStatus { content: ContentStatus::Broken { diagnostics: Vec::new() }, ..zone.clone() };
    let last_good = ZoneStatus { content: ContentStatus::LastGood { diagnostics: Vec::new() }, ..zone.clone() };
    let all =
        [vec![last_good, with(moving("shifting", "10%", Some("look"))), broken.clone()], vec![broken; 9]].concat();
    let first = |report: StatusReport| report.text().split("understudy 0.1.0").next().unwrap().to_owned();
    let _ = writeln!(shown, "# too much\n{}", first(report(all, None)));
    let summary = "the configuration has errors and the last good one stays: understudy.toml:4:1: error";
    let reload = Some(LastAct { at: Timestamp(1_796_000_000_000), ok: false, summary: summary.into() });
    let failed = StatusReport { last_reload: reload, ..report(vec![zone.clone()], None) };
    let _ = writeln!(shown, "# a reload that failed\n{}", first(failed));
    let caution = "what was decided could not be written\n    try: make room";
    let _ = write!(shown, "# caution\n{}", first(report(vec![zone.clone()], Some(caution))));
    insta::assert_snapshot!("status_first", shown.replace("understudy 0.1.0, pid 4711, up 1 min, generation 17\n", ""));
}

#[test]
fn what_was_found_of_resolvers_is_shown() {
    let measured: crate::observation::Measured = serde_json::from_value(serde_json::json!({
        "caches": { "least": 3, "likely": 3, "most": 4 },
        "egress": ["198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4", "2001:db8::5", "2001:db8::6"],
        "holds": [
            { "kind": "positive", "ttl": 30, "hold": 60.4, "uncertainty": 1.1, "at_least": false, "series": 3,
              "too_long": 3, "too_short": 0 },
            { "kind": "positive", "ttl": 300, "hold": 301.0, "uncertainty": 5.0, "at_least": false, "longest": 600.5,
              "series": 3, "too_long": 3, "too_short": 0 },
            { "kind": "no_name", "ttl": 30, "hold": 900.1, "uncertainty": 0.1, "at_least": true, "series": 3,
              "too_long": 3, "too_short": 0 },
            { "kind": "failure", "ttl": 30, "hold": 5.4, "uncertainty": 0.3, "at_least": false, "series": 3,
              "too_long": 0, "too_short": 0 },
        ],
        "prefetch": { "seen": "yes", "times": 4, "of": 6 }, "prefetch_left": 2.4,
        "stale_at_once": { "seen": "no", "times": 0, "of": 3 },
        "stale_on_failure": { "seen": "unknown", "why": "no answer was asked for while its server was silent" },
        "absence_below": { "seen": "no", "times": 1, "of": 3 }, "asks_over_tcp": { "seen": "yes", "times": 3, "of": 3 },
        "replies_over_tcp": true, "client_subnet": true, "dnssec_ok": true, "mixed_case": false,
        "verdicts": [
            { "verdict": "floor", "kind": "positive", "seconds": 60.4, "at_least": false },
            { "verdict": "prefetch", "left": 2.4 },
        ],
        "tally": { "asked": 480, "refused": 0, "unanswered": 2, "failed": 1 },
    }))
    .unwrap();
    let resolver = |name: &str, measured, unknown: Option<&str>| ResolverReport {
        name: name.into(),
        address: vec!["9.9.9.9:53".parse().unwrap()],
        transport: "udp".into(),
        at: unknown.is_none().then_some(Timestamp(1_796_000_000_000)),
        expires: unknown.is_none().then_some(Timestamp(1_796_604_800_000)),
        expired: false,
        unknown: unknown.map(str::to_owned),
        failed: None,
        measured,
    };
    let known = resolver("quad9", Some(measured), None);
    let old = ResolverReport { name: "old".into(), expired: true, ..known.clone() };
    let resolvers = vec![resolver("campus", None, Some("it was not measured yet")), old, known.clone()];
    let all = ProfilesReport { one: false, resolvers };
    let one = ProfilesReport { one: true, resolvers: vec![known] };
    insta::assert_snapshot!("resolvers", format!("{}\n{}", all.text(), one.text()));
    for report in [all, one] {
        assert_eq!(serde_json::from_str::<ProfilesReport>(&render::json(&report)).unwrap(), report);
    }
}

/// One failing, two silent and one that refuses are in the denominator; a TTL that nobody told is shown apart.
#[test]
fn what_resolvers_give_is_shown_with_all_of_them() {
    use crate::observation::sight::Sight;
    let looked = |at: usize, sight: Sight, given: &str, ttl: Option<u32>, note: &str| LookedReport {
        name: format!("r{at}"),
        sight,
        given: if given.is_empty() { vec![] } else { vec![given.into()] },
        expected: vec!["192.0.2.2".into()],
        ttl: ttl.and_then(crate::time::Ttl::new),
        ttl_too_long: ttl > Some(60),
        note: note.into(),
    };
    let mut resolvers = vec![
        looked(1, Sight::Unknown, "", None, "does not answer"),
        looked(2, Sight::Failing, "", None, "SERVFAIL"),
        looked(3, Sight::Negative, "", None, "NXDOMAIN"),
        looked(4, Sight::Old, "192.0.2.1", Some(8423), ""),
    ];
    resolvers.extend((5..8).map(|at| looked(at, Sight::New, "192.0.2.2", Some(59), "")));
    let count = |sight| resolvers.iter().filter(|resolver| resolver.sight == sight).count();
    let report = LookReport {
        name: name("www.wiki.example"),
        rtype: RrType::A,
        at: Timestamp(1_796_000_000_000),
        complete: false,
        counts: Sight::ALL.into_iter().map(|sight| (sight, count(sight))).collect(),
        ttl: crate::time::Ttl::new(60),
        old_until: Some(Timestamp(1_796_000_043_000)),
        resolvers: resolvers.clone(),
        renames: Vec::new(),
    };
    insta::assert_snapshot!("looked", report.text());
    assert_eq!(report.exit(), Exit::Error);
    assert_eq!(serde_json::from_str::<LookReport>(&render::json(&report)).unwrap(), report);
}

#[test]
fn answers_are_shown_as_dig_does() {
    use hickory_proto::op::{Edns, Message, OpCode, Query};
    use hickory_proto::rr::rdata::{CNAME, TXT};
    use hickory_proto::rr::{Name, RData, Record, RecordType};
    let owner = Name::from_ascii("www.wiki.example.").unwrap();
    let target = Name::from_ascii("text.knams.wiki.example.").unwrap();
    let mut message = Message::response(0, OpCode::Query);
    message.metadata.authoritative = true;
    message.add_query(Query::query(owner.clone(), RecordType::A));
    message.add_answer(Record::from_rdata(owner, 300, RData::CNAME(CNAME(target.clone()))));
    message.add_answer(Record::from_rdata(target.clone(), 60, RData::A(std::net::Ipv4Addr::new(192, 0, 2, 1).into())));
    message.add_additional(Record::from_rdata(target, 60, RData::TXT(TXT::new(vec!["a b".into(), "c\"d".into()]))));
    message.set_edns(Edns::new());
    let octets = message.to_vec().unwrap();
    let report = query::QueryReport::new("wiki.example".into(), "knams".into(), octets);
    insta::assert_snapshot!("dig", report.text());
}
