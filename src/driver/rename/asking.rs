//! Whether every name server of a zone has a fresh name: its serial and its answers, asked for at the servers themselves.
//! No resolver is ever asked: it would remember that the name was not there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::Duration;

use super::certificates::Certificates;
use super::proposing::Proposing;
use super::{cause, told};
use crate::driver::name_servers::{NameServers, SERIAL_PATIENCE, ask_all, ask_serials, query};
use crate::driver::rename::{Deed, Order, Outcome};
use crate::driver::{Driver, now};
use crate::gate::Finding;
use crate::name::Name;
use crate::observation::sight::{Heard, Said};
use crate::probe::look::read;
use crate::rename::{Overlays, Rename, Stage, apply};
use crate::rr::{Class, RrType};
use crate::serial::Serial;
use crate::serving::content::Content;
use crate::store::journal::Sequence;
use crate::time::Timestamp;

/// How soon it is seen whether name servers have answered, and how often they are asked while they lag.
const ANSWERED: Duration = Duration::from_millis(100);
const ASK_AGAIN: Duration = Duration::from_secs(1);
/// How soon something is tried again that gates stop, or that could not be written.
const TRY_AGAIN: Duration = Duration::from_secs(10);
/// Between two levers that a spare name is made ready for.
const SPARE_PAUSE: Duration = Duration::from_millis(200);
/// The most questions that a name server is asked.
const MOST: usize = 16;

/// The renames under way, by zone.
#[derive(Debug, Default)]
pub(in crate::driver) struct Renames {
    looks: BTreeMap<Name, Look>,
    /// The zones in which there may be too few spare names.
    spares: BTreeSet<Name>,
    /// The levers that lack some, each with its zone: one is seen to at a time.
    lacking: VecDeque<(Name, Name)>,
    /// When the next one is.
    spare_due: Timestamp,
    /// What is looked for, and was asked for, while moves wait for old answers.
    pub(super) proposing: Proposing,
    /// What servers showed, of those that were asked last.
    pub(super) certificates: Certificates,
}

/// What is known of the next step in a zone.
#[derive(Debug)]
struct Look {
    due: Timestamp,
    /// Which fresh name the name servers are asked for, and what they say, once they do.
    asked: Option<(Name, Receiver<Vec<String>>)>,
    /// Why it does not go on, a line each.
    waits_for: Vec<String>,
    /// What was served and decided when a move stood in its way: as long as that stays so, it does.
    barred: Option<Standing>,
}

/// What is served, and the last row of each zone's traffic: on these it rests whether moves stand in the way of a step.
type Standing = (u64, Vec<Option<Sequence>>);

/// A question, and what the zone's sites answer it with: each of them is right.
struct Question {
    name: Name,
    rtype: RrType,
    expected: Vec<Heard>,
}

impl Renames {
    /// Has the next step of a zone looked at.
    pub(super) fn look_now(&mut self, origin: &Name) {
        self.looks.insert(origin.clone(), Look { due: now(), asked: None, waits_for: Vec::new(), barred: None });
    }

    /// Has it looked at whether a zone has as many spare names as it should.
    pub(in crate::driver) fn count_spares(&mut self, origin: &Name) {
        self.spares.insert(origin.clone());
    }
}

impl Driver {
    /// Why the next step of a rename in a zone is not taken yet, a line each.
    pub fn rename_waits_for(&self, origin: &Name) -> &[String] {
        self.renames.looks.get(origin).map_or(&[], |look| &look.waits_for)
    }

    /// When a step of a rename is to be looked at next.
    pub(in crate::driver) fn renames_due(&mut self) -> Option<Timestamp> {
        let at = now();
        let mut looks = std::mem::take(&mut self.renames.looks);
        let under_way = self.serving.zones().iter().filter(|zone| next(&zone.content.overlays).is_some());
        for zone in under_way {
            let origin = &zone.content.origin;
            let look =
                looks.remove(origin).unwrap_or(Look { due: at, asked: None, waits_for: Vec::new(), barred: None });
            self.renames.looks.insert(origin.clone(), look);
        }
        let are_none = self.renames.spares.is_empty() && self.renames.lacking.is_empty();
        let spares = (!are_none).then_some(self.renames.spare_due);
        let found = self.proposals_due();
        self.renames.looks.values().map(|look| look.due).chain(spares).chain(found).min()
    }

    /// Takes the steps of renames that can be taken.
    pub(in crate::driver) fn look_at_renames(&mut self) {
        self.keep_spares();
        self.take_renames_that_turned();
        self.do_wanted_renames();
        self.look_for_renames();
        self.take_due_steps();
        self.take_renames_that_turned();
    }

