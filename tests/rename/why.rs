//! Why the rules are what they are: what real resolvers do with fresh names that break them.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use understudy::name::Name;
use understudy::rr::RrType;

use crate::support::daemon::{Home, query};
use crate::support::fleet::Fleet;
use crate::support::lab::{Server, ZoneFile, is_isolated, isolated};
use crate::support::message::{self, Message};
use crate::support::resolver::{Anchor, Resolver, Start};
use crate::support::sign::{Denial, METHODS, Signer, run};
use crate::{follow, wait_for};

const NXDOMAIN: u16 = 3;
const ROOT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

fn in_a_lab(test: &str, body: impl FnOnce()) {
    isolated(test, || match is_isolated() {
        true => body(),
        false => eprintln!("no namespaces here: resolvers need port 53 of addresses of their own"),
    });
}

fn served(name: &str, text: &str) -> Home {
    let config = format!(
        "state_dir = 'state'\n[server]\nlisten = ['127.0.0.1:53']\n[[zone]]\nname = '{name}'\nfile = 'zone'\n\
         name_servers = ['127.0.0.1:53']\n"
    );
    Home::new(&config, &[("zone", text)])
}

/// What a resolver says to a user.
fn ask(resolver: SocketAddr, name: &str, rtype: RrType) -> Message {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut question = query(name, rtype);
    question[2] |= 1; // RD
    socket.send_to(&question, resolver).unwrap();
    let mut answer = [0; 4096];
    let (length, _) = socket.recv_from(&mut answer).unwrap();
    message::read(&answer[..length]).unwrap()
}

/// A root that delegates so.
fn root(dir: &Path, delegations: &str) -> Server {
    let front = ". 60 SOA ns.root. h.root. 1 3600 600 86400 60\n. 60 NS ns.root.\nns.root. 60 A 127.0.0.2\n";
    std::fs::write(dir.join("root"), format!("{front}{delegations}")).unwrap();
    let file = ZoneFile { origin: Name::root(), path: dir.join("root") };
    Server::understudy_on(&[file], &[&format!("{ROOT}:53")])
}

/// PowerDNS Recursor as it recurses by itself: of zones that it forwards it denies nothing below a name.
fn recursing_powerdns() -> Resolver {
    let args = |dir: &Path| vec![format!("--config-dir={}", dir.display())];
    let (address, ready) = (Ipv4Addr::new(127, 0, 0, 13), Name::root());
    let start = Start {
        name: "PowerDNS",
        program: "pdns_recursor",
        file: "recursor.conf",
        args: &args,
        address,
        ready: &ready,
    };
    Resolver::start_with(start, |dir| {
        std::fs::write(dir.join("hints"), format!(". 3600 NS ns.root.\nns.root. 3600 A {ROOT}\n")).unwrap();
        format!(
            "local-address={address}\nlocal-port=53\nallow-from=127.0.0.0/8\ndont-query=\nhint-file={dir}/hints\n\
             security-poll-suffix=\nsocket-dir={dir}\nsetuid=\nsetgid=\nthreads=1\ndaemon=no\nwrite-pid=no\n\
             disable-syslog=yes\ndnssec=off\nnothing-below-nxdomain=yes\nqname-minimization=no\n",
            dir = dir.display()
        )
    })
}

/// A name below one that does not exist does not exist either (RFC 8020): a fresh name is a sibling of its lever.
#[test]
fn peer_a_name_below_a_lever_that_is_denied_is_denied() {
    in_a_lab("why::peer_a_name_below_a_lever_that_is_denied_is_denied", || {
        let text = "$TTL 60\n@ SOA ns1 host 1 1h 10m 2w 60\n@ NS ns1\nns1 A 127.0.0.1\n";
        let home = served("wiki.example", text);
        let _daemon = home.serve();
        let dir = tempfile::tempdir().unwrap();
        let _root = root(dir.path(), "wiki.example. 60 NS ns1.wiki.example.\nns1.wiki.example. 60 A 127.0.0.1\n");
        let powerdns = recursing_powerdns();
        let resolver = powerdns.address;
        assert_eq!(ask(resolver, "edge.wiki.example", RrType::A).rcode(), NXDOMAIN);
        home.write("zone", &format!("{text}r1.edge A 192.0.2.1\nedge-r1 A 192.0.2.1\n"));
        home.expect(0, "reload");
        assert_eq!(ask(resolver, "r1.edge.wiki.example", RrType::A).rcode(), NXDOMAIN, "below it");
        assert_eq!(ask(resolver, "edge-r1.wiki.example", RrType::A).answers.len(), 1, "beside it");
    });
}

