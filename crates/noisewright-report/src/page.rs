//! A self-contained HTML page: words, numbers, tables and figures, without scripts or anything to load.

use crate::escape::{escape, escape_with_code};
use crate::plot::{Figure, style_sheet};
use crate::table::Table;

/// The page's own style; the colours come from the figures' style sheet.
const STYLE: &str = include_str!("page.css");
/// Widths at which figures are laid out: for a desk and for a phone.
const WIDE: f64 = 720.0;
const NARROW: f64 = 360.0;

/// A number worth seeing at a glance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    label: String,
    value: String,
    note: String,
}

impl Card {
    /// A card that shows a value under a label.
    pub fn new(label: impl Into<String>, value: impl Into<String>) -> Self {
        Self { label: label.into(), value: value.into(), note: String::new() }
    }

    /// Adds a note in small print below the value.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    fn to_html(&self) -> String {
        let note = if self.note.is_empty() {
            String::new()
        } else {
            format!("<p class=\"nw-card-note\">{}</p>", escape_with_code(&self.note))
        };
        format!(
            "<div class=\"nw-card\"><p class=\"nw-card-label\">{}</p><p class=\"nw-card-value\">{}</p>{note}</div>\n",
            escape(&self.label),
            escape(&self.value)
        )
    }
}

/// How loud a call-out is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tone {
    Note,
    Warning,
}

#[derive(Clone, Debug, PartialEq)]
enum Block {
    Paragraph(String),
    Table(Table),
    Figure(Box<Figure>, String),
    Cards(Vec<Card>),
    Callout(Tone, String),
    Details(String, String),
}

impl Block {
    fn to_html(&self) -> String {
        match self {
            Self::Paragraph(text) => format!("<p>{}</p>\n", escape_with_code(text)),
            Self::Table(table) => table.to_html(),
            Self::Figure(figure, caption) => figure_html(figure, caption),
            Self::Cards(cards) => {
                format!(
                    "<div class=\"nw-cards\">\n{}</div>\n",
                    cards.iter().map(Card::to_html).collect::<String>()
                )
            }
            Self::Callout(tone, text) => callout_html(*tone, text),
            Self::Details(summary, text) => format!(
                "<details><summary>{}</summary><pre><code>{}</code></pre></details>\n",
                escape(summary),
                escape(text)
            ),
        }
    }
}

/// The figure twice, laid out for wide and for narrow screens; the style sheet shows the one that fits.
fn figure_html(figure: &Figure, caption: &str) -> String {
    let caption = if caption.is_empty() {
        String::new()
    } else {
        format!("<figcaption>{}</figcaption>\n", escape_with_code(caption))
    };
    format!(
        "<figure><div class=\"nw-wide\">\n{}</div><div class=\"nw-narrow\">\n{}</div>\n{caption}</figure>\n",
        figure.clone().width(WIDE).to_svg_bare(),
        figure.clone().width(NARROW).to_svg_bare()
    )
}

fn callout_html(tone: Tone, text: &str) -> String {
    let (class, title) = match tone {
        Tone::Note => ("nw-callout", "Note"),
        Tone::Warning => ("nw-callout nw-warning", "Warning"),
    };
    format!(
        "<div class=\"{class}\" role=\"note\"><strong>{title}:</strong> {}</div>\n",
        escape_with_code(text)
    )
}

/// A part of the page under its own heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    heading: String,
    blocks: Vec<Block>,
}

impl Section {
    /// An empty section; an empty heading is not shown.
    pub fn new(heading: impl Into<String>) -> Self {
        Self { heading: heading.into(), blocks: Vec::new() }
    }

    /// Adds a paragraph of plain text, in which backticks mark `code`.
    #[must_use]
    pub fn paragraph(self, text: impl Into<String>) -> Self {
        self.with(Block::Paragraph(text.into()))
    }

