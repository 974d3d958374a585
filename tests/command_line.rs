//! The program as scripts see it: exit codes, and what goes where.

use std::path::Path;
use std::process::{Command, Output, Stdio};

fn understudy(dir: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_understudy"));
    command.current_dir(dir).args(line.split_whitespace()).stdin(Stdio::null()).output().unwrap()
}

const GOOD: &str = "$TTL 60\n@ IN SOA ns h 1 1h 10m 2w 60\n@ IN NS ns\n@ IN NS ns.b.example.\nns IN A 192.0.2.1\n";

#[test]
fn exit_codes_say_how_it_went() {
    let here = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| std::fs::write(here.path().join(file), text).unwrap();
    write("good.zone", GOOD);
    write("warned.zone", &format!("{GOOD}a IN A 192.0.2.1\na 30 IN A 192.0.2.2\n"));
    write("bad.zone", &format!("{GOOD}a IN AAAAA ::1\nb IN A 192.0.2\n"));
    write("rejected.zone", &format!("{GOOD}a IN CNAME ns\na IN A 192.0.2.2\n"));
    let zone = |file: &str| format!("version = 1\n[[zone]]\nname = 'a.example'\nfile = '{file}'\n");
    write("understudy.toml", &zone("good.zone"));
    write("lost.toml", &zone("lost.zone"));
    let odd = "[[classes]]\nname = 'odd'\nweight = 100\nprofile = { positive = { floor = 9, stale = { for = 60 } } }\n";
    write("clients.toml", odd);
    write("slip.toml", &zone("good.zone").replace("file", "flie"));

    let latin1 = [zone("good.zone").as_bytes(), b"# K\xF6ln\n"].concat();
    std::fs::write(here.path().join("latin1.toml"), [b"version = 1\n# K\xF6ln\n", &latin1[..]].concat()).unwrap();

    // What is typed, the exit code, and what standard output and standard error have to say; neither panics.
    for (line, code, out, err) in [
        ("check", 0, "a.example, main: 4 records: accepted, 0 errors, 0 warnings", ""),
        ("check --json", 0, "\"accepted\": true", ""),
        ("check a.example warned.zone", 0, "accepted, 0 errors, 1 warning", ""),
        ("check a.example bad.zone", 1, "bad.zone:6:", ""),
        ("check a.example bad.zone", 1, "rejected, 2 errors", ""),
        ("check a.example rejected.zone", 1, "rejected, 1 error", ""),
        ("check a.example .", 1, "not a file", ""),
        ("check lost.toml", 1, "lost.zone", ""),
        ("check slip.toml", 1, "slip.toml:4:1: error: zone.flie: there is no such key", ""),
        ("check slip.toml --json", 1, "\"key\": \"zone.flie\"", ""),
        ("check nowhere.toml", 1, "", "nowhere.toml can't be read"),
        ("status", 1, "", "no understudy is running on the state directory var"),
        ("status --state-dir elsewhere", 1, "", "the state directory elsewhere"),
        ("status --config slip.toml", 1, "", "no understudy is running on the state directory var"),
        ("status --json", 1, "{\n  \"failure\": {\n    \"what\": \"no understudy is running", ""),
        ("failover a.example --to main", 1, "", "nothing was changed"),
        ("reload", 1, "", "no understudy is running"),
        ("query www.b.example A", 1, "", "is in none of the configured zones"),
        ("query ns.A.example a", 0, "ns.A.example.\t60\tIN\tA\t192.0.2.1", ""),
        ("query nope.a.example A --client 192.0.2.0/24", 0, "status: NXDOMAIN", ""),
        ("query a.example A --config lost.toml", 1, "", "can't be served"),
        ("query a.example A --site mian", 1, "", "did you mean `main`?"),
        ("query ns.a.example A --json", 0, "\"data\": \"192.0.2.1\"", ""),
        ("query ns.a.example A", 0, "from the files on disk, and so is the serial", ""),
        ("failover a.example", 2, "", "--to <SITE>"),
        ("failover a.example --json", 2, "{\n  \"failure\": {\n    \"what\": \"the following required", ""),
        ("frobnicate --json", 2, "\"what\": \"unrecognized subcommand", ""),
        ("check good.zone", 1, "", "understudy check ORIGIN good.zone"),
        ("check latin1.toml", 1, "", "latin1.toml:2: this line is not UTF-8"),
        ("serve --help", 0, "UNDERSTUDY_LOG", ""),
        ("frobnicate", 2, "", "unrecognized subcommand"),
        ("simulate --clients 2000 --ttl 30", 0, "2000 clients behind", ""),
        ("simulate --clients 2000 --violators 0% --applications 0% --json", 0, "\"apart\": 0.", ""),
        ("simulate --clients 2000 --step 10% --wait 1m --capacity 9", 0, "WARNING: the step to", ""),
        ("simulate --clients 2000 --population clients.toml", 0, "`odd` treats negative answers as others", ""),
        ("simulate --population nowhere.toml", 1, "", "nowhere.toml: "),
        ("simulate --population slip.toml", 1, "", "slip.toml: TOML parse error"),
        ("simulate --step 30% --step 10%", 2, "", "must rise"),
        ("simulate --ttl soon", 2, "", "`soon` is no TTL"),
        ("simulate --pause 0 --clients 5", 2, "", "less than a second"),
        ("simulate --clients 0", 2, "", "0 is not in"),
        ("completions bash", 0, "_understudy()", ""),
        ("--version", 0, env!("CARGO_PKG_VERSION"), ""),
        ("serve --help", 0, "Examples:", ""),
    ] {
        let output = understudy(here.path(), line);
        let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "understudy {line}\n{stdout}\n{stderr}");
        assert!(stdout.contains(out) && stderr.contains(err), "understudy {line}\n{stdout}\n{stderr}");
        assert!(!out.is_empty() || stdout.is_empty(), "understudy {line}\n{stdout}");
        assert!(!err.is_empty() || stderr.is_empty(), "understudy {line}\n{stderr}");
    }
    assert!(!here.path().join("var").exists(), "no command but serve makes the state directory");
}

#[test]
fn nobody_reading_is_no_error() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_understudy"));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.args(["completions", "zsh"]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn a_report_that_cannot_be_written_is_an_error() {
    let here = tempfile::tempdir().unwrap();
    std::fs::write(here.path().join("a.zone"), GOOD).unwrap();
    for line in
        ["check a.example a.zone", "check a.example a.zone --json", "completions zsh", "--help", "frobnicate --json"]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_understudy"));
        command.current_dir(here.path()).args(line.split_whitespace()).stdin(Stdio::null()).stdout(full);
        let output = command.stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "understudy {line}\n{stderr}");
        assert!(stderr.contains("the report can't be written"), "understudy {line}\n{stderr}");
    }
}
