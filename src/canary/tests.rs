use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::{Name as HickoryName, RData, RecordType};
use proptest::prelude::*;

use super::*;
use crate::serving::respond::Asker;

const NOW: Timestamp = Timestamp(1_790_000_000_000);

fn zone() -> CanaryZone {
    let addresses = vec!["192.0.2.53".parse().unwrap(), "2001:db8::53".parse().unwrap()];
    let origin = Name::absolute("_canary.wiki.example").unwrap();
    CanaryZone::new(origin, CanaryKey([7; 16]), addresses, "noc@wiki.example").unwrap()
}

fn canary(before: Content, after: Content) -> Canary {
    Canary::new(before, after, Ttl::new(30).unwrap(), NOW, 42)
}

fn query(name: &str, rtype: RecordType, dnssec_ok: bool) -> Vec<u8> {
    let mut message = Message::query();
    message.metadata.id = 7;
    message.metadata.recursion_desired = true;
    let mut query = Query::new();
    query.set_name(HickoryName::from_ascii(name).unwrap()).set_query_type(rtype);
    message.add_query(query);
    if dnssec_ok {
        let mut edns = hickory_proto::op::Edns::new();
        edns.set_dnssec_ok(true).set_max_payload(1232).set_version(0);
        message.edns = Some(edns);
    }
    message.to_vec().unwrap()
}

fn asker(now: Timestamp, transport: Transport) -> Asker {
    Asker { source: "192.0.2.9".parse().unwrap(), transport, now }
}

/// What a question is answered `later` milliseconds behind the turn.
fn ask(name: &str, rtype: RecordType, later: i64) -> Option<Message> {
    let replied = zone().reply(&query(name, rtype, true), &asker(Timestamp(NOW.0 + later), Transport::Udp));
    replied.answer.map(|octets| Message::from_vec(&octets).unwrap())
}

fn of(before: Content, after: Content) -> String {
    zone().name(&canary(before, after)).unwrap().to_string()
}

fn text(message: &Message) -> Option<String> {
    message.answers.iter().find_map(|record| match &record.data {
        RData::TXT(txt) => Some(txt.txt_data.iter().map(|part| String::from_utf8_lossy(part)).collect()),
        _ => None,
    })
}

#[test]
fn each_content_is_answered_before_its_turn_and_the_other_behind_it() {
    let data = |version, later: i64| Some(format!("canary version={version} given={}", NOW.0 + later));
    let turns = [
        (Content::NoName, ResponseCode::NXDomain),
        (Content::NoData, ResponseCode::NoError),
        (Content::Failure, ResponseCode::ServFail),
    ];
    for (content, rcode) in turns {
        let name = of(content, Content::Data);
        let before = ask(&name, RecordType::TXT, -1).unwrap();
        assert_eq!((before.metadata.response_code, text(&before)), (rcode, None), "{content:?}");
        assert_eq!(before.authorities.len(), usize::from(content != Content::Failure), "{content:?}: the SOA");
        let after = ask(&name, RecordType::TXT, 0).unwrap();
        assert_eq!((after.metadata.response_code, text(&after)), (ResponseCode::NoError, data(2, 0)), "{content:?}");
    }
    let name = of(Content::Data, Content::Silence);
    assert_eq!(text(&ask(&name, RecordType::TXT, -5).unwrap()), data(1, -5));
    assert_eq!(ask(&name, RecordType::TXT, 5), None);
    let name = of(Content::Data, Content::Data);
    assert_eq!(text(&ask(&name, RecordType::TXT, 7).unwrap()), data(2, 7));
    let address = ask(&name, RecordType::A, 7).unwrap();
    assert!(matches!(&address.answers[0].data, RData::A(a) if a.0.octets() == [192, 0, 2, 2]));
    assert_eq!((address.answers[0].ttl, address.metadata.authoritative), (30, true));
    let address = ask(&name, RecordType::AAAA, 7).unwrap();
    let RData::AAAA(address) = &address.answers[0].data else { panic!("{address:?}") };
    assert_eq!(version(address.0), Some((2, Timestamp(NOW.0 + 7))));
    assert_eq!(version("2001:db8:0:3::1".parse().unwrap()), None);
}

#[test]
fn negative_answers_tell_when_they_were_given_and_how_long_they_hold() {
    let name = of(Content::NoName, Content::Data);
    let message = ask(&name, RecordType::TXT, -12_300).unwrap();
    let soa = &message.authorities[0];
    let RData::SOA(data) = &soa.data else { panic!("{soa:?}") };
    assert_eq!((soa.ttl, data.minimum), (30, 30), "the lesser of both is what counts (RFC 2308)");
    assert_eq!(given(data.serial, NOW), Timestamp(NOW.0 - 12_300));
    // Its own zone: no other canary's negative answer shares the record.
    assert_eq!(soa.name.to_ascii(), name.strip_prefix("q.").unwrap());
}

