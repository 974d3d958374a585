//! What is set up before anything is served.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use crate::config::{Config, Server};
use crate::control::api::Failure;
use crate::serve::privileges::Identity;

/// What of a configuration is taken over by a restart only, and is not what the daemon was started with.
pub(super) fn needs_restart(started: &Config, now: &Config) -> Vec<String> {
    let (a, b) = (&started.server, &now.server);
    let listeners =
        |server: &'_ Server| server.encrypted.as_ref().map(|encrypted| format!("{:?}", encrypted.listeners()));
    let parts = [
        ("`[[region]]`", started.regions != now.regions),
        ("`state_dir`", started.state_dir != now.state_dir),
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
