//! The strict reader of `support/message.rs` is itself held to what it promises.

use crate::support::message::{query, read};
use understudy::name::Name;
use understudy::rr::RrType;

/// A header that counts one question and so many records, and the question `a.x. A`.
fn start(answers: u8, additionals: u8) -> Vec<u8> {
    let mut octets = vec![0, 1, 0x84, 0, 0, 1, 0, answers, 0, 0, 0, additionals];
    octets.extend_from_slice(b"\x01a\x01x\x00\x00\x01\x00\x01");
    octets
}

fn record(owner: &[u8], rtype: u8, rdata: &[u8]) -> Vec<u8> {
    let length = (rdata.len() as u16).to_be_bytes();
    [owner, &[0, rtype, 0, 1, 0, 0, 0, 9], &length, rdata].concat()
}

#[test]
fn good_messages_are_read() {
    let name = Name::absolute("WWW.x.").unwrap();
    let message = read(&query(7, name.as_ref(), RrType::AAAA, true, Some(1232))).unwrap();
    assert_eq!((message.id, message.flags.rd(), message.questions.len()), (7, true, 1));
    assert_eq!(message.edns.unwrap().payload, 1232);
    assert_eq!(message.questions[0].name.as_ref().as_wire(), name.as_ref().as_wire());

    let answers = [
        record(b"\xC0\x0C", 1, &[192, 0, 2, 1]),
        record(b"\xC0\x0C", 5, b"\x01b\xC0\x0E"),
        // To the target of the one before, which ends in a pointer.
        record(b"\xC0\x31", 16, b"\x01t\x00"),
        record(b"\xC0\x0C", 15, b"\x00\x05\xC0\x31"),
    ];
    let message = read(&[start(4, 0), answers.concat()].concat()).unwrap();
    assert_eq!(message.answers[2].owner, Name::absolute("b.x.").unwrap());
    assert_eq!(message.answers[3].rdata, b"\x00\x05\x01b\x01x\x00");
}

#[test]
fn every_malformed_message_is_refused() {
    const OWNER: &[u8] = b"\xC0\x0C";
    const OPT: &[u8] = &[0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0];
    for (octets, why) in [
        (vec![0; 11], "cut short"),
        (start(1, 0), "cut short"),
        ([start(0, 0), vec![0]].concat(), "behind the last record"),
        ([start(1, 0), record(b"\xC0\x15", 1, &[0; 4])].concat(), "does not lead back"),
        ([start(1, 0), record(b"\xC0\xFF", 1, &[0; 4])].concat(), "does not lead back"),
        // Into the header, into the middle of a label, to the question's type.
        ([start(1, 0), record(b"\xC0\x02", 1, &[0; 4])].concat(), "does not lead back"),
        ([start(1, 0), record(b"\xC0\x0D", 1, &[0; 4])].concat(), "does not lead back"),
        ([start(1, 0), record(b"\xC0\x11", 1, &[0; 4])].concat(), "does not lead back"),
        // Into data that is no name.
        ([start(2, 0), record(OWNER, 1, b"\x01a\x00\x00"), record(b"\xC0\x21", 1, &[0; 4])].concat(), "not lead back"),
        ([start(1, 0), record(b"\x40a\x00", 1, &[0; 4])].concat(), "unknown kind"),
        ([start(1, 0), record(&[&[63; 64][..]; 4].concat(), 1, &[0; 4])].concat(), "more than 255"),
        ([start(1, 0), record(OWNER, 1, &[0; 3])].concat(), "cut short"),
        ([start(1, 0), record(OWNER, 1, &[0; 5])].concat(), "behind its last field"),
        ([start(1, 0), record(OWNER, 28, &[0; 4])].concat(), "cut short"),
        ([start(1, 0), record(OWNER, 5, b"\x01b")].concat(), "cut short"),
        ([start(1, 0), record(OWNER, 39, b"\x01b\xC0\x0E")].concat(), "RFC 3597"),
        ([start(1, 0), record(OWNER, 33, b"\0\0\0\0\0\0\xC0\x0C")].concat(), "RFC 3597"),
        ([start(1, 0), record(OWNER, 16, b"")].concat(), "no character-string"),
        ([start(1, 0), record(OWNER, 16, b"\x05abc")].concat(), "cut short"),
        ([start(1, 0), record(OWNER, 47, b"\x00\x00\x00")].concat(), "wrong length"),
        ([start(1, 0), record(OWNER, 47, b"\x00\x01\x01\x40\x00\x01\x40")].concat(), "out of order"),
        ([start(1, 0), record(OWNER, 64, b"\0\x01\0\0\x03\0\x02\0\x35\0\x01\0\0")].concat(), "out of order"),
        ([start(1, 0), b"\xC0\x0C\0\x01\0\x01\xFF\0\0\0\0\x04\0\0\0\0".to_vec()].concat(), "31 bits"),
        ([start(1, 0), b"\xC0\x0C\0\x01\0\x01\0\0\0\0\0\x09\0\0\0\0".to_vec()].concat(), "over the end"),
        ([start(0, 2), OPT.to_vec(), OPT.to_vec()].concat(), "second OPT"),
        ([start(1, 0), OPT.to_vec()].concat(), "outside the additional"),
        ([start(0, 1), b"\xC0\x0C".to_vec(), OPT[1..].to_vec()].concat(), "not the root"),
        ([start(0, 1), OPT[..9].to_vec(), b"\0\x05\0\x0A\0\x02\0".to_vec()].concat(), "EDNS option"),
    ] {
        let error = read(&octets).expect_err(why);
        assert!(error.why.contains(why), "expected `{why}`, got `{error}`: {octets:?}");
    }
    // Any cut is noticed.
    let whole = [start(2, 1), record(OWNER, 5, b"\x01b\xC0\x0E"), record(OWNER, 1, &[0; 4]), OPT.to_vec()].concat();
    assert!(read(&whole).is_ok());
    for end in 0..whole.len() {
        assert!(read(&whole[..end]).is_err(), "cut at {end}");
    }
}
