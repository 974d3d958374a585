use std::collections::HashMap;

use super::*;

/// Files in memory; a path counts from nowhere.
#[derive(Default)]
struct Memory(HashMap<String, Vec<u8>>);

impl Sources for Memory {
    fn open(&mut self, _: &str, path: &str) -> Result<Source, String> {
        let octets = self.0.get(path).ok_or_else(|| format!("there is no file {path}"))?;
        Ok(Source { path: path.to_owned(), octets: octets.as_slice().into() })
    }
}

fn read_files(root: &[u8], files: &[(&str, &str)]) -> Reading {
    let mut memory = Memory(files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect());
    read(&Name::absolute("x.test").unwrap(), Source { path: "root".to_owned(), octets: root.into() }, &mut memory)
}

fn read_str(text: &str) -> Reading {
    read_files(text.as_bytes(), &[])
}

/// Each record as `owner ttl type data`, names absolute.
fn records(reading: Reading) -> Vec<String> {
    let text = reading.into_text().expect("no errors");
    let line = |record: crate::zone::text::Record<'_>| {
        let data = crate::zone::rdata::write(record.rtype, record.rdata, None);
        format!("{} {} {} {data}", record.owner, record.ttl, record.rtype)
    };
    text.records.iter().map(line).collect()
}

/// Each finding as `file:line:column id text`.
fn findings(reading: &Reading) -> Vec<String> {
    let line = |d: &Diagnostic| format!("{}:{}:{} {} {}", d.file, d.line, d.column, d.id, d.text);
    reading.diagnostics.iter().map(line).collect()
}

#[test]
fn a_zone_as_operators_write_it() {
    let reading = read_str(
        "$TTL 1h\n\
         @\tIN SOA ns1 host\\.master (\n\
         \t\t2024010100 ; serial é\n\
         \t\t1d 2h 4w 300 )\r\n\
         \tNS ns1\n\
         ns1 300 IN A 192.0.2.1\n\
         NS1 IN 300 AAAA 2001:db8::1\n\
         $ORIGIN sub\n\
         @ MX 10 @\n\
         w\\.w TXT ( \"a b\"\n\
         \"c\" ) d\\032e\n\
         $GENERATE 1-3/2 h${0,2} CNAME t$.x.test.\n\
         last TYPE65280 \\# 2 ab cd",
    );
    assert_eq!(findings(&reading), [""; 0]);
    assert_eq!(
        records(reading),
        [
            "x.test. 3600 SOA ns1.x.test. host\\.master.x.test. 2024010100 86400 7200 2419200 300",
            "x.test. 3600 NS ns1.x.test.",
            "ns1.x.test. 300 A 192.0.2.1",
            "NS1.x.test. 300 AAAA 2001:db8::1",
            "sub.x.test. 3600 MX 10 sub.x.test.",
            "w\\.w.sub.x.test. 3600 TXT \"a b\" \"c\" \"d e\"",
            "h01.sub.x.test. 3600 CNAME t1.x.test.",
            "h03.sub.x.test. 3600 CNAME t3.x.test.",
            "last.sub.x.test. 3600 TYPE65280 \\# 2 ABCD",
        ]
    );
}

#[test]
fn every_error_is_told_once_with_its_place() {
    let reading = read_str(
        "$TTL 300\n\
         @ SOA a b 1 2 3 4 5\n\
         aé.b A 192.0.2.1 extra\n\
         c..d A 192.0.2.1\n\
         \tA 192.0.2.2\n\
         e  (\n\
         \t; comment é\n\
         \té MX 10 )\n\
         f TXT \"open\n\
         g A 192.0.2.300\n\
         A 192.0.2.1\n\
         $ORIGIN a..b\n\
         $TTL\n\
         $INCLUDE nowhere\n\
         h.other. A 192.0.2.1\n\
         \tTXT left out with its owner\n\
         i TXT good\n",
    );
    assert_eq!(
        findings(&reading),
        [
            "root:3:18 extra-field extra",
            "root:4:1 bad-owner c..d",
            "root:8:2 unknown-type é",
            "root:9:7 unclosed-quote \"open",
            "root:10:5 bad-address 192.0.2.300",
            "root:11:3 bad-ttl 192.0.2.1",
            "root:12:9 bad-origin a..b",
            "root:13:5 missing-argument ",
            "root:14:10 include-failed nowhere",
            "root:15:1 out-of-zone h.other.",
        ]
    );
    assert!(reading.diagnostics[8].message.contains("there is no file nowhere"));
    assert!(reading.diagnostics[5].advice.starts_with("`A` was read as the owner"));
    assert_eq!(reading.into_text().unwrap_err().len(), 10);
}

