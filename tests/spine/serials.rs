//! The serial that is published only rises, and rises whenever answers change.

use crate::support::daemon::{Home, serial_in};
use crate::{COMMON, config, finding, home, site};
use understudy::rr::RrType;

/// A zone whose sites are whole zones of their own, with serials of their own.
fn home_of(knams: u32, pmtpa: u32) -> Home {
    let whole = |serial: u32, name, octet| {
        let common = COMMON.replace("host 100", &format!("host {serial}"));
        format!("{common}{}", site(name, octet, ""))
    };
    let config = config().replace("file = 'common.zone'\n", "");
    Home::new(&config, &[("knams.zone", &whole(knams, "knams", 192)), ("pmtpa.zone", &whole(pmtpa, "pmtpa", 198))])
}

#[test]
fn a_crash_right_after_a_failover_takes_no_serial_back() {
    let home = home();
    let mut greatest = 100;
    for to in ["pmtpa", "knams", "pmtpa"] {
        let daemon = home.serve();
        assert_eq!(daemon.serial("a.example"), greatest);
        home.expect(0, &format!("failover a.example --to {to}"));
        greatest += 1;
        assert_eq!(daemon.serial("a.example"), greatest);
        daemon.kill();
    }
}

#[test]
fn the_way_back_to_an_old_file_raises_the_serial() {
    let home = home();
    let daemon = home.serve();
    home.expect(0, "failover a.example --to pmtpa");
    let would = home.expect(6, "failover a.example --to knams --dry-run");
    assert_eq!(would["diff"][0]["rtype"], "SOA");
    assert!(would["diff"][0]["before"][0].as_str().unwrap().contains(" 101 "), "{would:#}");
    assert!(would["diff"][0]["after"][0].as_str().unwrap().contains(" 102 "), "{would:#}");
    home.expect(0, "failover a.example --to knams");
    assert_eq!(daemon.serial("a.example"), 102);
    // An old copy is put back, with its lower serial.
    let old = home.read("common.zone");
    home.write("common.zone", &old.replace("host 100", "host 500"));
    home.expect(0, "reload");
    assert_eq!(daemon.serial("a.example"), 500);
    home.write("common.zone", &old);
    home.expect(0, "reload");
    assert_eq!(daemon.serial("a.example"), 501);
}

/// Sites number by other schemes: dates, seconds since 1970, about to wrap.
#[test]
fn serials_of_other_schemes_and_over_the_wrap_rise() {
    for (knams, pmtpa, published) in [
        (2_024_120_501, 1_733_400_000, [2_024_120_501, 2_024_120_502, 2_024_120_503]),
        (1_733_400_000, 2_024_120_501, [1_733_400_000, 2_024_120_501, 2_024_120_502]),
        (4_294_967_290, 3, [4_294_967_290, 3, 4]),
        (u32::MAX, u32::MAX, [u32::MAX, 0, 1]),
    ] {
        let home = home_of(knams, pmtpa);
        let daemon = home.serve();
        assert_eq!(daemon.serial("a.example"), published[0]);
        for (to, serial) in ["pmtpa", "knams"].into_iter().zip(&published[1..]) {
            home.expect(0, &format!("failover a.example --to {to}"));
            assert_eq!(daemon.serial("a.example"), *serial);
            // In negative answers, too.
            assert_eq!(serial_in(&daemon.ask("none.a.example", RrType::A)), Some(*serial));
        }
    }
}

/// An edit that raises the serial by 2³¹ or more is none that secondaries can follow: it goes in two steps.
#[test]
fn a_jump_is_refused_with_the_steps_that_lead_there() {
    let home = home();
    let daemon = home.serve();
    home.edit("common.zone", "host 100", "host 4000000000");
    let refused = home.expect(3, "reload");
    let serial = finding(&refused["zones"][0], "zone.serial");
    assert_eq!((&serial["verdict"], &serial["overridable"]), (&"block".into(), &false.into()));
    let middle = 100 + (u32::MAX >> 1);
    assert!(serial["remedy"].as_str().unwrap().contains(&format!("publish {middle}")), "{serial:#}");
    assert_eq!(daemon.serial("a.example"), 100);
    for next in [middle, 4_000_000_000] {
        let text = COMMON.replace("host 100", &format!("host {next}"));
        home.write("common.zone", &text);
        home.expect(0, "reload");
        assert_eq!(daemon.serial("a.example"), next);
    }
}

#[test]
fn an_edit_under_the_same_serial_is_published_under_the_next_and_a_touch_is_none() {
    let home = home();
    let daemon = home.serve();
    let generation = || home.expect(0, "status")["generation"].clone();
    let before = generation();
    home.write("common.zone", &format!("; looked at\n{COMMON}\n"));
    assert_eq!(home.expect(0, "reload")["zones"][0]["outcome"], "unchanged");
    assert_eq!((generation(), daemon.serial("a.example")), (before, 100));
    home.write("common.zone", &COMMON.replace("TXT one", "TXT two"));
    let report = home.expect(0, "reload");
    assert_eq!((&report["zones"][0]["serial"], daemon.serial("a.example")), (&101.into(), 101));
    // What only the standby would answer is no change to anybody.
    home.edit("pmtpa.zone", "198.0.2.1\n", "198.0.2.2\n");
    assert_eq!(home.expect(0, "reload")["zones"][0]["outcome"], "published");
    assert_eq!(daemon.serial("a.example"), 101);
}
