//! From the configuration to the words of the core.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::config::{Config, ZoneConfig};
use crate::control::api::Failure;
use crate::driver::setup::{Setup, SiteSpec, TextFile, ZoneSpec};
use crate::serve::privileges::Identity;
use crate::serving::Settings;
use crate::serving::content::{BlastRadius, Policy};

/// What the configuration says of what is served.
pub(super) fn from_config(config: &Config) -> Setup {
    Setup {
        zones: config.zones.iter().map(|spec| zone(config, spec)).collect(),
        regions: config.regions.clone(),
        include_outside: config.include_outside,
        settings: Settings { udp_payload: config.server.udp_payload },
    }
}

/// What of a configuration is taken over by a restart only, and is not what the daemon was started with.
pub(super) fn needs_restart(started: &Config, now: &Config) -> Vec<String> {
    let (a, b) = (&started.server, &now.server);
    let parts = [
        ("`[[region]]`", started.regions != now.regions),
        ("`state_dir`", started.state_dir != now.state_dir),
        ("`[control]`", started.control != now.control),
        ("`server.listen`", a.listen != b.listen),
        ("`server.workers`", a.workers != b.workers),
        ("`server.user`", (&a.user, &a.group) != (&b.user, &b.group)),
        ("`server.udp_payload`", a.udp_payload != b.udp_payload),
        ("`server.tcp`", a.tcp != b.tcp),
    ];
    parts.into_iter().filter(|(_, changed)| *changed).map(|(what, _)| what.to_owned()).collect()
}

fn zone(config: &Config, zone: &ZoneConfig) -> ZoneSpec {
    let text = |file: &PathBuf| {
        let (root, path) = config.place(file);
        let root = if root.as_os_str().is_empty() { ".".into() } else { root };
        TextFile { root, path }
    };
    let first = |sites: &Vec<String>| sites.first().cloned().unwrap_or_default();
    let routes: BTreeMap<_, _> = zone.routing.iter().map(|(region, sites)| (region.clone(), first(sites))).collect();
    let sites = zone.sites.iter().map(|site| SiteSpec { name: site.name.clone(), file: site.file.as_ref().map(text) });
    ZoneSpec {
        origin: zone.name.clone(),
        common: zone.file.as_ref().map(text),
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
