//! The daemon: wires configuration, driver, sockets and control together, and ends them in order.

mod drains;
mod drills;
mod dry;
mod encrypted;
mod look;
mod moves;
mod probe;
mod rename;
mod setup;
mod told;
mod translate;

pub use dry::dry_run;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::cli::Serve;
use crate::config::{Config, Keys, Source};
use crate::control::api::moves::{MoveReport, MoveRequest};
use crate::control::api::{EncryptedListener, Failure, LastAct, ReloadReport, Request, Response};
use crate::control::server::{ControlSocket, bind};
use crate::control::{Answer, Call};
use crate::count::counted;
use crate::driver::reload::{ReloadOutcome, Reloaded};
use crate::driver::{self, Driver, DriverError};
use crate::serve::certificates::Certificates;
use crate::serve::descriptors::Room;
use crate::serve::dnstap::Tap;
use crate::serve::encrypted::{DESCRIPTORS, EncryptedRunning};
use crate::serve::privileges::Identity;
use crate::serve::{ListenSettings, Listeners, Running};
use crate::serving::units::UnitKey;
use crate::snapshot::sought::HashKey;
use crate::store::Store;
use crate::store::journal::Actor;

/// The most octets of an answer over UDP that no path has to cut (RFC 9715 §3).
const UNFRAGMENTED: u16 = 1400;
/// How many requests may wait for the driver, which does one thing at a time.
const WAITING: usize = 16;

/// Serves until it is told to stop.
pub fn serve(order: Serve) -> Result<(), Failure> {
    log_to_stderr();
    let config = order.source.load()?;
    // Sockets first: privileged ports need rights that state on disk must not have.
    let room = make_room(&config);
    let listeners = Listeners::bind(&listen_settings(&config, room)).map_err(|error| {
        let is_typed = !order.source.listen.is_empty();
        unbound(if is_typed { "--listen".into() } else { config.place("server.listen") }, error)
    })?;
    let addresses = listeners.addresses();
    let encrypted =
        config.server.encrypted.as_ref().map(|encrypted| encrypted::prepare(encrypted, &config, room)).transpose()?;
    let canaries = probe::bind(&config)?;
    drop_privileges(&config)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(plain)?;
    let _guard = runtime.enter();
    // From here on a hangup no longer ends the process: the reload that it asks for comes when there is what to reload.
    let hangup = signal(SignalKind::hangup()).map_err(plain)?;
    let store = Store::open(config.state_dir.as_deref())?;
    if order.init {
        store.initialise()?;
    }
    let control = bind(&store, config.control.group.as_deref())?;
    let names = store.secret("names")?;
    let keys = Keys { cookies: store.secret("cookies")?, units: UnitKey(store.secret("units")?) };
    let probing = probe::start(&config, canaries, &store)?;
    let driver = Driver::start(config.setup(keys), store.clone(), HashKey::new(names)).map_err(plain)?;
    let mut daemon = Daemon {
        driver,
        keys,
        certificates: encrypted.as_ref().map(|encrypted| Arc::clone(&encrypted.certificates)),
        source: order.source,
        config: config.clone(),
        started: Instant::now(),
        addresses: addresses.clone(),
        encrypted: encrypted.as_ref().map(encrypted::Prepared::addresses).unwrap_or_default(),
        last_reload: None,
        last_failover: None,
        store,
        probing,
    };
    daemon.driver.set_own(addresses.clone());
    daemon.first_load(&config)?;
    let (terminate, interrupt) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    let signals = Signals { hangup, terminate: terminate.map_err(plain)?, interrupt: interrupt.map_err(plain)? };
    let stage = Arc::clone(daemon.driver.stage());
    let tap = config.dnstap.as_ref().map(Tap::start).transpose().map_err(plain)?;
    tap.iter().for_each(|tap| stage.show_by(Arc::clone(tap)));
    let running = listeners.run(&stage).map_err(plain)?;
    let secure = encrypted.map(|encrypted| encrypted.run(&stage)).transpose()?;
    daemon.driver.set_listeners(addresses.clone());
    announce(order.json, &addresses, &daemon.driver);
    let tally = runtime.block_on(daemon.run(signals, control, running, secure));
    tap.iter().for_each(|tap| tap.finish());
    tracing::info!(queries = tally, "stopped");
    Ok(())
}

