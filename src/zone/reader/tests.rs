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
