//! The public paths of the crate, as `public-api.txt` lists them: a change of that file is a change of the interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

/// The file of a public module: `a.rs` or `a/mod.rs`.
fn module_file(folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(format!("{name}.rs"));
    if file.exists() { file } else { folder.join(name).join("mod.rs") }
}

/// Top-level items of one file: every statement that begins with `pub ` at the start of a line.
fn statements(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = source.lines();
    let mut hidden = false;
    while let Some(line) = lines.next() {
        // What is hidden from the documentation is no part of the interface.
        if line == "#[doc(hidden)]" || hidden && line.starts_with("#[") {
            hidden = true;
            continue;
        }
        if !line.starts_with("pub ") || hidden {
            hidden = hidden && line.starts_with("///");
            continue;
        }
        let mut statement = line.to_owned();
        while line.starts_with("pub use ") && !statement.contains(';') {
            statement += lines.next().expect("a `pub use` that ends").trim();
        }
        found.push(statement);
    }
    found
}

/// The names that `pub use a::{b, c as d};` brings.
fn used_names(statement: &str) -> Vec<String> {
    let path = statement.trim_start_matches("pub use ").trim_end_matches(';');
    let list = match path.split_once('{') {
        Some((_, list)) => list.trim_end_matches('}'),
        None => path.rsplit("::").next().unwrap_or(path),
    };
    let name = |item: &str| {
        item.rsplit(" as ").next().unwrap_or(item).trim().rsplit("::").next().unwrap_or("").to_owned()
    };
    list.split(',').map(name).filter(|name| !name.is_empty()).collect()
}

/// All public paths under a module, the module's own items and those of its public modules.
fn walk(path: &str, file: &Path, out: &mut Vec<String>) {
    let source = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let is_root = file.ends_with("mod.rs") || file.ends_with("lib.rs");
    let folder = if is_root { file.parent().unwrap().to_owned() } else { file.with_extension("") };
    for statement in statements(&source) {
        let words: Vec<&str> =
            statement.split([' ', '<', '(', ':', ';', '{']).filter(|w| !w.is_empty()).collect();
        match words[1] {
            "use" => out.extend(used_names(&statement).into_iter().map(|name| format!("{path}::{name}"))),
            "mod" if statement.ends_with(';') => {
                let inner = format!("{path}::{}", words[2]);
                out.push(inner.clone());
                walk(&inner, &module_file(&folder, words[2]), out);
            }
            "fn" | "struct" | "enum" | "trait" | "type" | "const" => {
                out.push(format!("{path}::{}", words[2]))
            }
            _ => {}
        }
    }
}

#[test]
fn the_public_paths_are_those_of_the_listing() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    walk("noisewright", &root.join("src/lib.rs"), &mut found);
    found.sort();
    found.dedup();
    let listing = root.join("public-api.txt");
    if std::env::var_os("UPDATE_PUBLIC_API").is_some() {
        fs::write(&listing, found.join("\n") + "\n").unwrap();
    }
    let known: Vec<String> = fs::read_to_string(&listing).unwrap().lines().map(str::to_owned).collect();
    let new: Vec<_> = found.iter().filter(|path| !known.contains(path)).collect();
    let gone: Vec<_> = known.iter().filter(|path| !found.contains(path)).collect();
    assert!(
        new.is_empty() && gone.is_empty(),
        "new: {new:#?}\ngone: {gone:#?}\nUPDATE_PUBLIC_API=1 writes the listing; say the change in the changelog"
    );
}
