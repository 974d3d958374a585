//! What an answer is put together into: octets for the wire, or a summary for a gate.

use super::capped::Capped;
use super::denial::Proof;
use super::node::WireSet;
use super::sought::Sought;
use crate::name::NameRef;
use crate::serial::Serial;
use crate::time::Ttl;

/// A response code (RFC 1035 §4.1.1, RFC 6895 §2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rcode(pub u16);

impl Rcode {
    /// No error.
    pub const NOERROR: Rcode = Rcode(0);
    /// The query is malformed.
    pub const FORMERR: Rcode = Rcode(1);
    /// The server failed.
    pub const SERVFAIL: Rcode = Rcode(2);
    /// The name does not exist.
    pub const NXDOMAIN: Rcode = Rcode(3);
    /// The kind of query is not supported.
    pub const NOTIMP: Rcode = Rcode(4);
    /// The server does not answer this, by policy.
    pub const REFUSED: Rcode = Rcode(5);
    /// A DNAME makes a name that is too long (RFC 6672 §2.2).
    pub const YXDOMAIN: Rcode = Rcode(6);
    /// The EDNS version is not supported (RFC 6891 §9).
    pub const BADVERS: Rcode = Rcode(16);
}

impl std::fmt::Display for Rcode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match *self {
            Rcode::NOERROR => "NOERROR",
            Rcode::FORMERR => "FORMERR",
            Rcode::SERVFAIL => "SERVFAIL",
            Rcode::NXDOMAIN => "NXDOMAIN",
            Rcode::NOTIMP => "NOTIMP",
            Rcode::REFUSED => "REFUSED",
            Rcode::YXDOMAIN => "YXDOMAIN",
            Rcode::BADVERS => "BADVERS",
            Rcode(other) => return write!(f, "RCODE{other}"),
        })
    }
}

/// A section of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// What was asked for.
    Answer,
    /// Who is responsible, or a proof that there is nothing.
    Authority,
    /// Addresses that a client wants next.
    Additional {
        /// Whether the answer is of no use without them (RFC 9471 §3).
        required: bool,
    },
}

/// Whose records are put in, in terms of what the message holds already.
#[derive(Clone, Copy, Debug)]
pub enum Owner {
    /// The name that is sought at this point.
    Sought,
    /// The name that is sought without its first labels: so many octets are left.
    Ancestor(usize),
    /// The name that stands in the body of an RRset put in before.
    Within(Spot, u16),
}

/// Where in the message an RRset's body was put.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spot(pub u16);

/// What is true of all records from one zone.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'s> {
    /// The zone's origin: how many octets it has.
    pub origin_len: usize,
    /// The serial to tell, whatever the text says; none in a signed zone, whose SOA is told as it is.
    pub serial: Option<Serial>,
    /// RRsets that are told to be kept for less long than they say, while traffic moves.
    pub capped: Option<&'s Capped>,
}

impl Scope<'_> {
    /// The TTL to tell of an RRset and its signatures.
    #[inline]
    pub fn ttl_of(&self, set: WireSet<'_>) -> Ttl {
        self.capped.map_or(set.ttl(), |capped| capped.ttl_of(set))
    }
}

/// What an answer is put together into.
pub trait Sink<'s> {
    /// From here on records are those of a zone that `sought` is in.
    fn enter(&mut self, scope: Scope<'s>, sought: &Sought);

    /// Puts in an RRset; none where there is no room, after which nothing more has to be put in but optional records.
    fn put(&mut self, section: Section, owner: Owner, set: WireSet<'s>) -> Option<Spot>;

    /// Whether signatures and proofs are wanted (the DO bit, RFC 3225).
    fn wants_proofs(&self) -> bool;

    /// Puts a proof that has to do with `sought` into the authority section, be it that the answer section is still
    /// being written. The same one is put in once, however often it is needed.
    fn put_proof(&mut self, proof: Proof<'s>, sought: &Sought);

    /// Puts in the signatures over an RRset without the RRset: somebody asked for just these.
    fn put_signatures(&mut self, owner: Owner, set: WireSet<'s>) -> Option<Spot>;

    /// Puts in a CNAME record made from a DNAME, with its TTL: the name that is sought is an alias of `target` (RFC 6672
    /// §3.1).
    fn put_synthesized(&mut self, target: NameRef<'_>, dname: WireSet<'s>) -> Option<Spot>;

    /// The name that is sought from here on is the target of the CNAME record at `alias`; `false`, with nothing
    /// changed, where that lies so far behind that records cannot refer to it: then the answer ends with the alias.
    fn follow(&mut self, alias: Spot, target: &Sought) -> bool;
}
