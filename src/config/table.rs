//! Tables and typed values of a configuration. What is not as it should be is noted on the page, and reading goes on.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::nearest::nearest;
use super::page::Page;
use crate::time::Ttl;

/// Every table and the keys that it may have. Whatever is not here is unknown.
pub(super) const SCHEMA: &[(&str, &[&str])] = &[
    (
        "",
        &[
            "version",
            "state_dir",
            "include_outside",
            "server",
            "exposures",
            "dnstap",
            "control",
            "region",
            "resolver",
            "canary",
            "probe",
            "drill",
            "zone",
        ],
    ),
    (
        "server",
        &[
            "listen",
            "workers",
            "user",
            "group",
            "udp_payload",
            "tcp",
            "identity",
            "show_version",
            "cookies",
            "encrypted",
            "rate_limit",
            "trusted_ecs",
        ],
    ),
    ("server.tcp", &["connections", "per_client", "idle", "write"]),
    ("server.cookies", &["enabled", "required", "rollover", "secrets"]),
    (
        "server.encrypted",
        &["dot", "doh", "doq", "doh_path", "certificate", "key", "connections", "per_client", "idle", "write"],
    ),
    ("server.rate_limit", &["per_second", "window", "slip", "prefix_v4", "prefix_v6", "exempt"]),
    ("exposures", &["enabled", "memory_mib", "retention"]),
    ("dnstap", &["socket", "file", "file_mib", "sample"]),
    ("control", &["group"]),
    ("region", &["name", "networks"]),
    ("resolver", &["name", "networks", "address", "transport", "rate"]),
    ("canary", &["zone", "listen", "addresses", "contact"]),
    ("probe", &["ttls", "watch", "daily_questions", "expires", "background"]),
    (
        "zone",
        &[
            "name",
            "file",
            "site",
            "negative_ttl",
            "max_ttl",
            "may_vanish",
            "blast_radius",
            "routing",
            "policy",
            "drill",
            "name_servers",
        ],
    ),
    ("drill", &["listen"]),
    ("zone.drill", &["every", "quiet", "max_age", "required", "deadline"]),
    ("zone.site", &["name", "file"]),
    ("zone.blast_radius", &["percent", "names"]),
    (
        "zone.policy",
        &[
            "steps",
            "step_wait",
            "low_ttl",
            "bake",
            "approval",
            "approval_expires",
            "hold_reminder",
            "hold_deadline",
            "retry",
            "rise",
            "fall",
            "drain_deadline",
            "capacity_steps",
            "rename",
            "spare_levers",
        ],
    ),
];

/// A value and where it stands.
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) span: Range<usize>,
}

/// A table of known keys.
pub(super) struct Table<'a> {
    pub(super) page: &'a Page<'a>,
    /// Its path from the top, dotted; empty for the top.
    path: &'static str,
    pub(super) span: Range<usize>,
    entries: &'a DeTable<'a>,
}

