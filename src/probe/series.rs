//! The ways in which a canary is asked for: at once, again and again, or not until late.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::ask::{Carrier, ask};
use super::pace::{Pace, Stopped};
use super::register::Register;
use crate::canary::{Canary, CanaryZone, Content};
use crate::name::NameRef;
use crate::observation::{Ask, Reply, Series};
use crate::serve;
use crate::time::{Timestamp, Ttl};

/// How long a reply is waited for that a cache or the canaries' server can give.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long one is waited for while the server fails or is silent: resolvers try for that long.
const LONG_PATIENCE: Duration = Duration::from_secs(15);
/// The least time between two questions for one canary.
const CLOSEST: Duration = Duration::from_millis(500);
/// What stands between the last seed and the turn.
const BEFORE_TURN: Duration = Duration::from_millis(700);
/// How often a canary is asked for in vain before its turn.
const FILL_ATTEMPTS: u32 = 3;
/// How late a query may reach the canaries' server after its question was answered.
const STRAGGLERS: Duration = Duration::from_millis(300);

/// A resolver under way, and all that it takes to ask it.
pub(super) struct Subject<'p> {
    pub(super) zone: &'p CanaryZone,
    pub(super) register: &'p Register,
    pub(super) addresses: &'p [SocketAddr],
    pub(super) carrier: Carrier,
    pub(super) pace: Pace,
}

/// A canary that is being asked for.
struct Asking<'s, 'p> {
    subject: &'s Subject<'p>,
    canary: Canary,
    asks: Vec<Ask>,
}

impl Drop for Asking<'_, '_> {
    fn drop(&mut self) {
        self.subject.register.close(self.canary.nonce);
    }
}

impl<'p> Subject<'p> {
    /// A canary of its own that turns after so long.
    fn asking(&self, before: Content, after: Content, ttl: Ttl, turns_after: Duration) -> Asking<'_, 'p> {
        let nonce = || self.pace.chance().number() as u32 & Canary::NONCES;
        let mut chosen = nonce();
        // Where there is no room, nothing of what arrives is seen; the series shows nothing then.
        let mut attempts = 0;
        while !self.register.open(chosen) && attempts < 8 {
            chosen = nonce();
            attempts += 1;
        }
        let canary = Canary::new(before, after, ttl, serve::now().after(turns_after), chosen);
        Asking { subject: self, canary, asks: Vec::new() }
    }

    /// How long so many questions take, with room for others in between.
    pub(super) fn span(&self, questions: u32) -> Duration {
        self.pace.gap() * questions * 2 + BEFORE_TURN
    }

    /// Asks for a canary so many times, as fast as may be.
    pub(super) async fn burst(&self, content: Content, ttl: Ttl, questions: u32) -> Result<Series, Stopped> {
        let mut asking = self.asking(content, content, ttl, self.span(questions) + LONG_PATIENCE * 2);
        for _ in 0..questions {
            asking.ask(None).await?;
        }
        Ok(asking.end().await)
    }

    /// Asks for a name that is not there and then for one below it.
    pub(super) async fn below(&self, ttl: Ttl, fills: u32) -> Result<Series, Stopped> {
        let mut asking = self.asking(Content::NoName, Content::NoName, ttl, LONG_PATIENCE * 2);
        for _ in 0..fills {
            asking.ask(None).await?;
        }
        asking.ask(Some(b"below")).await?;
        Ok(asking.end().await)
    }

    /// Asks the resolver over TCP, whatever it is asked by usually.
    pub(super) async fn over_tcp(&self, ttl: Ttl) -> Result<Reply, Stopped> {
        let asking = self.asking(Content::Data, Content::Data, ttl, LONG_PATIENCE);
        self.pace.turn().await?;
        let Ok(name) = self.zone.name(&asking.canary) else { return Ok(Reply::Nothing) };
        Ok(ask(self.address(), Carrier::Tcp, name.as_ref(), self.id(), PATIENCE).await.reply)
    }

    /// A canary that was asked for so often before its turn. One whose turn came sooner is of no use, and another is made.
    async fn filled(&self, before: Content, after: Content, ttl: Ttl, fills: u32) -> Result<Asking<'_, 'p>, Stopped> {
        let _filling = self.pace.filling().await;
        let (mut span, mut attempts) = (self.span(fills), 1);
        loop {
            let mut asking = self.asking(before, after, ttl, span);
            for _ in 0..fills {
                asking.ask(None).await?;
            }
            if serve::now() < asking.canary.turn || attempts == FILL_ATTEMPTS {
                return Ok(asking);
            }
            (span, attempts) = (span * 2, attempts + 1);
        }
    }

