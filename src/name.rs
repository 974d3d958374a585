//! Domain names in wire form (RFC 1035 §3.1): case kept, compared and hashed without it (RFC 4343).

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// The most octets a name has in wire form, its root label counted (RFC 1035 §2.3.4).
pub const MAX_NAME: usize = 255;
/// The most octets a label has (RFC 1035 §2.3.4).
pub const MAX_LABEL: usize = 63;

/// Why octets or text are not a domain name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A label has no octets, as between the dots of `a..b`.
    #[error("a label is empty (two dots in a row, or a dot in front)")]
    EmptyLabel,
    /// A label has more than 63 octets.
    #[error("a label has more than 63 octets")]
    LongLabel,
    /// The whole has more than 255 octets in wire form.
    #[error("the name has more than 255 octets")]
    LongName,
    /// A `\` is followed by neither a character nor three digits of at most 255.
    #[error("a backslash must be followed by a character, or by three digits of at most 255")]
    BadEscape,
    /// A relative name stands where no origin is known.
    #[error("the name is relative and there is no origin: end it with a dot")]
    NoOrigin,
    /// The octets end inside the name, or hold a compression pointer where none may stand.
    #[error("the octets end inside the name")]
    Cut,
}

/// A borrowed domain name, uncompressed and absolute.
#[derive(Clone, Copy)]
pub struct NameRef<'a>(&'a [u8]);

/// An owned domain name, uncompressed and absolute.
#[derive(Clone)]
pub struct Name(Box<[u8]>);

impl<'a> NameRef<'a> {
    /// The root name.
    pub const ROOT: NameRef<'static> = NameRef(&[0]);

    /// The name at the start of `octets`, which may go on behind it.
    pub fn read(octets: &'a [u8]) -> Result<Self, NameError> {
        let mut at = 0;
        loop {
            let len = *octets.get(at).ok_or(NameError::Cut)? as usize;
            at += 1 + len;
            match len {
                0 if at > MAX_NAME => return Err(NameError::LongName),
                0 => return Ok(NameRef(&octets[..at])),
                1..=MAX_LABEL => {}
                0xC0.. => return Err(NameError::Cut),
                _ => return Err(NameError::LongLabel),
            }
        }
    }

    /// A name whose octets are known to be well-formed, since they were once taken from a name.
    ///
    /// Wrong octets make wrong answers, never undefined behaviour.
    pub(crate) fn trusted(octets: &'a [u8]) -> Self {
        debug_assert!(NameRef::read(octets).is_ok_and(|n| n.0.len() == octets.len()));
        NameRef(octets)
    }

