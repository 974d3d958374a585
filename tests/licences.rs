//! Every crate that is linked in may be used as we use it: its licence expression is satisfied by permissive licences.

use std::process::Command;

/// Licences that ask for no more than that their text comes along.
const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

#[test]
fn every_dependency_is_permissively_licensed() {
    let target = Command::new(env!("CARGO")).args(["-vV"]).output().unwrap();
    let target = String::from_utf8(target.stdout).unwrap();
    let target = target.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", target])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "only {} packages", packages.len());
    let wrong: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(is_permissive))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert!(wrong.is_empty(), "not known to be permissive:\n  {}", wrong.join("\n  "));
}

/// Whether an SPDX expression (with the `/` that older manifests have for OR) can be met by permissive licences.
fn is_permissive(expression: &str) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    any_of(&words, &mut at) && at == words.len()
}

fn any_of(words: &[&str], at: &mut usize) -> bool {
    let mut met = all_of(words, at);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= all_of(words, at);
    }
    met
}

fn all_of(words: &[&str], at: &mut usize) -> bool {
    let mut met = one(words, at);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= one(words, at);
    }
    met
}

fn one(words: &[&str], at: &mut usize) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let met = any_of(words, at);
        *at += 1;
        return met && words.get(*at - 1) == Some(&")");
    }
    if words.get(*at) == Some(&"WITH") {
        *at += 2;
        return words.get(*at - 1).is_some_and(|exception| PERMISSIVE.contains(&&*format!("{word} WITH {exception}")));
    }
    PERMISSIVE.contains(word)
}

#[test]
fn expressions_are_weighed() {
    for (expression, met) in [
        ("MIT", true),
        ("MIT OR Apache-2.0", true),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT", true),
        ("MIT AND GPL-3.0-only", false),
        ("(MIT OR GPL-3.0-only) AND Unicode-3.0", true),
        ("MIT OR Apache-2.0 AND GPL-3.0-only", true),
        ("(MIT OR Apache-2.0) AND GPL-3.0-only", false),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("GPL-2.0-only WITH Classpath-exception-2.0", false),
        ("(MIT", false),
        ("MIT Apache-2.0", false),
        ("", false),
    ] {
        assert_eq!(is_permissive(expression), met, "{expression}");
    }
}
