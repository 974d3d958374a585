//! While references turn, nobody is ever told that there is nothing (as by whoever deletes a record and then adds another).

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use understudy::rr::RrType;

use crate::support::daemon::query;
use crate::support::message;
use crate::{follow, home};

/// Between two questions of one of the askers: together they ask about 2000 a second.
const PAUSE: Duration = Duration::from_micros(1500);
const ASKERS: usize = 3;

#[test]
fn no_answer_is_without_an_address_while_it_is_renamed_back_and_forth() {
    let home = home(&[]);
    let daemon = home.serve();
    let (over, asked) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for asker in 0..ASKERS {
            let (over, asked, address) = (&over, &asked, daemon.address);
            let names = ["www.a.example", "shop.a.example", "www.b.example", "edge.a.example"];
            scope.spawn(move || {
                let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
                socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
                socket.connect(address).unwrap();
                let mut buffer = [0; 4096];
                for name in names.iter().cycle().skip(asker) {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    socket.send(&query(name, RrType::A)).unwrap();
                    let length = socket.recv(&mut buffer).unwrap();
                    let answer = message::read(&buffer[..length]).unwrap();
                    let found = answer.answers.iter().any(|record| record.rtype == RrType::A);
                    assert!(found, "{name}: {answer:?}");
                    asked.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(PAUSE);
                }
            });
        }
        let begun = Instant::now();
        let renamed = std::panic::catch_unwind(|| {
            for _ in 0..3 {
                follow(&home, 0, "rename a.example edge");
                home.expect(0, "rename a.example edge --undo");
            }
        });
        over.store(true, Ordering::Relaxed);
        renamed.unwrap();
        let rate = asked.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64();
        assert!(rate > 200.0, "it was asked {rate} times a second only");
    });
}
