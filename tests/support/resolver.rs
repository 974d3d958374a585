//! Resolvers that validate: Unbound, BIND and Knot Resolver, on port 53 of addresses of their own in a namespace.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use understudy::name::Name;
use understudy::rr::RrType;

use super::lab::{find, unconfined};
use super::message;

/// How long a resolver may take until it answers.
const START_DEADLINE: Duration = Duration::from_secs(20);

/// A key that a resolver trusts.
pub struct Anchor {
    pub origin: Name,
    /// The data of the zone's DS record.
    pub ds: String,
}

/// How a resolver is started.
pub struct Start<'a> {
    pub name: &'static str,
    pub program: &'a str,
    /// What its configuration is called.
    pub file: &'a str,
    /// Its arguments, where its directory is known.
    pub args: &'a dyn Fn(&Path) -> Vec<String>,
    /// Where it answers, on port 53.
    pub address: Ipv4Addr,
    /// What it is asked for until it answers.
    pub ready: &'a Name,
}

/// A file in a directory, as an argument.
pub fn path_in(dir: &Path, file: &str) -> String {
    dir.join(file).display().to_string()
}

/// A running resolver. It is killed, by its own process handle, when this is dropped.
pub struct Resolver {
    pub name: &'static str,
    pub address: SocketAddr,
    child: Child,
    dir: tempfile::TempDir,
}

impl Drop for Resolver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Resolver {
    /// Unbound, with its aggressive use of NSEC (RFC 8198). It minimises no names: where an alias stands above a name, it
    /// then takes the alias for the answer. `root` is the root's only server.
    pub fn unbound(root: Ipv4Addr, anchors: &[Anchor]) -> Resolver {
        let address = Ipv4Addr::new(127, 0, 0, 10);
        Resolver::start("Unbound", "unbound", &["-d", "-p", "-c"], address, |dir| {
            let hints = hints(dir, root);
            let anchors: String =
                anchors.iter().map(|Anchor { origin, ds }| format!(" trust-anchor: \"{origin} DS {ds}\"\n")).collect();
            format!(
                "server:\n directory: \"{}\"\n chroot: \"\"\n username: \"\"\n pidfile: \"\"\n use-syslog: no\n \
                 interface: {address}\n do-ip6: no\n do-not-query-localhost: no\n access-control: 127.0.0.0/8 allow\n \
                 root-hints: \"{hints}\"\n module-config: \"validator iterator\"\n qname-minimisation: no\n \
                 aggressive-nsec: yes\n val-log-level: 2\n local-zone: \"test.\" nodefault\n \
                 local-zone: \"invalid.\" nodefault\n num-queries-per-thread: 4096\n{anchors}\
                 remote-control:\n control-enable: no\n",
                dir.display()
            )
        })
    }

    /// BIND.
    pub fn bind(root: Ipv4Addr, anchors: &[Anchor]) -> Resolver {
        let address = Ipv4Addr::new(127, 0, 0, 11);
        Resolver::start("BIND", "named", &["-f", "-n", "1", "-c"], address, |dir| {
            let hints = hints(dir, root);
            let anchors: String = anchors
                .iter()
                .map(|Anchor { origin, ds }| {
                    let (numbers, digest) = ds.rsplit_once(' ').unwrap();
                    format!("  \"{origin}\" static-ds {numbers} \"{digest}\";\n")
                })
                .collect();
            format!(
                "options {{ directory \"{dir}\"; pid-file none; session-keyfile none; lock-file none;
                 managed-keys-directory \"{dir}\"; listen-on {{ {address}; }}; listen-on-v6 {{ none; }};
                 recursion yes; dnssec-validation yes; empty-zones-enable no; servfail-ttl 0; max-cache-size 64m; }};
                 controls {{ }};
                 logging {{ channel log {{ stderr; severity info; }}; category default {{ log; }};
                 category lame-servers {{ null; }}; }};
                 zone \".\" {{ type hint; file \"{hints}\"; }};\ntrust-anchors {{\n{anchors}}};\n",
                dir = dir.display()
            )
        })
    }

    /// Knot Resolver.
    pub fn knot(root: Ipv4Addr, anchors: &[Anchor]) -> Resolver {
        let address = Ipv4Addr::new(127, 0, 0, 12);
        Resolver::start("Knot Resolver", "kresd", &["-n", "-c"], address, |_| {
            let anchors: String = anchors
                .iter()
                .map(|Anchor { origin, ds }| format!("trust_anchors.add('{} DS {ds}')\n", lua(origin)))
                .collect();
            format!(
                "net.ipv6 = false\nnet.listen('{address}', 53, {{ kind = 'dns' }})\ncache.open(50 * MB)\n\
                 modules = {{ 'hints', 'policy' }}\nhints.root({{ ['ns.root.'] = '{root}' }})\n\
                 trust_anchors.remove('.')\n{anchors}\
                 policy.add(policy.suffix(policy.PASS, {{ todname('test.'), todname('invalid.') }}))\n\
                 modules.unload('ta_update')\nmodules.unload('ta_signal_query')\nmodules.unload('priming')\n"
            )
        })
    }

    fn start(
        name: &'static str,
        program: &str,
        args: &[&str],
        address: Ipv4Addr,
        config: impl FnOnce(&Path) -> String,
    ) -> Resolver {
        let root = Name::root();
        let args = |dir: &Path| args.iter().map(|arg| arg.to_string()).chain([path_in(dir, "conf")]).collect();
        Resolver::start_with(Start { name, program, file: "conf", args: &args, address, ready: &root }, config)
    }

    /// Starts a resolver and waits until it says something to a question for `ready`.
    pub fn start_with(start: Start<'_>, config: impl FnOnce(&Path) -> String) -> Resolver {
        let Start { name, program, file, args, address, ready } = start;
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(file), config(dir.path())).unwrap();
        let program = unconfined(&find(program), dir.path());
        let log = fs::File::create(dir.path().join("log")).unwrap();
        let mut command = Command::new(&program);
        command.args(args(dir.path())).current_dir(dir.path()).stdin(Stdio::null());
        let child = command
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{name} ({}): {error}; ./scripts/test installs it", program.display()));
        let mut resolver = Resolver { name, address: SocketAddr::new(IpAddr::V4(address), 53), child, dir };
        resolver.wait(ready);
        resolver
    }

    fn wait(&mut self, ready: &Name) {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let deadline = Instant::now() + START_DEADLINE;
        let query = message::query(1, ready.as_ref(), RrType::SOA, true, None);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("{} ended at its start ({status}):\n{}", self.name, self.log());
            }
            assert!(Instant::now() < deadline, "{} does not answer:\n{}", self.name, self.log());
            let _ = socket.send_to(&query, self.address);
            if socket.recv_from(&mut [0; 4096]).is_ok() {
                return;
            }
        }
    }

    /// What the resolver wrote so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap_or_default()
    }
}

/// A name in a Lua string.
fn lua(name: &Name) -> String {
    name.to_string().replace('\\', "\\\\")
}

fn hints(dir: &Path, root: Ipv4Addr) -> String {
    let path = dir.join("hints");
    fs::write(&path, format!(". 3600 NS ns.root.\nns.root. 3600 A {root}\n")).unwrap();
    path.display().to_string()
}
