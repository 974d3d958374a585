//! The same query to the engine and through hickory's message types: two ways that must come to the same.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use hickory_proto::op::Message;
use hickory_proto::rr::Record;
use hickory_proto::serialize::binary::BinEncoder;
use hickory_server::net::NetError;
use hickory_server::net::runtime::TokioTime;
use hickory_server::net::xfer::Protocol;
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::zone_handler::MessageResponse;
use understudy::serve::Stage;
use understudy::serve::counters::Counters;
use understudy::serve::handler::Handler;
use understudy::serving::respond::{Asker, Transport};
use understudy::time::Timestamp;

/// Keeps what hickory's handler would send.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Vec<u8>>>>);

#[async_trait::async_trait]
impl ResponseHandler for Kept {
    async fn send_response<'a>(
        &mut self,
        response: MessageResponse<
            '_,
            'a,
            impl Iterator<Item = &'a Record> + Send + 'a,
            impl Iterator<Item = &'a Record> + Send + 'a,
            impl Iterator<Item = &'a Record> + Send + 'a,
            impl Iterator<Item = &'a Record> + Send + 'a,
        >,
    ) -> Result<ResponseInfo, NetError> {
        let mut bytes = Vec::new();
        let mut encoder = BinEncoder::new(&mut bytes);
        encoder.set_max_size(u16::MAX);
        let info = response.destructive_emit(&mut encoder)?;
        self.0.lock().unwrap().push(bytes);
        Ok(info)
    }
}

/// Asks a stage both ways over `protocol`, and says where the answers differ. Queries that hickory can't read never
/// reach a handler of its; they are counted, not compared.
pub async fn differences(stage: &Arc<Stage>, queries: &[Vec<u8>], protocol: Protocol) -> (Vec<String>, usize) {
    let handler = Handler::new(Arc::clone(stage), Counters::shared());
    let source: SocketAddr = "127.0.0.1:5353".parse().unwrap();
    let transport = match protocol {
        Protocol::Udp => Transport::Udp,
        Protocol::Tcp => Transport::Tcp,
        _ => Transport::Encrypted,
    };
    let (mut found, mut unreadable) = (Vec::new(), 0);
    for query in queries {
        let Ok(request) = Request::from_bytes(query.clone(), source, protocol) else {
            unreadable += 1;
            continue;
        };
        let asker = Asker { source: source.ip(), transport, now: Timestamp(0) };
        let mut out = vec![0; 65_535];
        let ours = stage.load().respond(query, &asker, &mut out).map(|length| &out[..length]);
        let kept = Kept::default();
        handler.handle_request::<_, TokioTime>(&request, kept.clone()).await;
        let theirs = kept.0.lock().unwrap().pop();
        if let Some(difference) = difference(ours, theirs.as_deref()) {
            found.push(format!("{query:02x?}: {difference}"));
        }
    }
    (found, unreadable)
}

fn difference(ours: Option<&[u8]>, theirs: Option<&[u8]>) -> Option<String> {
    let (ours, theirs) = match (ours, theirs) {
        (None, None) => return None,
        (Some(ours), Some(theirs)) => (ours, theirs),
        (ours, theirs) => return Some(format!("silence on one side: {ours:02x?} / {theirs:02x?}")),
    };
    let read = |octets: &[u8]| Message::from_vec(octets).map_err(|error| format!("{octets:02x?}: {error}"));
    let (ours, theirs) = match (read(ours), read(theirs)) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (ours, theirs) => return Some(format!("unreadable: {ours:?} / {theirs:?}")),
    };
    let same = ours.metadata == theirs.metadata
        && ours.edns == theirs.edns
        && ours.queries == theirs.queries
        && spelled(&ours) == spelled(&theirs);
    (!same).then(|| format!("\n  ours:   {ours}\n  theirs: {theirs}"))
}

/// All names and records with their case, which hickory's own comparison passes over.
fn spelled(message: &Message) -> BTreeMap<&'static str, Vec<String>> {
    let records = |records: &[Record]| records.iter().map(Record::to_string).collect();
    BTreeMap::from([
        ("question", message.queries.iter().map(ToString::to_string).collect()),
        ("answer", records(&message.answers)),
        ("authority", records(&message.authorities)),
        ("additional", records(&message.additionals)),
    ])
}