struct Daemon {
    driver: Driver,
    /// The keys that outlive it.
    keys: Keys,
    /// The certificate of the encrypted transports, if there are any.
    certificates: Option<Arc<Certificates>>,
    source: Source,
    /// What it was started with.
    config: Config,
    started: Instant,
    addresses: Vec<SocketAddr>,
    /// Where the encrypted transports listen.
    encrypted: Vec<EncryptedListener>,
    last_reload: Option<LastAct>,
    last_failover: Option<LastAct>,
    /// Where what was found of resolvers is kept.
    store: Store,
    /// The canaries' server and the prober, if they are configured.
    probing: Option<probe::Probing>,
}

/// What the system may ask of the daemon.
struct Signals {
    hangup: Signal,
    terminate: Signal,
    interrupt: Signal,
}

impl Daemon {
    /// Takes over the files at the start. What was verified before goes on being served where they are broken; where
    /// nothing can be served at all, there is no server.
    fn first_load(&mut self, config: &Config) -> Result<(), Failure> {
        let reloaded = self.driver.reload(config.setup(self.keys), &[], &driver::daemon());
        self.note_reload(&reloaded);
        // The log says if it can't be written.
        let _ = self.driver.record_reload(&reloaded, &[], &driver::daemon());
        for zone in &reloaded {
            report(zone, self.driver.serving().zone(zone.origin.as_ref()).is_some());
        }
        if self.driver.serving().zones().is_empty() && !config.zones.is_empty() {
            let findings: Vec<String> = reloaded.iter().flat_map(translate::problems).collect();
            return Err(Failure::new(
                format!("no zone can be served\n{}", findings.join("\n")),
                "the server has not started",
                "put the files right; `understudy check` shows all that is wrong with them",
            ));
        }
        Ok(())
    }

    /// Serves until a signal says to stop; returns how many queries were answered.
    async fn run(
        self,
        mut signals: Signals,
        control: Option<ControlSocket>,
        running: Running,
        secure: Option<EncryptedRunning>,
    ) -> u64 {
        let stop = move || total(&running.stop()) + secure.map_or(0, |secure| total(&secure.stop()));
        let (calls, waiting) = mpsc::channel(WAITING);
        let served = control.map(|control| tokio::spawn(control.serve(calls.clone())));
        let (reloads, asked) = mpsc::channel(1);
        let worker = std::thread::Builder::new().name("driver".into()).spawn(move || self.work(waiting, asked));
        loop {
            tokio::select! {
                _ = signals.terminate.recv() => break,
                _ = signals.interrupt.recv() => break,
                got = signals.hangup.recv() => wake(got, &reloads),
            }
        }
        if let Some(served) = served {
            served.abort();
        }
        let queries = tokio::task::spawn_blocking(stop).await.unwrap_or(0);
        // The driver finishes what it is doing; what waits behind that is told that the daemon stops.
        drop((calls, reloads));
        if let Ok(worker) = worker {
            let _ = tokio::task::spawn_blocking(move || worker.join()).await;
        }
        queries
    }

