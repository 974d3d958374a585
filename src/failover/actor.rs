//! Who asks for something.

/// Who caused something.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Actor {
    /// The user id of the process that asked; none for the daemon's own decisions.
    pub uid: Option<u32>,
    /// The user's name, or what in the daemon decided (`autopilot`).
    pub name: String,
}