    fn take_due_steps(&mut self) {
        let at = now();
        let due: Vec<Name> =
            self.renames.looks.iter().filter(|(_, look)| look.due <= at).map(|(origin, _)| origin.clone()).collect();
        for origin in due {
            let Some(zone) = self.serving.zone(origin.as_ref()) else { continue };
            let content = std::sync::Arc::clone(&zone.content);
            let Some(rename) = next(&content.overlays).cloned() else { continue };
            let stage = match rename.stage {
                Stage::Staged => match self.seen_everywhere(&content, &rename) {
                    Seen::Yes => Stage::Confirmed,
                    Seen::Asked => {
                        self.look_again(&origin, ANSWERED, None);
                        continue;
                    }
                    Seen::No(lag) => {
                        self.look_again(&origin, ASK_AGAIN, Some(lag));
                        continue;
                    }
                },
                _ => Stage::Referenced,
            };
            let standing = self.standing();
            if self.renames.looks.get(&origin).is_some_and(|look| look.barred.as_ref() == Some(&standing)) {
                self.look_again(&origin, TRY_AGAIN, None);
                continue;
            }
            match self.take_step(&content, &rename, stage) {
                Ok(()) => {
                    self.renames.look_now(&origin);
                    self.renames.count_spares(&origin);
                }
                Err(Barred { by_move, why }) => {
                    if let Some(look) = self.renames.looks.get_mut(&origin) {
                        look.barred = by_move.then_some(standing);
                    }
                    tracing::warn!(zone = %origin, "the rename of {} does not go on: {}", rename.lever, why.join("; "));
                    self.look_again(&origin, TRY_AGAIN, Some(why));
                }
            }
        }
    }

    /// Begins to keep one more fresh name ready where there are too few. One at a time, with a pause: whoever wants something of
    /// the driver does not wait for more.
    fn keep_spares(&mut self) {
        let at = now();
        if self.renames.spare_due > at {
            return;
        }
        if let Some(origin) = self.renames.spares.pop_first() {
            self.renames.lacking.retain(|(zone, _)| *zone != origin);
            let lacking = self.lacking_spares(&origin);
            self.renames.lacking.extend(lacking.into_iter().map(|lever| (origin.clone(), lever)));
        }
        let Some((origin, lever)) = self.renames.lacking.pop_front() else { return };
        self.renames.spare_due = at.after(SPARE_PAUSE);
        if self.traffic(&origin).is_some_and(|state| !state.moves.is_empty() || !state.challengers.is_empty()) {
            self.renames.lacking.push_back((origin, lever));
            self.renames.spare_due = at.after(TRY_AGAIN);
        } else if self.keep_spare(&origin, lever) {
            // The next one is begun when its servers have this one.
            self.renames.lacking.retain(|(zone, _)| *zone != origin);
        }
    }

    /// The levers of a zone that have fewer spare names than they should; none while one is being made ready.
    fn lacking_spares(&self, origin: &Name) -> BTreeSet<Name> {
        let wanted = self.setup.zone(origin).map_or(0, |spec| spec.spare_levers);
        let zone = self.serving.zone(origin.as_ref()).filter(|_| wanted > 0);
        let Some(content) = zone.map(|zone| &zone.content).filter(|content| next(&content.overlays).is_none()) else {
            return BTreeSet::new();
        };
        let of_texts = |lever: Name| match content.overlays.get(lever.as_ref()) {
            Some(rename) => rename.lever.clone(),
            None => lever,
        };
        let is_here = |lever: &Name| content.sites.iter().any(|site| site.zone.owner(lever.as_ref()).is_some());
        let spares = |lever: &Name| content.overlays.of(lever.as_ref()).filter(|rename| rename.spare).count();
        let levers = self.fronts(content).into_iter().flat_map(|front| front.levers);
        let levers = levers.map(|(_, lever)| of_texts(lever)).filter(|lever| {
            lever.as_ref().is_at_or_below(origin.as_ref()) && is_here(lever) && spares(lever) < usize::from(wanted)
        });
        levers.collect()
    }

