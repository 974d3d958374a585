//! Lines that are records: owner, TTL and class in either order, type, data.

use crate::name::push_presentation;
use crate::rr::{Class, RrType};
use crate::time::Ttl;
use crate::zone::lexer::Token;
use crate::zone::rdata::{self, RdataError, Words};
use crate::zone::text::Record;

use super::{Owner, Reader, Scope};

/// What stands between the owner and the data.
pub(super) struct Head {
    pub ttl: Option<Ttl>,
    pub rtype: RrType,
    pub token: Token,
}

impl Reader<'_> {
    pub(super) fn record(&mut self, scope: &mut Scope<'_>, blank: bool, tokens: &[Token]) {
        let mut words = Words::new(scope.octets, tokens);
        let first = tokens[0];
        if blank {
            match scope.owner {
                Owner::Known(_) => {}
                Owner::Wrong => return,
                Owner::None => {
                    let message = "the line begins with a blank, so that its owner is that of the record before, and there is none";
                    return self.error(
                        scope,
                        "no-owner",
                        first,
                        message,
                        "write the owner, or `@` for the origin, in the first column",
                    );
                }
            }
        } else {
            words.take();
            if !self.take_owner(scope, first) {
                return;
            }
        }
        let Some(head) = self.head(scope, &mut words, first) else {
            return;
        };
        self.data(scope, first, &head, &mut words);
    }

    /// Makes the word the owner from here on. Tells of it if it is malformed or outside the zone.
    pub(super) fn take_owner(&mut self, scope: &mut Scope<'_>, token: Token) -> bool {
        let mut wire = match std::mem::replace(&mut scope.owner, Owner::Wrong) {
            Owner::Known(wire) => wire,
            _ => Vec::new(),
        };
        wire.clear();
        if let Err(error) = push_presentation(&mut wire, token.text(scope.octets), Some(scope.origin.as_ref())) {
            self.error(scope, "bad-owner", token, &format!("the owner is not a domain name: {error}"), "");
            return false;
        }
        scope.owner = Owner::Known(wire);
        let inside = scope.owner().is_some_and(|owner| owner.is_at_or_below(self.zone.as_ref()));
        if !inside {
            let owner = scope.owner().map(|owner| owner.to_string()).unwrap_or_default();
            scope.owner = Owner::Wrong;
            let message = format!("{owner} is outside the zone {}: nobody asks this zone for it", self.zone);
            self.error(
                scope,
                "out-of-zone",
                token,
                &message,
                "move the record to its own zone, or mind final dots and $ORIGIN",
            );
        }
        inside
    }

    /// Takes TTL, class and type.
    pub(super) fn head(&mut self, scope: &Scope<'_>, words: &mut Words<'_>, first: Token) -> Option<Head> {
        let (mut ttl, mut class) = (None, None);
        loop {
            let Some(token) = words.take() else {
                let at = words.last().unwrap_or(first);
                let at = Token { start: at.end, ..at };
                self.error(scope, "missing-type", at, "the record ends before its type", "write OWNER TTL TYPE DATA");
                return None;
            };
            let word = if token.quoted { &[] } else { token.text(scope.octets) };
            let text = std::str::from_utf8(word).unwrap_or_default();
            if ttl.is_none()
                && let Some(seconds) = rdata::seconds(word)
            {
                ttl = Some(self.limited(scope, token, seconds));
            } else if class.is_none()
                && let Some(found) = any_class(text)
            {
                class = Some(found);
                if found != Class::IN {
                    let message = format!("the class is {found} and the zone's is IN: only IN is served");
                    self.error(scope, "unequal-class", token, &message, "write IN, or leave the class out");
                    return None;
                }
            } else if let Some(rtype) = RrType::parse(text) {
                if rtype.is_meta() {
                    let message = format!("{rtype} is no type of records: it stands in queries and messages only");
                    self.error(scope, "meta-type", token, &message, "remove the record");
                    return None;
                }
                if matches!(rtype, RrType::MD | RrType::MF) {
                    let message = format!("{rtype} is obsolete since RFC 973: nothing asks for it");
                    self.error(scope, "obsolete-type", token, &message, "write an MX record");
                    return None;
                }
                return Some(Head { ttl, rtype, token });
            } else {
                self.unknown_type(scope, token, first, ttl.is_none());
                return None;
            }
        }
    }

    fn unknown_type(&mut self, scope: &Scope<'_>, token: Token, first: Token, ttl_may_stand: bool) {
        let looks_like_ttl = ttl_may_stand && token.text(scope.octets).first().is_some_and(u8::is_ascii_digit);
        let (id, message, advice) = match looks_like_ttl {
            true => ("bad-ttl", "not a TTL: a number up to 4294967295, or numbers with units", "write 3600, or 1h30m"),
            false => (
                "unknown-type",
                "neither a record type nor a TTL or class where one may stand",
                "write a mnemonic such as AAAA, or TYPE28; TTL and class stand before it once each",
            ),
        };
        let owner = std::str::from_utf8(first.text(scope.octets)).unwrap_or_default();
        if first.start != token.start && (RrType::parse(owner).is_some() || Class::parse(owner).is_some()) {
            let advice =
                format!("`{owner}` was read as the owner: begin the line with a blank to keep the owner before");
            return self.error(scope, id, token, message, &advice);
        }
        self.error(scope, id, token, message, advice);
    }

    fn limited(&mut self, scope: &Scope<'_>, token: Token, seconds: u32) -> Ttl {
        Ttl::new(seconds).unwrap_or_else(|| {
            let message = "a TTL above 2147483647 counts as 0 (RFC 2181 §8): nothing will be cached";
            self.warning(scope, "ttl-too-large", token, message, "write a TTL of at most 2147483647");
            Ttl::ZERO
        })
    }

    /// Reads the data and keeps the record.
    pub(super) fn data(&mut self, scope: &Scope<'_>, first: Token, head: &Head, words: &mut Words<'_>) {
        let mut octets = std::mem::take(&mut self.rdata);
        match rdata::parse(head.rtype, words, scope.origin.as_ref(), &mut octets) {
            Ok(()) => self.keep(scope, first, head, &octets),
            Err(error) => self.wrong_data(scope, head, words.last().unwrap_or(head.token), error),
        }
        self.rdata = octets;
    }

    fn keep(&mut self, scope: &Scope<'_>, first: Token, head: &Head, rdata: &[u8]) {
        let (Some(ttl), Some(owner)) = (self.ttl(scope, head, rdata), scope.owner()) else {
            return;
        };
        let record = Record { owner, rtype: head.rtype, ttl, rdata, place: scope.place(&first) };
        if !self.text.records.push(record) {
            self.full = true;
            let message = "the zone's records have more than 4 GiB, which is the most that is read";
            self.error(scope, "zone-too-large", first, message, "split the zone");
        }
    }

    fn wrong_data(&mut self, scope: &Scope<'_>, head: &Head, at: Token, error: RdataError) {
        // Nothing is at fault where something is missing: point behind what is there.
        let at = if error.id == "missing-field" { Token { start: at.end, ..at } } else { at };
        let message = format!("{} record, {}: {}", head.rtype, error.field, error.why);
        self.error(scope, error.id, at, &message, &error.advice);
    }

    /// The TTL of a record: its own, else that of `$TTL`, else, as RFC 1035 has it and BIND still does, the last one
    /// that was written; the first record, a SOA, has its MINIMUM.
    fn ttl(&mut self, scope: &Scope<'_>, head: &Head, rdata: &[u8]) -> Option<Ttl> {
        if let Some(ttl) = head.ttl {
            self.last_ttl = Some(ttl);
            return Some(ttl);
        }
        if let Some(ttl) = self.default_ttl {
            return Some(ttl);
        }
        if let Some(ttl) = self.last_ttl {
            if !std::mem::replace(&mut self.told_of_last_ttl, true) {
                let message =
                    format!("no TTL and no $TTL: this record and others like it take the last TTL written, {ttl}");
                self.warning(scope, "ttl-of-last-record", head.token, &message, "write $TTL at the head of the file");
            }
            return Some(ttl);
        }
        if head.rtype == RrType::SOA
            && let Some(minimum) = rdata.last_chunk()
        {
            let minimum = u32::from_be_bytes(*minimum);
            let ttl = self.limited(scope, head.token, minimum);
            let message = format!("no TTL and no $TTL: the SOA and all records without a TTL take its MINIMUM, {ttl}");
            self.warning(scope, "ttl-of-soa-minimum", head.token, &message, "write $TTL at the head of the file");
            self.default_ttl = Some(ttl);
            return Some(ttl);
        }
        let message = "the record has no TTL, there is no $TTL, and no record before it has one";
        self.error(scope, "no-ttl", head.token, message, "write $TTL 3600 at the head of the file");
        self.last_ttl = Some(Ttl::ZERO); // Once is enough.
        self.told_of_last_ttl = true;
        None
    }

    /// The value of `$TTL`.
    pub(super) fn ttl_of_directive(&mut self, scope: &Scope<'_>, token: Token, seconds: u32) {
        self.default_ttl = Some(self.limited(scope, token, seconds));
    }
}

/// A class, the query classes included: they are refused by their names.
fn any_class(text: &str) -> Option<Class> {
    if text.eq_ignore_ascii_case("ANY") {
        return Some(Class::ANY);
    }
    if text.eq_ignore_ascii_case("NONE") {
        return Some(Class::NONE);
    }
    Class::parse(text)
}
