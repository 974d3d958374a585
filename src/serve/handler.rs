//! The same engine behind hickory-server: its `Server` carries the encrypted transports, and is a second opinion in
//! tests.
//!
//! hickory does not send octets that it has not encoded itself, so our answer is decoded and encoded again. What that
//! changes is listed in `tests/serve_handler.rs`.

use std::cell::RefCell;
use std::sync::Arc;

use hickory_proto::ProtoError;
use hickory_proto::op::{Header, HeaderCounts, Message, MessageType, Metadata, ResponseCode};
use hickory_proto::serialize::binary::{BinDecodable, BinDecoder};
use hickory_server::net::runtime::Time;
use hickory_server::net::xfer::Protocol;
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::{MessageResponseBuilder, Queries};

use super::counters::Counters;
use super::stage::Stage;
use crate::serving::respond::{Asker, Transport};

thread_local! {
    static ANSWER: RefCell<Box<[u8]>> = RefCell::new(vec![0; 65_535].into());
}

/// Answers hickory-server's requests from a stage.
#[derive(Debug)]
pub struct Handler {
    stage: Arc<Stage>,
    counters: Arc<Counters>,
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
        Handler { stage, counters }
    }

    /// The answer, or `None` where silence is right.
    fn reply(&self, request: &Request) -> Option<Result<Reply, ProtoError>> {
        let packet = request.as_slice();
        let transport = match request.protocol() {
            Protocol::Udp => Transport::Udp,
            Protocol::Tcp => Transport::Tcp,
            _ => Transport::Encrypted,
        };
        let asker = Asker { source: request.src().ip(), transport, now: super::now() };
        ANSWER.with_borrow_mut(|out| {
            let length = self.stage.load().respond(packet, &asker, out);
            let answer = length.map(|length| &out[..length]);
            self.counters.answered(transport, packet.len(), answer);
            answer.map(Reply::read)
        })
    }
}

impl Reply {
    fn read(answer: &[u8]) -> Result<Reply, ProtoError> {
        let message = Message::from_vec(answer)?;
        let mut decoder = BinDecoder::new(answer);
        let questions = Header::read(&mut decoder)?.counts.queries;
        let queries = Queries::read(&mut decoder, questions.into())?;
        Ok(Reply { message, queries })
    }
}

#[async_trait::async_trait]
impl RequestHandler for Handler {
    async fn handle_request<R: ResponseHandler, T: Time>(&self, request: &Request, mut to: R) -> ResponseInfo {
        let mut failure = Metadata::new(request.metadata.id, MessageType::Response, request.metadata.op_code);
        failure.response_code = ResponseCode::ServFail;
        let sent = match self.reply(request) {
            None => Ok(info(failure)),
            Some(Ok(Reply { message, queries })) => {
                let builder = MessageResponseBuilder::new(&queries, message.edns.as_ref());
                let Message { metadata, answers, authorities, additionals, .. } = &message;
                to.send_response(builder.build(*metadata, answers, authorities, [], additionals)).await
            }
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
    use hickory_proto::rr::rdata::opt::EdnsOption;
    use hickory_proto::rr::rdata::{A, MX, NULL, SOA, TXT};
    use hickory_proto::rr::{Name, RData, Record, RecordType};
    use hickory_proto::serialize::binary::BinEncoder;

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
        let Reply { message, queries } = Reply::read(&before.to_vec().unwrap()).unwrap();
        let mut bytes = Vec::new();
        let Message { metadata, answers, authorities, additionals, .. } = &message;
        MessageResponseBuilder::new(&queries, message.edns.as_ref())
            .build(*metadata, answers, authorities, [], additionals)
            .destructive_emit(&mut BinEncoder::new(&mut bytes))
            .unwrap();
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
