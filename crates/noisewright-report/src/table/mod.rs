//! A table of results, written once and shown in a terminal, on a page or as CSV.

mod html;
mod text;

pub use text::TextStyle;

use crate::escape::{csv_field, csv_number};
use crate::number::{format_fixed, format_number, format_percent};

/// How the cells of a column line up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left edge, the default of text.
    Left,
    /// At the right edge.
    Right,
    /// In the middle.
    Center,
    /// At the decimal point, the default of numbers.
    Decimal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digits {
    Significant(usize),
    Fixed(usize),
}

/// A column's header, unit, alignment and number of digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    header: String,
    unit: Option<String>,
    align: Align,
    digits: Digits,
}

impl Column {
    /// A column of words, aligned left.
    pub fn text(header: impl Into<String>) -> Self {
        Self { header: header.into(), unit: None, align: Align::Left, digits: Digits::Significant(6) }
    }

    /// A column of numbers, aligned at the decimal point and shown to six significant digits.
    pub fn number(header: impl Into<String>) -> Self {
        Self { align: Align::Decimal, ..Self::text(header) }
    }

    /// Shows the column's numbers to so many significant digits, without trailing zeros.
    #[must_use]
    pub fn significant(mut self, digits: usize) -> Self {
        self.digits = Digits::Significant(digits);
        self
    }

    /// Shows the column's numbers with exactly so many digits after the point.
    #[must_use]
    pub fn decimals(mut self, digits: usize) -> Self {
        self.digits = Digits::Fixed(digits);
        self
    }

    /// Names the unit, shown in parentheses after the header.
    #[must_use]
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// Overrides the alignment.
    #[must_use]
    pub fn align(mut self, align: Align) -> Self {
        self.align = align;
        self
    }

    fn heading(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.header),
            None => self.header.clone(),
        }
    }
}

/// One entry of a table; words and numbers convert into it, `None` is left blank.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Nothing to say here.
    Empty,
    /// Words, shown as they are.
    Text(String),
    /// A whole number, shown in full.
    Integer(i64),
    /// A number, shown with the digits of its column.
    Number(f64),
    /// A number with its own count of significant digits.
    Significant(f64, usize),
    /// A number with its own count of decimals.
    Fixed(f64, usize),
    /// A fraction, shown as a percentage to so many significant digits.
    Percent(f64, usize),
}

impl Cell {
    fn show(&self, column: &Column) -> String {
        match (self, column.digits) {
            (Self::Empty, _) => String::new(),
            (Self::Text(text), _) => text.replace(['\n', '\r', '\t'], " "),
            (Self::Integer(value), _) => value.to_string().replace('-', "−"),
            (Self::Number(value), Digits::Significant(digits)) => format_number(*value, digits),
            (Self::Number(value), Digits::Fixed(digits)) => format_fixed(*value, digits),
            (Self::Significant(value, digits), _) => format_number(*value, *digits),
            (Self::Fixed(value, digits), _) => format_fixed(*value, *digits),
            (Self::Percent(value, digits), _) => format_percent(*value, *digits),
        }
    }

    fn is_number(&self) -> bool {
        !matches!(self, Self::Empty | Self::Text(_))
    }

    fn to_csv(&self) -> String {
        match self {
            Self::Empty => String::new(),
            Self::Text(text) => csv_field(text).into_owned(),
            Self::Integer(value) => value.to_string(),
            Self::Number(value)
            | Self::Significant(value, _)
            | Self::Fixed(value, _)
            | Self::Percent(value, _) => csv_number(*value),
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<usize> for Cell {
    fn from(value: usize) -> Self {
        i64::try_from(value).map_or(Self::Number(value as f64), Self::Integer)
    }
}

impl From<u64> for Cell {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or(Self::Number(value as f64), Self::Integer)
    }
}

impl From<i64> for Cell {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Empty, Into::into)
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Row {
    Cells(Vec<Cell>),
    Section(String),
}

/// A table of results.
///
/// ```
/// use noisewright_report::{Column, Table};
/// let table = Table::new("Gaussian mean, ν = 1")
///     .column(Column::text("noise"))
///     .column(Column::number("T·MSE"))
///     .row(["data".into(), 4.0.into()])
///     .row(["best shift".into(), 3.698_623.into()])
///     .note("The error is per unit of budget T.");
/// assert!(table.to_text().contains("best shift   3.69862"));
/// assert_eq!(table.to_csv(), "noise,T·MSE\ndata,4\nbest shift,3.698623\n");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    title: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl Table {
    /// An empty table; an empty title is not shown.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds a column; all columns come before the first row.
    #[must_use]
    pub fn column(mut self, column: Column) -> Self {
        self.columns.push(column);
        self
    }

    /// Adds a row; missing cells at its end stay blank.
    ///
    /// # Panics
    /// If the row has more cells than the table has columns.
    #[must_use]
    pub fn row(mut self, cells: impl IntoIterator<Item = Cell>) -> Self {
        self.push_row(cells);
        self
    }

    /// Adds a row in place, for loops.
    ///
    /// # Panics
    /// If the row has more cells than the table has columns.
    pub fn push_row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut cells: Vec<Cell> = cells.into_iter().collect();
        assert!(cells.len() <= self.columns.len(), "a row has more cells than the table has columns");
        cells.resize(self.columns.len(), Cell::Empty);
        self.rows.push(Row::Cells(cells));
    }

