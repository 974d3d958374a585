//! What resolvers give for a name that users ask for. Nothing is asked for here that our zone does not have: they would
//! remember that it was not there.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::RecordType;
use hickory_proto::rr::rdata::opt::EdnsCode;

use super::ask::{Carrier, exchange, query};
use crate::name::NameRef;
use crate::observation::sight::{Heard, Said};
use crate::rr::RrType;
use crate::time::Ttl;

/// How long a reply is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// The codes of stale answers (RFC 8914 §4.4, §4.20).
const STALE: [u16; 2] = [3, 19];

/// Asks a resolver once.
pub(super) async fn look(resolver: SocketAddr, carrier: Carrier, name: NameRef<'_>, rtype: RrType, id: u16) -> Heard {
    match exchange(resolver, carrier, &query(name, rtype, id), PATIENCE).await {
        Some(message) => read(&message, rtype),
        None => Heard::Nothing,
    }
}

/// What a message says of a type.
pub fn read(message: &[u8], rtype: RrType) -> Heard {
    let Ok(message) = Message::from_vec(message) else { return Heard::Refused };
    match message.metadata.response_code {
        ResponseCode::NoError if message.metadata.truncation => Heard::Refused,
        ResponseCode::NoError => Heard::Said(said(&message, rtype), is_stale(&message)),
        ResponseCode::NXDomain => Heard::NoName,
        ResponseCode::ServFail => Heard::Failure,
        _ => Heard::Refused,
    }
}

fn said(message: &Message, rtype: RrType) -> Said {
    let mut said = Said::default();
    for record in &message.answers {
        let list = match record.record_type() {
            own if u16::from(own) == rtype.0 => &mut said.data,
            RecordType::CNAME | RecordType::DNAME => &mut said.aliases,
            _ => continue,
        };
        list.push(record.data.to_string().to_ascii_lowercase());
        let ttl = Ttl::from_wire(record.ttl);
        said.ttl = Some(said.ttl.map_or(ttl, |least| least.min(ttl)));
    }
    said.data.sort();
    said.aliases.sort();
    said
}

fn is_stale(message: &Message) -> bool {
    let Some(option) = message.edns.as_ref().and_then(|edns| edns.option(EdnsCode::Unknown(15))) else { return false };
    let octets = Vec::<u8>::try_from(option).unwrap_or_default();
    octets.first_chunk().is_some_and(|code| STALE.contains(&u16::from_be_bytes(*code)))
}