#[test]
fn a_name_that_was_not_made_here_does_not_exist() {
    let name = of(Content::Data, Content::Data);
    let forged = [
        name.replace("dd30-", "dd31-"),
        name.replace("dd30-", "dd030-"),
        name.replacen("q.", "q.x", 1),
        "www._canary.wiki.example.".into(),
    ];
    for forged in forged {
        let message = ask(&forged, RecordType::TXT, 0).unwrap();
        assert_eq!(message.metadata.response_code, ResponseCode::NXDomain, "{forged}");
        assert_eq!(message.authorities[0].name.to_ascii(), "_canary.wiki.example.", "{forged}");
    }
    let other = CanaryZone { key: CanaryKey([8; 16]), ..zone() };
    let packet = query(&name, RecordType::TXT, false);
    let replied = other.reply(&packet, &asker(NOW, Transport::Udp));
    assert_eq!((replied.answer.unwrap()[3] & 15, replied.arrival), (3, None), "another server's key");
    let late = zone().reply(&packet, &asker(NOW.after(LIFETIME + Duration::from_secs(1)), Transport::Udp));
    assert_eq!((late.answer.unwrap()[3] & 15, late.arrival), (3, None), "a name that somebody kept");
    let outside = ask("wiki.example.", RecordType::A, 0).unwrap();
    assert_eq!(outside.metadata.response_code, ResponseCode::Refused);
}

#[test]
fn the_zone_says_whom_to_ask_and_where_its_server_is() {
    let message = ask("_canary.wiki.example.", RecordType::TXT, 0).unwrap();
    assert_eq!(text(&message).unwrap(), "noc@wiki.example");
    let message = ask("_canary.wiki.example.", RecordType::NS, 0).unwrap();
    assert_eq!((message.answers.len(), message.additionals.len()), (1, 2));
    let message = ask("ns._canary.wiki.example.", RecordType::AAAA, 0).unwrap();
    assert!(matches!(&message.answers[0].data, RData::AAAA(_)));
    // On their way to a name below, resolvers that minimise names ask for the zone of a canary itself.
    let apex = of(Content::Failure, Content::Silence);
    let apex = apex.strip_prefix("q.").unwrap();
    for later in [-1, 1] {
        assert_eq!(ask(apex, RecordType::SOA, later).unwrap().answers.len(), 1);
        assert_eq!(ask(apex, RecordType::A, later).unwrap().answers.len(), 1);
        assert_eq!(ask(apex, RecordType::MX, later).unwrap().authorities.len(), 1);
    }
}

#[test]
fn what_arrives_is_told_with_all_that_it_shows() {
    let name = of(Content::NoName, Content::Data);
    let seen = |name: &str, dnssec_ok| {
        let packet = query(name, RecordType::TXT, dnssec_ok);
        zone().reply(&packet, &asker(NOW, Transport::Tcp)).arrival.unwrap()
    };
    let arrival = seen(&name, true);
    assert_eq!((arrival.canary, arrival.part), (canary(Content::NoName, Content::Data), Part::Asked));
    assert!(arrival.edns && arrival.dnssec_ok && !arrival.mixed_case);
    let mixed = name.replace("wiki", "WiKi").replace("q.xd", "Q.Xd");
    let arrival = seen(&mixed, false);
    assert_eq!((arrival.canary.nonce, arrival.part, arrival.mixed_case), (42, Part::Asked, true));
    assert!(!arrival.edns);
    assert_eq!(seen(&format!("below.{name}"), true).part, Part::Below);
    assert_eq!(seen(name.strip_prefix("q.").unwrap(), true).part, Part::Other);
    let echoed = zone().reply(&query(&mixed, RecordType::TXT, true), &asker(NOW, Transport::Udp)).answer.unwrap();
    let echoed = Message::from_vec(&echoed).unwrap();
    assert_eq!(echoed.queries[0].name().to_ascii(), mixed, "the question's case comes back");
    assert!(echoed.edns.unwrap().flags().dnssec_ok, "and DO");
}

#[test]
fn over_tcp_only_means_so() {
    let packet = query(&of(Content::Stream, Content::Stream), RecordType::TXT, false);
    let reply = |transport| Message::from_vec(&zone().reply(&packet, &asker(NOW, transport)).answer.unwrap()).unwrap();
    let (udp, tcp) = (reply(Transport::Udp), reply(Transport::Tcp));
    assert!(udp.metadata.truncation && udp.answers.is_empty());
    assert!(!tcp.metadata.truncation && tcp.answers.len() == 1);
}

#[test]
fn there_has_to_be_room_for_canaries() {
    let long = Name::absolute(&format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(30))).unwrap();
    assert!(CanaryZone::new(long, CanaryKey([0; 16]), Vec::new(), "").is_err());
}

proptest! {
    #[test]
    fn every_label_reads_as_it_was_made(
        before in 0usize..6, after in 0usize..6, ttl in 0u32..=604_800, turn in 0i64..=4_000_000_000_000, nonce in 0u32..=Canary::NONCES,
    ) {
        let content = |at: usize| Content::ALL[at].0;
        let canary =
            Canary::new(content(before), content(after), Ttl::new(ttl).unwrap(), Timestamp(turn), nonce);
        let key = CanaryKey([3; 16]);
        let label = key.label(&canary);
        prop_assert!(label.len() <= 29);
        prop_assert_eq!(key.read(label.as_bytes()), Some(canary));
        prop_assert_eq!(key.read(label.to_uppercase().as_bytes()), Some(canary));
    }

    #[test]
    fn no_packet_makes_it_panic(packet in proptest::collection::vec(any::<u8>(), 0..300), cut in 0usize..200) {
        let zone = zone();
        let _ = zone.reply(&packet, &asker(NOW, Transport::Udp));
        let mut whole = query(&of(Content::NoName, Content::Data), RecordType::TXT, true);
        if let Some(octet) = packet.first() {
            let at = cut % whole.len();
            whole[at] ^= octet;
        }
        whole.truncate(cut.max(1));
        let _ = zone.reply(&whole, &asker(NOW, Transport::Tcp));
    }
}
