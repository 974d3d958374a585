//! The engine's answers through hickory-server come to the same as without it.
//!
//! Known differences, none of which changes what a client learns:
//! - owner names are not compressed against the question, so messages are longer;
//! - the OPT record stands last of all, wherever ours had it;
//! - queries that hickory cannot read never reach the handler: hickory answers FORMERR without the question by itself.

use std::sync::Arc;

use crate::support::both_ways::differences;
use crate::support::{corpus, engine, message};
use hickory_server::net::xfer::Protocol;
use understudy::serve::Stage;
use understudy::serving::Serving;

/// Questions asked of each zone.
const QUESTIONS: usize = 100;

/// What to compare: content, and queries to ask of it.
fn cases() -> Vec<(Arc<Serving>, Vec<Vec<u8>>)> {
    // Without a question, for every opcode, with and without RD.
    let headers = (0..32u8).map(|flags| vec![7, flags, flags >> 1 << 3 | flags & 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // Questions about generated zones, as the differential test asks them.
    let cases = corpus::cases();
    let serving = engine::serve(cases.iter().map(|case| (&case.zone.origin, &*case.zone.text)));
    let questions = cases.iter().flat_map(|case| case.questions.iter().take(QUESTIONS)).map(|question| {
        message::query(7, question.name.as_ref(), question.qtype, question.recursion_desired, question.payload)
    });
    vec![(Arc::default(), headers.collect()), (serving, questions.collect())]
}

#[tokio::test]
async fn both_ways_come_to_the_same() {
    for (serving, queries) in cases() {
        let stage = Stage::new(serving).unwrap();
        for protocol in [Protocol::Udp, Protocol::Tcp, Protocol::Tls] {
            let (found, unreadable) = differences(&stage, &queries, protocol).await;
            assert!(
                found.is_empty(),
                "{} differences over {protocol}:\n{}",
                found.len(),
                found[..found.len().min(8)].join("\n")
            );
            assert!(unreadable < queries.len(), "nothing was compared");
        }
    }
}
