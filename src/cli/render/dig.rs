//! An answer as `dig` prints it.

use std::fmt::Write as _;

use hickory_proto::op::{Message, MessageType};
use hickory_proto::rr::Record;
use hickory_proto::serialize::binary::{BinEncodable as _, BinEncoder, NameEncoding};

use super::Report;
use crate::cli::Exit;
use crate::cli::query::QueryReport;
use crate::rr::RrType;
use crate::zone::rdata;

impl Report for QueryReport {
    fn text(&self) -> String {
        match Message::from_vec(&self.octets) {
            Ok(message) => format!(
                "{}\n;; {} octets, as {} answers\n;; from the files on disk, and so is the serial: no server was asked\n",
                text(&message),
                self.octets.len(),
                self.site
            ),
            Err(error) => format!(";; the answer of {} octets is malformed: {error}\n", self.octets.len()),
        }
    }

    fn exit(&self) -> Exit {
        Exit::Done
    }
}

/// A message, section by section.
pub(crate) fn text(message: &Message) -> String {
    let head = &message.metadata;
    let flags = [
        ("qr", head.message_type == MessageType::Response),
        ("aa", head.authoritative),
        ("tc", head.truncation),
        ("rd", head.recursion_desired),
        ("ra", head.recursion_available),
        ("ad", head.authentic_data),
        ("cd", head.checking_disabled),
    ];
    let flags = flags.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect::<Vec<_>>().join(" ");
    let mut text = format!(
        ";; ->>HEADER<<- opcode: {}, status: {}, id: {}\n;; flags: {flags}; QUERY: {}, ANSWER: {}, AUTHORITY: {}, \
         ADDITIONAL: {}\n",
        head.op_code.to_string().to_uppercase(),
        rcode(head.response_code.into()),
        head.id,
        message.queries.len(),
        message.answers.len(),
        message.authorities.len(),
        message.additionals.len() + usize::from(message.edns.is_some()),
    );
    if let Some(edns) = &message.edns {
        let dnssec = if edns.flags().dnssec_ok { " do" } else { "" };
        let _ = writeln!(
            text,
            "\n;; OPT PSEUDOSECTION:\n; EDNS: version: {}, flags:{dnssec}; udp: {}",
            edns.version(),
            edns.max_payload()
        );
    }
    if !message.queries.is_empty() {
        text += "\n;; QUESTION SECTION:\n";
    }
    for query in &message.queries {
        let _ = writeln!(text, ";{}\t\t{}\t{}", query.name(), query.query_class(), query.query_type());
    }
    for (title, records) in
        [("ANSWER", &message.answers), ("AUTHORITY", &message.authorities), ("ADDITIONAL", &message.additionals)]
    {
        if !records.is_empty() {
            let _ = writeln!(text, "\n;; {title} SECTION:");
        }
        records.iter().for_each(|one| text += &record(one));
    }
    text
}

/// A message as scripts read it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Decoded {
    /// The response code's mnemonic.
    status: String,
    /// Whether the answer is authoritative.
    authoritative: bool,
    answer: Vec<DecodedRecord>,
    authority: Vec<DecodedRecord>,
    additional: Vec<DecodedRecord>,
}

/// A record as scripts read it: its data as in a zone file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
struct DecodedRecord {
    name: String,
    #[serde(rename = "type")]
    rtype: String,
    ttl: u32,
    data: String,
}

impl Decoded {
    /// None where the octets are no message.
    pub(crate) fn of(octets: &[u8]) -> Option<Decoded> {
        let message = Message::from_vec(octets).ok()?;
        let section = |records: &[Record]| records.iter().map(decoded).collect();
        Some(Decoded {
            status: rcode(message.metadata.response_code.into()),
            authoritative: message.metadata.authoritative,
            answer: section(&message.answers),
            authority: section(&message.authorities),
            additional: section(&message.additionals),
        })
    }
}

fn decoded(record: &Record) -> DecodedRecord {
    let (rtype, data) = data_of(record);
    DecodedRecord { name: record.name.to_string(), rtype: rtype.to_string(), ttl: record.ttl, data }
}

fn record(record: &Record) -> String {
    let (rtype, data) = data_of(record);
    format!("{}\t{}\t{}\t{rtype}\t{data}\n", record.name, record.ttl, record.dns_class)
}

fn data_of(record: &Record) -> (RrType, String) {
    let rtype = RrType(record.record_type().into());
    // The decoder knows where names are compressed, the zone's own writer how operators write data.
    let mut octets = Vec::new();
    let mut encoder = BinEncoder::new(&mut octets);
    encoder.set_name_encoding(NameEncoding::Uncompressed);
    let data = match record.data.emit(&mut encoder) {
        Ok(()) => rdata::write(rtype, &octets, None),
        Err(_) => record.data.to_string(),
    };
    (rtype, data)
}

/// The mnemonic of a response code (RFC 6895 §2.3), as `dig` has it.
fn rcode(code: u16) -> String {
    let known = [
        "NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN", "NOTIMP", "REFUSED", "YXDOMAIN", "YXRRSET", "NXRRSET", "NOTAUTH",
        "NOTZONE",
    ];
    match (known.get(usize::from(code)), code) {
        (Some(name), _) => (*name).into(),
        (None, 16) => "BADVERS".into(),
        (None, 23) => "BADCOOKIE".into(),
        (None, code) => format!("RESERVED{code}"),
    }
}
