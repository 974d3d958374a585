//! Holds every file of `src/` to the layers of `ARCHITECTURE.md`: a file names only modules of its own layer and of the
//! layers above, and only the outside crates and `std` modules that its layer is allowed.
//!
//! Paths are read with `syn`, wherever they stand: `use` trees, expressions, types, attributes, macro calls and macro
//! definitions. Code under `#[cfg(test)]` is free.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::buffer::{Cursor, TokenBuffer};
use syn::visit::{self, Visit};

/// A layer: its modules, and what they may name.
struct Layer {
    name: &'static str,
    /// The top-level modules, in order.
    modules: &'static [&'static str],
    /// Whether a module may name only those in front of it, or every module of the layer.
    ordered: bool,
    /// Outside crates, or parts of them.
    crates: Allowed,
    /// `std` modules and items: one allows all below it. `core` and `alloc` count as `std`.
    std: Allowed,
    /// Macros of the standard library that write or stop.
    denied_macros: &'static [&'static str],
}

enum Allowed {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

/// What is pure: no file, socket, clock, thread, process or environment is among it.
#[rustfmt::skip]
const PURE_STD: Allowed = Allowed::Only(&[
    "any", "array", "ascii", "borrow", "boxed", "char", "cmp", "convert", "default", "error", "fmt", "iter", "marker",
    "mem", "num", "ops", "option", "rc", "result", "slice", "str", "string", "vec",
    // Without `RandomState`, by either path.
    "collections::BTreeMap", "collections::BTreeSet", "collections::BinaryHeap", "collections::HashMap",
    "collections::HashSet", "collections::VecDeque", "collections::btree_map", "collections::hash_map::Entry",
    "hash::BuildHasher", "hash::BuildHasherDefault", "hash::Hash", "hash::Hasher",
    "net::AddrParseError", "net::IpAddr", "net::Ipv4Addr", "net::Ipv6Addr",
    "net::SocketAddr", "net::SocketAddrV4", "net::SocketAddrV6", "ptr::eq", "ptr::from_ref",
    "sync::Arc", "sync::LazyLock", "sync::OnceLock", "sync::Weak", "time::Duration",
    // Associated items of primitive types.
    "bool", "f64", "i16", "i32", "i64", "i8", "isize", "u128", "u16", "u32", "u64", "u8", "usize",
    // Macros.
    "assert", "assert_eq", "concat", "debug_assert", "format", "matches", "unreachable", "write", "writeln",
]);
const PURE_DENIED_MACROS: &[&str] = &["dbg", "eprint", "eprintln", "print", "println", "todo", "unimplemented"];

const LAYERS: &[Layer] = &[
    Layer {
        name: "processor",
        modules: &["prefetch"],
        ordered: false,
        crates: Allowed::Only(&[]),
        std: Allowed::Only(&["arch", "ptr::from_ref"]),
        denied_macros: PURE_DENIED_MACROS,
    },
    Layer {
        name: "vocabulary",
        modules: &["name", "time", "serial", "digest", "net", "evidence", "rr", "count", "share", "table"],
        ordered: false,
        crates: Allowed::Only(&["serde", "sha2", "thiserror"]),
        std: PURE_STD,
        denied_macros: PURE_DENIED_MACROS,
    },
    Layer {
        name: "core",
        modules: &[
            "zone",
            "rename",
            "snapshot",
            "serving",
            "canary",
            "drill",
            "gate",
            "door",
            "exposure",
            "profile",
            "observation",
            "drain",
            "gain",
            "failover",
        ],
        ordered: true,
        // Of `ring` what verifies signatures; nothing that draws random numbers.
        crates: Allowed::Only(&["foldhash", "ring::signature", "serde", "sha1", "sha2", "siphasher", "thiserror"]),
        std: PURE_STD,
        denied_macros: PURE_DENIED_MACROS,
    },
    Layer {
        name: "shell",
        modules: &["pages", "serve", "probe", "store", "world", "driver"],
        ordered: true,
        crates: Allowed::AllBut(&["axum", "clap", "toml", "tracing_subscriber"]),
        std: Allowed::AllBut(&["env", "process::abort", "process::exit"]),
        denied_macros: &["dbg", "print", "println", "todo", "unimplemented"],
    },
    Layer {
        name: "edge",
        modules: &["config", "control", "cli", "daemon", "main"],
        ordered: false,
        crates: Allowed::AllBut(&["libc", "rusqlite"]),
        std: Allowed::AllBut(&[]),
        denied_macros: &["dbg", "todo", "unimplemented"],
    },
];

#[test]
fn every_file_keeps_to_its_layer() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let outside = dependencies(&fs::read_to_string(root.join("Cargo.toml")).unwrap());
    let mut sources = BTreeMap::new();
    collect(&root.join("src"), &mut Vec::new(), &mut sources);
    assert!(sources.len() > 10, "only {} files found", sources.len());
    let found = check(&sources, &outside);
    assert!(found.is_empty(), "{} breaches of the layers:\n  {}", found.len(), found.join("\n  "));
}