    /// The driver's thread: one request at a time, until nobody can send any more.
    fn work(mut self, mut calls: mpsc::Receiver<Call>, mut reloads: mpsc::Receiver<()>) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_time().build() else { return };
        runtime.block_on(async {
            self.driver.resume();
            let mut looks = tokio::time::interval(probe::LOOK_AGAIN);
            let (sampled, mut samples) = mpsc::unbounded_channel();
            let (asker, mut asked) = rename::start_asker();
            if self.probing.is_some() {
                self.driver.set_sampled();
            }
            loop {
                self.sample(&sampled);
                let due = until(self.driver.deadline());
                let drill = until(self.driver.drill_due());
                tokio::select! {
                    biased;
                    () = due => {
                        self.driver.tick();
                    }
                    _ = looks.tick() => self.calibrate_what_is_old(),
                    () = drill => self.driver.begin_due_drill(),
                    call = calls.recv() => match call {
                        // Resolvers take their time; nothing else waits for them.
                        Some(Call { request: Request::Look(request), answer, .. }) => self.look(request, answer),
                        // So it is with servers that a rename depends on.
                        Some(call) => {
                            if let Some(call) = self.ask_certificates(call, &asker) {
                                self.see_to(call);
                            }
                        }
                        // Nobody is answered any more.
                        None => return self.driver.keep_exposures(),
                    },
                    Some((call, certificates)) = asked.recv() => {
                        self.driver.set_certificates(certificates);
                        self.see_to(call);
                    }
                    Some(()) = reloads.recv() => self.reload_on_signal(),
                    Some(found) = samples.recv() => {
                        let probe::Sampled { origin, effect, sample } = found;
                        self.driver.sampled(&origin, effect, sample);
                    }
                }
                // Edits that waited for the end of a move.
                self.driver.take_over_queued().iter().for_each(|zone| report(zone, true));
            }
        });
    }

    fn see_to(&mut self, call: Call) {
        let answer = self.answer(&call);
        // Whoever asked may be gone; what was done is done and in the journal.
        let _ = call.answer.send(answer);
    }

    fn answer(&mut self, call: &Call) -> Answer {
        let actor = Actor {
            uid: Some(call.actor.uid),
            name: call.actor.user.clone().unwrap_or_else(|| format!("uid {}", call.actor.uid)),
        };
        match &call.request {
            Request::Status => Ok(Response::Status(self.status())),
            Request::Reload(request) => self.reload(&request.accept, &actor).map(Taken::report).map(Response::Reload),
            Request::Move(request) => {
                let result = self.move_traffic(request, &actor);
                if !request.dry_run {
                    let (ok, summary) = moves::in_short(request, &result);
                    self.last_failover = Some(LastAct { at: driver::now(), ok, summary });
                }
                result.map(Box::new).map(Response::Move)
            }
            Request::Steer(request) => self.steer(request, actor).map(Response::Steer),
            Request::Site(request) => self.force_site(request, actor).map(Response::Steer),
            Request::Run(request) => self.run_report(request).map(Box::new).map(Response::Run),
            Request::History(request) => self.history(request).map(Response::History),
            Request::Explain(request) => self.explain(request).map(Box::new).map(Response::Explain),
            Request::Drain(request) => self.drain(request).map(Box::new).map(Response::Drain),
            Request::Top(request) => self.top(request).map(Box::new).map(Response::Top),
            Request::Drill(request) => self.begin_drill(request, &actor).map(Response::Drill),
            Request::AbortDrill(request) => self.abort_drill(request, actor).map(Response::Steer),
            Request::DrillRun(request) => self.drill_run(request).map(Box::new).map(Response::DrillRun),
            Request::Drills(request) => self.drills(request).map(Response::Drills),
            Request::AcceptState(request) => self.accept_state(request, actor).map(Response::Steer),
            Request::Calibrate(request) => self.calibrate(request).map(Box::new).map(Response::Calibration),
            Request::Calibration => self.calibration().map(Box::new).map(Response::Calibration),
            Request::Profiles(request) => self.profiles(request).map(Box::new).map(Response::Profiles),
            Request::Rename(request) => self.rename(request, &actor).map(Box::new).map(Response::Rename),
            Request::Renames(request) => self.renames(request).map(Box::new).map(Response::Renames),
            // It does not come here: it is not waited for.
            Request::Look(_) => Err(Failure::new("the daemon took the request for another", "nothing was done", "")),
        }
    }

    fn move_traffic(&mut self, request: &MoveRequest, actor: &Actor) -> Result<MoveReport, Failure> {
        let origin = translate::zone_name(&request.zone, self.driver.setup())?;
        let order = moves::order(request)?;
        let report = self.driver.move_traffic(&origin, &order, actor).map_err(failed)?;
        let mut report = moves::report(report, &order, &origin, &self.driver)?;
        told::weigh(&self.driver, &origin, &mut report.findings);
        if request.dry_run && !report.moves.is_empty() {
            report.proposals = self.proposals(&origin, Some(&report.to));
        }
        Ok(report)
    }

    /// Takes over the configuration and the files.
    fn reload(&mut self, accept: &[String], actor: &Actor) -> Result<Taken, Failure> {
        // A configuration with errors changes nothing: the last good one stays, never defaults.
        let config = self.source.load().map_err(Failure::from).inspect_err(|failure| {
            let summary = format!("the configuration has errors and the last good one stays: {}", failure.what);
            self.last_reload = Some(LastAct { at: driver::now(), ok: false, summary });
        })?;
        let setup = config.setup(self.keys);
        if let Some(idle) = self.driver.idle(&setup, accept) {
            let summary = format!("nothing was changed: {idle}");
            self.last_reload = Some(LastAct { at: driver::now(), ok: false, summary });
            return Err(translate::idle(&idle));
        }
        let reloaded = self.driver.reload(setup, accept, actor);
        self.note_reload(&reloaded);
        let warnings = self.driver.record_reload(&reloaded, accept, actor).into_iter().collect();
        let needs_restart = setup::needs_restart(&self.config, &config);
        for what in &needs_restart {
            tracing::warn!("{what} has changed in the configuration: that takes a restart");
        }
        if let Some(last) = self.last_reload.as_mut().filter(|_| !needs_restart.is_empty()) {
            last.summary += &format!("; a restart is needed for {}", needs_restart.join(", "));
        }
        self.reload_certificate(&config, &reloaded)?;
        Ok(Taken { reloaded, needs_restart, warnings })
    }

    /// Reads the certificate again. The zones are reloaded by then, whatever becomes of it.
    fn reload_certificate(&mut self, config: &Config, reloaded: &[Reloaded]) -> Result<(), Failure> {
        let (Some(certificates), Some(encrypted)) = (&self.certificates, &config.server.encrypted) else {
            return Ok(());
        };
        let Err(error) = certificates.reload(&encrypted::files(encrypted)) else { return Ok(()) };
        let summary = self.last_reload.as_mut().map(|last| {
            last.ok = false;
            last.summary += "; the certificate could not be read again";
            last.summary.clone()
        });
        reloaded.iter().for_each(|zone| report(zone, self.driver.serving().zone(zone.origin.as_ref()).is_some()));
        Err(Failure::new(
            error.to_string(),
            "encrypted connections are made with the last good certificate, until it expires",
            format!("the zones were reloaded: {}", summary.unwrap_or_default()),
        ))
    }

    fn reload_on_signal(&mut self) {
        match self.reload(&[], &driver::daemon()) {
            Ok(taken) => taken.reloaded.iter().for_each(|zone| report(zone, true)),
            Err(failure) => tracing::error!("the reload failed: {failure}"),
        }
    }

    fn note_reload(&mut self, reloaded: &[Reloaded]) {
        let count = |wanted: fn(&ReloadOutcome) -> bool| reloaded.iter().filter(|zone| wanted(&zone.outcome)).count();
        let published = count(|outcome| matches!(outcome, ReloadOutcome::Published { .. }));
        let refused = count(|outcome| matches!(outcome, ReloadOutcome::Refused(_)));
        let broken =
            count(|outcome| matches!(outcome, ReloadOutcome::KeptLastGood(_) | ReloadOutcome::NotPublished(_)));
        self.last_reload = Some(LastAct {
            at: driver::now(),
            ok: refused + broken == 0,
            summary: format!(
                "{published} published, {} unchanged, {refused} refused, {broken} with errors",
                reloaded.len() - published - refused - broken
            ),
        });
    }
}

