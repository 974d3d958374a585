//! The zones of a configuration: their sites, limits and routing.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};

use toml::de::{DeTable, DeValue};

use super::drill;
use super::moves::read_policy;
use super::nearest::UnknownName;
use super::read::read_label;
use super::table::{At, Table};
use super::{BlastRadius, DEFAULT_REGION, ONLY_SITE, SiteConfig, ZoneConfig};
use crate::name::{Name, NameRef};
use crate::net::Region;

/// The zones of the file.
pub(super) fn read_zones(top: &Table<'_>, regions: &[Region]) -> Vec<ZoneConfig> {
    let tables = top.tables("zone");
    if tables.is_empty() && top.get("zone").is_none() {
        top.missing(
            "zone",
            "a server without zones refuses every query",
            "a `[[zone]]` table with `name = \"wiki.example\"` and `file = \"wiki.example.zone\"`",
        );
    }
    let mut lines: HashMap<Name, usize> = HashMap::new();
    let mut zones = Vec::new();
    for table in &tables {
        let name = read_origin(table);
        if let Some(At { value, span }) = &name
            && let Some(first) = lines.insert(value.clone(), table.page.place(span.start).0)
        {
            let what = format!("the zone `{}` stands in line {first} already", value.as_ref().dotless());
            table.wrong(span, "name", what, "one of the two would never be answered", "remove one of the two");
        }
        zones.push(read_zone(table, name.map(|found| found.value), regions));
    }
    zones
}

fn read_zone(table: &Table<'_>, name: Option<Name>, regions: &[Region]) -> ZoneConfig {
    let file = table.string("file", "wiki.example.zone").map(|found| found.value.into());
    let sites = read_sites(table);
    if table.get("file").is_none() && table.get("site").is_none() {
        let remedy = "`file = \"wiki.example.zone\"`, or a `[[zone.site]]` for each site";
        table.missing("file", "with neither a file nor a site, there is nothing to answer from", remedy);
    }
    let routing = read_routing(table, &sites, regions);
    let (policy, spare_levers) = read_policy(table);
    ZoneConfig {
        file,
        negative_ttl: table.time("negative_ttl", "20s").map(|found| found.value),
        max_ttl: table.time("max_ttl", "5m").map(|found| found.value),
        may_vanish: read_may_vanish(table, name.as_ref()),
        blast_radius: read_blast_radius(table),
        policy,
        drill: drill::read_policy(table),
        spare_levers,
        name_servers: read_name_servers(table),
        name: name.unwrap_or_else(Name::root),
        sites,
        routing,
    }
}

fn read_origin(table: &Table<'_>) -> Option<At<Name>> {
    if table.get("name").is_none() {
        table.missing("name", "nothing says which zone this is", "`name = \"wiki.example\"`");
    }
    let found = table.string("name", "wiki.example")?;
    let name = read_name(table, "name", &found, NameRef::ROOT)?;
    if name.as_ref().is_wildcard() {
        let what = format!("`{}` can't be a zone", found.value);
        table.wrong(&found.span, "name", what, "a `*` belongs into a zone's file", "the name without `*.`");
        return None;
    }
    Some(At { value: name, span: found.span })
}

/// `found`, the value of `key` or a part of it, as a domain name relative to `origin`.
fn read_name(table: &Table<'_>, key: &str, found: &At<&str>, origin: NameRef<'_>) -> Option<Name> {
    if !found.value.is_ascii() || found.value.contains(char::is_whitespace) {
        table.wrong(
            &found.span,
            key,
            format!("`{}` is not a domain name", found.value),
            "names on the wire are ASCII without blanks",
            "an internationalised name in its xn-- form; other octets as \\DDD",
        );
        return None;
    }
    let name = Name::from_presentation(found.value.as_bytes(), Some(origin));
    if let Err(error) = &name {
        let what = format!("`{}` is not a domain name", found.value);
        table.wrong(&found.span, key, what, error.to_string(), "a name such as `www` or `www.wiki.example.`");
    }
    name.ok()
}

fn read_sites(table: &Table<'_>) -> Vec<SiteConfig> {
    let mut sites: Vec<SiteConfig> = Vec::new();
    let mut lines = HashMap::new();
    let tables = table.tables("zone.site");
    for site in &tables {
        let name = read_label(site, "knams");
        if let Some(At { value, span }) = &name
            && let Some(first) = lines.insert(value.to_string(), site.page.place(span.start).0)
        {
            let what = format!("the site `{value}` stands in line {first} already");
            site.wrong(span, "name", what, "", "another name, or remove one of the two");
        }
        let file = site.string("file", "wiki.example.knams.zone").map(|found| found.value.into());
        if site.get("file").is_none() && table.get("file").is_none() {
            let remedy = "`file = \"…\"` here, or in the `[[zone]]` for what all sites share";
            site.missing("file", "the zone has no common file, so the site has nothing to answer", remedy);
        }
        sites.push(SiteConfig { name: name.map_or("", |found| found.value).into(), file });
    }
    match table.get("site") {
        None => sites.push(SiteConfig { name: ONLY_SITE.into(), file: None }),
        Some(found) if tables.is_empty() && found.get_ref().as_array().is_some_and(|array| array.is_empty()) => {
            table.wrong(&found.span(), "site", "is empty", "", "list the zone's sites, or remove the key");
        }
        Some(_) => {}
    }
    sites
}

