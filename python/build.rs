//! Lists the examples' models and data, so that the folder `examples/` is the one source of them.
// A build script speaks to Cargo through its standard output.
#![allow(clippy::print_stdout)]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    println!("cargo:rerun-if-changed={}", root.display());
    // Where the linker insists on every symbol, it is told that the interpreter brings some.
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "macos") {
        println!("cargo:rustc-cdylib-link-arg=-undefined");
        println!("cargo:rustc-cdylib-link-arg=dynamic_lookup");
    }
    let mut list = String::from("&[\n");
    for folder in sorted(&root)?.into_iter().filter(|folder| folder.is_dir()) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let model = folder.join("model.toml");
        let text = if model.is_file() { format!("Some(include_str!({model:?}))") } else { "None".to_owned() };
        let mut files = String::new();
        for file in sorted(&folder)?.into_iter().filter(|file| file.extension().is_some_and(|e| e == "csv")) {
            let own = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            write!(files, "({own:?}, include_str!({file:?})), ").map_err(io::Error::other)?;
        }
        // Programs have neither.
        if model.is_file() || !files.is_empty() {
            writeln!(list, "    ({name:?}, {text}, &[{files}]),").map_err(io::Error::other)?;
        }
    }
    list.push(']');
    let out = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_default();
    fs::write(out.join("examples.rs"), list)
}

/// What is in a folder, by name.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.map(|e| Ok(e?.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort();
    Ok(entries)
}
