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
