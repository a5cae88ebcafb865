//! CSV: a header row, then rows of which only the columns asked for are read as numbers.

use std::io::{BufRead, Seek};

use crate::gather::{self, Decoder, Gathered};
use crate::input::Input;
use crate::labels::Labels;
use crate::names::{locate, repeated};
use crate::number::{Value, complaint, printable, value};
use crate::records::{Next, Records};
use crate::{Error, Options, Place, Result, Table};

/// Lines read at a time.
const PIECE: usize = 1 << 16;

/// Reads a whole CSV file.
pub(crate) fn read(input: Input<'_>, options: &Options) -> Result<Table> {
    let file = input.file.clone();
    gather::all(open(input, options, &mut |_| {})?, &file, options)
}

/// The rows of a text file under its header.
pub(crate) struct Rows<R> {
    file: String,
    records: Records<R>,
    /// Number of fields of the header.
    width: usize,
    /// Positions of the columns taken.
    positions: Vec<usize>,
    /// Names of the columns taken.
    names: Vec<String>,
    /// The row at hand, kept apart until all of it is known to be good.
    row: Vec<f64>,
    /// Rows passed, taken or not.
    row_number: usize,
    dropped: usize,
    drop_missing: bool,
    minus_infinity: bool,
    /// Which of the columns taken holds labels, if one does, and the labels met so far.
    labels: Option<(usize, Labels)>,
    /// Whether lines under the header may be comments.
    comments: bool,
    /// The first of the blank lines after the last row, and how many they are.
    blanks: (usize, usize),
}

/// Reads up to the header and chooses the columns; `comment` is shown the comments before it.
pub(crate) fn open<'a>(
    input: Input<'a>,
    options: &Options,
    comment: &mut dyn FnMut(&[u8]),
) -> Result<Rows<impl BufRead + use<'a>>> {
    let (file, head) = (input.file.clone(), input.head.clone());
    from_reader(&file, &head, input.into_buffered(), options, comment)
}

/// The same for a file whose bytes can be had in any order.
pub(crate) fn open_anywhere(
    input: &Input<'static>,
    options: &Options,
) -> Result<Rows<impl BufRead + Seek + use<>>> {
    let reader = input.anywhere("a text file packed with gzip")?;
    from_reader(&input.file, &input.head, reader, options, &mut |_| {})
}

fn from_reader<R: BufRead>(
    file: &str,
    head: &[u8],
    reader: R,
    options: &Options,
    comment: &mut dyn FnMut(&[u8]),
) -> Result<Rows<R>> {
    let file = file.to_owned();
    refuse_binary(&file, head)?;
    let mut records = Records::new(&file, reader, head);
    let (header, comments) = read_header(&file, &mut records, comment)?;
    let (positions, names) = choose(&file, header, options)?;
    let labelled = options.labels.as_ref().and_then(|label| names.iter().position(|name| name == label));
    Ok(Rows {
        labels: labelled.map(|j| (j, Labels::default())),
        width: records.len(),
        row: vec![0.0; positions.len()],
        file,
        records,
        positions,
        names,
        row_number: 0,
        dropped: 0,
        drop_missing: options.drop_missing,
        minus_infinity: options.minus_infinity,
        comments,
        blanks: (0, 0),
    })
}

impl<R: BufRead> Rows<R> {
    /// Goes on to the next row; false at the end. `comment` is shown each comment on the way and the rows before it.
    pub(crate) fn advance(&mut self, comment: &mut dyn FnMut(&[u8], usize)) -> Result<bool> {
        loop {
            match self.records.advance()? {
                Next::Record => break,
                Next::End => return Ok(false),
                Next::Comment if self.is_comment() => comment(self.records.comment(), self.row_number),
                Next::Comment => {
                    self.records.split()?;
                    break;
                }
                Next::Blank => self.count_blank(),
            }
        }
        self.blank_rows()?;
        self.row_number += 1;
        if self.records.len() != self.width {
            return Err(self.ragged());
        }
        Ok(true)
    }

    /// Takes lines under the header that begin with `#` for comments, even where none stands before it.
    pub(crate) fn allow_comments(&mut self) {
        self.comments = true;
    }

