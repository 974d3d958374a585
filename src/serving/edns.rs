//! OPT records (RFC 6891): what a query's says, and what an answer's is made of.

use super::Settings;
use super::cookie::{Checked, Cookie, Full, Standing};
use super::respond::{Asker, Transport};
use super::subnet::Subnet;
use crate::net::ClientNet;
use crate::rr::RrType;
use crate::snapshot::answer::Rcode;

/// An OPT record without options.
const FIXED: usize = 11;
/// Code and length of an option.
const HEAD: usize = 4;
/// Answers that are padded have a multiple of so many octets (RFC 8467 §4.1).
pub const PADDING_BLOCK: usize = 468;

/// The codes of options.
mod code {
    pub const NSID: u16 = 3;
    pub const SUBNET: u16 = 8;
    pub const COOKIE: u16 = 10;
    pub const PADDING: u16 = 12;
    pub const EDE: u16 = 15;
}

/// A response code that needs an OPT record: a cookie is required (RFC 7873 §8).
pub const BADCOOKIE: Rcode = Rcode(23);

/// A COOKIE option has a length that no cookie has (RFC 7873 §5.2.2), or a client subnet is none (RFC 7871 §7.1.2): the
/// query is malformed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedOption;

/// What the OPT record of a query says (RFC 6891 §6.1).
#[derive(Clone, Copy, Debug)]
pub struct Edns<'p> {
    /// The greatest answer that the client takes over UDP, in octets.
    pub payload: u16,
    /// The EDNS version.
    pub version: u8,
    /// Whether the client wants DNSSEC records (RFC 3225).
    pub dnssec_ok: bool,
    /// The options, each of them whole.
    options: &'p [u8],
}

/// Why an answer is what it is (RFC 8914): a code, and words for who reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedError {
    /// The INFO-CODE.
    pub code: u16,
    /// The EXTRA-TEXT; left out where there is no room for it.
    pub text: &'static str,
}

impl ExtendedError {
    /// Good content is served on while the zone's files cannot be.
    pub const STALE: ExtendedError =
        ExtendedError { code: 3, text: "the zone's files have errors; the last good content is served" };
    /// The zone is configured and was never fit to be served.
    pub const NOT_READY: ExtendedError = ExtendedError { code: 14, text: "the zone is not loaded" };
    /// It is known and not told.
    pub const PROHIBITED: ExtendedError = ExtendedError { code: 18, text: "not given to this client" };
    /// No zone of ours holds the name.
    pub const NOT_AUTHORITATIVE: ExtendedError = ExtendedError { code: 20, text: "no such zone here" };

    /// Without the text.
    const BARE: usize = HEAD + 2;
}

impl<'p> Edns<'p> {
    /// Reads an OPT record: the eight octets between type and length, and the data. `None`: its options are not whole.
    pub fn read(fixed: [u8; 6], options: &'p [u8]) -> Option<Edns<'p>> {
        let [high, low, _, version, flags, _] = fixed;
        let edns = Edns { payload: u16::from_be_bytes([high, low]), version, dnssec_ok: flags & 0x80 != 0, options };
        let whole: usize = edns.options().map(|(_, data)| HEAD + data.len()).sum();
        (whole == options.len()).then_some(edns)
    }

    /// The options, up to one that is not whole.
    fn options(&self) -> impl Iterator<Item = (u16, &'p [u8])> + use<'p> {
        let mut rest = self.options;
        std::iter::from_fn(move || {
            let (&[code_high, code_low, high, low], tail) = rest.split_first_chunk::<HEAD>()?;
            let (data, tail) = tail.split_at_checked(u16::from_be_bytes([high, low]).into())?;
            rest = tail;
            Some((u16::from_be_bytes([code_high, code_low]), data))
        })
    }

    fn option(&self, wanted: u16) -> Option<&'p [u8]> {
        self.options().find(|(code, _)| *code == wanted).map(|(_, data)| data)
    }

    /// The COOKIE option, the first if there are several (RFC 7873 §5.2).
    pub fn cookie(&self) -> Result<Option<Cookie<'p>>, MalformedOption> {
        self.option(code::COOKIE).map(|data| Cookie::read(data).ok_or(MalformedOption)).transpose()
    }

    /// The client subnet, the first if there are several. Of whoever is not trusted it is neither used nor given back, nor
    /// is it looked at (RFC 7871 §7.2.1, §11).
    pub(crate) fn subnet(&self, is_trusted: impl Fn() -> bool) -> Result<Option<Subnet<'p>>, MalformedOption> {
        let data = self.option(code::SUBNET).filter(|_| is_trusted());
        data.map(|data| Subnet::read(data).ok_or(MalformedOption)).transpose()
    }
}

/// The OPT record of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Opt<'s> {
    payload: u16,
    dnssec_ok: bool,
    cookie: Option<Full>,
    nsid: Option<&'s [u8]>,
    padded: bool,
    /// Whose question it is, as a trusted resolver names it, and how many bits of that the answer is good for.
    subnet: Option<(Subnet<'s>, u8)>,
}