/// What a reload did.
struct Taken {
    reloaded: Vec<Reloaded>,
    /// What only a restart takes over.
    needs_restart: Vec<String>,
    /// What went wrong beside it.
    warnings: Vec<String>,
}

impl Taken {
    fn report(self) -> ReloadReport {
        translate::reload(self.reloaded, self.needs_restart, self.warnings)
    }
}

/// Waits until then; for ever where there is nothing to wait for.
async fn until(deadline: Option<crate::time::Timestamp>) {
    match deadline {
        Some(deadline) => tokio::time::sleep(deadline.since(driver::now())).await,
        None => std::future::pending().await,
    }
}

/// Asks the driver to reload; a reload that waits already covers this one too.
fn wake(signalled: Option<()>, reloads: &mpsc::Sender<()>) {
    if signalled.is_some() {
        let _ = reloads.try_send(());
    }
}

fn total(tally: &crate::serve::counters::Tally<u64>) -> u64 {
    tally.queries.iter().sum()
}

fn report(zone: &Reloaded, served: bool) {
    let name = &zone.origin;
    match &zone.outcome {
        ReloadOutcome::Unchanged => tracing::info!(zone = %name, "unchanged"),
        ReloadOutcome::Published { generation, serial, tally, findings } => {
            let crate::driver::reload::Tally { added, removed, changed } = tally;
            tracing::info!(zone = %name, generation, %serial, "published; RRsets: {added} added, {removed} removed, {changed} changed");
            for text in translate::warnings(findings) {
                tracing::warn!(zone = %name, "{text}");
            }
        }
        ReloadOutcome::Queued(touched) => {
            tracing::warn!(zone = %name, "edits wait for the end of a move, since they touch what it moves: {}", touched.join(", "));
        }
        ReloadOutcome::Refused(_) | ReloadOutcome::KeptLastGood(_) | ReloadOutcome::NotPublished(_) => {
            let problems = translate::problems(zone).join("\n");
            let meaning = if served { "the last good content is served on" } else { "the zone is NOT served" };
            tracing::error!(zone = %name, "the zone's files cannot be taken over; {meaning}:\n{problems}");
        }
    }
}