    /// Whether the line at hand, which begins with `#`, is a comment and not a row.
    ///
    /// Spreadsheets write `#N/A` and `#DIV/0!`, and labels may be `#A1`: in a file that does not begin with a comment
    /// all such lines are rows. In one that does, those are whose other fields are as many numbers as the header has
    /// names; `# 2, 3` and `#2,3` are a note and a row taken out by hand.
    fn is_comment(&self) -> bool {
        let line = self.records.text();
        let mut fields = line.split(|byte| *byte == self.records.separator());
        let first = fields.next().unwrap_or_default();
        if !self.comments || value(first) == Value::Missing {
            return false;
        }
        let labelled = first.get(1).is_some_and(u8::is_ascii_alphabetic);
        let others = fields.clone().count();
        !(labelled
            && others > 0
            && others + 1 == self.width
            && fields.all(|field| value(field) != Value::Text))
    }

    /// The complaint about a row whose fields are not as many as the header's.
    fn ragged(&self) -> Error {
        let (file, line) = (self.file.clone(), self.records.line_number());
        if self.records.text().starts_with(b"#") {
            return Error::LateComment { file, line };
        }
        Error::Ragged { file, row: self.row_number, line, found: self.records.len(), expected: self.width }
    }

    /// Refuses a row whose line has no end, in a file that has one for every line.
    pub(crate) fn refuse_cut(&self) -> Result<()> {
        if self.records.is_ended() {
            return Ok(());
        }
        Err(Error::CutRow { file: self.file.clone(), line: self.records.line_number() })
    }

    fn count_blank(&mut self) {
        let (first, count) = self.blanks;
        self.blanks = (if count == 0 { self.records.line_number() } else { first }, count + 1);
    }

    /// In a file of one column a blank line between rows is a missing value, not decoration.
    fn blank_rows(&mut self) -> Result<()> {
        let (line, count) = std::mem::take(&mut self.blanks);
        if count == 0 || self.width > 1 || self.positions.is_empty() {
            return Ok(());
        }
        if !self.drop_missing {
            self.row_number += 1;
            return Err(complaint(Value::Missing, self.place(0, line), b""));
        }
        self.row_number += count;
        self.dropped += count;
        Ok(())
    }

    /// Appends the numbers of the row at hand.
    pub(crate) fn take(&mut self, gathered: &mut Gathered) -> Result<()> {
        for j in 0..self.positions.len() {
            let field = self.records.field(self.positions[j]);
            let found = value(field);
            if let Some((_, labels)) =
                self.labels.as_mut().filter(|(k, _)| *k == j && found != Value::Missing)
            {
                self.row[j] = labels.number(field);
                continue;
            }
            match found {
                Value::Finite(number) => self.row[j] = number,
                Value::LargeInteger(value) => {
                    let place = self.place(j, self.records.line_number());
                    return Err(Error::IntegerTooLarge { place, value });
                }
                Value::NonFinite if self.minus_infinity && field.trim_ascii().starts_with(b"-") => {
                    self.row[j] = f64::NEG_INFINITY;
                }
                Value::Missing | Value::NonFinite if self.drop_missing => return self.drop_row(j + 1),
                bad => return Err(complaint(bad, self.place(j, self.records.line_number()), field)),
            }
        }
        gathered.push(&self.row, self.row_number);
        Ok(())
    }

    /// Counts the row as dropped, after a look at the rest of it: text is an error even there.
    fn drop_row(&mut self, rest: usize) -> Result<()> {
        self.dropped += 1;
        for j in rest..self.positions.len() {
            let field = self.records.field(self.positions[j]);
            let label = self.labels.as_ref().is_some_and(|(k, _)| *k == j);
            if !label && value(field) == Value::Text {
                return Err(complaint(Value::Text, self.place(j, self.records.line_number()), field));
            }
        }
        Ok(())
    }

    /// Forgets that rows were dropped.
    pub(crate) fn forget_dropped(&mut self) {
        self.dropped = 0;
    }

    /// Number of rows passed, taken or not.
    pub(crate) fn passed(&self) -> usize {
        self.row_number
    }

    /// Number of rows dropped.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped
    }

    /// Names of the columns taken.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    fn place(&self, column: usize, line: usize) -> Place {
        let column = self.names[column].clone();
        Place { file: self.file.clone(), row: self.row_number, line: Some(line), column }
    }
}

/// A place in a file, at the end of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Rows before it.
    rows: usize,
    /// Lines and bytes before it.
    passed: (usize, u64),
}

