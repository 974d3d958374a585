//! Client subnets (RFC 7871): whose word is taken, and for whom an answer is said to be good.

use proptest::prelude::*;
use understudy::net::Network;
use understudy::serving::Settings;
use understudy::serving::ranges::Ranges;

use super::*;

fn text(site: u8) -> String {
    format!(
        "$TTL 60\n@ SOA ns h 1 1h 10m 2w 20\n@ NS ns\nns A 192.0.2.5{site}\nwww A 192.0.2.{site}\nsame A 192.0.2.9\n\
         alias CNAME www\nlost CNAME nothing.{site}\nd DNAME t{site}\nq.t1 A 192.0.2.1\nq.t2 A 192.0.2.2\ncut{site} NS ns.else.\n\
         long TXT {}\nmail MX 1 www\nchain CNAME same\n*.w A 192.0.2.{site}\n",
        "\"0123456789012345678901234567890123456789\" ".repeat(if site == 1 { 11 } else { 12 })
    )
}

const RESOLVER: &str = "198.51.100.53";
const STRANGER: &str = "198.51.101.53";

fn settings() -> Settings {
    let trusted = Ranges::new([("198.51.100.0/24".parse::<Network>().unwrap(), 1)]);
    Settings { trusted_subnets: Arc::new(trusted), ..Settings::default() }
}

/// The data of a client subnet.
fn subnet(network: &str) -> Vec<u8> {
    let network: Network = network.parse().unwrap();
    let (family, octets) = match network.address() {
        IpAddr::V4(v4) => (1, v4.octets().to_vec()),
        IpAddr::V6(v6) => (2, v6.octets().to_vec()),
    };
    [&[0, family, network.prefix(), 0], &octets[..usize::from(network.prefix()).div_ceil(8)]].concat()
}

/// The client subnet in an answer.
fn echoed(message: &Message) -> Option<Vec<u8>> {
    let options = &message.edns.as_ref().unwrap().options;
    options.iter().find(|(code, _)| *code == 8).map(|(_, data)| data.clone())
}

fn scope(message: &Message) -> u8 {
    echoed(message).expect("the option comes back")[3]
}

fn apart() -> Arc<Serving> {
    let regions = sets(&[("europe", &["192.0.2.0/24", "2001:db8:e::/48"]), ("lab", &["192.0.2.128/25"])]);
    let content = content("x.example", &[&text(1), &text(2)]);
    let routing = Routing::at(vec![SiteId(0), SiteId(1), SiteId(0)]);
    unjudged(&nothing(&regions, &[], settings()), &content, routing)
}

#[test]
fn answers_follow_the_client_and_say_how_far_they_go() {
    let serving = apart();
    for transport in [Transport::Udp, Transport::Tcp] {
        for (network, asked, rtype, told, reach) in [
            ("192.0.2.0/24", "www", RrType::A, Some(2), 25),
            ("192.0.2.0/25", "www", RrType::A, Some(2), 25),
            ("192.0.2.77/32", "alias", RrType::A, Some(2), 25),
            ("192.0.2.128/25", "www", RrType::A, Some(1), 25),
            ("192.0.3.0/24", "www", RrType::A, Some(1), 24),
            ("203.0.113.0/24", "www", RrType::A, Some(1), 5),
            ("2001:db8:e::/48", "www", RrType::A, Some(2), 48),
            ("2001:db8:f::/48", "www", RrType::A, Some(1), 48),
            ("2001:db8::/32", "www", RrType::A, Some(1), 45),
            ("192.0.2.0/24", "q.d", RrType::A, Some(2), 25),
            ("192.0.2.0/24", "mail", RrType::MX, None, 25),
            ("192.0.2.0/24", "any.w", RrType::A, Some(2), 25),
            // The alias is there, and varies, though what it leads to is not.
            ("192.0.2.0/24", "lost", RrType::A, None, 25),
            // What everybody is told.
            ("192.0.2.0/24", "same", RrType::A, Some(9), 0),
            ("192.0.2.0/24", "chain", RrType::A, Some(9), 0),
            ("192.0.2.0/24", "ns", RrType::A, Some(51), 0),
            ("192.0.2.0/24", "@", RrType::NS, None, 0),
            ("192.0.2.0/24", "@", RrType::SOA, None, 0),
            ("192.0.2.0/24", "nothing", RrType::A, None, 0),
            ("192.0.2.0/24", "www", RrType::TXT, None, 0),
            ("192.0.2.0/24", "q.cut2", RrType::A, None, 0),
        ] {
            let asked = format!("{asked}.x.example");
            let packet = query(asked.trim_start_matches("@."), rtype, false, Some(&subnet(network)));
            let message = send(&serving, RESOLVER, transport, &packet);
            let case = format!("{network} {asked} {rtype}");
            assert_eq!(scope(&message), reach, "{case}");
            let mut back = echoed(&message).unwrap();
            back[3] = 0;
            assert_eq!(back, subnet(network), "{case}");
            if let Some(told) = told {
                assert_eq!(address(&message), told, "{case}");
            }
        }
    }
}

