//! The same engine behind hickory-server: its `Server` carries the encrypted transports, and is a second opinion in
//! tests.
//!
//! hickory does not send octets that it has not encoded itself, so our answer is decoded and encoded again. What that
//! changes is listed in `tests/serve/handler.rs`.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::sync::Arc;

use hickory_proto::ProtoError;
use hickory_proto::op::{Header, HeaderCounts, Message, MessageType, Metadata, ResponseCode};
use hickory_proto::rr::Record;
use hickory_proto::rr::rdata::opt::{EdnsCode, EdnsOption};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder, BinEncoder};
use hickory_server::net::runtime::Time;
use hickory_server::net::xfer::Protocol;
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::{MessageResponse, MessageResponseBuilder, Queries};

use super::counters::Counters;
use super::dnstap::{self, Ends};
use super::front::Clients;
use super::stage::{Came, Stage};
use crate::serving::edns::PADDING_BLOCK;
use crate::serving::respond::Transport;

thread_local! {
    static ANSWER: RefCell<Box<[u8]>> = RefCell::new(vec![0; 65_535].into());
}

/// Answers hickory-server's requests from a stage.
#[derive(Debug)]
pub struct Handler {
    stage: Arc<Stage>,
    counters: Arc<Counters>,
    /// Where TLS and HTTPS connections are from, if they are carried here.
    clients: Option<Arc<Clients>>,
}

/// An answer of ours in hickory's terms.
struct Reply {
    message: Message,
    /// As they are in our answer, which has none where it must not echo what it could not read.
    queries: Queries,
}

impl Handler {
    /// A handler that answers from `stage` and counts in `counters`, which must be of the shared kind.
    pub fn new(stage: Arc<Stage>, counters: Arc<Counters>) -> Handler {
        Handler { stage, counters, clients: None }
    }

    /// The same behind a front, which knows the clients.
    pub(super) fn behind(self, clients: Arc<Clients>) -> Handler {
        Handler { clients: Some(clients), ..self }
    }

    /// The client that a request is from, with port 0 behind the front; none if it did not come through that.
    fn client(&self, request: &Request) -> Option<SocketAddr> {
        match (&self.clients, request.protocol()) {
            (Some(clients), Protocol::Tls) => clients.behind(request.src()).map(|client| (client, 0).into()),
            _ => Some(request.src()),
        }
    }

    /// The answer, or `None` where silence is right.
    fn reply(&self, request: &Request) -> Option<Result<Reply, ProtoError>> {
        let packet = request.as_slice();
        let (transport, protocol) = match request.protocol() {
            Protocol::Udp => (Transport::Udp, dnstap::Protocol::Udp),
            Protocol::Tcp => (Transport::Tcp, dnstap::Protocol::Tcp),
            Protocol::Quic => (Transport::Encrypted, dnstap::Protocol::Quic),
            _ => (Transport::Encrypted, dnstap::Protocol::Tls),
        };
        let came = Came { packet, transport, protocol, ends: Ends::of(self.client(request)?) };
        ANSWER.with_borrow_mut(|out| self.stage.answer(&self.stage.load(), came, &self.counters, out).map(Reply::read))
    }
}

impl Reply {
    fn read(answer: &[u8]) -> Result<Reply, ProtoError> {
        let message = Message::from_vec(answer)?;
        let mut decoder = BinDecoder::new(answer);
        let questions = Header::read(&mut decoder)?.counts.queries;
        let queries = Queries::read(&mut decoder, questions.into())?;
        let mut reply = Reply { message, queries };
        reply.pad()?;
        Ok(reply)
    }

    /// Pads the answer anew if it is padded: the way that hickory writes it, it has another length.
    fn pad(&mut self) -> Result<(), ProtoError> {
        let set = |reply: &mut Reply, padding: Vec<u8>| {
            let options = reply.message.edns.as_mut().map(|edns| edns.options_mut());
            if let Some(options) = options {
                options.remove(EdnsCode::Padding);
                options.insert(EdnsOption::Unknown(EdnsCode::Padding.into(), padding));
            }
        };
        if self.message.edns.as_ref().is_none_or(|edns| edns.options().get(EdnsCode::Padding).is_none()) {
            return Ok(());
        }
        set(self, Vec::new());
        let mut octets = Vec::new();
        self.build().destructive_emit(&mut BinEncoder::new(&mut octets))?;
        let padded = octets.len().next_multiple_of(PADDING_BLOCK).min(usize::from(u16::MAX)).max(octets.len());
        set(self, vec![0; padded - octets.len()]);
        Ok(())
    }

