//! Who gets what and why, and who was told what.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use super::drains::question;
use super::{Daemon, translate};
use crate::config::nearest::UnknownName;
use crate::control::api::told::{
    ExplainReport, ExplainRequest, Split, ToldBefore, TopNetwork, TopQuestion, TopReport, TopRequest, TopZone,
};
use crate::control::api::{AskedItem, Failure, Finding};
use crate::driver::{self, Driver};
use crate::exposure::known::Known;
use crate::exposure::note::{Level, NotedNetwork};
use crate::exposure::points::{Point, PointId};
use crate::exposure::{EditionInfo, Exposures};
use crate::name::Name;
use crate::net::ClientNet;
use crate::rr::Class;
use crate::serve::folding::Folding;
use crate::serving::Serving;
use crate::serving::asked;
use crate::serving::explain::{Because, Explanation};
use crate::serving::respond::{Asker, Transport};
use crate::serving::told::{Decided, Rule};
use crate::serving::units::UNIT_PREFIX;
use crate::share::Share;
use crate::time::Timestamp;

/// The most of each that is told.
const MOST: usize = 1000;

impl Daemon {
    /// Which answer a client gets, and why.
    pub(super) fn explain(&self, request: &ExplainRequest) -> Result<ExplainReport, Failure> {
        let serving = self.driver.serving();
        let ExplainRequest { client, name, rtype } = request;
        let as_client = ClientNet(*client);
        let [v4, v6] = UNIT_PREFIX;
        if client.prefix() < if client.address().is_ipv4() { v4 } else { v6 } {
            return Err(Failure::new(
                format!("{client} is more than one unit: not all of it need be answered alike"),
                "nothing can be said of it as a whole",
                format!("an address, or a network of /{v4} (IPv4) or /{v6} (IPv6) at least"),
            ));
        }
        let found = serving.explain(as_client, name.as_ref(), *rtype).ok_or_else(|| {
            let zones = self.driver.setup().zones.iter().map(|zone| zone.origin.as_ref().dotless());
            Failure::new(
                format!("`{name}` is in none of the zones that are served"),
                "everybody who asks for it is refused",
                UnknownName::new("zone", &name.as_ref().dotless(), zones).advice(),
            )
        })?;
        let (answer, decided) = answered(serving, client.address(), request);
        let site = |site| found.zone.content.site(site).name.clone();
        let told =
            self.driver.exposures().map(|folding| told_before(folding, serving, &found, as_client, decided, request));
        let (told, blind_until) = told.unwrap_or_default();
        Ok(ExplainReport {
            at: driver::now(),
            client: *client,
            name: name.clone(),
            rtype: *rtype,
            zone: found.zone.content.origin.clone(),
            region: serving.regions.name(found.region).to_owned(),
            unit: serving.units.unit_of(as_client).to_string(),
            moving: found.moving.map(|(moving, moves_at)| Split {
                from: site(found.zone.routing.site(found.region)),
                to: site(moving.to),
                share: moving.share.to_string(),
                moves_at: Share::new(moves_at).map_or_else(String::new, |share| share.to_string()),
            }),
            site: site(found.site),
            because: because(&found).into(),
            low_ttl: found.zone.lowered().iter().map(|(.., ttl)| ttl.seconds()).min(),
            answer,
            generation: serving.generation,
            told,
            blind_until,
        })
    }

    /// What is asked most, and by whom.
    pub(super) fn top(&self, request: &TopRequest) -> Result<TopReport, Failure> {
        let setup = self.driver.setup();
        let zone = request.zone.as_deref().map(|zone| translate::zone_name(zone, setup)).transpose()?;
        let (Some(folding), Some(limits)) = (self.driver.exposures(), setup.exposures) else {
            return Err(Failure::new(
                "it is not noted what is asked",
                "nothing is known of it",
                "`enabled = true` in `[exposures]`, and a restart",
            ));
        };
        let limit = usize::try_from(request.limit).unwrap_or(MOST).min(MOST);
        let report = top(&**folding, self.driver.serving(), zone.as_ref(), limit);
        Ok(TopReport { retention_seconds: limits.retention.as_secs(), ..report })
    }
}