#[test]
fn only_the_trusted_are_heard() {
    let serving = apart();
    let europe = subnet("192.0.2.0/24");
    let packet = query("www.x.example", RrType::A, false, Some(&europe));
    let message = send(&serving, STRANGER, Transport::Udp, &packet);
    assert_eq!((address(&message), echoed(&message)), (1, None), "answered as itself");
    assert_eq!(address(&send(&serving, &format!("::ffff:{RESOLVER}"), Transport::Udp, &packet)), 2);

    for wrong in [&[0, 1, 24, 0, 192, 0][..], &[0, 1, 23, 0, 192, 0, 3], &[0, 1, 24, 8, 192, 0, 2], &[0, 9, 0, 0], &[0]]
    {
        let packet = query("www.x.example", RrType::A, false, Some(wrong));
        let (mine, theirs) =
            (send(&serving, RESOLVER, Transport::Udp, &packet), send(&serving, STRANGER, Transport::Udp, &packet));
        assert_eq!((mine.flags.rcode(), echoed(&mine), mine.answers.len()), (1, None, 0), "{wrong:?}");
        assert_eq!((theirs.flags.rcode(), address(&theirs)), (0, 1), "{wrong:?}");
    }
    // Whoever does not want to be known is answered as the resolver is.
    for none in [&[0, 1, 0, 0][..], &[0, 2, 0, 0], &[0, 0, 0, 0]] {
        let message = send(&serving, RESOLVER, Transport::Udp, &query("www.x.example", RrType::A, false, Some(none)));
        assert_eq!((address(&message), echoed(&message).as_deref()), (1, Some(none)));
    }
    let refused = send(&serving, RESOLVER, Transport::Udp, &query("else.example", RrType::A, false, Some(&europe)));
    assert_eq!((refused.flags.rcode(), scope(&refused)), (5, 0));
}

/// The option has its room: an answer that would leave none is cut.
#[test]
fn there_is_room_for_the_option() {
    let serving = apart();
    let lengths = |option: Option<&[u8]>| {
        let mut packet = query("long.x.example", RrType::TXT, false, option);
        let at = packet.len() - 8 - option.map_or(0, |data| data.len() + 4);
        packet[at..at + 2].copy_from_slice(&512u16.to_be_bytes());
        let mut out = vec![0; 65_535];
        let asker = Asker { source: RESOLVER.parse().unwrap(), transport: Transport::Udp, now: Timestamp(0) };
        let length = serving.respond(&packet, &asker, &mut out).unwrap();
        let message = message::read(&out[..length]).unwrap();
        (length, message.flags.tc(), echoed(&message).is_some())
    };
    let long = subnet("2001:db8:f:1:2:3:4:5");
    let (length, cut, back) = lengths(None);
    assert!(length <= 512 && length + long.len() + 4 > 512 && !cut && !back, "{length}");
    let (length, cut, back) = lengths(Some(&long));
    assert!(length <= 512 && cut && back, "{length}");
}

fn network(bits: u32, prefix: u8) -> Network {
    Network::new(IpAddr::from((0xC000_0000 | bits & 0xFFFF).to_be_bytes()), prefix).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whoever is in the scope of an answer is answered the same: no region that is carved out, no unit that is on the
    /// other side, no operator that is elsewhere.
    #[test]
    fn a_scope_holds_nobody_who_is_answered_otherwise(
        carved in proptest::collection::vec((any::<u32>(), 18u8..=32, 0usize..3), 0..8),
        farms in proptest::collection::vec((any::<u32>(), 18u8..=30, 0usize..2), 0..4),
        sites in proptest::collection::vec(0u16..3, 4),
        moves in proptest::collection::vec(proptest::option::of((0u16..3, 0u16..=10_000)), 4),
        client in (any::<u32>(), 16u8..=32),
        others in proptest::collection::vec(any::<u32>(), 24),
    ) {
        let group = |of: &[(u32, u8, usize)], count: usize| -> Vec<Region> {
            let mut taken = std::collections::HashSet::new();
            let mut networks: Vec<_> = of.iter().map(|(bits, prefix, at)| (network(*bits, *prefix), *at)).collect();
            networks.retain(|(network, _)| taken.insert(*network));
            let one = |at| Region {
                name: format!("r{at}"),
                networks: networks.iter().filter(|(_, of)| *of == at).map(|(network, _)| *network).collect(),
            };
            (0..count).map(one).collect()
        };
        let texts = [1, 2, 3].map(text);
        let content = content("x.example", &texts.each_ref().map(String::as_str));
        let mut routing = Routing::at(sites.iter().map(|site| SiteId(*site)).collect());
        for (region, (to, points)) in moves.iter().enumerate().filter_map(|(region, to)| Some((region, to.as_ref()?))) {
            let moving = Moving { to: SiteId(*to), share: share(*points), salt: 3, low_ttl: None };
            routing.shift(RegionId(region as u16), moving, 1);
        }
        let serving = unjudged(&nothing(&group(&carved, 3), &group(&farms, 2), settings()), &content, routing);
        let asked = |network: Network, asked: &str| {
            send(&serving, RESOLVER, Transport::Udp, &query(asked, RrType::A, false, Some(&subnet(&network.to_string()))))
        };
        let client = network(client.0, client.1);
        for name in ["alias.x.example", "same.x.example", "q.d.x.example", "ns.x.example"] {
            let told = asked(client, name);
            let reach = scope(&told);
            let within = Network::new(client.address(), reach).unwrap();
            for bits in &others {
                // An address in the scope; mostly one close by.
                let IpAddr::V4(first) = within.address() else { unreachable!() };
                let host = bits >> (bits % 32) & u32::MAX.checked_shr(reach.into()).unwrap_or(0);
                let other = Network::host(IpAddr::from((first.to_bits() | host).to_be_bytes()));
                let other = asked(other, name);
                prop_assert_eq!(&other.answers, &told.answers, "{} in {}", name, within);
            }
        }
    }
}
