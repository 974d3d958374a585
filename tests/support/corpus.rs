//! What the servers are compared over, and the answers that BIND, NSD and Knot agreed on, recorded.

use std::fs;
use std::path::PathBuf;

use super::compare::View;
use super::generate::{self, Question, Zone};

/// How many seeds zones are made from. Of 24, eight have a child zone that is served as well.
const SEEDS: u64 = 24;
/// Questions about each zone.
const QUESTIONS: usize = 3_600;
/// How many of them have their answers recorded.
pub const RECORDED: usize = 1_000;

/// A zone and what is asked about it.
pub struct Case {
    pub zone: Zone,
    pub questions: Vec<Question>,
}

/// All of them, always the same.
pub fn cases() -> Vec<Case> {
    let zones = (0..SEEDS).flat_map(|seed| generate::zones(seed, SEEDS));
    let case = |(number, zone)| Case { questions: generate::questions(&zone, number as u64, QUESTIONS), zone };
    zones.enumerate().map(case).collect()
}

/// The digests of the agreed answers to the first [`RECORDED`] questions of each case; none where there was no agreement.
pub struct Recording {
    /// Tells that the zones or the questions have become others since.
    fingerprint: u64,
    digests: Vec<u32>,
}

impl Recording {
    fn path() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/support/agreed.bin")
    }

    /// From the agreed answers of each case in turn.
    pub fn of<'a>(cases: &[Case], agreed: impl Iterator<Item = Option<&'a View>>) -> Recording {
        let digests = agreed.map(|view| view.map_or(0, digest)).collect();
        Recording { fingerprint: fingerprint(cases), digests }
    }

    pub fn write(&self) {
        let octets = self.digests.iter().flat_map(|digest| digest.to_le_bytes());
        let octets: Vec<u8> = self.fingerprint.to_le_bytes().into_iter().chain(octets).collect();
        fs::write(Recording::path(), octets).unwrap();
    }

    /// The recording in the repository.
    pub fn read(cases: &[Case]) -> Recording {
        let octets = fs::read(Recording::path()).unwrap_or_default();
        let (head, tail) = octets.split_at_checked(8).expect("tests/support/agreed.bin is there and not cut short");
        let recording = Recording {
            fingerprint: u64::from_le_bytes(head.try_into().unwrap()),
            digests: tail.chunks_exact(4).map(|octets| u32::from_le_bytes(octets.try_into().unwrap())).collect(),
        };
        assert_eq!(
            recording.fingerprint,
            fingerprint(cases),
            "the recording is of other zones or questions: make a new one by \
             `UNDERSTUDY_RECORD=1 cargo nextest run --test differential unsigned`"
        );
        recording
    }

    /// What is recorded of a question: nothing if the servers did not agree.
    pub fn matches(&self, case: usize, question: usize, view: &View) -> Option<bool> {
        let recorded = self.digests[case * RECORDED + question];
        (recorded != 0).then(|| recorded == digest(view))
    }

    /// Where this and another one differ.
    pub fn differences(&self, other: &Recording) -> usize {
        self.digests.iter().zip(&other.digests).filter(|(a, b)| a != b).count()
            + self.digests.len().abs_diff(other.digests.len())
    }
}

fn digest(view: &View) -> u32 {
    let hash = fnv(view.text().as_bytes(), FNV_START);
    ((hash >> 32) as u32 ^ hash as u32).max(1)
}

fn fingerprint(cases: &[Case]) -> u64 {
    cases.iter().fold(FNV_START, |hash, case| {
        let hash = fnv(case.zone.text.as_bytes(), hash);
        case.questions.iter().take(RECORDED).fold(hash, |hash, question| fnv(format!("{question:?}").as_bytes(), hash))
    })
}

const FNV_START: u64 = 0xCBF2_9CE4_8422_2325;

/// FNV-1a.
fn fnv(octets: &[u8], start: u64) -> u64 {
    octets.iter().fold(start, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01B3))
}
