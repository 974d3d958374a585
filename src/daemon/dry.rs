//! A dry run while no daemon runs: a driver on a copy of the state, in memory, with no socket before it.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use super::{moves, told, translate};
use crate::config::{Config, Keys, Source};
use crate::control::api::Failure;
use crate::control::api::moves::{MoveReport, MoveRequest, Offline};
use crate::driver::moves::Order;
use crate::driver::reload::{ReloadOutcome, Reloaded};
use crate::driver::{self, Driver};
use crate::exposure::known::Known as _;
use crate::serving::units::UnitKey;
use crate::snapshot::sought::HashKey;
use crate::store::{Copied, Store, StoreError};
use crate::time::Timestamp;

/// Says what a move would do, by a copy of the state and by the files as they are now: what a daemon that is started now
/// would say. Nothing is written but to the copy, which is in memory, and nobody is answered.
pub fn dry_run(source: &Source, request: &MoveRequest) -> Result<MoveReport, Failure> {
    let order = moves::order(request)?;
    debug_assert!(order.dry_run, "without a daemon nothing can be changed");
    let config = source.load()?;
    let Some(dir) = config.state_dir.as_deref() else {
        return Err(Failure::new("there is no state to work this out from", "nothing was changed", "--state-dir DIR"));
    };
    let copied = Store::copy(dir, &std::env::temp_dir()).map_err(uncopied)?;
    let (dir, written) = (dir.to_owned(), copied.written);
    judge(config, copied, order, request).map_err(|failure| without_a_daemon(failure, &dir, written))
}

/// Says what a move would do, by this copy.
fn judge(config: Config, copied: Copied, order: Order, request: &MoveRequest) -> Result<MoveReport, Failure> {
    let begun = driver::now();
    let Copied { store, written } = copied;
    let keys = Keys { cookies: store.secret("cookies")?, units: UnitKey(store.secret("units")?) };
    let names = HashKey::new(store.secret("names")?);
    let mut driver = Driver::start(config.setup(keys), store, names).map_err(failed)?;
    driver.set_own(own(&config.server.listen));
    let reloaded = driver.reload(config.setup(keys), &[], &driver::daemon());
    let origin = translate::zone_name(&request.zone, driver.setup())?;
    let report = driver.move_traffic(&origin, &order, &driver::daemon()).map_err(failed)?;
    let mut report = moves::report(report, &order, &origin, &driver)?;
    told::weigh(&driver, &origin, &mut report.findings);
    report.warnings.extend(reloaded.iter().filter(|zone| zone.origin == origin).filter_map(worth_knowing));
    report.offline = Some(Offline {
        state_dir: config.state_dir.clone().unwrap_or_default(),
        written,
        at: driver::now(),
        under_way: moves::under_way(&driver, &origin),
        unknown: unknown(&driver, begun),
    });
    Ok(report)
}

/// What the files come to at a start, where that is worth knowing.
fn worth_knowing(zone: &Reloaded) -> Option<String> {
    match &zone.outcome {
        ReloadOutcome::Unchanged => None,
        ReloadOutcome::Published { tally, .. } => Some(format!(
            "the files were edited since they were served: a start takes that over first ({} RRsets added, {} removed, {} \
             changed), and this is what comes behind it",
            tally.added, tally.removed, tally.changed
        )),
        ReloadOutcome::Queued(touched) => {
            Some(format!("the files were edited where a move under way moves traffic: {}", touched.join(", ")))
        }
        ReloadOutcome::Refused(_) | ReloadOutcome::KeptLastGood(_) | ReloadOutcome::NotPublished(_) => Some(format!(
            "the files can't be taken over, and a start serves what was served last: {}",
            translate::problems(zone).join("; ")
        )),
    }
}

/// What is not known because no daemon runs.
fn unknown(driver: &Driver, begun: Timestamp) -> Vec<String> {
    // What was noted is in the state only if the last daemon ended in order.
    let kept = driver.exposures().map(|noted| noted.look(|known| known.blind_until() < begun));
    let told = match kept {
        None => "who was told what: it is not noted (`[exposures]`)",
        Some(false) => {
            "who was told what: the last daemon did not end in order, and what it had noted is lost; waits are as long as the \
             greatest TTL"
        }
        Some(true) => "who was told what since the daemon ended, and by whom",
    };
    [
        told,
        "whether the sites are up: nobody has looked since",
        "what the zone's other name servers answer meanwhile, and which serial they tell",
        "whether this server can take the addresses that it is to listen on",
    ]
    .map(str::to_owned)
    .into()
}

/// Where a daemon would listen: of an address that stands for all of the machine, those that it has.
fn own(listen: &[SocketAddr]) -> Vec<SocketAddr> {
    let all: Vec<IpAddr> = nix::ifaddrs::getifaddrs()
        .into_iter()
        .flatten()
        .filter_map(|interface| {
            let address = interface.address?;
            let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
            v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
        })
        .collect();
    let of = |address: &SocketAddr| match address.ip() {
        ip if ip.is_unspecified() => {
            let same = all.iter().filter(|own| own.is_ipv4() == ip.is_ipv4());
            same.map(|own| SocketAddr::new(*own, address.port())).collect()
        }
        _ => vec![*address],
    };
    listen.iter().flat_map(of).collect()
}

/// A failure with what a dry run says first where no daemon runs. What there is to type takes a daemon, most of it.
fn without_a_daemon(failure: Failure, dir: &Path, written: Timestamp) -> Failure {
    let age = crate::count::span(driver::now().since(written).as_secs());
    let down = format!(
        "THE DAEMON IS DOWN: nobody answers from here; this rests on the files as they are now, and on a copy of the state in {}, \
         last written {written} ({age} ago)",
        dir.display()
    );
    let meaning = if failure.meaning.is_empty() { down } else { format!("{}. {down}", failure.meaning) };
    let try_next = match failure.try_next.contains("understudy") && !failure.try_next.contains("understudy check") {
        true => format!("start the daemon (`understudy serve`); then {}", failure.try_next),
        false => failure.try_next,
    };
    Failure { meaning, try_next, ..failure }
}

/// Why there is no copy of the state to work with.
fn uncopied(error: StoreError) -> Failure {
    let what = error.to_string();
    match error {
        StoreError::InUse { path, holder } => Failure::new(
            format!("{holder} has the state directory {} and does not answer on its control socket", path.display()),
            "the daemon is starting, ending or stuck; nothing was changed",
            "wait a moment and try again; if it stays so, see the daemon's log",
        ),
        StoreError::Nothing { .. } => Failure::new(
            what,
            "no daemon runs there either, so that nothing is known of how things stand",
            "name the daemon's --config or --state-dir; `understudy check` looks at the files alone",
        ),
        StoreError::File { ref source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => Failure::new(
            "no daemon runs, and its state is not yours to read",
            "nothing was changed",
            "run this as the user of the daemon or as root",
        ),
        error => error.into(),
    }
}

fn failed(error: driver::DriverError) -> Failure {
    Failure::new(
        error.to_string(),
        "this was a dry run, on a copy of the state: nothing was changed",
        "understudy check",
    )
}
