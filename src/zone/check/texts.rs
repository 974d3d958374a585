//! Text that other protocols read: SPF policies in TXT, CAA.

use super::lay::Lay;
use super::{Findings, first, lines};
use crate::name::Name;
use crate::rr::RrType;
use crate::zone::check::owners::is_host_name;
use crate::zone::rrsets::{Owner, Rrset};
use crate::zone::text::Record;

pub(super) fn check<'a>(lay: &Lay<'a>, findings: &mut Findings<'a>) {
    for owner in lay.zone.owners().filter(|owner| lay.holds(owner.name)) {
        spf(owner, findings);
        if let Some(set) = owner.rrset(RrType::CAA) {
            set.records().for_each(|record| caa(record, findings));
        }
    }
}

fn spf<'a>(owner: Owner<'a>, findings: &mut Findings<'a>) {
    let policies: Vec<Record<'a>> = owner.rrset(RrType::TXT).map(policies).unwrap_or_default();
    if let [_, .., record] = policies[..] {
        findings.warning(
            "several-spf",
            record,
            format!(
                "{} has {} SPF policies ({}): a receiver takes that for an error and may refuse all mail (RFC 7208 §4.5)",
                owner.name,
                policies.len(),
                lines(findings.zone, policies.iter().copied())
            ),
            "join them into one `v=spf1 … -all`",
        );
    }
    if let (true, Some(record)) = (policies.is_empty(), owner.rrset(RrType::SPF).and_then(first)) {
        findings.warning(
            "spf-without-txt",
            record,
            format!("{} has its SPF policy in an SPF record, which nobody reads any more (RFC 7208 §3.1)", owner.name),
            "write it as a TXT record",
        );
    }
}

fn policies(set: Rrset<'_>) -> Vec<Record<'_>> {
    let is_policy = |record: &Record<'_>| {
        let text = joined(record.rdata);
        let front = text.get(..6).is_some_and(|front| front.eq_ignore_ascii_case(b"v=spf1"));
        front && text.get(6).is_none_or(|octet| *octet == b' ')
    };
    set.records().filter(is_policy).collect()
}

/// The character strings of TXT data, put together.
fn joined(mut rdata: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    while let [len, rest @ ..] = rdata {
        let (string, behind) = rest.split_at(rest.len().min(usize::from(*len)));
        text.extend_from_slice(string);
        rdata = behind;
    }
    text
}

/// RFC 8659 §4; the tags of RFC 9495 and of the CA/Browser Forum.
fn caa<'a>(record: Record<'a>, findings: &mut Findings<'a>) {
    let [flags, tag_len, rest @ ..] = record.rdata else { return };
    let Some((tag, value)) = rest.split_at_checked(usize::from(*tag_len)) else { return };
    let tag = String::from_utf8_lossy(tag).to_ascii_lowercase();
    let value = String::from_utf8_lossy(value);
    let value = value.trim();
    let fault = match tag.as_str() {
        "issue" | "issuewild" | "issuemail" | "issuevmc" => {
            let issuer = value.split(';').next().unwrap_or_default().trim();
            let named = Name::absolute(issuer).is_ok_and(|name| is_host_name(name.as_ref()));
            (!issuer.is_empty() && !named).then_some("must begin with the domain of a certificate authority, or be `;`")
        }
        "iodef" => {
            let known = ["mailto:", "http://", "https://"].iter().any(|scheme| value.starts_with(scheme));
            (!known).then_some("must be a `mailto:`, `http://` or `https://` URL")
        }
        "contactemail" => (!value.contains('@')).then_some("must be a mail address"),
        "contactphone" => value.is_empty().then_some("must be a telephone number"),
        _ => {
            let meaning = match flags & 0x80 {
                0 => "authorities ignore it",
                _ => "it is marked critical, so that no authority may issue a certificate",
            };
            findings.warning(
                "caa-unknown-tag",
                record,
                format!("`{tag}` is no CAA property that is known: {meaning}"),
                "write `issue`, `issuewild`, `issuemail` or `iodef`",
            );
            None
        }
    };
    if let Some(fault) = fault {
        findings.warning(
            "caa-value",
            record,
            format!(
                "the value of the CAA property `{tag}` is `{value}` and {fault}; authorities then refuse or ignore it"
            ),
            "for example: `CAA 0 issue \"ca.example\"`, `CAA 0 iodef \"mailto:security@example.com\"`",
        );
    }
    if flags & 0x7f != 0 {
        findings.warning(
            "caa-flags",
            record,
            format!("the CAA flags are {flags}: only 0 and 128 (critical) mean something (RFC 8659 §4.1)"),
            "write 0, or 128 to have certificates refused where the property is not understood",
        );
    }
}