    /// How far apart questions for one canary are when it has this age.
    pub(super) fn apart(ttl: Ttl, age: Duration) -> Duration {
        (ttl.duration() / 20).max(age / 20).max(CLOSEST)
    }

    /// Puts a canary into the caches and asks for it until they have let go of it: until so many new answers came in a row,
    /// or so long.
    pub(super) async fn hold(&self, order: &HoldOrder) -> Result<Series, Stopped> {
        let HoldOrder { before, ttl, fills, news, phase, watch } = *order;
        let apart = Subject::apart(ttl, Duration::ZERO);
        let _load = self.pace.load(apart).await;
        let mut asking = self.filled(before, Content::Data, ttl, fills).await?;
        let began = Instant::now();
        asking.until_turn().await;
        sleep(apart.mul_f64(phase)).await;
        let mut in_a_row = 0;
        loop {
            let reply = asking.ask(None).await?;
            in_a_row = if matches!(reply, Reply::Data { version: 2, .. }) { in_a_row + 1 } else { 0 };
            let age = began.elapsed();
            if in_a_row >= news || age > watch {
                return Ok(asking.end().await);
            }
            sleep(Subject::apart(ttl, age)).await;
        }
    }

    /// Puts a canary into the caches, and does not ask for it before it has this age.
    pub(super) async fn late(&self, after: Content, ttl: Ttl, fills: u32, age: Duration) -> Result<Series, Stopped> {
        let mut asking = self.filled(Content::Data, after, ttl, fills).await?;
        asking.until_turn().await;
        let turn_to_age = age.saturating_sub(BEFORE_TURN);
        sleep_until(Instant::now() + turn_to_age).await;
        for _ in 0..2 {
            asking.ask(None).await?;
            sleep(CLOSEST).await;
        }
        Ok(asking.end().await)
    }

    fn address(&self) -> SocketAddr {
        let at = self.pace.chance().number() as usize % self.addresses.len().max(1);
        self.addresses.get(at).copied().unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 53)))
    }

    fn id(&self) -> u16 {
        self.pace.chance().number() as u16
    }
}

/// How long a kind of answer is held.
#[derive(Clone, Copy)]
pub(super) struct HoldOrder {
    pub(super) before: Content,
    pub(super) ttl: Ttl,
    /// How often it is asked for before its turn, so that all caches have it.
    pub(super) fills: u32,
    /// After how many new answers in a row no cache is thought to have the old one.
    pub(super) news: u32,
    /// Where between two questions of other series those of this one are, from 0 to 1.
    pub(super) phase: f64,
    /// How long it is watched at most.
    pub(super) watch: Duration,
}

impl Asking<'_, '_> {
    async fn ask(&mut self, label: Option<&[u8]>) -> Result<Reply, Stopped> {
        let subject = self.subject;
        subject.pace.turn().await?;
        let (content, _) = self.canary.at(serve::now());
        let fails = matches!(content, Content::Failure | Content::Silence) || self.canary.before == Content::Failure;
        let Ok(name) = subject.zone.name(&self.canary) else { return Ok(Reply::Nothing) };
        let name = label.and_then(|label| name.as_ref().child(label).ok()).unwrap_or(name);
        let patience = if fails { LONG_PATIENCE } else { PATIENCE };
        let name: NameRef<'_> = name.as_ref();
        let asked = ask(subject.address(), subject.carrier, name, subject.id(), patience).await;
        if !fails || matches!(asked.reply, Reply::Data { .. }) {
            subject.pace.answered(!matches!(asked.reply, Reply::Nothing | Reply::Refused));
        }
        self.asks.push(asked);
        Ok(asked.reply)
    }

    async fn until_turn(&self) {
        let Timestamp(turn) = self.canary.turn;
        let left = u64::try_from(turn - serve::now().0).unwrap_or(0);
        sleep(Duration::from_millis(left + 50)).await;
    }

    async fn end(mut self) -> Series {
        sleep(STRAGGLERS).await;
        let arrivals = self.subject.register.close(self.canary.nonce);
        Series { canary: self.canary, asks: std::mem::take(&mut self.asks), arrivals }
    }
}
