//! What a message's octets show without being read as a whole: enough to limit answers by, no more.

use std::ops::Range;

const HEADER: usize = 12;
const OPT: u16 = 41;

/// Kinds of answers, as an attacker can provoke them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// With records that were asked for.
    Positive,
    /// NOERROR without: no data, or a referral.
    Empty,
    /// NXDOMAIN.
    NoName,
    /// Everything else.
    Error,
}

/// The kind of an answer.
pub(super) fn kind(answer: &[u8]) -> Kind {
    match answer {
        [_, _, _, flags, _, _, high, low, ..] => match (flags & 0x0F, high | low) {
            (0, 0) => Kind::Empty,
            (0, _) => Kind::Positive,
            (3, _) => Kind::NoName,
            _ => Kind::Error,
        },
        _ => Kind::Error,
    }
}

/// Shortens an answer to its question and OPT record with TC set, which sends the client to TCP; returns the length.
pub(super) fn cut(answer: &mut [u8]) -> usize {
    let Some(&(mut header)) = answer.first_chunk::<HEADER>() else { return answer.len() };
    // An answer whose question can't be followed keeps none.
    let questions = questions_end(answer);
    let opt = questions.and_then(|_| opt(answer));
    header[2] |= 0x02;
    header[if questions.is_some() { 6 } else { 4 }..].fill(0);
    header[11] = u8::from(opt.is_some());
    answer[..HEADER].copy_from_slice(&header);
    let (end, opt) = (questions.unwrap_or(HEADER), opt.unwrap_or(0..0));
    answer.copy_within(opt.clone(), end);
    end + opt.len()
}

/// Where the OPT record stands.
fn opt(message: &[u8]) -> Option<Range<usize>> {
    let records: usize = [6, 8, 10].iter().map(|&at| number(message, at).map_or(0, usize::from)).sum();
    let mut at = questions_end(message)?;
    for _ in 0..records {
        let start = at;
        at = name_end(message, at)?;
        let kind = number(message, at)?;
        let rdata = at + 10;
        at = rdata + usize::from(number(message, at + 8)?);
        if at > message.len() {
            return None;
        }
        if kind == OPT && rdata == start + 11 {
            return Some(start..at);
        }
    }
    None
}

fn questions_end(message: &[u8]) -> Option<usize> {
    let mut at = HEADER;
    for _ in 0..number(message, 4)? {
        at = name_end(message, at)? + 4;
    }
    (at <= message.len()).then_some(at)
}

fn name_end(message: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *message.get(at)? {
            0 => return Some(at + 1),
            length @ 1..=63 => at += 1 + usize::from(length),
            0xC0.. => return Some(at + 2),
            _ => return None,
        }
    }
}

fn number(message: &[u8], at: usize) -> Option<u16> {
    message.get(at..)?.first_chunk().map(|octets| u16::from_be_bytes(*octets))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A question for `a. A`, then these records.
    fn message(flags: [u8; 2], counts: [u8; 3], records: &[&[u8]]) -> Vec<u8> {
        let [answers, authorities, additionals] = counts;
        let mut message = vec![1, 2, flags[0], flags[1], 0, 1, 0, answers, 0, authorities, 0, additionals];
        message.extend_from_slice(b"\x01a\0\0\x01\0\x01");
        message.extend(records.concat());
        message
    }

    const A: &[u8] = b"\xC0\x0C\0\x01\0\x01\0\0\0\x05\0\x04\xC0\0\x02\x01";
    const PLAIN_OPT: &[u8] = b"\0\0\x29\x04\xD0\0\0\0\0\0\0";

    fn opt_with(options: &[u8]) -> Vec<u8> {
        [&PLAIN_OPT[..9], &(options.len() as u16).to_be_bytes(), options].concat()
    }

    fn opt_with_cookie(cookie: &[u8]) -> Vec<u8> {
        opt_with(&[b"\0\x03\0\x01x\0\x0A", &(cookie.len() as u16).to_be_bytes()[..], cookie].concat())
    }

    #[test]
    fn kinds_are_told_by_rcode_and_count() {
        for (flags, answers, kind_of) in [
            (0x80, 1, Kind::Positive),
            (0x80, 0, Kind::Empty),
            (0x83, 1, Kind::NoName),
            (0x83, 0, Kind::NoName),
            (0x85, 0, Kind::Error),
            (0x81, 0, Kind::Error),
        ] {
            assert_eq!(kind(&message([0x84, flags], [answers, 0, 0], &[])), kind_of);
        }
        assert_eq!(kind(b"short"), Kind::Error);
    }

    #[test]
    fn a_cut_answer_keeps_question_and_opt() {
        let opt = opt_with_cookie(b"12345678");
        for (records, counts, expected) in [
            (vec![], [0, 0, 0], message([0x86, 0], [0, 0, 0], &[])),
            (vec![A, A], [2, 0, 0], message([0x86, 0], [0, 0, 0], &[])),
            (vec![A, &opt], [1, 0, 1], message([0x86, 0], [0, 0, 1], &[&opt])),
            (vec![A, A, &opt, A], [1, 1, 2], message([0x86, 0], [0, 0, 1], &[&opt])),
            (vec![PLAIN_OPT], [0, 0, 1], message([0x86, 0], [0, 0, 1], &[PLAIN_OPT])),
        ] {
            let mut answer = message([0x84, 0], counts, &records);
            let length = cut(&mut answer);
            assert_eq!(answer[..length], expected);
        }
    }

    #[test]
    fn no_octets_make_it_panic() {
        let whole = message([0x84, 0], [1, 0, 1], &[A, &opt_with_cookie(b"12345678abcdefgh")]);
        for cut_at in 0..whole.len() {
            for octet in [0, 1, 63, 64, 0xC0, 0xFF] {
                let mut odd = whole.clone();
                odd[cut_at] = octet;
                for message in [&whole[..cut_at], &odd] {
                    kind(message);
                    let mut room = message.to_vec();
                    assert!(cut(&mut room) <= message.len());
                }
            }
        }
    }
}
