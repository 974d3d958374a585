//! A fleet of resolvers that ask one server for one zone: honest ones, and others that misbehave by their own settings.
//!
//! Each has an address of its own, which it also asks from, and forwards or stubs the zone to the server's port 53.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use understudy::name::Name;

use super::resolver::{Resolver, Start, path_in};
use super::shim::{Keeps, Servers, Shim};
use super::sign::run;

/// The zone, where its server is, and the addresses that were given away.
pub struct Fleet {
    zone: Name,
    server: Ipv4Addr,
    next: u8,
    /// Whether each has a /24 of its own.
    apart: bool,
    /// Another zone, and where its server is.
    also: Option<(String, Ipv4Addr)>,
    pub resolvers: Vec<Resolver>,
    /// Resolvers behind others.
    hidden: Vec<Resolver>,
    pub shims: Vec<Shim>,
}

impl Fleet {
    /// Of resolvers that ask `server` for `zone`. Only in a network namespace of its own.
    pub fn new(zone: &Name, server: Ipv4Addr) -> Fleet {
        let (resolvers, hidden, shims) = (Vec::new(), Vec::new(), Vec::new());
        Fleet { zone: zone.clone(), server, next: 10, apart: false, also: None, resolvers, hidden, shims }
    }

    /// The same, each with a network of its own, by which it is told apart.
    pub fn apart(zone: &Name, server: Ipv4Addr) -> Fleet {
        Fleet { apart: true, ..Fleet::new(zone, server) }
    }

    /// Unbounds and BINDs ask another server for a zone below.
    pub fn also(&mut self, zone: &str, server: Ipv4Addr) {
        self.also = Some((zone.to_owned(), server));
    }

    /// All of them by what they are called, and where they answer.
    pub fn addresses(&self) -> Vec<(&'static str, SocketAddr)> {
        let resolvers = self.resolvers.iter().map(|resolver| (resolver.name, resolver.address));
        resolvers.chain(self.shims.iter().map(|shim| (shim.name, shim.address))).collect()
    }

    /// Leaves so many addresses to others.
    pub fn skip(&mut self, addresses: u8) {
        self.next += addresses;
    }

    fn address(&mut self) -> Ipv4Addr {
        let address =
            if self.apart { Ipv4Addr::new(127, 1, self.next, 10) } else { Ipv4Addr::new(127, 0, 1, self.next) };
        self.next += 1;
        // BIND listens only on addresses that an interface carries.
        run(Command::new("ip").args(["address", "add", &format!("{address}/32"), "dev", "lo"]));
        address
    }

    /// The zone as configurations have it: no final dot.
    fn domain(&self) -> String {
        self.zone.to_string().trim_end_matches('.').to_owned()
    }

    fn start(
        &mut self,
        name: &'static str,
        program: &str,
        file: &str,
        args: &dyn Fn(&Path) -> Vec<String>,
        config: impl FnOnce(&Path, Ipv4Addr) -> String,
    ) -> Resolver {
        let address = self.address();
        let ready = self.zone.clone();
        Resolver::start_with(Start { name, program, file, args, address, ready: &ready }, |dir| config(dir, address))
    }

    fn new_unbound(&mut self, name: &'static str, settings: &str) -> Resolver {
        let (zone, server) = (self.domain(), self.server);
        let args = |dir: &Path| vec!["-d".into(), "-p".into(), "-c".into(), path_in(dir, "conf")];
        let also =
            self.also.iter().map(|(zone, server)| format!("stub-zone:\n name: \"{zone}\"\n stub-addr: {server}@53\n"));
        let also: String = also.collect();
        self.start(name, "unbound", "conf", &args, |dir, address| {
            format!(
                "server:\n interface: {address}\n port: 53\n outgoing-interface: {address}\n \
                 access-control: 127.0.0.0/8 allow\n do-ip6: no\n do-not-query-localhost: no\n root-hints: \"{}\"\n \
                 directory: \"{}\"\n chroot: \"\"\n username: \"\"\n pidfile: \"\"\n use-syslog: no\n \
                 num-threads: 1\n{settings}\
                 remote-control:\n control-enable: no\nstub-zone:\n name: \"{zone}\"\n stub-addr: {server}@53\n{also}",
                hints(dir),
                dir.display()
            )
        })
    }

    /// Unbound.
    pub fn unbound(&mut self, name: &'static str, settings: &[&str]) {
        let settings: String = settings.iter().map(|setting| format!(" {setting}\n")).collect();
        let resolver = self.new_unbound(name, &settings);
        self.resolvers.push(resolver);
    }

    /// BIND.
    pub fn bind(&mut self, name: &'static str, settings: &[&str]) {
        let zone = format!("type static-stub; server-addresses {{ {}; }};", self.server);
        self.bind_with(name, settings, &zone);
    }

    /// BIND that forwards: only so it gives stale answers before it asks.
    pub fn bind_forwarding(&mut self, name: &'static str, settings: &[&str]) {
        let zone = format!("type forward; forward only; forwarders {{ {}; }};", self.server);
        self.bind_with(name, settings, &zone);
    }

