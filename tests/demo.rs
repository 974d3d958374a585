//! The demo zones: they are accepted as they stand, and a failover between their sites takes nothing away.

use std::path::Path;

use understudy::config::{Config, Origin, Source, ZoneConfig};
use understudy::name::NameRef;
use understudy::rr::RrType;
use understudy::store::files::FileSources;
use understudy::zone::check::{Limits, check};
use understudy::zone::reader;
use understudy::zone::rrsets::Zone;
use understudy::zone::text::ZoneText;

fn demo() -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("zones/understudy.toml");
    Source { origin: Origin::File(Some(path)), ..Source::default() }.load().unwrap_or_else(|error| panic!("{error}"))
}

fn read(config: &Config, zone: &ZoneConfig, file: &Path) -> ZoneText {
    let mut sources = FileSources::new(&config.dir, config.include_outside).unwrap();
    let root = sources.root(file).unwrap();
    let reading = reader::read(&zone.name, root, &mut sources);
    assert_eq!(reading.diagnostics, [], "{}", file.display());
    reading.into_text().unwrap()
}

fn sites(config: &Config, zone: &ZoneConfig) -> Vec<Zone> {
    let common = zone.file.as_deref().map(|file| read(config, zone, file));
    let sites = zone.sites.iter().map(|site| site.file.as_deref().map(|file| read(config, zone, file)));
    sites.map(|site| Zone::new(common.as_ref(), site.as_ref()).unwrap()).collect()
}

fn owned(zone: &Zone) -> Vec<(NameRef<'_>, RrType)> {
    zone.rrsets().map(|set| (set.owner, set.rtype)).collect()
}

#[test]
fn both_sites_answer_the_same_names_and_types() {
    let config = demo();
    let [zone] = config.zones.as_slice() else { panic!("one zone: {:?}", config.zones) };
    let sites = sites(&config, zone);
    let [knams, pmtpa] = sites.as_slice() else { panic!("two sites: {:?}", zone.sites) };
    assert_eq!(owned(knams), owned(pmtpa));
    for site in [knams, pmtpa] {
        assert_eq!(check(site, &Limits::default()), []);
        assert_eq!(site.soa().unwrap().negative_ttl(), zone.negative_ttl.unwrap());
    }
    let differing = knams.rrsets().zip(pmtpa.rrsets()).filter(|(a, b)| !a.same_as(*b)).map(|(set, _)| set);
    let differing: Vec<String> =
        differing.map(|set| format!("{} {}", set.owner.relative_to(knams.origin()), set.rtype)).collect();
    assert_eq!(differing, ["@ A", "@ AAAA", "rr CNAME", "rr-upload CNAME"]);
    assert_eq!(zone.preference("europe"), ["knams", "pmtpa"]);
    assert_eq!(zone.preference("default"), ["pmtpa", "knams"]);
}
