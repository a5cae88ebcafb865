//! Lines and fields of delimited text, with line numbers that stay right across comments, blank lines and quotes.

use std::io::{BufRead, Seek, SeekFrom};
use std::ops::Range;

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};

use crate::error::reason;
use crate::{Error, Result};

/// The separators that are tried, the likelier first.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];

/// What stands on the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Fields, to be had from [`Records::field`].
    Record,
    /// A line that begins with `#`, to be had from [`Records::comment`].
    Comment,
    /// A line of nothing but spaces.
    Blank,
    /// No line: the file has ended.
    End,
}

/// The records of a text, one after the other.
///
/// Lines without a quote (nearly all lines of nearly all files) are split in place; the others go through `csv-core`.
pub(crate) struct Records<R> {
    file: String,
    reader: R,
    terminator: u8,
    separator: u8,
    line: Vec<u8>,
    lines_read: usize,
    /// Bytes of all lines read.
    bytes_read: u64,
    /// Whether the line at hand has an end: the last one of a file may have none.
    ended: bool,
    record_line: usize,
    fields: Vec<Range<usize>>,
    /// Whether the fields were unpacked from quotes into `unquoted`, and not left in `line`.
    quoted: bool,
    unquoted: Vec<u8>,
    /// Where the fields of `unquoted` end.
    ends: Vec<usize>,
    /// Kept between records, since making one costs more than splitting a line.
    parser: Reader,
}

impl<R: BufRead> Records<R> {
    /// Records of `reader`, whose first bytes are `head`, from which the separator is told.
    pub(crate) fn new(file: &str, reader: R, head: &[u8]) -> Self {
        // Old spreadsheets end lines by a carriage return alone.
        let only_returns = head.contains(&b'\r') && !head.contains(&b'\n');
        let separator = separator(head);
        Self {
            file: file.to_owned(),
            reader,
            terminator: if only_returns { b'\r' } else { b'\n' },
            separator,
            line: Vec::new(),
            lines_read: 0,
            bytes_read: 0,
            ended: true,
            record_line: 0,
            fields: Vec::new(),
            quoted: false,
            unquoted: Vec::new(),
            ends: vec![0; 16],
            parser: ReaderBuilder::new().delimiter(separator).build(),
        }
    }

    /// Goes on to the next line or record.
    pub(crate) fn advance(&mut self) -> Result<Next> {
        if !self.read_line()? {
            return Ok(Next::End);
        }
        self.record_line = self.lines_read;
        match self.line.first() {
            Some(b'#') => return Ok(Next::Comment),
            _ if self.line.iter().all(|byte| *byte == b' ') => return Ok(Next::Blank),
            _ => {}
        }
        self.split()?;
        Ok(Next::Record)
    }

    /// Number of fields of the record.
    pub(crate) fn len(&self) -> usize {
        self.fields.len()
    }

    /// One field of the record, as written but for quotes.
    pub(crate) fn field(&self, index: usize) -> &[u8] {
        let bytes = if self.quoted { &self.unquoted } else { &self.line };
        &bytes[self.fields[index].clone()]
    }

    /// Whether the record contains a quote.
    pub(crate) fn is_quoted(&self) -> bool {
        self.quoted
    }

    /// The line at hand, without its end; for a record over several lines, the last of them.
    pub(crate) fn text(&self) -> &[u8] {
        &self.line
    }

    /// The line at hand without its `#`.
    pub(crate) fn comment(&self) -> &[u8] {
        self.line.strip_prefix(b"#").unwrap_or(&self.line)
    }

    /// What stands between two fields.
    pub(crate) fn separator(&self) -> u8 {
        self.separator
    }

    /// The line, counted from 1, on which the record begins.
    pub(crate) fn line_number(&self) -> usize {
        self.record_line
    }

    /// Whether the line at hand has an end.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// How many lines have been read, and how many bytes they are.
    pub(crate) fn passed(&self) -> (usize, u64) {
        (self.lines_read, self.bytes_read)
    }

