//! The public paths of the crate, as `public-api.txt` lists them: a change of that file is a change of the interface.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

/// The file of a public module: `a.rs` or `a/mod.rs`.
fn module_file(folder: &Path, name: &str) -> PathBuf {
    let file = folder.join(format!("{name}.rs"));
    if file.exists() { file } else { folder.join(name).join("mod.rs") }
}

/// The one hidden module: what is in it is for this repository's other crates and no part of the interface.
const INTERNAL: &str = "#[doc(hidden)]\npub mod internal;\n";

/// Top-level items of one file: every statement that begins with `pub ` at the start of a line, hidden from the documentation or not.
fn statements(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("pub ") {
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
    for statement in statements(&source.replace(INTERNAL, "")) {
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

/// All public paths of the crate.
fn public_paths() -> Vec<String> {
    let mut found = Vec::new();
    walk("noisewright", &package().join("src/lib.rs"), &mut found);
    found.sort();
    found.dedup();
    found
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What results are made of is read, not written; what the prelude holds has another name.
const PARTS: &str = "noisewright::parts::";
const PRELUDE: &str = "noisewright::prelude::";

#[test]
fn the_public_paths_are_those_of_the_listing() {
    let found = public_paths();
    let listing = package().join("public-api.txt");
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

#[test]
fn the_prelude_holds_nothing_of_its_own_and_the_face_is_small() {
    let paths = public_paths();
    let (prelude, own): (Vec<_>, Vec<_>) = paths.iter().partition(|path| path.starts_with(PRELUDE));
    let last = |path: &str| path.rsplit("::").next().unwrap().to_owned();
    for path in prelude {
        assert!(own.iter().any(|other| last(other) == last(path)), "{path} has no other path");
    }
    let written = own.iter().filter(|path| !path.starts_with(PARTS)).count();
    // A face that one can read at a sitting; what a new feature needs may go to `parts`, or behind a builder.
    assert!(written <= 165, "{written} public paths outside of `parts`");
}

/// Attributes that hide something, with the line that follows each.
fn hidden(source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let after = lines.windows(2).filter(|pair| pair[0].starts_with("#[doc(hidden)"));
    after.map(|pair| pair[1].to_owned()).collect()
}

/// Users write `..Options::default()` because of the field `more`; the syntax tree of noises in words is internal.
const HIDDEN_FIELDS: [&str; 4] = [
    "pub more: crate::More,",
    "pub more: More,",
    "pub terms: Vec<(Weight, Call)>,",
    "pub designed: Option<Designer<'a>>,",
];

#[test]
fn nothing_but_the_internal_module_is_hidden() {
    let hiding = "#[doc(hidden)]\npub use a::Old;\n#[doc(hidden)]\npub mod old;\n";
    assert_eq!(statements(hiding), ["pub use a::Old;", "pub mod old;"], "hidden paths are listed as well");
    let mut doors = 0;
    for file in sources(&package().join("src")) {
        for line in hidden(&fs::read_to_string(&file).unwrap()) {
            let door = file.ends_with("src/lib.rs") && INTERNAL.contains(&line);
            doors += usize::from(door);
            assert!(door || HIDDEN_FIELDS.contains(&line.as_str()), "{}: {line} is hidden", file.display());
        }
    }
    assert_eq!(doors, 1);
}

/// The paths under `noisewright` that the `use` statements of a text name.
fn imported(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (_, rest) in
        text.match_indices("use noisewright::").map(|(at, found)| text.split_at(at + found.len()))
    {
        let statement = &rest[..rest.find(';').expect("a `use` that ends")];
        assert!(
            !statement.contains("::{") || statement.matches('{').count() == 1,
            "{statement}: one list at most"
        );
        let (module, list) = match statement.split_once('{') {
            Some((module, list)) => (module, list.trim_end_matches('}')),
            None => ("", statement),
        };
        let names = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        paths.extend(names.map(|name| format!("noisewright::{module}{name}")));
    }
    paths
}

#[test]
fn pages_and_examples_use_listed_paths_only() {
    let (paths, root) = (public_paths(), package().join("../.."));
    let files = |folder: PathBuf, ending: &str| -> Vec<PathBuf> {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        entries.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == ending)).collect()
    };
    let mut texts = files(root.join("docs/src"), "md");
    texts.extend(files(package().join("examples"), "rs"));
    texts.extend([root.join("README.md"), package().join("README.md"), package().join("src/lib.rs")]);
    let mut seen = 0;
    for file in texts {
        for path in imported(&fs::read_to_string(&file).unwrap()) {
            seen += 1;
            let known = path == "noisewright::prelude::*" || paths.contains(&path);
            assert!(known, "{}: {path} is not in the listing", file.display());
        }
    }
    assert!(seen >= 15, "{seen} imports");
}

/// All source files of a folder and of those in it.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of = |path: PathBuf| if path.is_dir() { sources(&path) } else { vec![path] };
    entries.flat_map(of).filter(|path| path.extension().is_some_and(|e| e == "rs")).collect()
}

/// Each door has words of its own for settings: a sentence of the library that names an option of the command is wrong in all others.
#[test]
fn the_words_of_the_library_name_no_option_of_the_command() {
    let files = sources(&package().join("src"));
    assert!(files.len() > 100, "{} files", files.len());
    for file in files.iter().filter(|file| !file.ends_with("tests.rs")) {
        let text = fs::read_to_string(file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
        for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
            let option = line.match_indices("--").any(|(at, _)| {
                line[at + 2..].starts_with(|next: char| next.is_ascii_lowercase())
                    && !line[..at].ends_with('-')
            });
            assert!(!option, "{}: {line}", file.display());
        }
    }
}