/// Says which names that gates speak of were asked for of late: what users miss first is what is asked for.
pub(super) fn weigh(driver: &Driver, origin: &Name, findings: &mut [Finding]) {
    let Some(folding) = driver.exposures() else { return };
    if findings.iter().all(|found| found.items.is_empty()) {
        return;
    }
    let asked = folding.look(|exposures| asked(exposures, origin));
    let key = driver.serving().key;
    let count = |item: &String| {
        let name = Name::absolute(item.split(' ').next()?).ok()?;
        asked.get(&key.of(name.as_ref().to_lowercase().as_ref())).copied()
    };
    for found in findings {
        let items = found.items.iter().filter_map(|item| Some(AskedItem { item: item.clone(), count: count(item)? }));
        found.asked = items.collect();
        found.asked.sort_by_key(|asked| std::cmp::Reverse(asked.count));
        found.asked.truncate(MOST);
    }
}

/// How often names of a zone were asked for, by their hashes.
fn asked(exposures: &Exposures, zone: &Name) -> HashMap<u64, u64> {
    let mut asked = HashMap::new();
    for (_, point) in exposures.points().iter() {
        let Some((Decided { rule: Rule::Exact, name }, _)) = point.what.question else { continue };
        if point.count > 0 && exposures.edition(point.what.edition).is_some_and(|info| info.zone == *zone) {
            *asked.entry(name).or_default() += point.count;
        }
    }
    asked
}