#[test]
fn an_open_parenthesis_does_not_hide_what_is_wrong_below() {
    let reading = read_str("$TTL 1\n@ SOA a b (\n\t1 2\n\t3 4 5\n\na A 1.2.3\nb TXT ( x\n");
    assert_eq!(
        findings(&reading),
        ["root:2:11 unbalanced-parentheses (", "root:6:5 bad-address 1.2.3", "root:7:7 unbalanced-parentheses ("]
    );
}

#[test]
fn files_that_are_no_master_files_are_refused_with_the_cause() {
    let utf16: Vec<u8> = "$TTL 300\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf16_with_mark = [&[0xFF, 0xFE], &utf16[..]].concat();
    for (octets, expected) in [
        (&b"\xEF\xBB\xBF$TTL 300\n"[..], "root:1:1 byte-order-mark "),
        (&utf16, "root:1:1 utf-16 "),
        (&utf16_with_mark, "root:1:1 utf-16 "),
        (b"$TTL 300\ra 1 TXT x\rb 1 TXT y\r", "root:1:9 carriage-return "),
        (b"$TTL 300\na TXT x\0y\n", "root:2:8 nul \0"),
        (b"$TTL 300\na\xC2\xA0TXT x\n", "root:2:2 no-break-space \u{a0}"),
    ] {
        let reading = read_files(octets, &[]);
        assert_eq!(findings(&reading), [expected], "{octets:?}");
        assert!(!reading.diagnostics[0].advice.is_empty());
    }
}

#[test]
fn inclusions_are_bounded_and_loops_named() {
    let reading = read_files(b"$TTL 1\n$INCLUDE a\n", &[("a", "$INCLUDE b\n"), ("b", "x TXT y\n$INCLUDE a\n")]);
    assert_eq!(findings(&reading), ["b:2:10 include-loop a"]);
    assert!(reading.diagnostics[0].message.ends_with("a -> b -> a"), "{}", reading.diagnostics[0].message);

    let deep: Vec<_> = (0..30).map(|i| (format!("f{i}"), format!("$INCLUDE f{}\n", i + 1))).collect();
    let deep: Vec<_> = deep.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert_eq!(findings(&read_files(b"$INCLUDE f0\n", &deep)), ["f18:1:10 include-limit f19"]);

    // Each file includes the next twice: 2^15 inclusions, were they not bounded.
    let wide: Vec<_> = (0..15).map(|i| (format!("f{i}"), format!("$INCLUDE f{0}\n$INCLUDE f{0}\n", i + 1))).collect();
    let mut wide: Vec<_> = wide.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    wide.push(("f15", "\n"));
    let reading = read_files(b"$INCLUDE f0\n", &wide);
    assert!(findings(&reading).iter().all(|found| found.contains("include-limit")), "{:?}", findings(&reading));
    assert!(reading.into_text().is_err());
}

#[test]
fn an_included_file_has_its_own_origin_and_owner() {
    let files = [("inc", "\tTXT same-owner\n$ORIGIN deep\n@ TXT origin\n$TTL 9\n")];
    let reading = read_files(b"$TTL 1\n@ SOA a b 1 2 3 4 5\no TXT x\n$INCLUDE inc sub\n\tTXT back\np TXT y\n", &files);
    assert_eq!(reading.text.files, ["root", "inc"]);
    assert_eq!(
        records(reading)[2..],
        [
            "o.x.test. 1 TXT \"same-owner\"",
            "deep.sub.x.test. 1 TXT \"origin\"",
            "o.x.test. 9 TXT \"back\"",
            "p.x.test. 9 TXT \"y\""
        ]
    );
}

