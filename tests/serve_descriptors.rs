//! Running out of file descriptors. Alone in its file, and so in its process: the limit is the process's.

mod support;

use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use support::dns::{Client, query, serve};
use understudy::serve::tcp::TcpLimits;

/// Lets no descriptor be opened any more.
fn exhaust() -> u64 {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    // The lowest number that is free, which the next one would get.
    let free = nix::unistd::dup(std::io::stdin()).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, free.as_raw_fd() as u64, hard).unwrap();
    soft
}

#[test]
fn a_lack_of_descriptors_is_waited_out_and_idle_connections_make_room() {
    let (running, _stage) = serve(&["127.0.0.1:0"], 1, TcpLimits::default());
    let address = running.addresses()[0];
    let client = Client::unconnected("127.0.0.1", None);
    let soft = exhaust();
    let mut client = client.connect_to(address);
    while running.tally().accept_errors < 4 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
    assert!(client.ask(&query(1)).is_ok());
    // Each pause was twice the one before; without pauses there would have been thousands of attempts by now.
    assert!(running.tally().accept_errors < 20);

    let newcomer = Client::unconnected("127.0.0.1", None);
    exhaust();
    let mut newcomer = newcomer.connect_to(address);
    assert!(newcomer.ask(&query(2)).is_ok());
    assert!(client.closed());
    setrlimit(Resource::RLIMIT_NOFILE, soft, hard).unwrap();
    assert_eq!(running.stop().evicted, 1);
}