impl<'a> Table<'a> {
    /// The table at `path`; notes the keys in it that are not known.
    pub(super) fn open(
        page: &'a Page<'a>,
        path: &'static str,
        span: Range<usize>,
        entries: &'a DeTable<'a>,
    ) -> Table<'a> {
        let keys = SCHEMA.iter().find(|(known, _)| *known == path).map_or(&[][..], |(_, keys)| keys);
        let table = Table { page, path, span, entries };
        for key in entries.keys() {
            let name: &str = key.get_ref();
            if !keys.contains(&name) {
                page.wrong(
                    &key.span(),
                    &table.key(name),
                    "there is no such key",
                    "it would have no effect, so understudy refuses to guess what was meant",
                    remedy_for_unknown(name, path, keys),
                );
            }
        }
        table
    }

    /// The dotted path of one of its keys.
    pub(super) fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.into() } else { format!("{}.{name}", self.path) }
    }

    /// Notes that a key is missing.
    pub(super) fn missing(&self, name: &str, meaning: &str, remedy: impl Into<String>) {
        self.page.wrong(&self.span, &self.key(name), "is missing", meaning, remedy);
    }

    /// Notes what is wrong with the value of `name`.
    pub(super) fn wrong(
        &self,
        span: &Range<usize>,
        name: &str,
        what: impl Into<String>,
        meaning: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.page.wrong(span, &self.key(name), what, meaning, remedy);
    }

    /// The value of a key as it stands.
    pub(super) fn get(&self, name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.entries.get(name)
    }

    fn typed<T>(
        &self,
        name: &str,
        wanted: &str,
        example: &str,
        read: impl FnOnce(&'a DeValue<'a>) -> Option<T>,
    ) -> Option<At<T>> {
        let found = self.get(name)?;
        let value = read(found.get_ref());
        if value.is_none() {
            self.wrong_type(found, name, wanted, example);
        }
        Some(At { value: value?, span: found.span() })
    }

    /// Notes that `found` is not the type that `name` wants.
    pub(super) fn wrong_type(&self, found: &Spanned<DeValue<'_>>, name: &str, wanted: &str, example: &str) {
        let what = format!("is {}, and has to be {wanted}", describe(found.get_ref()));
        self.wrong(&found.span(), name, what, "", format!("`{name} = {example}`"));
    }

    pub(super) fn string(&self, name: &str, example: &str) -> Option<At<&'a str>> {
        let found = self.typed(name, "a string", &format!("{example:?}"), DeValue::as_str)?;
        if found.value.trim().is_empty() {
            let remedy = format!("`{name} = {example:?}`, or leave the key out");
            self.wrong(&found.span, name, "is an empty string", "", remedy);
            return None;
        }
        Some(found)
    }

    pub(super) fn boolean(&self, name: &str) -> Option<bool> {
        self.typed(name, "`true` or `false`", "true", DeValue::as_bool).map(|found| found.value)
    }

    /// An integer within `range`.
    pub(super) fn integer(&self, name: &str, range: std::ops::RangeInclusive<i64>, example: i64) -> Option<i64> {
        let found = self.typed(name, "an integer", &example.to_string(), integer)?;
        if !range.contains(&found.value) {
            let what = format!("is {}, and has to be from {} to {}", found.value, range.start(), range.end());
            self.wrong(&found.span, name, what, "", format!("`{name} = {example}`"));
            return None;
        }
        Some(found.value)
    }

    /// A time: whole seconds, or as master files write TTLs (`"5m"`).
    pub(super) fn time(&self, name: &str, example: &str) -> Option<At<Ttl>> {
        let found = self.get(name)?;
        let value = match found.get_ref() {
            DeValue::String(text) => Ttl::parse(text),
            value => integer(value).and_then(|seconds| u32::try_from(seconds).ok()).and_then(Ttl::new),
        };
        if value.is_none() {
            let what = match found.get_ref() {
                DeValue::String(text) if is_long(text) => format!("`{text}` is longer than any time can be, 24855d"),
                DeValue::String(text) => format!("`{text}` is not a time"),
                DeValue::Integer(number) => format!("{number} is not a time of 0 to 2147483647 seconds"),
                other => format!("is {}, and has to be a time", describe(other)),
            };
            let remedy = format!("`{name} = {example:?}`; the units are s, m, h, d and w, a bare number is seconds");
            self.wrong(&found.span(), name, what, "", remedy);
        }
        Some(At { value: value?, span: found.span() })
    }

    /// A list of strings; notes each entry that is none.
    pub(super) fn strings(&self, name: &str, example: &str) -> Option<At<Vec<At<&'a str>>>> {
        let found = self.get(name)?;
        self.strings_of(found, name, example)
    }

    /// `found`, the value of `name`, as a list of strings.
    pub(super) fn strings_of(
        &self,
        found: &'a Spanned<DeValue<'a>>,
        name: &str,
        example: &str,
    ) -> Option<At<Vec<At<&'a str>>>> {
        let Some(array) = found.get_ref().as_array() else {
            self.wrong_type(found, name, "a list of strings", example);
            return None;
        };
        let mut strings = Vec::new();
        for entry in array.iter() {
            match entry.get_ref().as_str() {
                Some(value) => strings.push(At { value, span: entry.span() }),
                None => {
                    let what = format!("{} stands in it, where a string has to", describe(entry.get_ref()));
                    self.wrong(&entry.span(), name, what, "", format!("`{name} = {example}`"));
                }
            }
        }
        Some(At { value: strings, span: found.span() })
    }

    /// A table in the table, whose keys are for the caller to read.
    pub(super) fn open_table(&self, name: &str) -> Option<At<&'a DeTable<'a>>> {
        let header = format!("[{}]", self.key(name));
        let found = self.get(name)?;
        let table = found.get_ref().as_table();
        if table.is_none() {
            let what = format!("is {}, and has to be a table", describe(found.get_ref()));
            self.wrong(&found.span(), name, what, "", format!("`{header}` on a line of its own"));
        }
        Some(At { value: table?, span: found.span() })
    }

    /// A table in the table, of known keys; `path` is its whole path.
    pub(super) fn table(&self, path: &'static str) -> Option<Table<'a>> {
        let found = self.open_table(last(path))?;
        Some(Table::open(self.page, path, found.span, found.value))
    }

    /// The tables of an array of tables; `path` is its whole path.
    pub(super) fn tables(&self, path: &'static str) -> Vec<Table<'a>> {
        let name = last(path);
        let Some(found) = self.get(name) else { return Vec::new() };
        let not_a_table = |found: &Spanned<DeValue<'_>>| {
            let what = format!("is {}, and has to be an array of tables", describe(found.get_ref()));
            self.wrong(&found.span(), name, what, "", format!("`[[{path}]]` (two brackets) on a line of its own"));
        };
        let Some(array) = found.get_ref().as_array() else {
            not_a_table(found);
            return Vec::new();
        };
        let mut tables = Vec::new();
        for entry in array.iter() {
            match entry.get_ref().as_table() {
                Some(table) => tables.push(Table::open(self.page, path, entry.span(), table)),
                None => not_a_table(entry),
            }
        }
        tables
    }
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

fn integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn remedy_for_unknown(name: &str, path: &str, keys: &[&str]) -> String {
    if let Some(nearest) = nearest(name, keys.iter().copied()) {
        return format!("`{nearest}`");
    }
    let elsewhere = SCHEMA.iter().find(|(other, keys)| *other != path && keys.contains(&name));
    let here = keys.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
    match elsewhere {
        Some(("", _)) => format!("put `{name}` at the top of the file, before the first table"),
        Some((table, _)) => format!("put `{name}` in `{}`", header(table)),
        None => format!("remove it; the keys here are {here}"),
    }
}

/// The header of a table, as it is written.
fn header(path: &str) -> String {
    if matches!(path, "region" | "resolver" | "zone" | "zone.site") {
        format!("[[{path}]]")
    } else {
        format!("[{path}]")
    }
}

/// What a value is, with its article.
pub(super) fn describe(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Whether a text is no time only because it is too long for one.
fn is_long(text: &str) -> bool {
    let seconds = |part: &str| -> Option<u128> {
        let (number, unit) = part.split_at(part.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).len());
        let unit = match unit {
            "" | "s" => 1,
            "m" => 60,
            "h" => 3600,
            "d" => 86_400,
            "w" => 604_800,
            _ => return None,
        };
        number.parse::<u64>().ok().map(|number| u128::from(number) * unit)
    };
    let parts = text.split_inclusive(|letter: char| letter.is_ascii_alphabetic()).map(seconds);
    parts.sum::<Option<u128>>().is_some_and(|sum| sum > u128::from(Ttl::MAX.seconds()))
}