fn read_may_vanish(table: &Table<'_>, zone: Option<&Name>) -> Vec<Name> {
    const KEY: &str = "may_vanish";
    let Some(found) = table.strings(KEY, "[\"*.lab\", \"old\"]") else { return Vec::new() };
    // Without a zone the patterns can't be placed; their syntax can be judged all the same.
    let origin = zone.map_or(NameRef::ROOT, Name::as_ref);
    let mut names = Vec::new();
    for entry in &found.value {
        // `www` is relative to the zone; `www.wiki.example` names it already.
        let absolute = Name::absolute(entry.value).ok().filter(|name| name.as_ref().is_at_or_below(origin));
        let Some(name) = absolute.or_else(|| read_name(table, KEY, entry, origin)) else { continue };
        if name.as_ref().is_at_or_below(origin) {
            names.push(name);
        } else {
            table.wrong(
                &entry.span,
                KEY,
                format!("`{}` is not in the zone `{}`", entry.value, origin.dotless()),
                "it would excuse nothing",
                "a name in the zone; without a final dot it is relative to the zone",
            );
        }
    }
    names
}

fn read_blast_radius(table: &Table<'_>) -> BlastRadius {
    let mut radius = BlastRadius::default();
    let Some(table) = table.table("zone.blast_radius") else { return radius };
    if let Some(percent) = table.integer("percent", 0..=100, 10).and_then(|percent| u8::try_from(percent).ok()) {
        radius.percent = percent;
    }
    if let Some(names) = table.integer("names", 0..=u32::MAX.into(), 10).and_then(|names| u32::try_from(names).ok()) {
        radius.names = names;
    }
    radius
}

/// The addresses at which the zone's name servers are asked; an address without a port means port 53.
fn read_name_servers(table: &Table<'_>) -> Option<Vec<SocketAddr>> {
    const KEY: &str = "name_servers";
    const EXAMPLE: &str = "[\"192.0.2.53\", \"[2001:db8::53]:53\"]";
    let found = table.strings(KEY, EXAMPLE)?;
    let mut addresses = Vec::new();
    for entry in &found.value {
        let address = entry.value.parse::<SocketAddr>();
        match address.or_else(|_| entry.value.parse::<IpAddr>().map(|address| SocketAddr::new(address, 53))) {
            Ok(address) => addresses.push(address),
            Err(_) => {
                let what = format!("`{}` is not an address", entry.value);
                table.wrong(&entry.span, KEY, what, "a name would have to be resolved", format!("`{KEY} = {EXAMPLE}`"));
            }
        }
    }
    Some(addresses)
}

fn read_routing(table: &Table<'_>, sites: &[SiteConfig], regions: &[Region]) -> BTreeMap<String, Vec<String>> {
    let mut routing = BTreeMap::new();
    if let Some(found) = table.open_table("routing") {
        read_routes(table, found.value, sites, regions, &mut routing);
    }
    // The order in which the sites stand is an order of preference, too.
    routing.entry(DEFAULT_REGION.into()).or_insert_with(|| sites.iter().map(|site| site.name.clone()).collect());
    routing
}

fn read_routes<'a>(
    table: &Table<'a>,
    routes: &'a DeTable<'a>,
    sites: &[SiteConfig],
    regions: &[Region],
    routing: &mut BTreeMap<String, Vec<String>>,
) {
    let site_names = || sites.iter().map(|site| site.name.as_str()).filter(|name| !name.is_empty());
    let region_names = || regions.iter().map(|region| region.name.as_str()).filter(|name| !name.is_empty());
    for (region, value) in routes.iter() {
        let key = format!("routing.{}", region.get_ref());
        let name: &str = region.get_ref();
        if name != DEFAULT_REGION && !region_names().any(|known| known == name) {
            let unknown = UnknownName::new("region", name, region_names().chain([DEFAULT_REGION]));
            let meaning = "no client is in it, so the route would never be taken";
            let remedy = format!("{} Or add a `[[region]]` of that name", sentence(unknown.advice()));
            table.wrong(&region.span(), &key, format!("there is no region `{name}`"), meaning, remedy);
        }
        let example = "[\"knams\", \"pmtpa\"]";
        if let DeValue::String(site) = value.get_ref() {
            let remedy = format!("`{name} = [{:?}]`", &**site);
            table.wrong(
                &value.span(),
                &key,
                "is a string, and has to be a list of sites in order of preference",
                "",
                remedy,
            );
            continue;
        }
        let Some(found) = table.strings_of(value, &key, example) else { continue };
        if found.value.is_empty() {
            let meaning = "its clients would have no site to be answered from";
            table.wrong(&found.span, &key, "is empty", meaning, "list at least one site, or remove the route");
        }
        let mut order: Vec<String> = Vec::new();
        for At { value: site, span } in &found.value {
            if !site_names().any(|known| known == *site) {
                let remedy = sentence(UnknownName::new("site", site, site_names()).advice());
                let meaning = "these clients could not be answered from it";
                table.wrong(span, &key, format!("the zone has no site `{site}`"), meaning, remedy);
            } else if order.iter().any(|known| known == site) {
                table.wrong(span, &key, format!("`{site}` is listed twice"), "", "remove one of the two");
            } else {
                order.push(site.to_string());
            }
        }
        routing.insert(name.into(), order);
    }
}

/// `advice` with a full stop, unless it is a question.
fn sentence(advice: String) -> String {
    if advice.ends_with('?') { advice } else { advice + "." }
}
