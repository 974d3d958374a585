//! Named sets of networks: regions of clients, operators of resolvers.

use std::collections::HashMap;

use super::probe::read_asking;
use super::read::read_label;
use super::table::{At, Table};
use super::{DEFAULT_REGION, ResolverConfig};
use crate::net::{Network, Region};

/// A kind of named sets: what it is called, and what it means when something is wrong with one.
struct Kind {
    word: &'static str,
    example: &'static str,
    empty: &'static str,
    shared: &'static str,
}

const REGION: Kind = Kind {
    word: "region",
    example: "europe",
    empty: "a region without networks holds no client",
    shared: "nothing would say from which sites these clients are answered",
};

const RESOLVER: Kind = Kind {
    word: "resolver",
    example: "quad9",
    empty: "an operator without networks is nobody that asks",
    shared: "nothing would say with whom these clients change sides",
};

/// The sets of one kind that were read so far.
struct Sets {
    kind: Kind,
    lines: HashMap<String, usize>,
    owners: HashMap<Network, (String, usize)>,
}

/// The regions of the file.
pub(super) fn read_regions(top: &Table<'_>) -> Vec<Region> {
    let mut sets = Sets::of(REGION);
    let is_default = |table: &Table<'_>, found: &At<&str>| {
        if found.value == DEFAULT_REGION {
            table.wrong(
                &found.span,
                "name",
                "`default` can't be a region of networks",
                "it is the region of everybody whom no other region holds",
                "another name",
            );
        }
        found.value == DEFAULT_REGION
    };
    top.tables("region").iter().map(|table| sets.read(table, is_default)).collect()
}

/// The operators of resolvers of the file.
pub(super) fn read_resolvers(top: &Table<'_>) -> Vec<ResolverConfig> {
    let mut sets = Sets::of(RESOLVER);
    let resolver = |table: &Table<'_>| {
        let Region { name, networks } = sets.read(table, |_, _| false);
        ResolverConfig { name, networks, asking: read_asking(table) }
    };
    top.tables("resolver").iter().map(resolver).collect()
}

impl Sets {
    fn of(kind: Kind) -> Sets {
        Sets { kind, lines: HashMap::new(), owners: HashMap::new() }
    }

    /// Reads a set; `is_taken` has said what is wrong with a name that means something else.
    fn read(&mut self, table: &Table<'_>, is_taken: impl Fn(&Table<'_>, &At<&str>) -> bool) -> Region {
        let word = self.kind.word;
        let name = read_label(table, self.kind.example);
        if let Some(found) = name.as_ref().filter(|found| !is_taken(table, found)) {
            let line = table.page.place(found.span.start).0;
            if let Some(first) = self.lines.insert(found.value.to_owned(), line) {
                table.wrong(
                    &found.span,
                    "name",
                    format!("the {word} `{}` stands in line {first} already", found.value),
                    "",
                    format!("put all networks in one `[[{word}]]`, or name this one otherwise"),
                );
            }
        }
        let name = name.map_or("", |found| found.value);
        Region { name: name.into(), networks: self.networks(table, name) }
    }

    fn networks(&mut self, table: &Table<'_>, name: &str) -> Vec<Network> {
        let example = "[\"192.0.2.0/24\", \"2001:db8::/48\"]";
        let Kind { word, empty, .. } = self.kind;
        // Of a resolver that can be asked it can be found out where it asks from.
        if table.get("networks").is_none() && (word == REGION.word || table.get("address").is_none()) {
            table.missing("networks", empty, format!("`networks = {example}`, or remove the {word}"));
        }
        let Some(found) = table.strings("networks", example) else { return Vec::new() };
        if found.value.is_empty() {
            let remedy = format!("list the {word}'s networks, or remove the {word}");
            table.wrong(&found.span, "networks", "is empty", empty, remedy);
        }
        let mut networks = Vec::new();
        for at in &found.value {
            match at.value.parse::<Network>() {
                Ok(network) => networks.extend(self.claim(table, name, At { value: network, span: at.span.clone() })),
                Err(what) => table.wrong(&at.span, "networks", what, "", format!("`networks = {example}`")),
            }
        }
        networks
    }

    /// The network, if no set has it yet.
    fn claim(&mut self, table: &Table<'_>, name: &str, At { value, span }: At<Network>) -> Option<Network> {
        let line = table.page.place(span.start).0;
        let word = self.kind.word;
        match self.owners.get(&value) {
            Some((owner, first)) if owner == name => {
                let what = format!("`{value}` is listed twice, first in line {first}");
                table.wrong(&span, "networks", what, "", "remove one of the two");
                None
            }
            Some((owner, first)) => {
                table.wrong(
                    &span,
                    "networks",
                    format!("`{value}` is in the {word} `{owner}` already (line {first})"),
                    self.kind.shared,
                    format!("leave it in one of the two; a longer prefix inside of it may be in another {word}"),
                );
                None
            }
            None => {
                self.owners.insert(value, (name.into(), line));
                Some(value)
            }
        }
    }
}