    /// The octets, as on the wire without compression.
    pub fn as_wire(self) -> &'a [u8] {
        self.0
    }

    /// How many octets the name has on the wire without compression.
    #[allow(clippy::len_without_is_empty, reason = "no name is empty: the root has one octet")]
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// Whether this is the root.
    pub fn is_root(self) -> bool {
        self.0.len() == 1
    }

    /// Whether the leftmost label is `*` (RFC 4592 §2.1.1).
    pub fn is_wildcard(self) -> bool {
        self.0.starts_with(&[1, b'*'])
    }

    /// The labels from left to right, without the root's.
    pub fn labels(self) -> Labels<'a> {
        Labels(self.0)
    }

    /// As operators write zones: without the final dot.
    pub fn dotless(self) -> String {
        let mut text = self.to_string();
        if text.len() > 1 {
            text.pop();
        }
        text
    }

    /// How many labels, without the root's.
    pub fn label_count(self) -> usize {
        self.labels().count()
    }

    /// The leftmost label; none for the root.
    pub fn first_label(self) -> Option<&'a [u8]> {
        self.labels().next()
    }

    /// The name without its leftmost label; none for the root.
    pub fn parent(self) -> Option<NameRef<'a>> {
        (!self.is_root()).then(|| NameRef(&self.0[1 + self.0[0] as usize..]))
    }

    /// The name itself, its parent, and so on to the root.
    pub fn ancestors(self) -> impl Iterator<Item = NameRef<'a>> {
        std::iter::successors(Some(self), |n| n.parent())
    }

    /// Whether the name is `other` or below it.
    pub fn is_at_or_below(self, other: NameRef<'_>) -> bool {
        self.strip(other).is_some()
    }

    /// Whether the name is below `other`, and not `other` itself.
    pub fn is_below(self, other: NameRef<'_>) -> bool {
        self.0.len() > other.0.len() && self.is_at_or_below(other)
    }

    /// The octets of the labels in front of `suffix`, if the name is `suffix` or below it.
    pub fn strip(self, suffix: NameRef<'_>) -> Option<&'a [u8]> {
        let front = self.0.len().checked_sub(suffix.0.len())?;
        if !self.0[front..].eq_ignore_ascii_case(suffix.0) {
            return None;
        }
        // The tail must begin where a label begins.
        let mut at = 0;
        while at < front {
            at += 1 + self.0[at] as usize;
        }
        (at == front).then(|| &self.0[..front])
    }

    /// The labels in front of `suffix` put in front of `target` instead (RFC 6672 §2.2).
    pub fn replace_suffix(self, suffix: NameRef<'_>, target: NameRef<'_>) -> Result<Name, NameError> {
        let front = self.strip(suffix).ok_or(NameError::NoOrigin)?;
        Name::joined(front, target)
    }

    /// `label` put in front of the name.
    pub fn child(self, label: &[u8]) -> Result<Name, NameError> {
        match label.len() {
            0 => Err(NameError::EmptyLabel),
            1..=MAX_LABEL => {
                let mut front = Vec::with_capacity(1 + label.len());
                front.push(label.len() as u8);
                front.extend_from_slice(label);
                Name::joined(&front, self)
            }
            _ => Err(NameError::LongLabel),
        }
    }

    /// The name in lower case.
    pub fn to_lowercase(self) -> Name {
        Name(self.0.to_ascii_lowercase().into())
    }

    /// An owned copy.
    pub fn to_name(self) -> Name {
        Name(self.0.into())
    }

    /// The name as an operator would type it relative to `origin`: `@` for the origin itself.
    pub fn relative_to(self, origin: NameRef<'_>) -> String {
        match self.strip(origin) {
            Some([]) => "@".into(),
            Some(front) if !origin.is_root() => {
                let mut text = String::new();
                write_labels(&mut text, front);
                text.pop();
                text
            }
            _ => self.to_string(),
        }
    }
}

/// The labels of a name from left to right.
#[derive(Clone)]
pub struct Labels<'a>(&'a [u8]);

impl<'a> Iterator for Labels<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let len = self.0[0] as usize;
        if len == 0 {
            return None;
        }
        let label = &self.0[1..1 + len];
        self.0 = &self.0[1 + len..];
        Some(label)
    }
}

impl Name {
    /// The root name.
    pub fn root() -> Name {
        NameRef::ROOT.to_name()
    }

    /// The borrowed form.
    pub fn as_ref(&self) -> NameRef<'_> {
        NameRef(&self.0)
    }

    /// A name in presentation format (RFC 1035 §5.1), `\X` and `\DDD` understood; without a final dot it is relative
    /// to `origin`. A lone `@` is the origin.
    pub fn from_presentation(text: &[u8], origin: Option<NameRef<'_>>) -> Result<Name, NameError> {
        let mut wire = Vec::with_capacity(text.len() + 2);
        push_presentation(&mut wire, text, origin)?;
        Ok(Name(wire.into()))
    }

    /// A name as an operator types it where no origin is in force: with or without the final dot it is absolute.
    pub fn absolute(text: &str) -> Result<Name, NameError> {
        Name::from_presentation(text.as_bytes(), Some(NameRef::ROOT))
    }

    fn joined(front: &[u8], suffix: NameRef<'_>) -> Result<Name, NameError> {
        if front.len() + suffix.0.len() > MAX_NAME {
            return Err(NameError::LongName);
        }
        let mut wire = Vec::with_capacity(front.len() + suffix.0.len());
        wire.extend_from_slice(front);
        wire.extend_from_slice(suffix.0);
        Ok(Name(wire.into()))
    }
}

