//! Cookies through the whole engine: what a client gets, gives back, and is answered for it.

use std::net::IpAddr;

use understudy::serving::cookie::{CookieKeys, CookieSecret};
use understudy::serving::respond::{Asker, Transport};
use understudy::serving::{Cookies, Serving, Settings};
use understudy::time::Timestamp;

use crate::packet::{Packet, option};
use crate::support::message::{self, Message};

const COOKIE: u16 = 10;
const BADCOOKIE: u16 = 23;
const NOW: i64 = 1_800_000_000;

fn asker(source: &str, seconds: i64, transport: Transport) -> Asker {
    Asker { source: source.parse::<IpAddr>().unwrap(), transport, now: Timestamp(seconds * 1000) }
}

fn ask(serving: &Serving, packet: &Packet, asker: &Asker) -> Message {
    let mut out = vec![0; 65_535];
    let length = serving.respond(&packet.octets(1), asker, &mut out).unwrap();
    message::read(&out[..length]).unwrap()
}

fn cookie(answer: &Message) -> Vec<u8> {
    let options = &answer.edns.as_ref().unwrap().options;
    options.iter().find(|(code, _)| *code == COOKIE).map(|(_, data)| data.clone()).unwrap()
}

fn serving(required: bool, previous: bool) -> std::sync::Arc<Serving> {
    let (old, new) = ([1; 16], [2; 16]);
    let keys = if previous {
        CookieKeys { current: new, previous: Some(old) }
    } else {
        CookieKeys { current: old, previous: None }
    };
    let cookies = Some(Cookies { secret: CookieSecret::Shared(keys), required });
    crate::serving(Settings { cookies, ..Settings::default() })
}

#[test]
fn a_cookie_given_back_proves_the_source() {
    let (before, after) = (serving(false, false), serving(false, true));
    let me = asker("192.0.2.1", NOW, Transport::Udp);
    let given = cookie(&ask(&before, &Packet::www().options(&option(COOKIE, b"12345678")), &me));
    let with = |cookie: &[u8]| Packet::www().options(&option(COOKIE, cookie));
    let mut forged = given.clone();
    forged[23] ^= 1;
    for (name, serving, packet, asker, proven) in [
        ("at once", &before, with(&given), me, true),
        ("while keys roll", &after, with(&given), me, true),
        ("an hour later", &before, with(&given), asker("192.0.2.1", NOW + 3600, Transport::Udp), true),
        ("later still", &before, with(&given), asker("192.0.2.1", NOW + 3601, Transport::Udp), false),
        ("from elsewhere", &before, with(&given), asker("192.0.2.2", NOW, Transport::Udp), false),
        ("forged", &before, with(&forged), me, false),
        ("the client's part alone", &before, with(b"12345678"), me, false),
        ("malformed", &before, with(b"1234567"), me, false),
        ("none", &before, Packet::www().options(&[]), me, false),
        ("no EDNS", &before, Packet::www(), me, false),
    ] {
        assert_eq!(serving.is_proven(&packet.octets(1), &asker), proven, "{name}");
    }
    for length in 0..12 {
        assert!(!before.is_proven(&with(&given).octets(1)[..length], &me));
    }
    // A bad one is answered as if there were none, with a good one.
    let answer = ask(&before, &with(&forged), &me);
    assert_eq!((answer.rcode(), answer.answers.len(), cookie(&answer)), (0, 1, given));
    // Made with the key that goes, it is replaced by one of the key that comes.
    let fresh = cookie(&ask(&after, &with(&cookie(&answer)), &me));
    assert_ne!(fresh, cookie(&answer));
    assert!(after.is_proven(&with(&fresh).octets(1), &me));
}

#[test]
fn cookies_are_required_of_those_who_know_them_where_configured() {
    let serving = serving(true, false);
    let me = |transport| asker("2001:db8::1", NOW, transport);
    let client = Packet::www().options(&option(COOKIE, b"12345678"));
    let refused = ask(&serving, &client, &me(Transport::Udp));
    assert_eq!((refused.rcode(), refused.answers.len(), refused.questions.len()), (BADCOOKIE, 0, 1));
    let good = Packet::www().options(&option(COOKIE, &cookie(&refused)));
    for (name, packet, transport) in [
        ("with the cookie", &good, Transport::Udp),
        ("over TCP", &client, Transport::Tcp),
        ("without cookies", &Packet::www(), Transport::Udp),
    ] {
        let answer = ask(&serving, packet, &me(transport));
        assert_eq!((answer.rcode(), answer.answers.len()), (0, 1), "{name}");
    }
}

#[test]
fn without_cookies_the_option_is_one_that_nobody_knows() {
    let serving = crate::serving(Settings::default());
    for data in [&b"12345678"[..], b"1", &[0; 24]] {
        let answer =
            ask(&serving, &Packet::www().options(&option(COOKIE, data)), &asker("192.0.2.1", NOW, Transport::Udp));
        assert_eq!((answer.rcode(), answer.edns.unwrap().options.len()), (0, 0));
    }
    let alone = Packet::empty().options(&option(COOKIE, b"12345678"));
    assert_eq!(ask(&serving, &alone, &asker("::1", NOW, Transport::Udp)).rcode(), 1);
}