#[test]
fn what_generate_makes_is_bounded_and_wrong_only_once() {
    let reading = read_str("$TTL 1\n$GENERATE 0-2147483647 a$ A 192.0.2.1\n  $GENERATE\n");
    assert_eq!(findings(&reading), ["root:2:11 generate-limit 0-2147483647", "root:3:3 no-owner $GENERATE"]);
    let reading = read_str("$TTL 1\n$GENERATE 250-999 a$ A 192.0.2.$\n");
    assert_eq!(findings(&reading), ["root:2:19 bad-address 192.0.2.256"]);
    let reading = read_str("$GENERATE 1-9 a$ A\n$GENERATE 1-9 a$ A 192.0.2.$\n");
    assert_eq!(findings(&reading), ["root:1:19 missing-argument ", "root:2:15 no-ttl "]);
}

#[test]
fn the_list_of_findings_is_bounded_and_errors_count_all_the_same() {
    let warnings = "a 4294967295 A 192.0.2.1\n".repeat(1500);
    let reading = read_str(&("$TTL 1\n".to_owned() + &warnings + "b A 1\n"));
    assert_eq!(reading.diagnostics.len(), 1002);
    assert_eq!(findings(&reading)[1000..], ["root:1502:5 bad-address 1", "root:0:0 more-findings "]);
    assert!(reading.into_text().is_err());
    let reading = read_str(&("$TTL 1\n".to_owned() + &warnings));
    assert_eq!((reading.diagnostics.len(), reading.into_text().unwrap().records.len()), (1001, 1500));
}

#[test]
fn a_missing_ttl_is_told_once_and_taken_as_bind_takes_it() {
    let reading = read_str("@ SOA a b 1 2 3 4 77\na A 192.0.2.1\nb 5 A 192.0.2.1\nc A 192.0.2.1\n");
    assert_eq!(findings(&reading), ["root:1:3 ttl-of-soa-minimum SOA"]);
    assert_eq!(
        reading.into_text().unwrap().records.iter().map(|r| r.ttl.seconds()).collect::<Vec<_>>(),
        [77, 77, 5, 77]
    );
    let reading = read_str("@ 9 SOA a b 1 2 3 4 77\na A 192.0.2.1\nb 5 A 192.0.2.1\nc A 192.0.2.1\n");
    assert_eq!(findings(&reading), ["root:2:3 ttl-of-last-record A"]);
    assert_eq!(reading.into_text().unwrap().records.iter().map(|r| r.ttl.seconds()).collect::<Vec<_>>(), [9, 9, 5, 5]);
    assert_eq!(findings(&read_str("a A 192.0.2.1\nb A 192.0.2.1\n")), ["root:1:3 no-ttl A"]);
}

/// One octet repeated, or a short text: none may take time that grows with the square of the file.
#[test]
fn no_text_makes_reading_slow() {
    for unit in [
        "(",
        ")",
        "\"",
        "(\n",
        "a (\n",
        "\\",
        " ",
        "\t(",
        ";",
        "\r",
        "a 1 TXT x\n(",
        "a 1 TXT \"",
        "$GENERATE 1-9 a A (\n",
    ] {
        let _ = read_str(&unit.repeat(2_000_000 / unit.len())).into_text();
    }
    let parameters: String = (8..60_000).rev().map(|key| format!(" key{key}")).collect();
    let reading = read_str(&format!("a 1 SVCB 1 .{parameters}\n"));
    assert_eq!(findings(&reading), ["root:1:65535 long-data key8"]);
}

#[test]
fn a_zone_writes_and_reads_back() {
    use crate::zone::rrsets::Zone;
    let text = read_str(
        "$TTL 300\nz.Y TXT \"a b\" \\255\n@ 5 SOA A b 1 2 3 4 5\n@ NS a\n@ NS b.X.test.\n@ 9 NS c.other.\n\\@.* MX 1 \\$a\nu TYPE65280 \\# 1 00\n",
    );
    let zone = Zone::new(Some(&text.into_text().unwrap()), None).unwrap();
    let written = crate::zone::write::zone(&zone);
    assert_eq!(
        written,
        "$ORIGIN x.test.\n\
         @\t5\tSOA\tA b 1 2 3 4 5\n\
         \t9\tNS\ta\n\
         \t9\tNS\tb.X.test.\n\
         \t9\tNS\tc.other.\n\
         \\@.*\t300\tMX\t1 \\$a\n\
         u\t300\tTYPE65280\t\\# 1 00\n\
         z.Y\t300\tTXT\t\"a b\" \"\\255\"\n"
    );
    let again = Zone::new(Some(&read_str(&written).into_text().unwrap()), None).unwrap();
    assert_eq!(again.digest(), zone.digest());
}