    /// Whether one more fresh name begins to be kept ready for a lever.
    fn keep_spare(&mut self, origin: &Name, lever: Name) -> bool {
        let order = Order {
            name: lever.clone(),
            deed: Deed::Spare,
            dry_run: false,
            plan: None,
            reason: "spare_levers".into(),
            overrides: Vec::new(),
            asks: false,
        };
        // What speaks against it by itself costs little to find.
        let stopped = match self.draft_rename(origin, &order) {
            Ok(draft) => reasons(&draft.findings),
            Err(impossible) => impossible.to_string(),
        };
        if !stopped.is_empty() {
            tracing::warn!(zone = %origin, "no fresh name is kept ready for {lever}: {stopped}");
            return false;
        }
        let why = match self.rename(origin, &order, &crate::world::daemon()) {
            Ok(Ok(report)) if report.outcome != Outcome::Blocked => return true,
            Ok(Ok(report)) => reasons(&report.findings),
            Ok(Err(impossible)) => impossible.to_string(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(zone = %origin, "no fresh name is kept ready for {lever}: {why}");
        false
    }

    fn look_again(&mut self, origin: &Name, pause: Duration, waits_for: Option<Vec<String>>) {
        if let Some(look) = self.renames.looks.get_mut(origin) {
            look.due = now().after(pause);
            if let Some(lines) = waits_for {
                look.waits_for = lines;
            }
        }
    }

    fn standing(&self) -> Standing {
        let engines: BTreeMap<&Name, Option<Sequence>> =
            self.engines.iter().map(|(origin, engine)| (origin, engine.last)).collect();
        (self.serving.generation, engines.into_values().collect())
    }

    /// Publishes the next stage of a rename.
    fn take_step(&mut self, content: &Content, rename: &Rename, stage: Stage) -> Result<(), Barred> {
        let (origin, fresh) = (&content.origin, &rename.fresh);
        let overlays = match stage {
            Stage::Referenced => content.overlays.turned(fresh.as_ref(), now()),
            _ => content.overlays.at(fresh.as_ref(), stage),
        };
        let staged = self.staged(origin, &overlays).map_err(|error| Barred::by(vec![error.to_string()]))?;
        if !staged.touched.is_empty() {
            let line = |set: &String| format!("a move under way moves {set}");
            return Err(Barred { by_move: true, why: staged.touched.iter().map(line).collect() });
        }
        let words: Vec<_> = rename.words.iter().filter_map(|word| word.parse().ok()).collect();
        let verified = staged.candidate.verify(&words).map_err(|refused| {
            let stopping = refused.findings.into_iter().filter(|found| crate::door::stops(found, &words));
            let line = |found: Finding| format!("{} [{}]: {}", found.gate, found.digest().short(), found.reason);
            Barred::by(stopping.map(line).collect())
        })?;
        let line = told(&overlays, &rename.lever, fresh, Deed::Begin);
        tracing::info!(zone = %origin, "{line}");
        let cause = cause(&crate::world::daemon(), "", &rename.lever, fresh, &overlays, line);
        let published = self.publish_overlays(&verified, &staged.origins, cause);
        published.map(|_| ()).map_err(|error| Barred::by(vec![error.to_string()]))
    }

    /// Whether all name servers of the zone have a fresh name. They are asked on a thread of its own, if nobody has yet.
    fn seen_everywhere(&mut self, content: &Content, rename: &Rename) -> Seen {
        let origin = &content.origin;
        let questions = questions(content, rename);
        let asked = self.renames.looks.get_mut(origin).and_then(|look| look.asked.take());
        // What they said of another name says nothing of this one.
        let asked = asked.filter(|(fresh, _)| *fresh == rename.fresh);
        match asked.as_ref().map(|(_, receiver)| receiver.try_recv()) {
            Some(Ok(lag)) if lag.is_empty() => {
                let changed = questions.first().map(|question| (question.name.as_ref(), question.rtype));
                if self.confirm(origin, changed) {
                    return Seen::Yes;
                }
                return Seen::No(vec!["a socket of ours does not give what was published; the log names it".into()]);
            }
            Some(Ok(lag)) => return Seen::No(lag),
            Some(Err(TryRecvError::Empty)) => {
                if let Some(look) = self.renames.looks.get_mut(origin) {
                    look.asked = asked;
                }
                return Seen::Asked;
            }
            Some(Err(TryRecvError::Disconnected)) | None => {}
        }
        let Some(spec) = self.setup.zone(origin) else { return Seen::No(vec!["the zone is not configured".into()]) };
        let others: Vec<SocketAddr> = NameServers::of(spec, &content.sites[0]).others(&self.own).collect();
        let (sender, receiver) = mpsc::channel();
        let (name, serial) = (origin.clone(), self.serial_of(origin));
        let ask = move || drop(sender.send(lagging(&name, serial, &others, &questions)));
        match thread::Builder::new().name("ask-renamed".into()).spawn(ask) {
            Ok(_) => {
                if let Some(look) = self.renames.looks.get_mut(origin) {
                    look.asked = Some((rename.fresh.clone(), receiver));
                }
                Seen::Asked
            }
            Err(error) => Seen::No(vec![format!("the system gave no thread to ask with: {error}")]),
        }
    }
}

/// Why findings stop something, in one line; empty if none does.
pub(super) fn reasons(findings: &[Finding]) -> String {
    let stopping = findings.iter().filter(|found| found.verdict.stops());
    stopping.map(|found| format!("{}: {}", found.gate, found.reason)).collect::<Vec<_>>().join("; ")
}

/// Why a step is not taken, in lines.
struct Barred {
    /// Whether moves stand in its way.
    by_move: bool,
    why: Vec<String>,
}

impl Barred {
    fn by(why: Vec<String>) -> Barred {
        Barred { by_move: false, why }
    }
}

/// Whether all name servers have a fresh name.
enum Seen {
    Yes,
    Asked,
    /// Which do not, a line each.
    No(Vec<String>),
}

/// The rename whose next step is to be taken: spare ones wait once they are confirmed.
pub fn next(overlays: &Overlays) -> Option<&Rename> {
    overlays
        .renames
        .iter()
        .find(|rename| rename.stage == Stage::Staged || rename.stage == Stage::Confirmed && !rename.spare)
}

/// Which name servers do not have what they should, a line each.
fn lagging(origin: &Name, serial: Serial, servers: &[SocketAddr], questions: &[Question]) -> Vec<String> {
    let mut lag = Vec::new();
    let mut ready = Vec::new();
    for (address, told) in ask_serials(origin, servers) {
        match told {
            Ok(told) if serial.is_above(told) => lag.push(format!("{address} tells serial {told}, not {serial}")),
            Ok(_) => ready.push(address),
            Err(why) => lag.push(why),
        }
    }
    for Question { name, rtype, expected } in questions {
        let answers = ask_all(&ready, &query(name.as_ref().as_wire(), *rtype, Class::IN), SERIAL_PATIENCE);
        for (address, answer) in ready.iter().zip(answers) {
            match answer.map(|answer| without_ttl(read(&answer, *rtype))) {
                Ok(heard) if expected.contains(&heard) => {}
                Ok(heard) => lag.push(format!("{address} answers {name} {rtype} with {}", described(&heard))),
                Err(error) => lag.push(format!("{address}: {error}")),
            }
        }
    }
    lag
}

fn described(heard: &Heard) -> String {
    match heard {
        Heard::Said(said, _) if said.is_positive() => {
            said.data.iter().chain(&said.aliases).cloned().collect::<Vec<_>>().join(", ")
        }
        Heard::Said(..) => "nothing".into(),
        Heard::NoName => "NXDOMAIN".into(),
        Heard::Failure => "SERVFAIL".into(),
        Heard::Refused => "a refusal".into(),
        Heard::Nothing => "silence".into(),
    }
}

/// TTLs may be capped, or lowered by a move.
fn without_ttl(heard: Heard) -> Heard {
    match heard {
        Heard::Said(said, _) => Heard::Said(Said { ttl: None, ..said }, false),
        other => other,
    }
}

/// What name servers are asked: all RRsets that came along, up to so many. A server may have any site's.
fn questions(content: &Content, rename: &Rename) -> Vec<Question> {
    let mut asked: Vec<(Name, RrType)> = Vec::new();
    for site in &content.sites {
        for owner in apply::along(&site.zone, rename.fresh.as_ref(), true) {
            for set in owner.rrsets() {
                let question = (set.owner.to_lowercase(), set.rtype);
                if asked.len() < MOST && !asked.contains(&question) {
                    asked.push(question);
                }
            }
        }
    }
    let expected = |(name, rtype): (Name, RrType)| {
        let at_sites = content.sites.iter().map(|site| {
            if !site.zone.exists(name.as_ref()) {
                return Heard::NoName;
            }
            let data = site
                .zone
                .rrset(name.as_ref(), rtype)
                .map_or(Vec::new(), |set| set.rdatas().map(<[u8]>::to_vec).collect());
            without_ttl(read(&message(&name, rtype, &data), rtype))
        });
        let expected = at_sites.collect();
        Question { name, rtype, expected }
    };
    asked.into_iter().map(expected).collect()
}

/// An answer as a server would give it, to be read as theirs are.
fn message(name: &Name, rtype: RrType, data: &[Vec<u8>]) -> Vec<u8> {
    let mut message = query(name.as_ref().as_wire(), rtype, Class::IN);
    message[2] = 0x84;
    message[6..8].copy_from_slice(&(data.len() as u16).to_be_bytes());
    for data in data {
        message.extend_from_slice(name.as_ref().as_wire());
        message.extend_from_slice(&rtype.0.to_be_bytes());
        message.extend_from_slice(&Class::IN.0.to_be_bytes());
        message.extend_from_slice(&0u32.to_be_bytes());
        message.extend_from_slice(&(data.len() as u16).to_be_bytes());
        message.extend_from_slice(data);
    }
    message
}
