//! Probing resolvers, as it is configured and asked for.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::{Daemon, plain, unbound};
use crate::canary::{CanaryKey, CanaryZone};
use crate::config::nearest::UnknownName;
use crate::config::probe::CanaryConfig;
use crate::config::{Config, ResolverConfig};
use crate::control::api::Failure;
use crate::control::api::probe::{
    CalibrateRequest, CalibrationReport, ProfilesReport, ProfilesRequest, ResolverReport,
};
use crate::driver;
use crate::failover::effect::EffectId;
use crate::failover::sample::Sample;
use crate::name::Name;
use crate::probe::ask::{Asking, Carrier};
use crate::probe::calibrate::Plan;
use crate::probe::findings::Findings;
use crate::probe::prober::{Calibrated, Target};
use crate::probe::{CanaryListeners, CanaryRunning, Prober, Register};
use crate::store::Store;
use crate::store::resolvers::Found;

/// How often it is looked whether a resolver has to be measured again.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(3600);
/// After how long one is tried again that could not be measured.
const TRY_AGAIN: Duration = Duration::from_secs(3600);

/// What resolvers gave for names that moved.
pub(super) struct Sampled {
    /// Of which zone.
    pub(super) origin: Name,
    /// What asked for it.
    pub(super) effect: EffectId,
    /// What they gave.
    pub(super) sample: Sample,
}

/// The canaries' server and the prober; nothing where they are not configured.
pub(super) struct Probing {
    pub(super) prober: Prober,
    store: Store,
    _server: CanaryRunning,
}

/// Binds the canaries' sockets, which may take rights that are given up afterwards.
pub(super) fn bind(config: &Config) -> Result<Option<CanaryListeners>, Failure> {
    let place = || config.place("canary.listen");
    let bind = |canary: &CanaryConfig| CanaryListeners::bind(&canary.listen).map_err(|error| unbound(place(), error));
    config.canary.as_ref().map(bind).transpose()
}

/// Starts to answer for canaries.
pub(super) fn start(
    config: &Config,
    listeners: Option<CanaryListeners>,
    store: &Store,
) -> Result<Option<Probing>, Failure> {
    let (Some(canary), Some(listeners)) = (&config.canary, listeners) else { return Ok(None) };
    let zone = zone(canary, CanaryKey(store.secret("canaries")?))?;
    for address in listeners.addresses() {
        tracing::info!(%address, zone = %canary.zone, "answering for canaries");
    }
    let register = Arc::new(Register::default());
    let server = listeners.run(zone.clone(), Arc::clone(&register)).map_err(plain)?;
    let prober = Prober::new(zone, register).map_err(plain)?;
    Ok(Some(Probing { prober, store: store.clone(), _server: server }))
}

fn zone(canary: &CanaryConfig, key: CanaryKey) -> Result<CanaryZone, Failure> {
    CanaryZone::new(canary.zone.clone(), key, canary.addresses.clone(), &canary.contact).map_err(plain)
}

impl Daemon {
    /// Begins to measure resolvers.
    pub(super) fn calibrate(&self, request: &CalibrateRequest) -> Result<CalibrationReport, Failure> {
        let probing = self.probing()?;
        // Which resolvers there are, and how fast they may be asked, counts as it is configured now.
        let config = self.source.load().map_err(Failure::from)?;
        let chosen = chosen(&config, &request.resolvers)?;
        let mut targets = Vec::new();
        for (resolver, asking) in chosen {
            let asked = probing.store.resolvers().asked(&resolver.name, driver::now())?;
            targets.push(Target {
                name: resolver.name.clone(),
                addresses: asking.addresses.clone(),
                carrier: asking.carrier,
                rate: asking.rate,
                budget: config.probe.daily_questions.saturating_sub(asked),
            });
        }
        let plan = Plan {
            ttls: if request.ttls.is_empty() { config.probe.ttls.clone() } else { request.ttls.clone() },
            watch: request.watch.map_or(config.probe.watch, |seconds| Duration::from_secs(seconds.into())),
        };
        let (store, expires) = (probing.store.clone(), config.probe.expires);
        let keep = move |calibrated: &Calibrated| keep(&store, calibrated, expires);
        probing.prober.begin(targets, plan, keep).map_err(|busy| {
            Failure::new(busy.to_string(), "nothing else was begun", "`understudy probe calibrate --attach` follows it")
        })?;
        self.calibration()
    }

