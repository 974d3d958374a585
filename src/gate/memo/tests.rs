//! A memo of many small worlds, in each of which it is only right to remember what holds there.

use std::sync::Arc;

use super::Memo;
use crate::door::{Candidate, Proposal};
use crate::evidence::Verdict;
use crate::gate::Finding;
use crate::gate::id;
use crate::gate::tests::{served, zone};
use crate::name::Name;
use crate::serving::Serving;
use crate::serving::content::SiteId;
use crate::time::Timestamp;

/// What may stand at each owner: one of these, at each site.
const X: &[&[&str]] = &[
    &["", "a A 192.0.2.1", "a A 192.0.2.2", "a A 192.0.2.1\na AAAA ::1", "a CNAME v.z.example.", "b.a TXT t"],
    &["", "w CNAME a", "w CNAME v.z.example.", "w CNAME k.c", "w CNAME u.test.", "w A 192.0.2.3"],
    &["", "*.m A 192.0.2.1", "*.m CNAME v.z.example.", "*.m A 192.0.2.1\nf.m TXT t"],
    &["", "d DNAME z.example.", "d DNAME example.", "d NS ns.else.", "d NS ns.d\nns.d A 192.0.2.1"],
    &["", "c NS ns.c\nc DS 1 8 1 2BB183AF5F22588179A53B0A98631FAD1A292118", "k.c A 192.0.2.4"],
    &["", "@ MX 10 v.z.example.", "@ MX 10 a", "s SRV 1 1 1 k.c"],
    &["", "", "", "", "@ DNSKEY 257 3 13 AAAA", "@ DNSKEY 257 3 13 AAAB"],
];
/// A zone that others lead into.
const Z: &[&[&str]] =
    &[&["", "v A 192.0.2.1", "v CNAME a.x.example.", "v CNAME u.test."], &["", "* A 192.0.2.1"], &["", "u.v TXT t"]];
/// A zone below the first one, which may not be there.
const C: &[&[&str]] = &[&["", "k A 192.0.2.4", "k TXT t"], &["", "ns A 192.0.2.4"]];

/// Numbers that look random, the same every time (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((number ^ (number >> 31)) % bound as u64) as usize
    }

    /// One of the choices of each owner; mostly the first sites' one, so that sites are alike now and then.
    fn text(&mut self, choices: &[&[&str]]) -> String {
        choices.iter().map(|lines| format!("{}\n", lines[self.below(lines.len())])).collect()
    }

    fn zone(&mut self, origin: &str, choices: &[&[&str]], policy: usize) -> Proposal {
        let (one, other) = (self.text(choices), self.text(choices));
        let other = if self.below(4) == 0 { one.clone() } else { other };
        let may_vanish: &[&str] = [&[][..], &["a.x.example"], &["*.x.example"], &["v.z.example"]][policy % 4];
        let routed = [[0, 0], [0, 1], [1, 0]][self.below(3)];
        zone(origin, &[("a", &one), ("b", &other)], &routed, may_vanish)
    }

    /// A world with these policies for its zones. Often it has the zone that moves in common with others.
    fn world(&mut self, policies: [usize; 2], others: &mut Numbers) -> Arc<Serving> {
        let mut zones = vec![self.zone("x.example", X, policies[0])];
        if others.below(3) > 0 {
            zones.push(others.zone("z.example", Z, policies[1]));
        }
        if others.below(2) > 0 {
            zones.push(others.zone("c.x.example", C, policies[1]));
        }
        if others.below(3) == 0 {
            zones.push(others.zone("example", &[&["", "c.x A 192.0.2.1", "x NS ns.x"]], policies[1]));
        }
        served(zones)
    }
}

fn candidate(before: &Arc<Serving>, routed: [u16; 2]) -> Candidate {
    let origin = Name::absolute("x.example").unwrap();
    let zone = before.zone(origin.as_ref()).unwrap();
    let mut routing = zone.routing.clone();
    routing.sites = routed.map(SiteId).to_vec();
    let loads = Finding::pass(id::LOADS, origin.as_ref(), "");
    let proposal = Proposal { content: Arc::clone(&zone.content), routing, loads, restored: None };
    Candidate::new(Arc::clone(before), vec![proposal], Timestamp::default())
}

#[test]
fn verdicts_are_the_same_with_what_was_found_out_in_any_other_world() {
    let (mut numbers, mut memo) = (Numbers(4), Memo::default());
    let (mut recalled, mut stopped) = (0, 0);
    for number in 0..400 {
        // What is at random in a zone is so four times, under other policies and with other zones beside it.
        let mut own = Numbers(number / 4);
        let policies = [numbers.below(4), numbers.below(4)];
        let world = own.world(policies, &mut numbers);
        for routed in [[0, 0], [1, 1], [0, 1], [1, 0]] {
            let plain = candidate(&world, routed);
            let remembering = candidate(&world, routed).remembering(Arc::new(memo.clone()));
            assert_eq!(remembering.judge(), plain.judge());
            assert_eq!(remembering.digest(1), plain.digest(1));
            assert_eq!(remembering.differing(), plain.differing());
            stopped += usize::from(plain.judge().iter().any(|finding| finding.verdict != Verdict::Pass));
            let learnt = remembering.learn();
            let known = memo.len();
            memo.learn(&learnt);
            recalled += learnt.len() - (memo.len() - known);
        }
    }
    // Worlds that differ in nothing that matters to a finding do share it, and not all is well everywhere.
    assert!(recalled > 1000 && memo.len() > 1000 && stopped > 300, "{recalled} {} {stopped}", memo.len());
}

#[test]
fn what_was_learnt_is_all_that_is_asked() {
    let mut numbers = Numbers(9);
    for _ in 0..100 {
        let world = Numbers(numbers.0).world([0, 0], &mut numbers);
        let learnt = candidate(&world, [1, 1]).learn();
        let again = candidate(&world, [1, 1]).remembering(Arc::new(learnt.clone()));
        again.judge();
        again.digest(1);
        assert_eq!(again.learn().len(), learnt.len());
    }
}