/// The crates under `[dependencies]`, as they are named in code.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    manifest["dependencies"].as_table().unwrap().keys().map(|name| name.replace('-', "_")).collect()
}

/// The sources under `dir` by module path (`zone::text`); `lib.rs` has the empty one, `main.rs` is `main`.
fn collect(dir: &Path, module: &mut Vec<String>, sources: &mut BTreeMap<String, String>) {
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        module.push(stem.clone());
        if path.is_dir() {
            collect(&path, module, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let own = if matches!(stem.as_str(), "mod" | "lib") { &module[..module.len() - 1] } else { &module[..] };
            sources.insert(own.join("::"), fs::read_to_string(&path).unwrap());
        }
        module.pop();
    }
}

/// The breaches in all `sources`, each said in a line.
fn check(sources: &BTreeMap<String, String>, outside: &BTreeSet<String>) -> Vec<String> {
    let scanned: Vec<(&String, Scan)> = sources.iter().map(|(module, text)| (module, Scan::of(module, text))).collect();
    let tests: BTreeSet<&String> = scanned.iter().flat_map(|(_, scan)| &scan.test_modules).collect();
    let is_test = |module: &str| tests.iter().any(|test| module == *test || module.starts_with(&format!("{test}::")));
    let mut found = Vec::new();
    for (module, scan) in scanned.iter().filter(|(module, _)| !module.is_empty() && !is_test(module)) {
        let top = module.split("::").next().unwrap();
        let Some(layer) = layer_of(top) else {
            found.push(format!("{module}: `{top}` is in no layer: give it its place in tests/layers.rs"));
            continue;
        };
        let breaches = scan.paths.iter().filter_map(|path| breach(&LAYERS[layer], layer, top, path, outside));
        let denied = scan.macros.iter().filter(|name| LAYERS[layer].denied_macros.contains(&name.as_str()));
        found.extend(breaches.map(|why| format!("{module}: {why}")));
        found.extend(denied.map(|name| format!("{module}: `{name}!` has no place in the {}", LAYERS[layer].name)));
    }
    found
}

fn layer_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.modules.contains(&module))
}

/// Why the module `top` of `layer` may not name `path`, if it may not.
fn breach(layer: &Layer, index: usize, top: &str, path: &Named, outside: &BTreeSet<String>) -> Option<String> {
    let text = path.text();
    let Some(first) = path.segments.first() else { return Some("names the whole crate".into()) };
    match first.as_str() {
        "crate" | "understudy" if path.rooted => {
            let Some(target) = path.segments.get(1).filter(|target| *target != "*") else {
                return Some(format!("`{text}` names the whole crate: name the modules"));
            };
            if target == top {
                return None;
            }
            // A name that is no module is a macro or an item of lib.rs.
            let Some(other) = layer_of(target) else {
                return Some(format!("`{text}`: `{target}` is in no layer"));
            };
            let position = |module: &str| layer.modules.iter().position(|known| *known == module);
            if other > index {
                Some(format!("`{text}` is of the {}, a layer below the {}", LAYERS[other].name, layer.name))
            } else if other == index && layer.ordered && position(target) > position(top) {
                Some(format!("`{text}`: in the {}, `{target}` stands below `{top}`", layer.name))
            } else {
                None
            }
        }
        "std" | "core" | "alloc" => {
            let rest = path.segments[1..].join("::");
            (!layer.std.allows(&rest)).then(|| format!("`{text}` is not for the {}", layer.name))
        }
        name if outside.contains(name) || path.external => {
            (!layer.crates.allows(&text)).then(|| format!("`{text}`: the crate `{name}` is not for the {}", layer.name))
        }
        _ => None,
    }
}

impl Allowed {
    fn allows(&self, path: &str) -> bool {
        let within = |outer: &str, inner: &str| {
            inner == outer || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
        };
        match self {
            Allowed::Only(list) => list.iter().any(|known| within(known, path)),
            // Who names the module around a denied item can reach the item through it.
            Allowed::AllBut(list) => {
                let opened = path.strip_suffix("*").map_or(path, |front| front.trim_end_matches("::"));
                !list.iter().any(|known| within(known, path) || opened.is_empty() || within(opened, known))
            }
        }
    }
}

