//! Dropping root once the privileged ports are bound.

use nix::errno::Errno;
use nix::unistd::{Gid, Group, Uid, User, geteuid, getgroups, setgroups, setresgid, setresuid};

/// Whom to run as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    user: String,
    uid: Uid,
    gid: Gid,
}

/// Why root was not dropped.
#[derive(Debug, thiserror::Error)]
pub enum PrivilegeError {
    /// No such user or group.
    #[error("there is no {kind} `{name}` on this system. Create it (`useradd --system {name}`) or name another one.")]
    Unknown {
        /// `user` or `group`.
        kind: &'static str,
        /// As it was configured.
        name: String,
    },
    /// The user database can't be read.
    #[error("cannot look up {kind} `{name}`: {source}. Check /etc/nsswitch.conf, or give its number.")]
    Lookup {
        /// `user` or `group`.
        kind: &'static str,
        /// As it was configured.
        name: String,
        /// What the system says.
        source: Errno,
    },
    /// The configured user is root.
    #[error("user `{0}` is root itself: nothing would be dropped. Name an unprivileged user, or none.")]
    StillRoot(String),
    /// Only root can become somebody else.
    #[error("cannot become user `{user}`: {source}. Start as root, or as that user, or configure no user.")]
    Change {
        /// As it was configured.
        user: String,
        /// What the system says.
        source: Errno,
    },
    /// The change was undone as a test, which must not work.
    #[error(
        "root could be taken back after becoming user `{0}`: not going on. Report this with your kernel's version."
    )]
    Reversible(String),
}

impl Identity {
    /// Looks up a user and a group, by name or number; without a group, the user's own.
    pub fn look_up(user: &str, group: Option<&str>) -> Result<Identity, PrivilegeError> {
        let lookup = |kind, name: &str| {
            let name = name.to_owned();
            move |source| PrivilegeError::Lookup { kind, name, source }
        };
        let found = match user.parse() {
            Ok(uid) => User::from_uid(Uid::from_raw(uid)),
            Err(_) => User::from_name(user),
        };
        let found = found
            .map_err(lookup("user", user))?
            .ok_or_else(|| PrivilegeError::Unknown { kind: "user", name: user.to_owned() })?;
        if found.uid.is_root() {
            return Err(PrivilegeError::StillRoot(user.to_owned()));
        }
        let gid = match group {
            None => found.gid,
            Some(group) => {
                let found = match group.parse() {
                    Ok(gid) => Group::from_gid(Gid::from_raw(gid)),
                    Err(_) => Group::from_name(group),
                };
                let missing = || PrivilegeError::Unknown { kind: "group", name: group.to_owned() };
                found.map_err(lookup("group", group))?.ok_or_else(missing)?.gid
            }
        };
        Ok(Identity { user: user.to_owned(), uid: found.uid, gid })
    }

    /// The user's number, for handing files over before the change.
    pub fn uid(&self) -> u32 {
        self.uid.as_raw()
    }

    /// The group's number.
    pub fn gid(&self) -> u32 {
        self.gid.as_raw()
    }

    /// Becomes this user for good, with this group alone. Every thread changes, yet do it before there are any: one
    /// that is under way could still use what it opened as root. Nothing happens if it is this user already.
    pub fn assume(&self) -> Result<(), PrivilegeError> {
        let change = |source| PrivilegeError::Change { user: self.user.clone(), source };
        if geteuid() == self.uid && Uid::current() == self.uid {
            return Ok(());
        }
        // In this order: without root the groups can't be changed any more.
        setgroups(&[self.gid]).map_err(change)?;
        setresgid(self.gid, self.gid, self.gid).map_err(change)?;
        setresuid(self.uid, self.uid, self.uid).map_err(change)?;
        let groups = getgroups().map_err(change)?;
        if setresuid(Uid::from_raw(0), Uid::from_raw(0), Uid::from_raw(0)).is_ok() || groups != [self.gid] {
            return Err(PrivilegeError::Reversible(self.user.clone()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups_are_found_or_named() {
        let nobody = Identity::look_up("nobody", None).unwrap();
        assert_eq!(
            Identity::look_up(&nobody.uid().to_string(), Some(&nobody.gid().to_string())).unwrap().uid(),
            nobody.uid()
        );
        assert_eq!(Identity::look_up("nobody", Some("root")).unwrap().gid(), 0);
        for (user, group, expected) in [
            ("no-such-user", None, "no user `no-such-user`"),
            ("nobody", Some("no-such-group"), "no group `no-such-group`"),
            ("root", None, "is root itself"),
            ("0", None, "is root itself"),
        ] {
            let error = Identity::look_up(user, group).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
