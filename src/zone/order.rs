//! Canonical order (RFC 4034 §6.1) of many records at once.
//!
//! To compare two names their labels have to be found first, from the right; done at every comparison this is most of
//! the cost of reading a large zone. So each name is turned once into a number that sorts as its first octets in
//! canonical order do, and only names with the same number are compared for real.

use std::cmp::Ordering;

use crate::name::NameRef;
use crate::zone::text::Record;

/// A name's first octets in canonical order, below the origin: each label from the right, an end behind it.
///
/// Of two names the one with the lesser key comes first; the same key says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key([u64; 2]);

const KEY: usize = 16;

impl Key {
    /// The key of a name at or below `origin`.
    pub fn of(name: NameRef<'_>, origin: NameRef<'_>) -> Key {
        let wire = name.as_wire();
        let below = wire.len().saturating_sub(origin.len());
        let (mut starts, mut count, mut at) = ([0u8; 128], 0, 0);
        while at < below {
            starts[count] = at as u8;
            count += 1;
            at += 1 + wire[at] as usize;
        }
        let mut octets = [0; KEY];
        let mut filled = 0;
        'labels: for &start in starts[..count].iter().rev() {
            let start = start as usize;
            for octet in &wire[start + 1..start + 1 + wire[start] as usize] {
                let Some(place) = octets.get_mut(filled) else { break 'labels };
                // 0 is the end of a label. The last two octets share a value, behind which nothing is told apart.
                *place = octet.to_ascii_lowercase().saturating_add(1);
                filled += 1;
                if *place == u8::MAX {
                    break 'labels;
                }
            }
            filled += 1;
        }
        let (first, second) = octets.split_at(KEY / 2);
        let number = |half: &[u8]| half.iter().fold(0, |number, octet| number << 8 | u64::from(*octet));
        Key([number(first), number(second)])
    }
}

/// Names, each once, in canonical order; those outside of `origin` in front.
pub(super) fn in_order<'a>(origin: NameRef<'_>, names: impl Iterator<Item = NameRef<'a>>) -> Vec<NameRef<'a>> {
    let key = |name: NameRef<'_>| name.is_at_or_below(origin).then(|| Key::of(name, origin));
    let mut keyed: Vec<(Option<Key>, NameRef<'a>)> = names.map(|name| (key(name), name)).collect();
    keyed.sort_unstable_by(|(one, a), (other, b)| one.cmp(other).then_with(|| a.cmp(b)));
    keyed.dedup_by(|(_, a), (_, b)| a == b);
    keyed.into_iter().map(|(_, name)| name).collect()
}

/// Records of one owner that were added one after the other.
#[derive(Clone, Copy)]
struct Run {
    key: Key,
    first: u32,
    len: u32,
}

/// Calls `each` for each RRset of `picked`, in canonical order, with its records sorted by data; of records that differ
/// in nothing but their TTL the one with the highest comes first. `get` finds the record of a number, and numbers of
/// records with the same owner are best side by side in `picked`.
pub(super) fn for_each_rrset<'a>(
    origin: NameRef<'_>,
    picked: &[u32],
    get: impl Fn(u32) -> Record<'a>,
    mut each: impl FnMut(&[Record<'a>]),
) {
    let owner = |run: &Run| get(picked[run.first as usize]).owner;
    let mut runs: Vec<Run> = Vec::new();
    let mut last: Option<NameRef<'_>> = None;
    for (at, number) in picked.iter().enumerate() {
        let name = get(*number).owner;
        match runs.last_mut() {
            // Octets, not names: what differs in case is put together later.
            Some(run) if last.is_some_and(|last| last.as_wire() == name.as_wire()) => run.len += 1,
            _ => runs.push(Run { key: Key::of(name, origin), first: at as u32, len: 1 }),
        }
        last = Some(name);
    }
    // A file in canonical order, as signers write it, is sorted in one pass.
    runs.sort_unstable_by(|a, b| a.key.cmp(&b.key).then_with(|| owner(a).cmp(&owner(b))).then(a.first.cmp(&b.first)));
    // The keys have served, and what follows needs memory.
    let runs: Vec<(u32, u32)> = runs.iter().map(|run| (run.first, run.len)).collect();
    let owner = |(first, _): &(u32, u32)| get(picked[*first as usize]).owner;
    let mut records: Vec<Record<'a>> = Vec::new();
    for same_owner in runs.chunk_by(|a, b| owner(a) == owner(b)) {
        records.clear();
        for (first, len) in same_owner {
            let numbers = &picked[*first as usize..(first + len) as usize];
            records.extend(numbers.iter().map(|number| get(*number)));
        }
        if records.len() > 1 {
            records.sort_by(within_owner);
        }
        records.chunk_by(|a, b| a.rtype == b.rtype).for_each(&mut each);
    }
}

fn within_owner(a: &Record<'_>, b: &Record<'_>) -> Ordering {
    a.rtype.cmp(&b.rtype).then_with(|| a.rdata.cmp(b.rdata)).then(b.ttl.cmp(&a.ttl))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    /// Labels that are hard to tell apart, and one that fills a key.
    const LABELS: [&[u8]; 11] =
        [b"a", b"B", b"b", b"\0", b"\x01", b"ab", b"\xfd", b"\xfe", b"\xff", b"*", b"a-label-longer-than-a-key"];

    #[test]
    fn keys_never_contradict_the_order_of_names() {
        let origin = Name::absolute("x.example").unwrap();
        let mut names = vec![origin.clone()];
        for first in LABELS {
            let parent = origin.as_ref().child(first).unwrap();
            names.extend(LABELS.map(|second| parent.as_ref().child(second).unwrap()));
            names.push(parent);
        }
        let key = |name: &Name| Key::of(name.as_ref(), origin.as_ref());
        let mut told_apart = 0;
        for a in &names {
            for b in &names {
                let order = key(a).cmp(&key(b));
                told_apart += usize::from(order.is_ne());
                assert!(order.is_eq() || order == a.cmp(b), "{a} {b}");
            }
        }
        assert!(told_apart > names.len() * names.len() / 2);
    }

    #[test]
    fn names_come_in_order_and_once() {
        let origin = Name::absolute("x.example").unwrap();
        let texts = ["b.x.example", "a.b.x.example", "z", "B.x.EXAMPLE", "x.example", "a.x.example", "z"];
        let names: Vec<Name> = texts.map(|text| Name::absolute(text).unwrap()).into();
        let sorted = in_order(origin.as_ref(), names.iter().map(Name::as_ref));
        let expected = ["z", "x.example", "a.x.example", "b.x.example", "a.b.x.example"];
        assert_eq!(sorted, expected.map(|text| Name::absolute(text).unwrap()).each_ref().map(Name::as_ref));
    }
}