/// A path that a file names, `self` and `super` resolved.
struct Named {
    segments: Vec<String>,
    /// It began with `crate`, `self`, `super`, or the name of this crate.
    rooted: bool,
    /// It began with `::` or stood in `extern crate`.
    external: bool,
}

impl Named {
    fn text(&self) -> String {
        self.segments.join("::")
    }
}

/// What one file names.
#[derive(Default)]
struct Scan {
    /// The module path of what is being read; the file's own to begin with.
    module: Vec<String>,
    paths: Vec<Named>,
    macros: BTreeSet<String>,
    /// The next path is that of an item of a type in angle brackets.
    within_type: bool,
    /// The modules declared under `#[cfg(test)]`.
    test_modules: Vec<String>,
}

impl Scan {
    fn of(module: &str, text: &str) -> Scan {
        let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{module}: {error}"));
        let module = module.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let mut scan = Scan { module, ..Scan::default() };
        scan.visit_file(&file);
        scan
    }

    /// Takes in a path of more than one segment, or one that stands in a `use`.
    fn name(&mut self, segments: &[String], external: bool) {
        let first = segments[0].as_str();
        let rooted = !external && matches!(first, "crate" | "self" | "super" | "understudy");
        let resolved = if !external && matches!(first, "self" | "super") {
            let skip = segments.iter().take_while(|s| matches!(s.as_str(), "self" | "super")).count();
            let ups = segments[..skip].iter().filter(|segment| *segment == "super").count();
            let kept = self.module.len().saturating_sub(ups);
            [&["crate".to_owned()][..], &self.module[..kept], &segments[skip..]].concat()
        } else {
            segments.to_vec()
        };
        self.paths.push(Named { segments: resolved, rooted, external });
    }

    fn use_tree(&mut self, tree: &syn::UseTree, front: &mut Vec<String>, external: bool) {
        let leaf = |scan: &mut Scan, front: &[String], name: String| {
            let itself = name == "self" && !front.is_empty();
            let path = if itself { front.to_vec() } else { [front, &[name][..]].concat() };
            scan.name(&path, external);
        };
        match tree {
            syn::UseTree::Path(path) => {
                front.push(path.ident.to_string());
                self.use_tree(&path.tree, front, external);
                front.pop();
            }
            syn::UseTree::Name(name) => leaf(self, front, name.ident.to_string()),
            syn::UseTree::Rename(rename) => leaf(self, front, rename.ident.to_string()),
            syn::UseTree::Glob(_) => leaf(self, front, "*".into()),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|item| self.use_tree(item, front, external));
            }
        }
    }

    /// The paths among tokens that are not parsed: those of a macro call, a macro definition or an attribute.
    fn tokens(&mut self, mut at: Cursor<'_>) {
        let mut closes_type = false;
        while !at.eof() {
            if let Some((inside, _, _, after)) = at.any_group() {
                self.tokens(inside);
                at = after;
            } else if let Some((first, after)) = at.ident() {
                at = self.path_tokens(vec![first.to_string()], false, after);
            } else if let Some((first, after)) = double_colon(at).and_then(Cursor::ident) {
                // What follows a type in angle brackets is an item of it.
                at = if closes_type { after } else { self.path_tokens(vec![first.to_string()], true, after) };
                closes_type = false;
            } else {
                closes_type = at.punct().is_some_and(|(punct, _)| punct.as_char() == '>');
                at = at.token_tree().expect("not at the end").1;
            }
        }
    }

    /// Goes on with a path whose first segments are `path`; returns where it ends.
    fn path_tokens<'a>(&mut self, mut path: Vec<String>, external: bool, mut at: Cursor<'a>) -> Cursor<'a> {
        if let Some((_, after)) = at.punct().filter(|(punct, _)| punct.as_char() == '!')
            && after.any_group().is_some()
        {
            self.macros.insert(path.last().cloned().unwrap_or_default());
        }
        while let Some(after) = double_colon(at) {
            if let Some((segment, after)) = after.ident() {
                path.push(segment.to_string());
                at = after;
            } else if let Some((mut inside, _, _, after)) = after.any_group() {
                // A `use` tree within a macro.
                while !inside.eof() {
                    inside = match inside.ident() {
                        Some((segment, rest)) => {
                            self.path_tokens([&path[..], &[segment.to_string()]].concat(), external, rest)
                        }
                        None => inside.token_tree().expect("not at the end").1,
                    };
                }
                return after;
            } else {
                // `::<` or `::*`.
                let glob = after.punct().is_some_and(|(punct, _)| punct.as_char() == '*');
                path.extend(glob.then(|| "*".to_owned()));
                at = after;
                break;
            }
        }
        if path.len() > 1 || external {
            self.name(&path, external);
        }
        at
    }
}