    fn bind_with(&mut self, name: &'static str, settings: &[&str], stub: &str) {
        let zone = self.domain();
        let settings: String = settings.iter().map(|setting| format!("  {setting};\n")).collect();
        let args = |dir: &Path| {
            ["-g", "-4", "-n", "1", "-c"].map(String::from).into_iter().chain([path_in(dir, "conf")]).collect()
        };
        let also = self.also.iter();
        let also = also.map(|(zone, server)| {
            format!("zone \"{zone}\" {{ type static-stub; server-addresses {{ {server}; }}; }};\n")
        });
        let also: String = also.collect();
        let resolver = self.start(name, "named", "conf", &args, |dir, address| {
            hints(dir);
            format!(
                "options {{\n  directory \"{}\";\n  listen-on port 53 {{ {address}; }};\n  listen-on-v6 {{ none; }};\n  \
                 query-source address {address};\n  allow-query {{ 127.0.0.0/8; }};\n  recursion yes;\n  \
                 dnssec-validation no;\n  pid-file none;\n  session-keyfile none;\n  lock-file none;\n  \
                 max-cache-size 16M;\n{settings}}};\ncontrols {{ }};\nzone \".\" {{ type hint; file \"root.hints\"; }};\n\
                 zone \"{zone}\" {{ {stub} }};\n{also}",
                dir.display()
            )
        });
        self.resolvers.push(resolver);
    }

    /// PowerDNS Recursor.
    pub fn powerdns(&mut self, name: &'static str, settings: &[&str]) {
        let (zone, server) = (self.domain(), self.server);
        let settings = settings.join("\n");
        let args = |dir: &Path| vec![format!("--config-dir={}", dir.display())];
        let resolver = self.start(name, "pdns_recursor", "recursor.conf", &args, |dir, address| {
            format!(
                "local-address={address}\nlocal-port=53\nquery-local-address={address}\nallow-from=127.0.0.0/8\n\
                 dont-query=\nforward-zones={zone}={server}:53\nhint-file={}\nsecurity-poll-suffix=\nsocket-dir={}\n\
                 setuid=\nsetgid=\nthreads=1\ndaemon=no\nwrite-pid=no\ndisable-syslog=yes\ndnssec=off\n{settings}\n",
                hints(dir),
                dir.display()
            )
        });
        self.resolvers.push(resolver);
    }

    /// Knot Resolver.
    pub fn knot(&mut self, name: &'static str, settings: &[&str]) {
        let (zone, server) = (self.domain(), self.server);
        let settings = settings.join("\n");
        let args = |dir: &Path| vec!["-n".into(), "-c".into(), path_in(dir, "conf"), dir.display().to_string()];
        let resolver = self.start(name, "kresd", "conf", &args, |dir, address| {
            format!(
                "net.ipv6 = false\nnet.listen('{address}', 53, {{ kind = 'dns' }})\nnet.outgoing_v4('{address}')\n\
                 modules = {{ 'hints > iterate', 'stats' }}\nmodules.unload('priming')\nmodules.unload('ta_update')\n\
                 modules.unload('ta_signal_query')\nmodules.unload('detect_time_skew')\ntrust_anchors.remove('.')\n\
                 cache.open(10 * MB, 'lmdb://{}/cache')\n{settings}\n\
                 policy.add(policy.suffix(policy.FORWARD('{server}@53'), policy.todnames({{'{zone}'}})))\n",
                dir.display()
            )
        });
        self.resolvers.push(resolver);
    }

    /// dnsmasq.
    pub fn dnsmasq(&mut self, name: &'static str, settings: &[&str]) {
        let (zone, server) = (self.domain(), self.server);
        let settings = settings.join("\n");
        let args = |dir: &Path| vec![format!("--conf-file={}", path_in(dir, "conf"))];
        let resolver = self.start(name, "dnsmasq", "conf", &args, |_, address| {
            format!(
                "port=53\nlisten-address={address}\nbind-interfaces\nno-resolv\nno-hosts\nno-poll\n\
                 server=/{zone}/{server}#53@{address}\nuser=root\npid-file=\nkeep-in-foreground\nlog-facility=-\n{settings}\n"
            )
        });
        self.resolvers.push(resolver);
    }

    /// dnsdist, with an Unbound behind it for each of these settings, asked in turn.
    pub fn dnsdist(&mut self, name: &'static str, settings: &str, behind: &[&str]) {
        let mut backends = String::new();
        for settings in behind {
            let settings = if settings.is_empty() { String::new() } else { format!(" {settings}\n") };
            let unbound = self.new_unbound("Unbound behind dnsdist", &settings);
            backends += &format!("newServer({{address=\"{}\"}}):setUp()\n", unbound.address);
            self.hidden.push(unbound);
        }
        let args =
            |dir: &Path| vec!["--supervised".into(), "--disable-syslog".into(), "-C".into(), path_in(dir, "conf")];
        let resolver = self.start(name, "dnsdist", "conf", &args, |_, address| {
            format!(
                "setLocal(\"{address}:53\")\nsetACL({{\"127.0.0.0/8\"}})\nsetSecurityPollSuffix(\"\")\n\
                 setServerPolicy(wrandom)\n{backends}{settings}\n"
            )
        });
        self.resolvers.push(resolver);
    }

    /// A cache of ours that keeps answers for as long as `keeps` says.
    pub fn shim(&mut self, name: &'static str, keeps: Keeps) {
        let port = |address| SocketAddr::new(IpAddr::V4(address), 53);
        let also = self.also.as_ref().map(|(zone, server)| (Name::absolute(zone).unwrap(), port(*server)));
        let servers = Servers { server: port(self.server), also };
        let address = port(self.address());
        self.shims.push(Shim::start(name, address, servers, keeps));
    }
}

/// A root that is never needed, so that nothing waits for it.
fn hints(dir: &Path) -> String {
    let path = dir.join("root.hints");
    fs::write(&path, ". 3600000 IN NS root.lab.\nroot.lab. 3600000 IN A 127.255.255.254\n").unwrap();
    path.display().to_string()
}
