//! From the configuration to the words of the core.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::config::{Config, ZoneConfig};
use crate::control::api::Failure;
use crate::driver::setup::{Setup, SiteSpec, ZoneSpec};
use crate::serve::privileges::Identity;
use crate::serving::content::{BlastRadius, Policy};
use crate::serving::cookie::{CookieKeys, CookieSecret};
use crate::serving::{Cookies, Settings};

/// What the configuration says of what is served; `cookie_root` is what is kept to make the keys of cookies from.
pub(super) fn from_config(config: &Config, cookie_root: [u8; 16]) -> Setup {
    Setup {
        zones: config.zones.iter().map(zone).collect(),
        regions: config.regions.clone(),
        root: if config.dir.as_os_str().is_empty() { Path::new(".").into() } else { config.dir.clone() },
        include_outside: config.include_outside,
        settings: settings(config, cookie_root),
    }
}

fn settings(config: &Config, cookie_root: [u8; 16]) -> Settings {
    let server = &config.server;
    let cookies = &server.cookies;
    let secret = match cookies.secrets.first() {
        Some(&current) => CookieSecret::Shared(CookieKeys { current, previous: cookies.secrets.get(1).copied() }),
        None => CookieSecret::Rolled { root: cookie_root, every: cookies.rollover },
    };
    Settings {
        udp_payload: server.udp_payload,
        cookies: cookies.enabled.then_some(Cookies { secret, required: cookies.required }),
        identity: server.identity.as_deref().map(Into::into),
        version: server.show_version.then(|| concat!("understudy ", env!("CARGO_PKG_VERSION")).into()),
    }
}

fn zone(zone: &ZoneConfig) -> ZoneSpec {
    let first = |sites: &Vec<String>| sites.first().cloned().unwrap_or_default();
    let routes: BTreeMap<_, _> = zone.routing.iter().map(|(region, sites)| (region.clone(), first(sites))).collect();
    let sites = zone.sites.iter().map(|site| SiteSpec { name: site.name.clone(), file: site.file.clone() });
    ZoneSpec {
        origin: zone.name.clone(),
        common: zone.file.clone(),
        sites: sites.collect(),
        policy: Policy {
            negative_ttl: zone.negative_ttl,
            max_ttl: zone.max_ttl,
            may_vanish: zone.may_vanish.clone(),
            blast_radius: BlastRadius { percent: zone.blast_radius.percent, names: zone.blast_radius.names as usize },
        },
        routes,
    }
}

/// Makes the state directory if it is not there, and gives it and what is in it to the user that the daemon becomes:
/// afterwards it could not.
pub(super) fn give_directory(dir: &Path, identity: &Identity) -> Result<(), Failure> {
    let give = |path: &Path| std::os::unix::fs::lchown(path, Some(identity.uid()), Some(identity.gid()));
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    let given = made
        .and_then(|()| give(dir))
        .and_then(|()| std::fs::read_dir(dir)?.try_for_each(|entry| entry.and_then(|entry| give(&entry.path()))));
    given.map_err(|error| {
        Failure::new(
            format!("the state directory {} cannot be given to the user to run as: {error}", dir.display()),
            "the server has not started",
            "give it to that user, or name another with state_dir",
        )
    })
}