fn double_colon(at: Cursor<'_>) -> Option<Cursor<'_>> {
    let (first, after) = at.punct()?;
    let (second, after) = after.punct()?;
    (first.as_char() == ':' && second.as_char() == ':').then_some(after)
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        match attribute.parse_args::<syn::Meta>() {
            Ok(syn::Meta::Path(path)) => path.is_ident("test"),
            Ok(syn::Meta::List(all)) if all.path.is_ident("all") => {
                all.tokens.to_string().split(',').any(|part| part.trim() == "test")
            }
            _ => false,
        }
    })
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

impl<'ast> Visit<'ast> for Scan {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_test(attributes(item)) {
            visit::visit_item(self, item);
        } else if let syn::Item::Mod(module) = item {
            let path = [&self.module[..], &[module.ident.to_string()]].concat();
            self.test_modules.push(path.join("::"));
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_test(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.use_tree(&item.tree, &mut Vec::new(), item.leading_colon.is_some());
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        self.name(&[item.ident.to_string()], true);
    }

    fn visit_qself(&mut self, qself: &'ast syn::QSelf) {
        visit::visit_qself(self, qself);
        // The path of `<T>::f` comes next: `::f`, which is no crate.
        self.within_type = qself.position == 0;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let within_type = std::mem::take(&mut self.within_type);
        if !within_type && (segments.len() > 1 || path.leading_colon.is_some()) {
            self.name(&segments, path.leading_colon.is_some());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.macros.extend(call.path.segments.last().map(|segment| segment.ident.to_string()));
        self.tokens(TokenBuffer::new2(call.tokens.clone()).begin());
    }

    fn visit_meta_list(&mut self, list: &'ast syn::MetaList) {
        self.visit_path(&list.path);
        self.tokens(TokenBuffer::new2(list.tokens.clone()).begin());
    }
}

/// The breaches in one file that stands as `module`.
fn breaches(module: &str, text: &str) -> Vec<String> {
    let outside = ["serde", "tokio", "clap", "ring", "rusqlite"].map(str::to_owned).into();
    check(&BTreeMap::from([(module.to_owned(), text.to_owned())]), &outside)
}

#[test]
fn every_kind_of_breach_is_caught() {
    for (module, text, said) in [
        // A lower layer, by each way of naming it.
        ("zone::text", "use crate::store::Store;", "crate::store::Store"),
        ("zone::text", "use crate::{name::Name, store};", "crate::store"),
        ("zone::text", "use super::super::store::Store;", "crate::store::Store"),
        ("zone", "use super::store as s;", "crate::store"),
        ("zone", "use self::super::store;", "crate::store"),
        ("zone::text", "mod inner { use super::super::super::cli::run; }", "crate::cli::run"),
        ("zone::text", "fn f() { crate::serve::udp::run() }", "crate::serve::udp::run"),
        ("zone::text", "fn f(_: &dyn crate::world::World) {}", "crate::world::World"),
        ("zone::text", "fn f() { <u8 as crate::world::World>::now() }", "crate::world::World"),
        ("zone::text", "fn f() { format!(\"{}\", crate::driver::run(1)) }", "crate::driver::run"),
        ("zone::text", "macro_rules! m { () => { $crate::driver::run() } }", "crate::driver::run"),
        ("zone::text", "m! { use crate::{name::Name, store::{Store, Row}}; }", "crate::store::Row"),
        ("zone::text", "#[derive(crate::control::Route)] struct S;", "crate::control::Route"),
        ("zone::text", "pub(in crate::cli) fn f() {}", "crate::cli"),
        ("zone::text", "use understudy::store::Store;", "understudy::store::Store"),
        ("name", "use crate::zone::text;", "a layer below the vocabulary"),
        ("store::journal", "use crate::config::Config;", "a layer below the shell"),
        // The order within a layer.
        ("zone::text", "use crate::snapshot::Snapshot;", "`snapshot` stands below `zone`"),
        ("snapshot", "use crate::failover::State;", "`failover` stands below `snapshot`"),
        // The whole crate, so that what is taken from it can't be seen.
        ("zone", "use crate as c;", "names the whole crate"),
        ("zone", "use crate::*;", "names the whole crate"),
        ("zone", "use super::*;", "names the whole crate"),
        // A module that the table doesn't know.
        ("helpers", "", "is in no layer"),
        ("zone", "use crate::helpers::f;", "`helpers` is in no layer"),
        // std.
        ("zone::text", "use std::fs;", "std::fs"),
        ("zone::text", "use std::{fmt, fs::File};", "std::fs::File"),
        ("zone::text", "use std::time;", "std::time"),
        ("zone::text", "use std::time::*;", "std::time::*"),
        ("zone::text", "use std::time::{Duration, Instant};", "std::time::Instant"),
        ("zone::text", "use std::{self as s};", "std"),
        ("zone::text", "use ::std::thread;", "std::thread"),
        ("zone::text", "extern crate std;", "std"),
        ("zone::text", "fn f() -> u64 { std::process::id().into() }", "std::process::id"),
        ("zone::text", "fn f() { let _ = std::time::SystemTime::now; }", "std::time::SystemTime"),
        ("zone::text", "fn f() { assert!(std::env::var(\"X\").is_ok()) }", "std::env::var"),
        ("snapshot", "use std::net::UdpSocket;", "std::net::UdpSocket"),
        ("snapshot", "use std::collections::hash_map::RandomState;", "RandomState"),
        ("snapshot", "use std::sync::Mutex;", "std::sync::Mutex"),
        ("snapshot", "fn f() { println!(\"x\") }", "`println!`"),
        ("snapshot", "fn f() { g!(dbg!(1)) }", "`dbg!`"),
        ("store", "fn f() { std::process::exit(1) }", "std::process::exit"),
        ("store", "use std::process;", "std::process"),
        // Outside crates.
        ("zone::text", "use tokio::net::UdpSocket;", "the crate `tokio`"),
        ("zone::text", "use tokio;", "the crate `tokio`"),
        ("zone::text", "use ::unheard_of::Thing;", "the crate `unheard_of`"),
        ("zone::text", "fn f() { <::unheard_of::T>::f() }", "the crate `unheard_of`"),
        ("zone::text", "fn f() { ring::rand::SystemRandom::new() }", "ring::rand"),
        ("zone::text", "use ring;", "the crate `ring`"),
        ("zone::text", "extern crate tokio as t;", "the crate `tokio`"),
        ("zone::text", "#[tokio::main] async fn f() {}", "the crate `tokio`"),
        ("store", "use clap::Parser;", "the crate `clap`"),
        ("cli::serve", "fn f(_: rusqlite::Connection) {}", "the crate `rusqlite`"),
    ] {
        let found = breaches(module, text);
        assert!(found.iter().any(|breach| breach.contains(said)), "{module}: {text}\n  found {found:?}");
    }
}

#[test]
fn what_is_right_is_let_through() {
    for (module, text) in [
        ("zone::text", "use crate::{name::{Name, NameRef}, rr::RrType}; use super::rrsets::Zone; use std::fmt;"),
        ("zone::text", "use std::net::{IpAddr, Ipv4Addr}; use std::time::Duration; use std::sync::Arc;"),
        ("zone::text", "#[cfg(test)] mod tests { use super::*; use std::fs; use tokio::net::UdpSocket; }"),
        ("zone::text", "#[cfg(all(test, unix))] fn f() { crate::store::open() }"),
        ("zone::text", "mod inner { use super::*; use super::super::rrsets::Zone; }"),
        ("zone::text", "#[derive(serde::Serialize)] pub(crate) struct S { fs: u8 } fn f(s: S) -> u8 { s.fs }"),
        ("zone::text", "fn f() { u16::from_str_radix(\"1\", 10).map(Vec::with_capacity); Self::new::<u8>() }"),
        ("zone::text", "fn f() { a.any(<[u8]>::is_empty); m!(<[u8]>::is_empty, <u8>::MAX) }"),
        ("zone::text", "use ring::signature::ED25519;"),
        ("snapshot", "use crate::zone::rrsets::Zone;"),
        ("snapshot", "fn f() { let env = 1; m!(env, x: u8, a::b) }"),
        ("cli", "use crate::{store::Store, zone, daemon}; use std::process::exit; use tokio::net::UnixStream;"),
        ("", "pub mod name; pub mod zone;"),
    ] {
        assert_eq!(breaches(module, text), Vec::<String>::new(), "{module}: {text}");
    }
    let sources =
        [("zone", "#[cfg(test)] mod odd;"), ("zone::odd", "use std::fs;"), ("zone::odd::more", "use std::fs;")];
    let sources = sources.map(|(module, text)| (module.to_owned(), text.to_owned())).into();
    assert_eq!(check(&sources, &BTreeSet::new()), Vec::<String>::new(), "files of a test module are free");
}