    /// Has resolvers asked what they give for names that moved; what they do is sent to `sampled`.
    pub(super) fn sample(&mut self, sampled: &UnboundedSender<Sampled>) {
        let Some(probing) = &self.probing else { return };
        while let Some(order) = self.driver.sample_order() {
            let (store, sampled) = (self.store.clone(), sampled.clone());
            probing.prober.sample(order.questions.clone(), move |heard| {
                let names = order.questions.iter().zip(&heard);
                let names = names.flat_map(|(asked, heard)| vec![asked.target.name.as_str(); heard.len()]);
                if let Err(error) = store.resolvers().count(names, driver::now()) {
                    tracing::error!("how much resolvers were asked can't be written down: {error}");
                }
                let sample = order.sample(&heard);
                // Nobody waits for it while the daemon stops.
                let _ = sampled.send(Sampled { origin: order.origin, effect: order.effect, sample });
            });
        }
    }

    /// Begins to measure the resolvers of which nothing is known that can still be believed, if that is configured.
    pub(super) fn calibrate_what_is_old(&self) {
        let Some(probing) = &self.probing else { return };
        // A configuration with errors is told of when somebody reloads it.
        let Ok(config) = self.source.load() else { return };
        if !config.probe.background || probing.prober.calibration().is_under_way() {
            return;
        }
        let found: Vec<Found<Findings>> = match self.store.resolvers().all() {
            Ok(found) => found,
            Err(error) => return tracing::error!("what was found of resolvers can't be read: {error}"),
        };
        let is_old = |resolver: &&ResolverConfig| {
            let found = found.iter().find(|found| found.name == resolver.name);
            found.is_none_or(|found| {
                let failed = found.findings.unknown.as_ref().map(|_| found.findings.failed_at.unwrap_or(found.at));
                failed.map_or(found.expires, |failed| failed.after(TRY_AGAIN)) <= driver::now()
            })
        };
        let resolvers = config.resolvers.iter().filter(|resolver| resolver.asking.is_some()).filter(is_old);
        let resolvers: Vec<String> = resolvers.map(|resolver| resolver.name.clone()).collect();
        if resolvers.is_empty() {
            return;
        }
        tracing::info!("measuring resolvers: {}", resolvers.join(", "));
        if let Err(failure) = self.calibrate(&CalibrateRequest { resolvers, ..CalibrateRequest::default() }) {
            tracing::warn!("resolvers can't be measured: {failure}");
        }
    }

    /// How the last calibration stands.
    pub(super) fn calibration(&self) -> Result<CalibrationReport, Failure> {
        let calibration = self.probing()?.prober.calibration();
        Ok(CalibrationReport {
            number: calibration.number,
            began: calibration.began,
            under_way: calibration.is_under_way(),
            resolvers: calibration
                .ended
                .iter()
                .map(|calibrated| report_of(calibrated, self.config.probe.expires))
                .collect(),
            standings: calibration.standings,
        })
    }

    /// What is known of resolvers.
    pub(super) fn profiles(&self, request: &ProfilesRequest) -> Result<ProfilesReport, Failure> {
        let config = self.source.load().map_err(Failure::from)?;
        let found: Vec<Found<Findings>> = self.store.resolvers().all()?;
        let mut reports: Vec<ResolverReport> = found.into_iter().map(known).collect();
        // Those that nothing is known of have their place, too.
        for resolver in &config.resolvers {
            if !reports.iter().any(|report| report.name == resolver.name) {
                reports.push(never(resolver));
            }
        }
        reports.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(wanted) = &request.resolver {
            let names: Vec<String> = reports.iter().map(|report| report.name.clone()).collect();
            reports.retain(|report| report.name == *wanted);
            if reports.is_empty() {
                return Err(UnknownName::new("resolver", wanted, names.iter().map(String::as_str)).into());
            }
        }
        Ok(ProfilesReport { one: request.resolver.is_some(), resolvers: reports })
    }

    pub(super) fn probing(&self) -> Result<&Probing, Failure> {
        self.probing.as_ref().ok_or_else(|| {
            Failure::new(
                "no canary zone is configured",
                "resolvers can't be measured without names that are made for it",
                "a `[canary]` table with `zone` and `listen` in the configuration, the zone delegated to that address, and a \
                 restart",
            )
        })
    }
}