/// Who validates denies what lies in a range that an NSEC record denied (RFC 8198): a signed zone is refused.
#[test]
fn peer_a_fresh_name_in_a_cached_nsec_range_is_denied() {
    in_a_lab("why::peer_a_fresh_name_in_a_cached_nsec_range_is_denied", || {
        run(Command::new("ip").args(["address", "add", "127.0.0.11/32", "dev", "lo"]));
        let origin = Name::absolute("x.example").unwrap();
        let method =
            METHODS.iter().copied().find(|method| method.algorithm == 13 && matches!(method.denial, Denial::Nsec));
        let (signer, method) = (Signer::new(), method.unwrap());
        let signed = |serial: u32, more: &str| {
            let text = format!(
                "$ORIGIN x.example.\n$TTL 60\n@ SOA ns host {serial} 3600 600 86400 60\n@ NS ns\nns A 127.0.0.1\n\
                 www 5 CNAME edge\nedge A 192.0.2.1\n{more}"
            );
            signer.sign(&origin, &text, method)
        };
        let home = served("x.example", &signed(1, ""));
        let daemon = home.serve();
        let dir = tempfile::tempdir().unwrap();
        let _root = root(dir.path(), "x.example. 60 NS ns.x.example.\nns.x.example. 60 A 127.0.0.1\n");
        let anchors = [Anchor { origin: origin.clone(), ds: signer.ds(&origin, method.algorithm) }];
        let resolvers = [Resolver::unbound, Resolver::bind].map(|start| start(ROOT, &anchors));

        let report = home.expect(3, "rename x.example www");
        let gate =
            report["findings"].as_array().unwrap().iter().find(|found| found["gate"] == "rename.signed").unwrap();
        assert_eq!((&gate["verdict"], &gate["overridable"]), (&"block".into(), &false.into()), "{gate:#}");
        assert!(gate["remedy"].as_str().unwrap().starts_with("by hand: "), "it says how: {gate:#}");

        // Done by hand, and the fronts led there at once, this is what users would meet.
        for resolver in &resolvers {
            let denied = wait_for("a denial that is proved", || {
                let answer = ask(resolver.address, "edge-q.x.example", RrType::A);
                if answer.rcode() == NXDOMAIN { Ok(answer) } else { Err(format!("{answer:?}\n{}", resolver.log())) }
            });
            assert_eq!(denied.rcode(), NXDOMAIN);
        }
        home.write("zone", &signed(2, "edge-r1 A 192.0.2.1\n"));
        home.expect(0, "reload");
        assert_eq!(daemon.ask("edge-r1.x.example", RrType::A).answers.len(), 1);
        for resolver in &resolvers {
            let answer = ask(resolver.address, "edge-r1.x.example", RrType::A);
            assert_eq!(answer.rcode(), NXDOMAIN, "{}: {answer:?}", resolver.name);
        }
    });
}

/// Who gives out a stale alias first leads its next user to the old name; one question of type CNAME takes that upon itself.
#[test]
fn peer_a_stale_alias_is_healed_by_one_question() {
    in_a_lab("why::peer_a_stale_alias_is_healed_by_one_question", || {
        let text =
            "$TTL 60\n@ SOA ns1 host 1 1h 10m 2w 60\n@ NS ns1\nns1 A 127.0.0.1\nwww 1 CNAME edge\nedge A 192.0.2.1\n";
        let home = served("wiki.example", text);
        let _daemon = home.serve();
        let mut fleet = Fleet::new(&Name::absolute("wiki.example").unwrap(), Ipv4Addr::LOCALHOST);
        let stale = [
            "stale-cache-enable yes",
            "stale-answer-enable yes",
            "stale-answer-client-timeout 0",
            "stale-answer-ttl 1",
        ];
        fleet.bind_forwarding("asked for addresses", &stale);
        fleet.bind_forwarding("asked for the alias", &stale);
        let resolvers: Vec<SocketAddr> = fleet.addresses().into_iter().map(|(_, address)| address).collect();
        for resolver in &resolvers {
            for rtype in [RrType::A, RrType::CNAME] {
                assert!(!ask(*resolver, "www.wiki.example", rtype).answers.is_empty());
            }
        }
        follow(&home, 0, "rename wiki.example edge");
        // The alias runs out; it is kept, to be given out once more.
        std::thread::sleep(Duration::from_secs(2));
        let leads_to = |message: &Message| {
            message.answers.iter().find(|record| record.rtype == RrType::CNAME).map(|record| record.rdata.clone())
        };
        let old = b"\x04edge\x04wiki\x07example\0".to_vec();
        assert_eq!(
            leads_to(&ask(resolvers[0], "www.wiki.example", RrType::A)),
            Some(old.clone()),
            "a user is led to the old name"
        );
        assert_eq!(
            leads_to(&ask(resolvers[1], "www.wiki.example", RrType::CNAME)),
            Some(old.clone()),
            "or the one who asks for it is"
        );
        wait_for("the new alias", || {
            let answer = ask(resolvers[1], "www.wiki.example", RrType::A);
            if leads_to(&answer) != Some(old.clone()) { Ok(()) } else { Err(format!("{answer:?}")) }
        });
    });
}
