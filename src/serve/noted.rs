//! Who was told what: each UDP worker notes every answer, in a table of its own and fixed size. No lock, no allocation.
//!
//! A batch is noted at once, so that its looks into the table wait for memory together.

use std::fmt;
use std::net::IpAddr;

use super::mmsg::BATCH;
use crate::rr::RrType;
use crate::time::{Timestamp, Ttl};

/// How many places a newcomer may take behind its first.
const REACH: usize = 8;

/// A client network, in 64 bits: an IPv4 /24 or an IPv6 /48.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NotedNetwork(u64);

impl NotedNetwork {
    /// The network of an address. An IPv4 address mapped into IPv6 counts as IPv4.
    pub fn of(address: IpAddr) -> NotedNetwork {
        // The bits behind tell the families apart, and all networks from an empty place.
        match address.to_canonical() {
            IpAddr::V4(v4) => NotedNetwork(u64::from(v4.to_bits() >> 8) << 2 | 1),
            IpAddr::V6(v6) => NotedNetwork(((v6.to_bits() >> 80) as u64) << 2 | 2),
        }
    }
}

/// An answer that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// To whom.
    pub network: NotedNetwork,
    /// The hash of the name that was asked for, under the key of the serving.
    pub name: u64,
    /// The type that was asked for: with the name and the generation it says which RRset was told.
    pub rtype: RrType,
    /// The TTL of the first record that was told; none if there was no record.
    pub ttl: Option<Ttl>,
    /// The generation of what it was answered from.
    pub generation: u64,
    /// When.
    pub at: Timestamp,
}

/// Where a worker's notes go. It is called between receiving and sending: it must not wait, nor take memory.
pub trait Noted: fmt::Debug + Send {
    /// Takes the notes of a batch.
    fn note(&mut self, notes: &[Note]);
}

/// The notes of a batch, as they come.
#[derive(Debug)]
pub(super) struct Notes {
    notes: [Note; BATCH],
    count: usize,
}

impl Default for Notes {
    fn default() -> Notes {
        let none = Note {
            network: NotedNetwork(0),
            name: 0,
            rtype: RrType(0),
            ttl: None,
            generation: 0,
            at: Timestamp::default(),
        };
        Notes { notes: [none; BATCH], count: 0 }
    }
}

impl Notes {
    /// Adds one; a batch has no more than there is room for.
    pub fn add(&mut self, note: Note) {
        if let Some(room) = self.notes.get_mut(self.count) {
            *room = note;
            self.count += 1;
        }
    }

    /// Hands them on, and begins anew.
    pub fn hand_to(&mut self, noted: &mut dyn Noted) {
        noted.note(&self.notes[..self.count]);
        self.count = 0;
    }
}

/// Counts answers by client network. Networks for which there is no room are counted together: none is left out.
#[derive(Debug)]
pub struct Networks {
    places: Box<[Place]>,
    hasher: foldhash::fast::FixedState,
    others: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Place {
    /// 0 if it is free.
    network: u64,
    answers: u64,
}

impl Default for Networks {
    fn default() -> Networks {
        Networks::with_places(1 << 16)
    }
}

impl Networks {
    /// With room for about so many networks.
    pub fn with_places(count: usize) -> Networks {
        let seed = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), count);
        let hasher = foldhash::fast::FixedState::with_seed(seed);
        Networks { places: vec![Place::default(); count.next_power_of_two()].into(), hasher, others: 0 }
    }

    /// How many answers a network was given, if it has a place.
    pub fn answers(&self, network: NotedNetwork) -> Option<u64> {
        let at = self.place(network).filter(|at| self.places[*at].network != 0)?;
        Some(self.places[at].answers)
    }

    /// How many answers networks were given for which there was no room.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// Where a network stands, or may stand.
    fn place(&self, network: NotedNetwork) -> Option<usize> {
        let (first, mask) = (std::hash::BuildHasher::hash_one(&self.hasher, network.0) as usize, self.places.len() - 1);
        let mut within = (0..REACH).map(|step| first.wrapping_add(step) & mask);
        within.find(|at| [0, network.0].contains(&self.places[*at].network))
    }
}

impl Noted for Networks {
    fn note(&mut self, notes: &[Note]) {
        for note in notes {
            match self.place(note.network) {
                Some(at) => {
                    self.places[at].network = note.network.0;
                    self.places[at].answers += 1;
                }
                None => self.others += 1,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(address: &str) -> Note {
        let network = NotedNetwork::of(address.parse().unwrap());
        Note { network, name: 1, rtype: RrType::A, ttl: None, generation: 1, at: Timestamp(0) }
    }

    #[test]
    fn networks_are_told_apart_by_their_prefix_alone() {
        let mut networks = Networks::default();
        let asked =
            ["192.0.2.1", "192.0.2.255", "::ffff:192.0.2.7", "192.0.3.1", "0.0.0.0", "::", "2001:db8:0:ffff::1"];
        networks.note(&asked.map(note));
        networks.note(&["2001:db8::", "2001:db8:1::"].map(note));
        let known = ["192.0.2.9", "192.0.3.9", "0.0.0.1", "::1", "2001:db8::9", "2001:db8:1::1", "198.51.100.1"];
        let answers = known.map(|address| networks.answers(note(address).network));
        assert_eq!(answers, [Some(3), Some(1), Some(1), Some(1), Some(2), Some(1), None]);
        assert_eq!(networks.others(), 0);
    }

    #[test]
    fn a_full_table_leaves_no_answer_out() {
        let mut networks = Networks::with_places(16);
        let notes: Vec<Note> = (0..100).map(|number| note(&format!("10.0.{number}.1"))).collect();
        for batch in notes.chunks(BATCH) {
            networks.note(batch);
            networks.note(batch);
        }
        let placed: u64 = notes.iter().filter_map(|note| networks.answers(note.network)).sum();
        assert!(placed >= 16 && networks.others() > 0, "{placed} {}", networks.others());
        assert_eq!(placed + networks.others(), 200);
    }
}