/// Appends a name in presentation format to `out` in wire form, as [`Name::from_presentation`] reads it; after an error
/// what was appended is of no use.
pub(crate) fn push_presentation(out: &mut Vec<u8>, text: &[u8], origin: Option<NameRef<'_>>) -> Result<(), NameError> {
    let first = out.len();
    match text {
        b"." => out.push(0),
        b"@" => out.extend_from_slice(origin.ok_or(NameError::NoOrigin)?.0),
        _ => {
            let mut start = first; // where the length octet of the label being read stands
            out.push(0);
            let mut at = 0;
            while at < text.len() {
                let octet = text[at];
                at += 1;
                match octet {
                    b'.' => {
                        close_label(out, start)?;
                        start = out.len();
                        out.push(0);
                    }
                    b'\\' => out.push(unescape(text, &mut at).ok_or(NameError::BadEscape)?),
                    _ => out.push(octet),
                }
                if out.len() - first > MAX_NAME + 1 {
                    let long_label = out.len() - start > MAX_LABEL + 1;
                    return Err(if long_label { NameError::LongLabel } else { NameError::LongName });
                }
            }
            // Behind a final dot the root label stands already.
            if start == first || out.len() - start > 1 {
                close_label(out, start)?;
                out.extend_from_slice(origin.ok_or(NameError::NoOrigin)?.0);
            }
        }
    }
    if out.len() - first > MAX_NAME { Err(NameError::LongName) } else { Ok(()) }
}

fn close_label(wire: &mut [u8], start: usize) -> Result<(), NameError> {
    match wire.len() - start - 1 {
        0 => Err(NameError::EmptyLabel),
        len @ 1..=MAX_LABEL => {
            wire[start] = len as u8;
            Ok(())
        }
        _ => Err(NameError::LongLabel),
    }
}

/// The octet that an escape stands for, `at` being behind its backslash; moves `at` behind the escape.
pub(crate) fn unescape(text: &[u8], at: &mut usize) -> Option<u8> {
    let first = *text.get(*at)?;
    if !first.is_ascii_digit() {
        *at += 1;
        return Some(first);
    }
    let digits = text.get(*at..*at + 3)?;
    let value = digits.iter().try_fold(0u16, |v, d| d.is_ascii_digit().then(|| v * 10 + u16::from(d - b'0')))?;
    *at += 3;
    u8::try_from(value).ok()
}

fn write_labels(out: &mut impl fmt::Write, labels: &[u8]) {
    let mut at = 0;
    while at < labels.len() && labels[at] != 0 {
        let len = labels[at] as usize;
        for &octet in &labels[at + 1..at + 1 + len] {
            let _ = match octet {
                b'.' | b'\\' | b'"' | b'(' | b')' | b';' | b'@' | b'$' => write!(out, "\\{}", octet as char),
                0x21..=0x7e => out.write_char(octet as char),
                _ => write!(out, "\\{octet:03}"),
            };
        }
        let _ = out.write_char('.');
        at += 1 + len;
    }
}

impl fmt::Display for NameRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_root() {
            return f.pad(".");
        }
        let mut text = String::with_capacity(self.0.len());
        write_labels(&mut text, self.0);
        f.pad(&text)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl fmt::Debug for NameRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// Length octets are at most 63 and so never letters: whole wire forms can be folded at once.
impl PartialEq for NameRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(other.0)
    }
}

impl Eq for NameRef<'_> {}

impl Hash for NameRef<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for chunk in self.0.chunks(64) {
            let mut folded = [0; 64];
            folded[..chunk.len()].copy_from_slice(chunk);
            folded.make_ascii_lowercase();
            state.write(&folded[..chunk.len()]);
        }
    }
}

/// Canonical order (RFC 4034 §6.1): label by label from the right, without case.
impl Ord for NameRef<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        // Most names that are compared stand below the same one: then their first labels tell.
        if let (Some((own, above)), Some((others, above_other))) = (split_first(self.0), split_first(other.0))
            && above == above_other
        {
            return fold_cmp(own, others);
        }
        let (a, b) = (label_starts(self.0), label_starts(other.0));
        let (mut i, mut j) = (a.1, b.1);
        while i > 0 && j > 0 {
            i -= 1;
            j -= 1;
            let order = fold_cmp(label_at(self.0, a.0[i]), label_at(other.0, b.0[j]));
            if order != Ordering::Equal {
                return order;
            }
        }
        i.cmp(&j)
    }
}

impl PartialOrd for NameRef<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The first label, and the name above it; none of the root.
fn split_first(wire: &[u8]) -> Option<(&[u8], &[u8])> {
    let (len, rest) = wire.split_first().filter(|(len, _)| **len > 0)?;
    Some(rest.split_at(*len as usize))
}

fn label_starts(wire: &[u8]) -> ([u8; 128], usize) {
    let mut starts = [0; 128];
    let (mut n, mut at) = (0, 0);
    while wire[at] != 0 {
        starts[n] = at as u8;
        n += 1;
        at += 1 + wire[at] as usize;
    }
    (starts, n)
}

