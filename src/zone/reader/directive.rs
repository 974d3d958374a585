//! `$ORIGIN`, `$TTL` and `$INCLUDE` (RFC 1035 §5.1, RFC 2308 §4).

use crate::name::Name;
use crate::zone::lexer::Token;
use crate::zone::rdata::{Words, seconds};

use super::{Reader, Scope};

/// How deep files may include each other.
const MAX_DEPTH: usize = 20;
/// How many inclusions a zone may have in all.
const MAX_INCLUDED: usize = 10_000;

impl Reader<'_> {
    pub(super) fn directive(&mut self, scope: &mut Scope<'_>, tokens: &[Token]) {
        let mut words = Words::new(scope.octets, tokens);
        let first = tokens[0];
        words.take();
        match first.text(scope.octets).to_ascii_uppercase().as_slice() {
            b"$ORIGIN" => self.origin(scope, first, &mut words),
            b"$TTL" => self.default_ttl(scope, first, &mut words),
            b"$INCLUDE" => self.include(scope, first, &mut words),
            b"$GENERATE" => self.generate(scope, first, &mut words),
            _ => self.error(
                scope,
                "unknown-directive",
                first,
                "an unknown directive",
                "the directives are $ORIGIN, $TTL, $INCLUDE and $GENERATE; for an owner that begins with `$` write \\$",
            ),
        }
    }

    fn origin(&mut self, scope: &mut Scope<'_>, first: Token, words: &mut Words<'_>) {
        let Some(origin) = self.origin_argument(scope, words) else {
            return self.missing(scope, first, "$ORIGIN is not followed by a name", "write $ORIGIN example.com.");
        };
        if let Some(origin) = origin
            && self.nothing_more(scope, words)
        {
            scope.origin = origin;
        }
    }

    /// The next word as an origin: nothing if there is no word, and nothing inside if it was wrong, which was told.
    fn origin_argument(&mut self, scope: &Scope<'_>, words: &mut Words<'_>) -> Option<Option<Name>> {
        let token = words.take()?;
        let name = match token.quoted {
            true => Err("it stands in quotes".to_owned()),
            false => Name::from_presentation(token.text(scope.octets), Some(scope.origin.as_ref()))
                .map_err(|error| error.to_string()),
        };
        if let Err(error) = &name {
            self.error(scope, "bad-origin", token, &format!("the origin is not a domain name: {error}"), "");
        }
        Some(name.ok())
    }

    fn default_ttl(&mut self, scope: &Scope<'_>, first: Token, words: &mut Words<'_>) {
        let advice = "write $TTL 3600, or $TTL 1h";
        let Some(token) = words.take() else {
            return self.missing(scope, first, "$TTL is not followed by a TTL", advice);
        };
        let value = if token.quoted { None } else { seconds(token.text(scope.octets)) };
        match value {
            Some(seconds) if self.nothing_more(scope, words) => self.ttl_of_directive(scope, token, seconds),
            Some(_) => {}
            None => self.error(scope, "bad-ttl", token, "not a TTL", advice),
        }
    }

    fn include(&mut self, scope: &Scope<'_>, first: Token, words: &mut Words<'_>) {
        let Some(token) = words.take() else {
            return self.missing(scope, first, "$INCLUDE is not followed by a path", "write $INCLUDE FILE [ORIGIN]");
        };
        let origin = match self.origin_argument(scope, words) {
            None => scope.origin.clone(),
            Some(Some(origin)) => origin,
            Some(None) => return,
        };
        if !self.nothing_more(scope, words) {
            return;
        }
        self.included += 1;
        if self.open.len() >= MAX_DEPTH || self.included > MAX_INCLUDED {
            let message = format!("files are included more than {MAX_DEPTH} deep, or more than {MAX_INCLUDED} times");
            return self.error(scope, "include-limit", token, &message, "include fewer files");
        }
        let mut path = Vec::new();
        if crate::zone::rdata::decode(token.text(scope.octets), &mut path).is_err() {
            path = token.text(scope.octets).to_vec();
        }
        let including = self.open.last().cloned().unwrap_or_default();
        match self.sources.open(&including, &String::from_utf8_lossy(&path)) {
            Ok(source) if self.open.contains(&source.path) => {
                let chain = self.open.iter().skip_while(|path| **path != source.path);
                let chain = chain.map(String::as_str).chain([source.path.as_str()]).collect::<Vec<_>>().join(" -> ");
                let message = format!("the file includes itself: {chain}");
                self.error(scope, "include-loop", token, &message, "remove one of these $INCLUDE lines");
            }
            // The including file goes on with its own origin and owner (RFC 1035 §5.1); a $TTL stays, as in BIND.
            Ok(source) => drop(self.file(source, origin, scope.owner.clone())),
            Err(why) => {
                let message = format!("the file cannot be included: {why}");
                let advice = "a path counts from the including file's directory";
                self.error(scope, "include-failed", token, &message, advice);
            }
        }
    }

    pub(super) fn missing(&mut self, scope: &Scope<'_>, at: Token, message: &str, advice: &str) {
        self.error(scope, "missing-argument", Token { start: at.end, ..at }, message, advice);
    }

    pub(super) fn nothing_more(&mut self, scope: &Scope<'_>, words: &mut Words<'_>) -> bool {
        let more = words.take();
        if let Some(token) = more {
            self.error(scope, "extra-argument", token, "the directive has ended before this", "remove it");
        }
        more.is_none()
    }
}
