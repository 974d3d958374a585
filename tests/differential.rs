//! first look
mod support;
use support::lab::*;
use support::{client, generate, message};
#[test]
fn look() {
    isolated("look", || {
        let dir = tempfile::tempdir().unwrap();
        let zones: Vec<generate::Zone> = (0..24).flat_map(|s| generate::zones(s, 24)).collect();
        let files: Vec<ZoneFile> =
            zones.iter().map(|z| ZoneFile::write(dir.path(), &z.origin, z.text.as_bytes())).collect();
        std::fs::create_dir_all("/tmp/zz").unwrap();
        for f in &files {
            std::fs::copy(&f.path, std::path::Path::new("/tmp/zz").join(f.path.file_name().unwrap())).unwrap();
        }
        let kf: Vec<ZoneFile> =
            files.iter().zip(&zones).filter(|(_, z)| !z.below_dname).map(|(f, _)| f.clone()).collect();
        let t = std::time::Instant::now();
        let n = Server::nsd(&files);
        eprintln!("nsd {:?}\n{}", t.elapsed(), n.log());
        let k = Server::knot(&kf);
        eprintln!("knot {:?}\n{}", t.elapsed(), k.log());
        let b = Server::bind(&files);
        eprintln!("bind {:?}\n{}", t.elapsed(), b.log());
        for s in [&b, &n, &k] {
            let t = std::time::Instant::now();
            let mut tot = 0;
            let mut mal = 0;
            let mut none = 0;
            for (i, z) in zones.iter().enumerate() {
                let qs = generate::questions(z, i as u64, 3600);
                let p: Vec<Vec<u8>> = qs
                    .iter()
                    .map(|q| message::query(0, q.name.as_ref(), q.qtype, q.recursion_desired, q.payload))
                    .collect();
                let a = client::ask(s.address, &p);
                tot += a.len();
                for (q, a) in qs.iter().zip(&a) {
                    if a.is_empty() {
                        none += 1;
                        if none < 5 {
                            eprintln!("{q:?}")
                        }
                    } else if let Err(e) = message::read(a) {
                        mal += 1;
                        if mal < 6 {
                            eprintln!("{} {q:?} {e} {a:?}", s.name)
                        }
                    }
                }
            }
            eprintln!("{} {tot} none {none} malformed {mal} {:?}", s.name, t.elapsed());
        }
    });
}
