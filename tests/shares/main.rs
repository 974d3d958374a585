//! Regions that are answered from both sites of a move: who gets which, for how long, and what everybody gets alike. All
//! by packets.

#[path = "../support/mod.rs"]
mod support;

mod apex;
mod caps;
mod farm;
mod gates;
mod sides;
mod subnets;

use std::net::IpAddr;
use std::sync::Arc;

use support::message::{self, Message, Record};
use support::sites::{candidate, content, moving, name, nothing, sets, share, unjudged};
use understudy::door::Candidate;
use understudy::gate::id;
use understudy::name::Name;
use understudy::net::Region;
use understudy::rr::RrType;
use understudy::serving::content::SiteId;
use understudy::serving::regions::RegionId;
use understudy::serving::respond::{Asker, Transport};
use understudy::serving::routing::Moving;
use understudy::serving::{Routing, Serving};
use understudy::time::{Timestamp, Ttl};

const DEFAULT: RegionId = RegionId(0);

/// Everybody moving from site 0 to site 1.
fn ramp(share: &str, low_ttl: Option<u32>) -> Routing {
    let mut routing = Routing::at(vec![SiteId(0)]);
    routing.shift(DEFAULT, moving(1, share, low_ttl), 1);
    routing
}

/// A query with an OPT record; `subnet` is the data of a client subnet.
fn query(asked: &str, rtype: RrType, dnssec: bool, subnet: Option<&[u8]>) -> Vec<u8> {
    let mut octets = vec![0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1];
    octets.extend_from_slice(name(asked).as_ref().as_wire());
    octets.extend_from_slice(&[rtype.0.to_be_bytes(), [0, 1]].concat());
    let option = subnet.map_or(Vec::new(), |data| [&[0, 8, 0, data.len() as u8][..], data].concat());
    octets.extend_from_slice(&[0, 0, 41, 4, 208, 0, 0, if dnssec { 0x80 } else { 0 }, 0, 0, option.len() as u8]);
    octets.extend_from_slice(&option);
    octets
}

fn send(serving: &Serving, source: &str, transport: Transport, packet: &[u8]) -> Message {
    let source: IpAddr = source.parse().unwrap();
    let mut out = vec![0; 65_535];
    let asker = Asker { source, transport, now: Timestamp(0) };
    let length = serving.respond(packet, &asker, &mut out).expect("an answer");
    if transport == Transport::Udp {
        assert!(length <= 1232);
    }
    message::read(&out[..length]).unwrap_or_else(|wrong| panic!("{wrong:?}"))
}

fn ask(serving: &Serving, source: &str, asked: &str, rtype: RrType) -> Message {
    send(serving, source, Transport::Udp, &query(asked, rtype, false, None))
}

/// The records of a type: TTL and data.
fn of_type(records: &[Record], rtype: RrType) -> Vec<(u32, Vec<u8>)> {
    records.iter().filter(|record| record.rtype == rtype).map(|record| (record.ttl, record.canonical.clone())).collect()
}

/// The last octet of the one address in the answer section.
fn address(message: &Message) -> u8 {
    let found = of_type(&message.answers, RrType::A);
    assert_eq!(found.len(), 1, "{message:?}");
    *found[0].1.last().unwrap()
}