fn because(found: &Explanation<'_>) -> &'static str {
    match found.because {
        Because::Region => "its region is answered from there",
        Because::Moved => "its region is moving there, and its unit has moved",
        Because::NotMoved => "its region is moving away from there, and its unit has not moved yet",
        Because::Common => "everybody is told this from there: caches find the zone by it",
    }
}

/// The answer over TCP in hexadecimal digits, and the first rule that decided it.
fn answered(serving: &Serving, source: IpAddr, request: &ExplainRequest) -> (String, Option<Decided>) {
    let query = driver::name_servers::query(request.name.as_ref().as_wire(), request.rtype, Class::IN);
    let mut out = vec![0; usize::from(u16::MAX)];
    let asker = Asker { source, transport: Transport::Tcp, now: driver::now() };
    let mut asked = asked::Asked::of(serving, &query);
    let length = serving.respond_to(&query, &mut asked, &asker, &mut out);
    let octets = length.map_or(&[][..], |length| &out[..length]);
    let decided = asked.told().and_then(|told| told.trail.steps().next()).map(|(_, decided)| decided);
    (octets.iter().map(|octet| format!("{octet:02x}")).collect(), decided)
}

/// What a client's network was told of a name and type, and up to when something may have been told that nobody noted.
fn told_before(
    folding: &Folding,
    serving: &Serving,
    found: &Explanation<'_>,
    client: ClientNet,
    decided: Option<Decided>,
    request: &ExplainRequest,
) -> (Vec<ToldBefore>, Option<Timestamp>) {
    let current = serving.sites_of(found.zone, found.region);
    // With other TTLs, or after a restart, it is another edition of the same.
    let is_current = |info: &EditionInfo| {
        let snapshot = info.snapshot.as_ptr();
        current.iter().any(|site| std::ptr::eq(Arc::as_ptr(&found.zone.content.site(*site).snapshot), snapshot))
    };
    folding.look(|exposures| {
        let told = exposures.networks().of(NotedNetwork::of(client)).filter_map(|told| {
            let point = exposures.points().get(told.point)?;
            let info = exposures.edition(point.what.edition)?;
            let same = point.what.question.is_none_or(|(rule, rtype)| Some(rule) == decided && rtype == request.rtype);
            (same && info.zone == found.zone.content.origin).then(|| ToldBefore {
                network: told.network.network(told.level).unwrap_or(client.0),
                site: info.site.clone(),
                last: told.last,
                ttl: point.ttl.seconds(),
                held_until: told.last.after(point.ttl.duration()),
                count: told.count.value(),
                proven: told.proven,
                current: is_current(info),
            })
        });
        let mut told: Vec<ToldBefore> = told.collect();
        told.sort_by_key(|told| std::cmp::Reverse(told.last));
        told.truncate(MOST);
        let blind = exposures.blind_until();
        (told, (blind > Timestamp(i64::MIN)).then_some(blind))
    })
}

/// A zone, the rule that answered by the hash of its name, and the type's number.
type Asked = (Name, Option<(u64, Rule)>, u16);

/// What is asked, by zone and by question.
#[derive(Default)]
struct Asking {
    zones: BTreeMap<Name, TopZone>,
    questions: BTreeMap<Asked, (u64, Timestamp)>,
    /// What counts.
    points: HashSet<PointId>,
}

impl Asking {
    fn of(exposures: &Exposures, only: Option<&Name>) -> Asking {
        let mut asking = Asking::default();
        for (id, point) in exposures.points().iter() {
            let info = exposures.edition(point.what.edition);
            let Some(info) = info.filter(|info| only.is_none_or(|only| info.zone == *only)) else { continue };
            asking.points.insert(id);
            let new = || TopZone { zone: info.zone.clone(), count: 0, absent: 0 };
            let zone = asking.zones.entry(info.zone.clone()).or_insert_with(new);
            zone.count += point.count;
            zone.absent += if is_absent(&point) { point.count } else { 0 };
            let (rule, rtype) = match point.what.question {
                Some((decided, rtype)) => (Some((decided.name, decided.rule)), rtype.0),
                None => (None, 0),
            };
            let question = asking.questions.entry((info.zone.clone(), rule, rtype)).or_insert((0, point.last));
            *question = (question.0 + point.count, question.1.max(point.last));
        }
        asking
    }
}

/// Those who asked most for what counts: of each part as many as are wanted, since a network is in one part only.
fn top_networks(known: &impl Known, counted: &HashSet<PointId>, limit: usize) -> Vec<TopNetwork> {
    let mut most: Vec<TopNetwork> = Vec::new();
    known.each_part(|_, part| {
        let mut networks: HashMap<(NotedNetwork, Level), (u64, Timestamp, bool)> = HashMap::new();
        for told in part.filter(|told| counted.contains(&told.point)) {
            let network = networks.entry((told.network, told.level)).or_insert((0, told.last, false));
            *network = (network.0 + told.count.value(), network.1.max(told.last), network.2 | told.proven);
        }
        most.extend(networks.into_iter().filter_map(|((network, level), (count, last, proven))| {
            Some(TopNetwork { network: network.network(level)?, count, last, proven })
        }));
        most.sort_by_key(|row| (std::cmp::Reverse(row.count), row.network));
        most.truncate(limit);
    });
    most
}

fn top(known: &impl Known, serving: &Serving, only: Option<&Name>, limit: usize) -> TopReport {
    let (asking, mut report) = known.look(|exposures| {
        let report = TopReport {
            window_seconds: exposures.window(driver::now()).as_secs(),
            coarse: exposures.networks().coarsened(),
            octets: exposures.octets(),
            ..TopReport::default()
        };
        (Asking::of(exposures, only), report)
    });
    report.networks = top_networks(known, &asking.points, limit);
    let (absent, present): (Vec<_>, Vec<_>) =
        asking.questions.into_iter().partition(|((_, rule, _), _)| matches!(rule, Some((_, Rule::Absent))));
    let named = |rows: Vec<(Asked, (u64, Timestamp))>| {
        let rows = first(rows, limit, |(_, (count, _))| *count);
        let rows = rows.into_iter().map(|((zone, rule, rtype), (count, last))| {
            let zone = serving.zone(zone.as_ref());
            let name = match rule {
                Some((name, rule)) => question(zone, name, rule),
                None => "(others, for which there was no room)".to_owned(),
            };
            TopQuestion { name, rtype: crate::rr::RrType(rtype), count, last }
        });
        rows.collect::<Vec<TopQuestion>>()
    };
    (report.questions, report.absent) = (named(present), named(absent));
    report.zones = first(asking.zones.into_values().collect(), limit, |zone| zone.count);
    report
}

fn is_absent(point: &Point) -> bool {
    point.what.question.is_some_and(|(decided, _)| decided.rule == Rule::Absent)
}

/// The rows of the greatest numbers, the greatest first.
fn first<T>(mut rows: Vec<T>, limit: usize, count: impl Fn(&T) -> u64) -> Vec<T> {
    rows.sort_by_key(|row| std::cmp::Reverse(count(row)));
    rows.truncate(limit);
    rows
}