fn announce(json: bool, addresses: &[SocketAddr], driver: &Driver) {
    let zones = driver.serving().zones().len();
    let line = if json {
        serde_json::json!({ "listening": addresses, "zones": zones }).to_string()
    } else {
        let shown: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        format!("listening on {} with {}", shown.join(", "), counted(zones, "zone"))
    };
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Makes room for as many connections as are configured, or says that there is less.
fn make_room(config: &Config) -> Room {
    let tcp = config.server.tcp.connections;
    let encrypted = config.server.encrypted.as_ref().map_or(0, |encrypted| encrypted.limits.connections);
    let room = Room::make(tcp.saturating_add(encrypted.saturating_mul(DESCRIPTORS)));
    if !room.is_enough() {
        tracing::warn!(
            "the system allows too few open files for so many connections: {} over TCP are taken in instead of {tcp}, and \
             {} over TLS and HTTPS instead of {encrypted}; raise the limit (`LimitNOFILE=`, `ulimit -n`) by {}",
            room.share(tcp),
            room.share(encrypted).min(encrypted),
            room.wanted - room.given
        );
    }
    room
}

fn listen_settings(config: &Config, room: Room) -> ListenSettings {
    let usual = ListenSettings::default();
    let tcp = crate::serve::tcp::TcpLimits {
        connections: room.share(config.server.tcp.connections),
        for_client: config.server.tcp.per_client,
        idle: config.server.tcp.idle,
        write: config.server.tcp.write,
        ..usual.tcp
    };
    ListenSettings {
        addresses: config.server.listen.clone(),
        workers: config.server.workers.unwrap_or(usual.workers),
        tcp,
        rate_limit: config.server.rate_limit.clone(),
        in_fragments: config.server.udp_payload > UNFRAGMENTED,
        ..usual
    }
}

fn drop_privileges(config: &Config) -> Result<(), Failure> {
    let Some(user) = &config.server.user else { return Ok(()) };
    let identity = Identity::look_up(user, config.server.group.as_deref()).map_err(plain)?;
    if let Some(dir) = &config.state_dir {
        setup::give_directory(dir, &identity)?;
    }
    identity.assume().map_err(plain)
}

fn log_to_stderr() {
    use std::io::IsTerminal as _;
    let filter = tracing_subscriber::EnvFilter::try_from_env("UNDERSTUDY_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info,hickory_server=error,hickory_net=error"));
    let _ = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .try_init();
}

/// An error that says all by itself.
fn plain(error: impl std::fmt::Display) -> Failure {
    Failure::new(error.to_string(), "the server has not started", "")
}

/// An address can't be had that is configured there.
fn unbound(place: String, error: impl std::fmt::Display) -> Failure {
    plain(format!("{place}: {error}"))
}

fn failed(error: DriverError) -> Failure {
    let meaning = "what could not be written was not done; what is served is served on";
    Failure::new(error.to_string(), meaning, "understudy status")
}