/// The resolvers of these names, or all that can be asked.
pub(super) fn chosen<'c>(
    config: &'c Config,
    names: &[String],
) -> Result<Vec<(&'c ResolverConfig, &'c Asking)>, Failure> {
    let known = || config.resolvers.iter().map(|resolver| resolver.name.as_str());
    let mut chosen = Vec::new();
    for resolver in config.resolvers.iter().filter(|resolver| names.is_empty() || names.contains(&resolver.name)) {
        match &resolver.asking {
            Some(asking) => chosen.push((resolver, asking)),
            None if names.is_empty() => {}
            None => {
                let what = format!("the resolver `{}` has no address", resolver.name);
                return Err(Failure::new(what, "nothing was begun", "`address` in its `[[resolver]]`"));
            }
        }
    }
    if let Some(unknown) = names.iter().find(|name| !known().any(|known| known == name.as_str())) {
        return Err(UnknownName::new("resolver", unknown, known()).into());
    }
    if chosen.is_empty() {
        let what = "no resolver with an address is configured";
        return Err(Failure::new(what, "there is nothing to measure", "`[[resolver]]` with `name` and `address`"));
    }
    Ok(chosen)
}

/// Keeps what was found of a resolver.
fn keep(store: &Store, calibrated: &Calibrated, expires: Duration) {
    let name = &calibrated.target.name;
    match &calibrated.result {
        Ok(measured) => {
            let verdicts: Vec<String> = measured.verdicts.iter().map(ToString::to_string).collect();
            let verdicts = if verdicts.is_empty() { "it keeps TTLs".to_owned() } else { verdicts.join("; ") };
            tracing::info!(resolver = name, questions = calibrated.questions, "measured: {verdicts}");
        }
        Err(why) => tracing::warn!(resolver = name, "not measured: {why}"),
    }
    let found = match store.resolvers().all::<Findings>() {
        Ok(known) => known.into_iter().find(|known| known.name == *name),
        Err(error) => {
            tracing::error!(resolver = name, "what was found before can't be read: {error}");
            None
        }
    };
    let found = to_keep(found, calibrated, expires);
    if let Err(error) = store.resolvers().keep(&found, calibrated.questions) {
        tracing::error!(resolver = name, "what was found can't be kept: {error}");
    }
}

/// What is known after a calibration. One that failed takes away nothing that was found before, and is not believed for as
/// long as one that did not.
fn to_keep(known: Option<Found<Findings>>, calibrated: &Calibrated, expires: Duration) -> Found<Findings> {
    let new = findings(calibrated);
    let (name, at) = (calibrated.target.name.clone(), calibrated.at);
    match known.filter(|known| new.unknown.is_some() && known.findings.measured.is_some()) {
        Some(known) => Found { findings: Findings { measured: known.findings.measured, ..new }, ..known },
        None if new.unknown.is_some() => Found { name, at, expires: at.after(expires.min(TRY_AGAIN)), findings: new },
        None => Found { name, at, expires: at.after(expires), findings: new },
    }
}

fn findings(calibrated: &Calibrated) -> Findings {
    Findings {
        address: calibrated.target.addresses.clone(),
        transport: calibrated.target.carrier,
        unknown: calibrated.result.as_ref().err().cloned(),
        failed_at: calibrated.result.is_err().then_some(calibrated.at),
        measured: calibrated.result.as_ref().ok().cloned(),
    }
}

fn report_of(calibrated: &Calibrated, expires: Duration) -> ResolverReport {
    known(to_keep(None, calibrated, expires))
}

fn known(found: Found<Findings>) -> ResolverReport {
    let Findings { address, transport, unknown, failed_at, measured } = found.findings;
    let failed = unknown.as_ref().filter(|_| measured.is_some()).map(|why| match failed_at {
        Some(at) => format!("measuring it again failed at {at}: {why}"),
        None => format!("measuring it again failed: {why}"),
    });
    ResolverReport {
        name: found.name,
        address,
        transport: transport.to_string(),
        at: Some(found.at),
        expires: Some(found.expires),
        expired: found.expires <= driver::now(),
        unknown: unknown.filter(|_| measured.is_none()),
        failed,
        measured,
    }
}

fn never(resolver: &ResolverConfig) -> ResolverReport {
    let asking = resolver.asking.as_ref();
    let why = if asking.is_some() { "it was not measured yet" } else { "it has no address to be asked at" };
    ResolverReport {
        name: resolver.name.clone(),
        address: asking.map(|asking| asking.addresses.clone()).unwrap_or_default(),
        transport: asking.map_or(Carrier::Udp, |asking| asking.carrier).to_string(),
        at: None,
        expires: None,
        expired: false,
        unknown: Some(why.into()),
        failed: None,
        measured: None,
    }
}
