//! What is set up before anything is served.

use std::path::Path;

use crate::config::{Config, Server};
use crate::control::api::Failure;
use crate::serve::privileges::Identity;
use crate::store::Store;

/// What of a configuration is taken over by a restart only, and is not what the daemon was started with.
pub(super) fn needs_restart(started: &Config, now: &Config) -> Vec<String> {
    let (a, b) = (&started.server, &now.server);
    let listeners =
        |server: &'_ Server| server.encrypted.as_ref().map(|encrypted| format!("{:?}", encrypted.listeners()));
    // How they are asked is read anew each time that they are.
    let networks = |config: &'_ Config| -> Vec<_> {
        let of = |resolver: &crate::config::ResolverConfig| (resolver.name.clone(), resolver.networks.clone());
        config.resolvers.iter().map(of).collect()
    };
    let parts = [
        ("`[[region]]`", started.regions != now.regions),
        ("`[[resolver]]`", networks(started) != networks(now)),
        ("`[canary]`", started.canary != now.canary),
        ("`state_dir`", started.state_dir != now.state_dir),
        ("`[exposures]`", started.exposures != now.exposures),
        ("`[dnstap]`", started.dnstap != now.dnstap),
        ("`[control]`", started.control != now.control),
        ("`server.listen`", a.listen != b.listen),
        ("`server.workers`", a.workers != b.workers),
        ("`server.user`", (&a.user, &a.group) != (&b.user, &b.group)),
        ("`server.tcp`", a.tcp != b.tcp),
        ("`server.rate_limit`", a.rate_limit != b.rate_limit),
        ("`server.encrypted`", listeners(a) != listeners(b)),
    ];
    parts.into_iter().filter(|(_, changed)| *changed).map(|(what, _)| what.to_owned()).collect()
}

/// Gives the state directory to the user that the daemon becomes: afterwards it could not.
pub(super) fn give_directory(dir: &Path, identity: &Identity) -> Result<(), Failure> {
    Store::give(dir, identity.uid(), identity.gid()).map_err(|error| {
        Failure::new(
            format!("the state directory cannot be given to the user to run as: {error}"),
            "the server has not started",
            "",
        )
    })
}