    /// Starts a group of rows under a heading of its own.
    #[must_use]
    pub fn section(mut self, heading: impl Into<String>) -> Self {
        self.push_section(heading);
        self
    }

    /// Starts a group of rows in place, for loops.
    pub fn push_section(&mut self, heading: impl Into<String>) {
        self.rows.push(Row::Section(heading.into()));
    }

    /// Adds a note below the table, wrapped to its width.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The table as CSV with full precision; sections become a first column, title and notes are left out.
    pub fn to_csv(&self) -> String {
        let sectioned = self.has_sections();
        let mut out = String::new();
        let mut header: Vec<String> =
            self.columns.iter().map(|c| csv_field(&c.header).into_owned()).collect();
        if sectioned {
            header.insert(0, "section".to_owned());
        }
        push_line(&mut out, &header);
        let mut section = String::new();
        for row in &self.rows {
            match row {
                Row::Section(heading) => section = csv_field(heading).into_owned(),
                Row::Cells(cells) => {
                    let mut fields: Vec<String> = cells.iter().map(Cell::to_csv).collect();
                    if sectioned {
                        fields.insert(0, section.clone());
                    }
                    push_line(&mut out, &fields);
                }
            }
        }
        out
    }

    fn has_sections(&self) -> bool {
        self.rows.iter().any(|row| matches!(row, Row::Section(_)))
    }

    /// All cells as shown, the integer and fraction parts of decimal columns padded with the given two characters.
    fn shown(&self, digit_space: char, point_space: char) -> Vec<Vec<String>> {
        let mut shown: Vec<Vec<String>> = self.rows.iter().map(|row| self.show_row(row)).collect();
        for (index, column) in self.columns.iter().enumerate() {
            if column.align == Align::Decimal {
                self.pad_fractions(&mut shown, index, digit_space, point_space);
            }
        }
        shown
    }

    fn show_row(&self, row: &Row) -> Vec<String> {
        match row {
            Row::Section(heading) => vec![heading.clone()],
            Row::Cells(cells) => cells.iter().zip(&self.columns).map(|(cell, c)| cell.show(c)).collect(),
        }
    }

    /// Pads the numbers of a column on the right so that, flush right, their decimal points line up.
    fn pad_fractions(&self, shown: &mut [Vec<String>], index: usize, digit_space: char, point_space: char) {
        let numeric: Vec<bool> = self
            .rows
            .iter()
            .map(|row| matches!(row, Row::Cells(cells) if cells[index].is_number()))
            .collect();
        let tails: Vec<usize> = shown
            .iter()
            .zip(&numeric)
            .map(|(row, &is_number)| if is_number { tail_length(&row[index]) } else { 0 })
            .collect();
        let longest = tails.iter().copied().max().unwrap_or(0);
        for ((row, tail), is_number) in shown.iter_mut().zip(tails).zip(numeric) {
            if is_number && tail < longest {
                let has_point = tail > 0;
                row[index].push(if has_point { digit_space } else { point_space });
                row[index].extend(std::iter::repeat_n(digit_space, longest - tail - 1));
            }
        }
    }
}

/// Length of what follows the integer part: `.25`, `e-9`, `%`.
fn tail_length(number: &str) -> usize {
    number.find(['.', 'e', '%']).map_or(0, |at| number[at..].chars().count())
}

fn push_line(out: &mut String, fields: &[String]) {
    out.push_str(&fields.join(","));
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        Table::new("T")
            .column(Column::text("name"))
            .column(Column::number("value").unit("ms"))
            .section("first, part")
            .row(["a".into(), 1.5.into()])
            .row(["b".into(), None::<f64>.into()])
            .row(["c".into(), Cell::Percent(0.25, 3)])
    }

    #[test]
    fn csv_keeps_full_precision_and_sections() {
        assert_eq!(
            example().to_csv(),
            "section,name,value\n\"first, part\",a,1.5\n\"first, part\",b,\n\"first, part\",c,0.25\n"
        );
    }

    #[test]
    fn decimal_points_line_up() {
        let table = Table::new("").column(Column::number("x")).row([1.25.into()]).row([100.0.into()]);
        assert_eq!(table.shown(' ', ' '), vec![vec!["1.25".to_owned()], vec!["100   ".to_owned()]]);
    }

    #[test]
    #[should_panic(expected = "more cells")]
    fn a_row_too_long_is_a_mistake_of_the_caller() {
        let _ = Table::new("").column(Column::text("a")).row(["1".into(), "2".into()]);
    }
}