fn label_at(wire: &[u8], start: u8) -> &[u8] {
    let start = start as usize;
    &wire[start + 1..start + 1 + wire[start] as usize]
}

fn fold_cmp(a: &[u8], b: &[u8]) -> Ordering {
    a.iter().map(u8::to_ascii_lowercase).cmp(b.iter().map(u8::to_ascii_lowercase))
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_ref().hash(state);
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_ref().cmp(&other.as_ref())
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl From<NameRef<'_>> for Name {
    fn from(name: NameRef<'_>) -> Name {
        name.to_name()
    }
}

impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl std::str::FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Name, NameError> {
        Name::absolute(text)
    }
}

impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for Name {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        let text = String::deserialize(deserializer)?;
        Name::absolute(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::absolute(text).unwrap()
    }

    #[test]
    fn presentation_reads_and_writes_back() {
        for text in [".", "www.wiki.example.", "\\046a.b.", "a\\032b.example.", "\\255\\000.x.", "*.a.", "\\@.a."] {
            assert_eq!(
                Name::absolute(&name(text).to_string()).unwrap().as_ref().as_wire(),
                name(text).as_ref().as_wire()
            );
        }
        assert_eq!(name("\\.a.b").to_string(), "\\.a.b.");
        assert_eq!(name("a\\.b.c").as_ref().label_count(), 2);
    }

    #[test]
    fn wrong_names_say_why() {
        let long_label = "a".repeat(64);
        let long_name = "abcdefg.".repeat(32);
        for (text, error) in [
            ("a..b", NameError::EmptyLabel),
            (".a", NameError::EmptyLabel),
            ("", NameError::EmptyLabel),
            (long_label.as_str(), NameError::LongLabel),
            (long_name.as_str(), NameError::LongName),
            ("a\\", NameError::BadEscape),
            ("a\\25", NameError::BadEscape),
            ("a\\256", NameError::BadEscape),
        ] {
            assert_eq!(Name::absolute(text), Err(error), "{text}");
        }
        assert_eq!(Name::from_presentation(b"a", None), Err(NameError::NoOrigin));
        assert_eq!(name(&"abcdefg.".repeat(31)).as_ref().len(), 249);
        assert!(Name::absolute(&("abcdefg.".repeat(31) + "abcde.")).is_ok_and(|n| n.as_ref().len() == 255));
        assert_eq!(Name::absolute(&("abcdefg.".repeat(31) + "abcdef.")), Err(NameError::LongName));
    }

    #[test]
    fn case_is_kept_and_does_not_count() {
        assert_eq!(name("WWW.Wiki.Example"), name("www.wiki.example"));
        assert_eq!(name("WWW.Wiki.Example").to_string(), "WWW.Wiki.Example.");
        assert_eq!(name("a.B").cmp(&name("A.b")), Ordering::Equal);
    }

    #[test]
    fn canonical_order_is_that_of_rfc_4034() {
        let sorted = [
            "example",
            "a.example",
            "yljkjljk.a.example",
            "Z.a.example",
            "zABC.a.EXAMPLE",
            "z.example",
            "\\001.z.example",
            "*.z.example",
            "\\200.z.example",
        ];
        assert!(sorted.windows(2).all(|w| name(w[0]) < name(w[1])));
    }

    #[test]
    fn suffixes_are_cut_at_labels() {
        assert!(name("a.wiki.example").as_ref().is_below(name("wiki.example").as_ref()));
        assert!(!name("awiki.example").as_ref().is_below(name("wiki.example").as_ref()));
        // A label whose octets look like the suffix is not the suffix.
        assert!(!name("x\\004wiki\\007example").as_ref().is_at_or_below(name("wiki.example").as_ref()));
        assert_eq!(
            name("a.b.old.x").as_ref().replace_suffix(name("OLD.x").as_ref(), name("new").as_ref()),
            Ok(name("a.b.new"))
        );
        assert_eq!(name("www.wiki.example").as_ref().relative_to(name("wiki.example").as_ref()), "www");
    }

    #[test]
    fn wire_is_refused_when_cut_compressed_or_long() {
        for octets in [&b"\x03ww"[..], b"", b"\x01a\xC0\x0c", b"\x40aaaa"] {
            assert!(NameRef::read(octets).is_err());
        }
        assert_eq!(NameRef::read(b"\x01a\x00rest").unwrap().as_wire(), b"\x01a\x00");
    }
}
