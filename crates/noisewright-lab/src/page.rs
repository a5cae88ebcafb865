//! The page's own text: its scripts, its style, and the two in one file.

use std::borrow::Cow;

/// A file of the page, as it was when this was built.
type Part = (&'static str, &'static str);

macro_rules! part {
    ($name:literal) => {
        ($name, include_str!(concat!("../page/", $name)))
    };
}

/// The page's scripts, one after another: a module of its own, without imports.
const SCRIPTS: [Part; 7] = [
    part!("noise.js"),
    part!("chart.js"),
    part!("pictures.js"),
    part!("controls.js"),
    part!("data.js"),
    part!("share.js"),
    part!("lab.js"),
];
const STYLE: Part = part!("lab.css");
const BOOT: Part = part!("boot.js");
const WIDGET: Part = part!("widget.js");

/// A part of the page. While it is written, a debug build reads it anew from the folder that `NOISEWRIGHT_LAB_PAGE` names.
fn text((name, embedded): Part) -> Cow<'static, str> {
    let folder = if cfg!(debug_assertions) { std::env::var_os("NOISEWRIGHT_LAB_PAGE") } else { None };
    let read =
        folder.and_then(|folder| std::fs::read_to_string(std::path::Path::new(&folder).join(name)).ok());
    read.map_or(Cow::Borrowed(embedded), Cow::Owned)
}

fn scripts(last: Part) -> String {
    SCRIPTS.into_iter().chain([last]).map(text).collect()
}

/// The script of a notebook's widget: an ES module that `anywidget` takes.
#[must_use]
pub fn script() -> String {
    scripts(WIDGET)
}

/// The style sheet.
#[must_use]
pub fn style() -> Cow<'static, str> {
    text(STYLE)
}

/// The page in one file; `nonce` marks the script that a browser may run.
#[must_use]
pub fn html(nonce: &str) -> String {
    let (script, style) = (scripts(BOOT), style());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>The lab of Noisewright</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>{style}</style>\n</head>\n\
         <body>\n<div id=\"lab\"></div>\n<script type=\"module\" nonce=\"{nonce}\">{script}</script>\n</body>\n</html>\n"
    )
}
