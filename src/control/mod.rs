//! How operators reach a running daemon: HTTP over a Unix socket in the state directory.
//!
//! `api` is what is said, `server` hands each request to the daemon, `client` asks from the command line.

pub mod api;
pub mod client;
pub mod server;
#[cfg(test)]
pub(crate) mod tests;

use tokio::sync::oneshot;

use api::{Actor, Failure, Request, Response};

/// The control socket's name in the state directory.
pub const SOCKET: &str = "control.sock";

/// What the daemon says to a request.
pub type Answer = Result<Response, Failure>;

/// A request that waits for the daemon. Dropped without an answer, it tells the client that the daemon is stopping.
#[derive(Debug)]
pub struct Call {
    /// What is asked.
    pub request: Request,
    /// Who asks.
    pub actor: Actor,
    /// Where the answer goes; nobody may be listening any more.
    pub answer: oneshot::Sender<Answer>,
}