    fn build(
        &self,
    ) -> MessageResponse<
        '_,
        '_,
        impl Iterator<Item = &Record> + Send,
        impl Iterator<Item = &Record> + Send,
        impl Iterator<Item = &Record> + Send,
        impl Iterator<Item = &Record> + Send,
    > {
        let builder = MessageResponseBuilder::new(&self.queries, self.message.edns.as_ref());
        let Message { metadata, answers, authorities, additionals, .. } = &self.message;
        builder.build(*metadata, answers, authorities, [], additionals)
    }
}

#[async_trait::async_trait]
impl RequestHandler for Handler {
    async fn handle_request<R: ResponseHandler, T: Time>(&self, request: &Request, mut to: R) -> ResponseInfo {
        let mut failure = Metadata::new(request.metadata.id, MessageType::Response, request.metadata.op_code);
        failure.response_code = ResponseCode::ServFail;
        let sent = match self.reply(request) {
            None => Ok(info(failure)),
            Some(Ok(reply)) => to.send_response(reply.build()).await,
            Some(Err(error)) => {
                // Ours and yet unreadable: a bug in one of the two. The client is better told than left waiting.
                tracing::error!(%error, "hickory cannot read our answer; the client gets SERVFAIL instead");
                let builder = MessageResponseBuilder::from_message_request(request);
                to.send_response(builder.error_msg(&request.metadata, ResponseCode::ServFail)).await
            }
        };
        sent.unwrap_or_else(|error| {
            tracing::debug!(%error, "an answer could not be sent");
            info(failure)
        })
    }
}

fn info(metadata: Metadata) -> ResponseInfo {
    Header { metadata, counts: HeaderCounts::default() }.into()
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use hickory_proto::op::{Edns, MessageType, OpCode, Query};
    use hickory_proto::rr::rdata::{A, MX, NULL, SOA, TXT};
    use hickory_proto::rr::{Name, RData, RecordType};

    use super::*;

    /// An answer with all that ours may have: case, several sections, types that hickory knows and one that it doesn't,
    /// an OPT record with options.
    fn rich() -> Message {
        let name = |text: &str| Name::from_ascii(text).unwrap();
        let mut message = Message::new(4711, MessageType::Response, OpCode::Query);
        message.metadata.authoritative = true;
        message.metadata.recursion_desired = true;
        message.queries.push(Query::query(name("WwW.Example."), RecordType::ANY));
        message.answers = [
            RData::A(A::from_str("192.0.2.1").unwrap()),
            RData::MX(MX::new(10, name("Mail.Example."))),
            RData::TXT(TXT::new(vec!["a".into(), String::new()])),
            RData::Unknown { code: RecordType::Unknown(65400), rdata: NULL::with(vec![1, 2, 3]) },
        ]
        .map(|data| Record::from_rdata(name("WwW.Example."), 300, data))
        .into();
        let soa = SOA::new(name("ns.example."), name("Host\\.master.example."), 1, 2, 3, 4, 5);
        message.authorities = vec![Record::from_rdata(name("Example."), 5, RData::SOA(soa))];
        let glue = RData::A(A::from_str("192.0.2.2").unwrap());
        message.additionals = vec![Record::from_rdata(name("mail.example."), 60, glue)];
        let mut edns = Edns::new();
        edns.set_max_payload(1232).set_version(0).set_dnssec_ok(true);
        edns.options_mut().insert(EdnsOption::Unknown(15, vec![0, 3]));
        message.edns = Some(edns);
        message
    }

    #[test]
    fn an_answer_survives_being_read_and_written_again() {
        let before = rich();
        let reply = Reply::read(&before.to_vec().unwrap()).unwrap();
        let mut bytes = Vec::new();
        reply.build().destructive_emit(&mut BinEncoder::new(&mut bytes)).unwrap();
        let after = Message::from_vec(&bytes).unwrap();
        assert_eq!(after, before);
        assert_eq!(after.to_string(), before.to_string(), "the case of names");
    }

    #[test]
    fn what_hickory_cannot_read_is_an_error_and_no_panic() {
        let whole = rich().to_vec().unwrap();
        for cut in 0..whole.len() {
            assert!(Reply::read(&whole[..cut]).is_err(), "{cut}");
        }
    }
}