    /// Adds a table.
    #[must_use]
    pub fn table(self, table: Table) -> Self {
        self.with(Block::Table(table))
    }

    /// Adds a figure; the page sets its width. An empty caption is not shown.
    #[must_use]
    pub fn figure(self, figure: Figure, caption: impl Into<String>) -> Self {
        self.with(Block::Figure(Box::new(figure), caption.into()))
    }

    /// Adds a row of key numbers.
    #[must_use]
    pub fn cards(self, cards: impl IntoIterator<Item = Card>) -> Self {
        self.with(Block::Cards(cards.into_iter().collect()))
    }

    /// Adds a remark that stands out.
    #[must_use]
    pub fn note(self, text: impl Into<String>) -> Self {
        self.with(Block::Callout(Tone::Note, text.into()))
    }

    /// Adds a warning that stands out more.
    #[must_use]
    pub fn warning(self, text: impl Into<String>) -> Self {
        self.with(Block::Callout(Tone::Warning, text.into()))
    }

    /// Adds text such as JSON or an input file, folded away until the reader opens it.
    #[must_use]
    pub fn details(self, summary: impl Into<String>, text: impl Into<String>) -> Self {
        self.with(Block::Details(summary.into(), text.into()))
    }

    fn with(mut self, block: Block) -> Self {
        self.blocks.push(block);
        self
    }

    fn to_html(&self) -> String {
        let heading = if self.heading.is_empty() {
            String::new()
        } else {
            format!("<h2>{}</h2>\n", escape(&self.heading))
        };
        let blocks: String = self.blocks.iter().map(Block::to_html).collect();
        format!("<section>\n{heading}{blocks}</section>\n")
    }
}

/// A self-contained HTML page that follows the reader's light or dark mode, fits phones and prints.
///
/// ```
/// use noisewright_report::{Card, Page, Section};
/// let html = Page::new("Gaussian mean")
///     .subtitle("Noise equal to the data")
///     .section(
///         Section::new("Result")
///             .cards([Card::new("T·MSE", "4").note("at ν = 1")])
///             .paragraph("Run `noisewright error` for more."),
///     )
///     .to_html();
/// assert!(html.starts_with("<!DOCTYPE html>"));
/// assert!(html.contains("<code>noisewright error</code>"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    title: String,
    subtitle: String,
    sections: Vec<Section>,
    footer: String,
}

impl Page {
    /// An empty page; its footer names Noisewright and its version.
    pub fn new(title: impl Into<String>) -> Self {
        let footer = format!("Noisewright {}", env!("CARGO_PKG_VERSION"));
        Self { title: title.into(), footer, ..Self::default() }
    }

    /// Sets the line below the title.
    #[must_use]
    pub fn subtitle(mut self, subtitle: impl Into<String>) -> Self {
        self.subtitle = subtitle.into();
        self
    }

    /// Adds a section.
    #[must_use]
    pub fn section(mut self, section: Section) -> Self {
        self.sections.push(section);
        self
    }

    /// Replaces the footer.
    #[must_use]
    pub fn footer(mut self, footer: impl Into<String>) -> Self {
        self.footer = footer.into();
        self
    }

    /// The whole page; it is well-formed XML too, so that other tools can read it.
    pub fn to_html(&self) -> String {
        let subtitle = if self.subtitle.is_empty() {
            String::new()
        } else {
            format!("<p class=\"nw-subtitle\">{}</p>\n", escape_with_code(&self.subtitle))
        };
        let title = escape(&self.title);
        let sections: String = self.sections.iter().map(Section::to_html).collect();
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
             <meta name=\"color-scheme\" content=\"light dark\"/>\n<title>{title}</title>\n\
             <style>\n{}\n{STYLE}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{title}</h1>\n{subtitle}</header>\n\
             {sections}</main>\n<footer>{}</footer>\n</body>\n</html>\n",
            style_sheet(":root"),
            escape_with_code(&self.footer)
        )
    }
}