impl<'s> Opt<'s> {
    /// One without options.
    pub fn plain(settings: &Settings, edns: &Edns<'_>) -> Opt<'s> {
        // DO comes back as it was (RFC 3225 §3): Knot Resolver reads the lifetime of negative answers off this field.
        // No other flag is: they mean nothing yet (RFC 6891 §6.1.4).
        let (payload, dnssec_ok) = (settings.udp_payload, edns.dnssec_ok);
        Opt { payload, dnssec_ok, cookie: None, nsid: None, padded: false, subnet: None }
    }

    /// Takes up all options that the query's asks for; tells how the client's cookie stands. Nothing is taken up of one that is
    /// malformed.
    pub fn take_up(
        &mut self,
        settings: &'s Settings,
        edns: &Edns<'s>,
        asker: &Asker,
    ) -> Result<Option<Standing>, MalformedOption> {
        let checked: Option<Checked> = match &settings.cookies {
            Some(cookies) => {
                let keys = || cookies.secret.keys(asker.now);
                edns.cookie()?.map(|cookie| cookie.check(asker.source, asker.now, &keys()))
            }
            None => None,
        };
        let nsid = settings.identity.as_deref().map(str::as_bytes).filter(|_| edns.option(code::NSID).is_some());
        // Where others can read along there is nothing to hide by padding (RFC 7830 §6).
        let padded = asker.transport == Transport::Encrypted && edns.option(code::PADDING).is_some();
        let subnet = edns.subnet(|| settings.trusted_subnets.find(asker.source.to_canonical()) > 0)?;
        (self.nsid, self.padded) = (nsid, padded);
        self.subnet = subnet.map(|subnet| (subnet, 0));
        self.cookie = checked.map(|checked| checked.answer);
        Ok(checked.map(|checked| checked.standing))
    }

    /// The network whose question it is, if a trusted resolver names it.
    pub fn client(&self) -> Option<ClientNet> {
        self.subnet.and_then(|(subnet, _)| subnet.client())
    }

    /// The answer is good for all whose first `bits` bits are those of the client.
    pub fn set_scope(&mut self, bits: u8) {
        if let Some((_, scope)) = &mut self.subnet {
            *scope = bits;
        }
    }

    /// Whether the client wants DNSSEC records.
    pub fn is_dnssec_ok(&self) -> bool {
        self.dnssec_ok
    }

    /// The room that it takes with this reason, in words if there is room for them.
    pub fn room(&self, error: Option<ExtendedError>) -> usize {
        let cookie = self.cookie.map_or(0, |cookie| HEAD + cookie.len());
        let nsid = self.nsid.map_or(0, |nsid| HEAD + nsid.len());
        let subnet = self.subnet.map_or(0, |(subnet, _)| HEAD + subnet.len());
        FIXED + cookie + nsid + subnet + error.map_or(0, |_| ExtendedError::BARE)
    }

    /// Writes it at `end`; returns where it ends. The message may have `limit` octets, of which [`Opt::room`] are there.
    pub fn write(&self, rcode: Rcode, error: Option<ExtendedError>, end: usize, limit: usize, out: &mut [u8]) -> usize {
        let mut to = Cursor { out, at: end };
        to.put(&[0]);
        to.put(&RrType::OPT.0.to_be_bytes());
        to.put(&self.payload.to_be_bytes());
        to.put(&[(rcode.0 >> 4) as u8, 0, if self.dnssec_ok { 0x80 } else { 0 }, 0]);
        let length_at = to.at;
        to.put(&[0; 2]);
        if let Some(cookie) = self.cookie {
            to.put_option(code::COOKIE, &[&cookie]);
        }
        if let Some(nsid) = self.nsid {
            to.put_option(code::NSID, &[nsid]);
        }
        if let Some((subnet, scope)) = self.subnet {
            let (front, address) = subnet.echo();
            to.put_option(code::SUBNET, &[&front, &[scope], address]);
        }
        if let Some(ExtendedError { code, text }) = error {
            let text = if to.at + ExtendedError::BARE + text.len() <= limit { text } else { "" };
            to.put_option(code::EDE, &[&code.to_be_bytes(), text.as_bytes()]);
        }
        if self.padded && to.at + HEAD <= limit {
            let padding = (to.at + HEAD).next_multiple_of(PADDING_BLOCK).min(limit) - to.at - HEAD;
            to.put_padding(padding);
        }
        let at = to.at;
        out[length_at..length_at + 2].copy_from_slice(&((at - length_at - 2) as u16).to_be_bytes());
        at
    }
}

struct Cursor<'o> {
    out: &'o mut [u8],
    at: usize,
}

impl Cursor<'_> {
    fn put(&mut self, octets: &[u8]) {
        self.out[self.at..self.at + octets.len()].copy_from_slice(octets);
        self.at += octets.len();
    }

    fn put_option(&mut self, code: u16, parts: &[&[u8]]) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        self.put(&code.to_be_bytes());
        self.put(&(length as u16).to_be_bytes());
        parts.iter().for_each(|part| self.put(part));
    }

    fn put_padding(&mut self, length: usize) {
        self.put(&code::PADDING.to_be_bytes());
        self.put(&(length as u16).to_be_bytes());
        self.out[self.at..self.at + length].fill(0);
        self.at += length;
    }
}
