//! Dropping root. Alone in its file, and so in its process: there is no way back.

mod support;

use std::fs;

use nix::unistd::geteuid;
use support::dns::{listeners, query, udp_client};
use understudy::serve::Stage;
use understudy::serve::privileges::Identity;
use understudy::serve::tcp::TcpLimits;

#[test]
fn root_is_dropped_for_good_and_what_was_bound_is_served() {
    let nobody = Identity::look_up("nobody", None).unwrap();
    if !geteuid().is_root() {
        let error = nobody.assume().unwrap_err().to_string();
        assert!(error.contains("`nobody`") && error.contains("Start as root"), "{error}");
        return;
    }
    // Threads that are there already (this test's own runner has some) must change too.
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let other = std::thread::spawn(move || ended.recv());
    let listeners = listeners(&["127.0.0.1:0"], 1, TcpLimits::default());
    nobody.assume().unwrap();
    nobody.assume().unwrap();
    let stage = Stage::new(Default::default()).unwrap();
    let running = listeners.run(&stage).unwrap();

    let client = udp_client("127.0.0.1:0");
    client.send_to(&query(1), running.addresses()[0]).unwrap();
    assert!(client.recv(&mut [0; 512]).unwrap() >= 12);

    let (uid, gid) = (nobody.uid(), nobody.gid());
    let mut threads = 0;
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let Ok(status) = fs::read_to_string(task.unwrap().path().join("status")) else { continue };
        let field = |name: &str| -> Vec<&str> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().collect()
        };
        assert_eq!(field("Uid:"), vec![uid.to_string(); 4]);
        assert_eq!(field("Gid:"), vec![gid.to_string(); 4]);
        assert_eq!(field("Groups:"), vec![gid.to_string()]);
        assert_eq!(field("CapEff:"), vec!["0000000000000000"]);
        assert_eq!(field("CapPrm:"), vec!["0000000000000000"]);
        threads += 1;
    }
    assert!(threads >= 4, "{threads}");
    drop(end);
    assert!(other.join().unwrap().is_err());
    running.stop();
}