impl<R: BufRead + Seek> Rows<R> {
    /// Passes over all rows, and marks every so-manyth: the number of rows, and the marks.
    ///
    /// # Errors
    /// When a row has not as many fields as the header, or the file cannot be read.
    pub(crate) fn marks(&mut self, every: usize) -> Result<(usize, Vec<Mark>)> {
        let mut marks = Vec::new();
        loop {
            if self.row_number.is_multiple_of(every) {
                marks.push(Mark { rows: self.row_number, passed: self.records.passed() });
            }
            if !self.advance(&mut |_, _| {})? {
                return Ok((self.row_number, marks));
            }
        }
    }

    /// Goes to a row, counted from 0, from the last mark before it.
    ///
    /// # Errors
    /// When the file cannot be read from there on.
    pub(crate) fn go_to(&mut self, row: usize, marks: &[Mark]) -> Result<()> {
        if let Some(mark) = marks[..marks.partition_point(|mark| mark.rows <= row)].last() {
            self.records.jump(mark.passed)?;
            self.row_number = mark.rows;
        }
        while self.row_number < row && self.advance(&mut |_, _| {})? {}
        Ok(())
    }
}

impl<R: BufRead> Decoder for Rows<R> {
    fn names(&self) -> &[String] {
        &self.names
    }

    fn fill(&mut self, gathered: &mut Gathered, room: usize) -> Result<bool> {
        let (wanted, mut more) = (gathered.rows().saturating_add(room), true);
        let mut pieces = 0;
        while more && gathered.rows() < wanted && pieces < PIECE {
            more = self.advance(&mut |_, _| {})?;
            if more {
                self.take(gathered)?;
            }
            pieces += 1;
        }
        gathered.count(self.row_number, self.dropped);
        Ok(more)
    }
}

fn refuse_binary(file: &str, head: &[u8]) -> Result<()> {
    let file = || file.to_owned();
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err(Error::Utf16 { file: file() });
    }
    if head.contains(&0) { Err(Error::Binary { file: file() }) } else { Ok(()) }
}

/// The names in the header row, which is left as the record at hand, and whether comments stand before it.
fn read_header<R: BufRead>(
    file: &str,
    records: &mut Records<R>,
    comment: &mut dyn FnMut(&[u8]),
) -> Result<(Vec<String>, bool)> {
    let mut comments = false;
    loop {
        match records.advance()? {
            Next::Record => break,
            Next::Comment => {
                comments = true;
                comment(records.comment());
            }
            Next::Blank => {}
            Next::End => return Err(Error::Empty { file: file.to_owned() }),
        }
    }
    Ok((header_names(file, records)?, comments))
}

fn header_names<R: BufRead>(file: &str, records: &Records<R>) -> Result<Vec<String>> {
    let fields = || (0..records.len()).map(|j| records.field(j).trim_ascii());
    let values = || fields().map(value);
    // A quoted number is a name on purpose.
    let numbers = values().any(|v| matches!(v, Value::Finite(_) | Value::LargeInteger(_)))
        && values().all(|v| v != Value::Text);
    if numbers && !records.is_quoted() {
        return Err(Error::NoHeader { file: file.to_owned(), first: printable(records.text()) });
    }
    let name = |field: &[u8]| std::str::from_utf8(field).map(str::to_owned);
    fields().map(name).collect::<Result<_, _>>().map_err(|_| not_text(file, records))
}

/// What is wrong with a header that is no UTF-8: text of another encoding has no control characters.
fn not_text<R: BufRead>(file: &str, records: &Records<R>) -> Error {
    let file = file.to_owned();
    if records.text().iter().any(|byte| byte.is_ascii_control() && *byte != b'\t') {
        return Error::Binary { file };
    }
    // Latin-1 is the first 256 characters of Unicode.
    let header: String = records.text().iter().map(|byte| char::from(*byte)).collect();
    Error::NotUtf8 { file, line: records.line_number(), header: printable(header.as_bytes()) }
}

/// Which columns to take, and under which names.
fn choose(file: &str, header: Vec<String>, options: &Options) -> Result<(Vec<usize>, Vec<String>)> {
    match &options.columns {
        Some(wanted) => Ok((locate(file, &header, wanted)?, wanted.clone())),
        None => match repeated(&header) {
            Some(column) => Err(Error::DuplicateColumn { file: file.to_owned(), column: column.to_owned() }),
            None => Ok(((0..header.len()).collect(), header)),
        },
    }
}
