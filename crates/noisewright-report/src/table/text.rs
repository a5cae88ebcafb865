//! Tables for the terminal: rules and spaces, no boxes, folded to the terminal's width.

use unicode_width::UnicodeWidthStr;

use super::{Align, Row, Table};
use crate::wrap::wrap_columns;

/// What the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextStyle {
    /// Columns of the terminal; wider tables have narrower gaps or are folded, notes are wrapped (80).
    pub width: usize,
    /// Whether to mark titles and headings with escape sequences (false).
    pub color: bool,
    /// Whether characters beyond ASCII may be used for rules and infinity (true).
    pub unicode: bool,
}

impl Default for TextStyle {
    fn default() -> Self {
        Self { width: 80, color: false, unicode: true }
    }
}

impl TextStyle {
    fn bold(&self, text: &str) -> String {
        if self.color { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn faint(&self, text: &str) -> String {
        if self.color { format!("\u{1b}[2m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn rule(&self, width: usize) -> String {
        self.faint(&(if self.unicode { "─" } else { "-" }).repeat(width))
    }
}

/// Blank columns between two columns of the table.
const GAP: usize = 3;
/// The same where the table then fits into fewer pieces.
const NARROW_GAP: usize = 2;
/// How far the rows of a section stand in.
const INDENT: &str = "  ";
/// Words are not squeezed into fewer columns than this.
const NARROWEST_WRAP: usize = 20;

impl Table {
    /// The table as plain text for 80 columns.
    pub fn to_text(&self) -> String {
        self.to_text_with(&TextStyle::default())
    }

    /// The table as text for the given terminal; minus signs are ASCII so that numbers can be copied.
    pub fn to_text_with(&self, style: &TextStyle) -> String {
        let cells = self.text_cells(style);
        let headings: Vec<String> = self.columns.iter().map(super::Column::heading).collect();
        let widths: Vec<usize> =
            (0..headings.len()).map(|i| self.column_width(&cells, &headings, i)).collect();
        let layout = Layout::new(&widths, style.width);
        let mut out = String::new();
        if !self.title.is_empty() {
            push_line(&mut out, &style.bold(&self.title));
        }
        let folds = layout.folds(style.width);
        let table_width = folds.iter().map(|fold| layout.width(fold)).max().unwrap_or(0);
        for (index, fold) in folds.iter().enumerate() {
            if index > 0 {
                out.push('\n');
            }
            self.push_fold(&mut out, style, &cells, &headings, &layout, fold);
        }
        self.push_notes(&mut out, style, table_width);
        out
    }

    fn text_cells(&self, style: &TextStyle) -> Vec<Vec<String>> {
        let mut cells = self.shown(' ', ' ');
        let mut inside = false;
        for (row, source) in cells.iter_mut().zip(&self.rows) {
            let Row::Cells(kinds) = source else {
                inside = true;
                continue;
            };
            for (text, kind) in row.iter_mut().zip(kinds) {
                if kind.is_number() {
                    *text = text.replace('−', "-");
                    if !style.unicode {
                        *text = text.replace('∞', "inf");
                    }
                }
            }
            if let (true, Some(first)) = (inside, row.first_mut()) {
                first.insert_str(0, INDENT);
            }
        }
        cells
    }

    fn column_width(&self, cells: &[Vec<String>], headings: &[String], index: usize) -> usize {
        let shown = cells.iter().zip(&self.rows).filter(|(_, row)| matches!(row, Row::Cells(_)));
        shown.map(|(row, _)| row[index].width()).chain([headings[index].width()]).max().unwrap_or(0)
    }

    fn push_fold(
        &self,
        out: &mut String,
        style: &TextStyle,
        cells: &[Vec<String>],
        headings: &[String],
        layout: &Layout,
        fold: &[usize],
    ) {
        let excess = layout.width(fold).saturating_sub(style.width);
        let rule = style.rule(layout.width(fold) - excess);
        push_line(out, &rule);
        let heading = self.line(headings, layout, fold);
        push_line(out, &style.bold(&heading));
        push_line(out, &rule);
        for (row, source) in cells.iter().zip(&self.rows) {
            match source {
                Row::Section(heading) => push_line(out, &style.bold(heading)),
                Row::Cells(_) => self.push_row_lines(out, row, layout, fold, excess),
            }
        }
        push_line(out, &rule);
    }

    /// One line, or several where words in the last column have to be wrapped to fit.
    fn push_row_lines(
        &self,
        out: &mut String,
        row: &[String],
        layout: &Layout,
        fold: &[usize],
        excess: usize,
    ) {
        let last = fold[fold.len() - 1];
        let room = layout.widths[last].saturating_sub(excess).max(NARROWEST_WRAP);
        if excess == 0 || self.columns[last].align != Align::Left || row[last].width() <= room {
            return push_line(out, &self.line(row, layout, fold));
        }
        let mut row = row.to_vec();
        for words in wrap_columns(&std::mem::take(&mut row[last]), room) {
            row[last] = words;
            push_line(out, &self.line(&row, layout, fold));
            row.iter_mut().for_each(String::clear);
        }
    }

    fn line(&self, row: &[String], layout: &Layout, fold: &[usize]) -> String {
        let padded: Vec<String> =
            fold.iter().map(|&i| pad(&row[i], layout.widths[i], self.columns[i].align)).collect();
        padded.join(&" ".repeat(layout.gap)).trim_end().to_owned()
    }

    fn push_notes(&self, out: &mut String, style: &TextStyle, table_width: usize) {
        let width = table_width.max(60).min(style.width.max(20));
        for note in &self.notes {
            for line in wrap_columns(note, width) {
                push_line(out, &style.faint(&line));
            }
        }
    }
}

/// How wide the columns are, and the blanks between them.
struct Layout {
    widths: Vec<usize>,
    gap: usize,
}

impl Layout {
    /// Columns of these widths on so wide a terminal.
    fn new(widths: &[usize], available: usize) -> Self {
        let [wide, narrow] = [GAP, NARROW_GAP].map(|gap| Self { widths: widths.to_vec(), gap });
        if narrow.folds(available).len() < wide.folds(available).len() { narrow } else { wide }
    }

    /// Groups of columns that fit the width; every group after the first repeats column 0, the row's name.
    fn folds(&self, available: usize) -> Vec<Vec<usize>> {
        let mut folds: Vec<Vec<usize>> = Vec::new();
        let mut current: Vec<usize> = Vec::new();
        for index in 0..self.widths.len() {
            current.push(index);
            if current.len() > 2 && self.width(&current) > available {
                current.pop();
                folds.push(std::mem::replace(&mut current, vec![0, index]));
            }
        }
        folds.push(current);
        folds
    }

    /// The width of a group.
    fn width(&self, fold: &[usize]) -> usize {
        fold.iter().map(|&i| self.widths[i]).sum::<usize>() + self.gap * fold.len().saturating_sub(1)
    }
}

fn pad(text: &str, width: usize, align: Align) -> String {
    let missing = width.saturating_sub(text.width());
    let left = match align {
        Align::Left => 0,
        Align::Right | Align::Decimal => missing,
        Align::Center => missing / 2,
    };
    format!("{}{text}{}", " ".repeat(left), " ".repeat(missing - left))
}

fn push_line(out: &mut String, line: &str) {
    out.push_str(line);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cell, Column};

    fn example() -> Table {
        Table::new("Asymptotic error")
            .column(Column::text("parameter"))
            .column(Column::number("variance"))
            .column(Column::number("efficiency"))
            .section("Model")
            .row(["mean".into(), 3.698_623.into(), Cell::Percent(0.5407, 4)])
            .row(["scale".into(), (-12.5).into(), Cell::Percent(1.0, 4)])
            .section("Constant")
            .row(["log Z".into(), f64::INFINITY.into()])
            .note("Variances are per unit of budget T; an infinite one means that the noise has lighter tails than the data.")
    }

    #[test]
    fn a_table_reads_like_a_summary() {
        insta::assert_snapshot!(example().to_text());
    }

    #[test]
    fn ascii_terminals_get_ascii() {
        let mut table = example();
        table.notes.clear();
        let text = table.to_text_with(&TextStyle { unicode: false, ..TextStyle::default() });
        assert!(text.is_ascii(), "{text}");
        assert!(text.contains("inf"));
    }

    #[test]
    fn colour_only_when_asked_for() {
        assert!(!example().to_text().contains('\u{1b}'));
        let style = TextStyle { color: true, ..TextStyle::default() };
        assert!(example().to_text_with(&style).contains("\u{1b}[1mAsymptotic error\u{1b}[0m"));
    }

    #[test]
    fn wide_tables_fold_and_repeat_the_row_names() {
        let mut table = Table::new("").column(Column::text("row"));
        for index in 0..12 {
            table = table.column(Column::number(format!("column {index}")));
        }
        let table = table.row(std::iter::once("first".into()).chain((0..12).map(|i| f64::from(i).into())));
        let text = table.to_text_with(&TextStyle { width: 52, ..TextStyle::default() });
        assert!(text.lines().all(|line| line.width() <= 52), "{text}");
        assert_eq!(text.matches("first").count(), 3);
        assert!((0..12).all(|i| text.contains(&format!("column {i}"))));
    }

    #[test]
    fn columns_move_together_before_a_table_folds() {
        let mut table = Table::new("").column(Column::text("row"));
        for index in 0..5 {
            table = table.column(Column::number(format!("column {index}")));
        }
        let table = table.row(std::iter::once("first".into()).chain((0..5).map(|i| f64::from(i).into())));
        // A name of 5 and five headings of 8: 45, with five gaps of 3 or of 2.
        for (width, widest, tables) in [(60, 60, 1), (59, 55, 1), (55, 55, 1), (54, 54, 2)] {
            let text = table.to_text_with(&TextStyle { width, ..TextStyle::default() });
            assert_eq!(text.matches("first").count(), tables, "{width}: {text}");
            let found = text.lines().map(UnicodeWidthStr::width).max().unwrap();
            assert!(found <= widest && (tables > 1 || found == widest), "{width}: {text}");
        }
    }

    #[test]
    fn long_words_in_the_last_column_wrap() {
        let words =
            "the noise has lighter tails than the data, so the importance-sampling estimate has no variance";
        let table = Table::new("")
            .column(Column::text("check"))
            .column(Column::text("finding"))
            .row(["tails".into(), words.into()])
            .row(["overlap".into(), "fine".into()]);
        let text = table.to_text_with(&TextStyle { width: 50, ..TextStyle::default() });
        assert!(text.lines().all(|line| line.width() <= 50), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn an_empty_table_is_shown_as_such() {
        assert_eq!(Table::new("nothing").to_text().lines().next(), Some("nothing"));
    }
}
