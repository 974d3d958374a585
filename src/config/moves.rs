//! How careful the moves of a zone are: `[zone.policy]`.

use std::time::Duration;

use super::nearest::UnknownName;
use super::table::Table;
use crate::failover::policy::{Approval, Policy};
use crate::failover::renames::Initiative;
use crate::failover::steps::Steps;
use crate::share::Share;

/// Which moves a second person has to approve, as it is written.
const APPROVALS: [(&str, Approval); 3] =
    [("nothing", Approval::Nothing), ("planned", Approval::Planned), ("everything", Approval::Everything)];

/// What is done about renames that gain something while a move waits for old answers, as it is written.
const INITIATIVES: [(&str, Initiative); 3] =
    [("never", Initiative::Never), ("propose", Initiative::Propose), ("do", Initiative::Do)];

/// The policy of a zone, what is not written being as usual; and how many fresh names are kept ready for each of its levers.
pub(super) fn read_policy(zone: &Table<'_>) -> (Policy, u16) {
    let mut policy = Policy::default();
    let Some(table) = zone.table("zone.policy") else { return (policy, 0) };
    let time = |name, usual: Duration| {
        table.time(name, "5m").map_or(usual, |found| Duration::from_secs(found.value.seconds().into()))
    };
    let count = |name, usual: u16| {
        table.integer(name, 1..=1000, usual.into()).and_then(|count| u16::try_from(count).ok()).unwrap_or(usual)
    };
    policy.steps = read_steps(&table).unwrap_or(policy.steps);
    policy.step_wait = time("step_wait", policy.step_wait);
    policy.low_ttl = table.time("low_ttl", "30s").map_or(policy.low_ttl, |found| found.value);
    policy.bake = time("bake", policy.bake);
    let approved = "does not say which moves a second person has to approve";
    policy.approval = read_word(&table, "approval", APPROVALS, "planned", approved).unwrap_or_default();
    policy.approval_expires = time("approval_expires", policy.approval_expires);
    policy.hold_reminder = at_least_a_second(&table, "hold_reminder", time("hold_reminder", policy.hold_reminder));
    policy.hold_deadline = time("hold_deadline", policy.hold_deadline);
    policy.retry = at_least_a_second(&table, "retry", time("retry", policy.retry));
    policy.rise = count("rise", policy.rise);
    policy.fall = count("fall", policy.fall);
    policy.drain_deadline = time("drain_deadline", policy.drain_deadline);
    let done = "does not say what is done about renames while caches drain";
    policy.rename = read_word(&table, "rename", INITIATIVES, "propose", done).unwrap_or_default();
    policy.capacity_steps = table.boolean("capacity_steps").unwrap_or(policy.capacity_steps);
    let spare_levers = table.integer("spare_levers", 0..=4, 1).and_then(|count| u16::try_from(count).ok());
    (policy, spare_levers.unwrap_or(0))
}

fn at_least_a_second(table: &Table<'_>, name: &str, time: Duration) -> Duration {
    if time.is_zero()
        && let Some(found) = table.get(name)
    {
        table.wrong(
            &found.span(),
            name,
            "is 0",
            "it would be done without a pause",
            format!("`{name} = \"1s\"` or more"),
        );
    }
    time.max(Duration::from_secs(1))
}

/// The shares that a switchover goes by, rising; the whole is always the last one.
fn read_steps(table: &Table<'_>) -> Option<Steps> {
    const KEY: &str = "steps";
    const EXAMPLE: &str = "[\"1%\", \"10%\", \"30%\", \"100%\"]";
    let found = table.strings(KEY, EXAMPLE)?;
    let mut shares = Vec::new();
    for entry in &found.value {
        match entry.value.parse::<Share>() {
            Ok(share) => shares.push(share),
            Err(what) => table.wrong(&entry.span, KEY, what, "", format!("`{KEY} = {EXAMPLE}`")),
        }
    }
    if shares.len() < found.value.len() {
        return None;
    }
    let steps = Steps::up_to_all(shares);
    if let Err(what) = &steps {
        table.wrong(&found.span, KEY, what.as_str(), "", format!("`{KEY} = {EXAMPLE}`"));
    }
    steps.ok()
}

/// One of a few words.
fn read_word<T: Copy, const N: usize>(
    table: &Table<'_>,
    key: &'static str,
    words: [(&str, T); N],
    example: &'static str,
    wrong: &str,
) -> Option<T> {
    let found = table.string(key, example)?;
    let known = words.iter().find(|(word, _)| *word == found.value);
    if known.is_none() {
        let unknown = UnknownName::new(key, found.value, words.iter().map(|(word, _)| *word));
        table.wrong(&found.span, key, format!("`{}` {wrong}", found.value), "", unknown.advice());
    }
    known.map(|(_, meant)| *meant)
}
