//! Tables for the page: the same rows as an HTML `<table>`.

use super::{Align, Cell, Column, Row, Table};
use crate::escape::{escape, escape_with_code};

/// A blank as wide as a digit, and one as wide as a point: they keep decimal points in line.
const FIGURE_SPACE: char = '\u{2007}';
const PUNCTUATION_SPACE: char = '\u{2008}';

impl Table {
    /// The table as an HTML fragment in a wrapper that scrolls sideways on narrow screens; all text is escaped.
    pub fn to_html(&self) -> String {
        let shown = self.shown(FIGURE_SPACE, PUNCTUATION_SPACE);
        let mut out = String::from("<div class=\"nw-table\"><table>\n");
        if !self.title.is_empty() {
            out.push_str(&format!("<caption>{}</caption>\n", escape(&self.title)));
        }
        self.push_head(&mut out);
        out.push_str("<tbody>\n");
        for (row, cells) in self.rows.iter().zip(&shown) {
            self.push_html_row(&mut out, row, cells);
        }
        out.push_str("</tbody></table>");
        for note in &self.notes {
            out.push_str(&format!("\n<p class=\"nw-note\">{}</p>", escape_with_code(note)));
        }
        out.push_str("</div>\n");
        out
    }

    fn push_head(&self, out: &mut String) {
        out.push_str("<thead><tr>");
        for column in &self.columns {
            out.push_str(&format!("<th scope=\"col\"{}>{}</th>", class(column), escape(&column.heading())));
        }
        out.push_str("</tr></thead>\n");
    }

    fn push_html_row(&self, out: &mut String, row: &Row, shown: &[String]) {
        let Row::Cells(cells) = row else {
            let span = self.columns.len().max(1);
            let heading = escape(&shown.concat());
            out.push_str(&format!(
                "<tr class=\"nw-part\"><th scope=\"rowgroup\" colspan=\"{span}\">{heading}</th></tr>\n"
            ));
            return;
        };
        out.push_str("<tr>");
        for ((cell, text), column) in cells.iter().zip(shown).zip(&self.columns) {
            out.push_str(&html_cell(cell, text, column));
        }
        out.push_str("</tr>\n");
    }
}

fn html_cell(cell: &Cell, text: &str, column: &Column) -> String {
    let content = if cell.is_number() { escape(text) } else { escape_with_code(text) };
    format!("<td{}>{content}</td>", class(column))
}

fn class(column: &Column) -> &'static str {
    match column.align {
        Align::Left => "",
        Align::Right | Align::Decimal => " class=\"nw-right\"",
        Align::Center => " class=\"nw-center\"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_text_is_escaped() {
        let evil = "<script>alert('x')</script>";
        let html = Table::new(evil)
            .column(Column::text(evil).unit(evil))
            .section(evil)
            .row([evil.into()])
            .note(evil)
            .to_html();
        assert!(!html.contains("<script"));
        assert_eq!(html.matches("&lt;script&gt;").count(), 6);
        roxmltree::Document::parse(&html).unwrap();
    }

    #[test]
    fn numbers_keep_their_points_in_line() {
        let html =
            Table::new("").column(Column::number("x")).row([1.25.into()]).row([(-3.0).into()]).to_html();
        assert!(html.contains("<td class=\"nw-right\">1.25</td>"));
        assert!(html.contains("<td class=\"nw-right\">−3\u{2008}\u{2007}\u{2007}</td>"));
    }
}