    /// Reads one line without its end; false if there is none.
    fn read_line(&mut self) -> Result<bool> {
        self.line.clear();
        let read = self.reader.read_until(self.terminator, &mut self.line);
        let read = read.map_err(|error| Error::Read { file: self.file.clone(), reason: reason(&error) })?;
        if read == 0 {
            return Ok(false);
        }
        self.lines_read += 1;
        self.bytes_read += read as u64;
        self.ended = self.line.last() == Some(&self.terminator);
        if self.ended {
            self.line.pop();
        }
        if self.line.last() == Some(&b'\r') {
            self.line.pop();
        }
        if self.lines_read == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
            self.line.drain(..3);
        }
        Ok(true)
    }

    /// Splits the line at hand into fields; [`advance`](Self::advance) has done so where it says that it is a record.
    pub(crate) fn split(&mut self) -> Result<()> {
        self.quoted = self.line.contains(&b'"');
        self.fields.clear();
        if self.quoted {
            return self.split_quoted();
        }
        let mut start = 0;
        for (end, byte) in self.line.iter().enumerate() {
            if *byte == self.separator {
                self.fields.push(start..end);
                start = end + 1;
            }
        }
        self.fields.push(start..self.line.len());
        Ok(())
    }

    /// Splits a record with quotes, reading on while a quote is open.
    fn split_quoted(&mut self) -> Result<()> {
        self.parser.reset();
        let (mut written, mut ended) = (0, 0);
        loop {
            self.line.push(b'\n');
            let complete = self.feed(&mut written, &mut ended);
            self.line.pop();
            if complete {
                break;
            }
            if !self.read_line()? {
                return Err(Error::UnclosedQuote { file: self.file.clone(), line: self.record_line });
            }
        }
        let mut start = 0;
        for end in &self.ends[..ended] {
            self.fields.push(start..*end);
            start = *end;
        }
        Ok(())
    }

    /// Gives the line to the parser, with room for what it writes; true when the record is complete.
    fn feed(&mut self, written: &mut usize, ended: &mut usize) -> bool {
        let mut taken = 0;
        loop {
            // Unquoting only shortens, so this much room is always enough.
            self.unquoted.resize((*written + self.line.len() - taken + 1).max(self.unquoted.len()), 0);
            let (result, read, wrote, ends) = self.parser.read_record(
                &self.line[taken..],
                &mut self.unquoted[*written..],
                &mut self.ends[*ended..],
            );
            taken += read;
            *written += wrote;
            *ended += ends;
            match result {
                ReadRecordResult::Record | ReadRecordResult::End => return true,
                ReadRecordResult::InputEmpty => return false,
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::OutputFull => {}
            }
        }
    }
}

impl<R: BufRead + Seek> Records<R> {
    /// Goes to where so many lines of so many bytes have been read.
    ///
    /// # Errors
    /// When the file cannot be read from there on.
    pub(crate) fn jump(&mut self, (lines, bytes): (usize, u64)) -> Result<()> {
        let found = self.reader.seek(SeekFrom::Start(bytes));
        found.map_err(|error| Error::Read { file: self.file.clone(), reason: reason(&error) })?;
        (self.lines_read, self.bytes_read) = (lines, bytes);
        Ok(())
    }
}

/// The separator that occurs most often, outside quotes, in the first line that is neither blank nor a comment.
fn separator(head: &[u8]) -> u8 {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let lines = || head.split(|byte| matches!(byte, b'\n' | b'\r'));
    let header =
        lines().find(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#")).unwrap_or_default();
    let mut counts = [0_usize; SEPARATORS.len()];
    let mut quoted = false;
    for byte in header {
        quoted ^= *byte == b'"';
        if let Some(which) = SEPARATORS.iter().position(|s| s == byte).filter(|_| !quoted) {
            counts[which] += 1;
        }
    }
    // Of equals the first wins, and `max_by_key` returns the last: hence from the end.
    let best = (0..SEPARATORS.len()).rev().max_by_key(|&which| counts[which]);
    best.map_or(b',', |which| SEPARATORS[which])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_separator_is_told_from_the_header() {
        let told = |text: &str| separator(text.as_bytes()) as char;
        assert_eq!(told("a,b\n1;2;3"), ',');
        assert_eq!(told("\u{feff}# a,b,c\n\n\"a,,,,\";b;c\n"), ';');
        assert_eq!(told("a\tb, c\td\n"), '\t');
        assert_eq!(told("alone\n"), ',');
    }

    fn all(text: &str) -> Vec<(Next, usize, Vec<String>)> {
        let mut records = Records::new("f", text.as_bytes(), text.as_bytes());
        let mut out = Vec::new();
        loop {
            let next = records.advance().unwrap();
            let fields = (0..if next == Next::Record { records.len() } else { 0 })
                .map(|j| String::from_utf8_lossy(records.field(j)).into_owned())
                .collect();
            match next {
                Next::End => return out,
                _ => out.push((next, records.line_number(), fields)),
            }
        }
    }

    #[test]
    fn quotes_comments_and_blank_lines_keep_the_line_numbers() {
        let found = all("\u{feff}a,\"b,c\"\r\n\r\n# note \"\r\n1,\"two\r\nlines \"\"here\"\"\"\r\n3,4");
        let expected = [
            (Next::Record, 1, vec!["a", "b,c"]),
            (Next::Blank, 2, vec![]),
            (Next::Comment, 3, vec![]),
            (Next::Record, 4, vec!["1", "two\nlines \"here\""]),
            (Next::Record, 6, vec!["3", "4"]),
        ];
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!((found.0, found.1), (expected.0, expected.1));
            assert_eq!(found.2, expected.2);
        }
    }

    #[test]
    fn carriage_returns_alone_end_lines_too() {
        assert_eq!(all("a,b\r1,2\r").len(), 2);
    }

    #[test]
    fn many_quoted_fields_find_room() {
        let line = vec!["\"q\""; 100].join(",");
        assert_eq!(all(&line)[0].2, vec!["q"; 100]);
    }

    #[test]
    fn an_open_quote_is_named_by_the_line_where_it_opens() {
        let mut records = Records::new("f.csv", &b"a\n\"1\n2\n3\n"[..], b"a\n");
        assert_eq!(records.advance(), Ok(Next::Record));
        assert_eq!(
            records.advance().unwrap_err().to_string(),
            "f.csv, line 2: a quote opens here and never closes"
        );
    }
}
