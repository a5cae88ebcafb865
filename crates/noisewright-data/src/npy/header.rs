//! The header of an NPY file: a Python dictionary of element type, order of storage and shape.

use crate::{Error, Result};

/// What an array's elements are, their byte order aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Bool,
    F2,
    F4,
    F8,
    I1,
    I2,
    I4,
    I8,
    U1,
    U2,
    U4,
    U8,
}

impl Element {
    /// Bytes of one element.
    pub(super) fn size(self) -> usize {
        match self {
            Self::Bool | Self::I1 | Self::U1 => 1,
            Self::F2 | Self::I2 | Self::U2 => 2,
            Self::F4 | Self::I4 | Self::U4 => 4,
            Self::F8 | Self::I8 | Self::U8 => 8,
        }
    }

    fn of(code: &str) -> Option<Self> {
        Some(match code {
            "b1" => Self::Bool,
            "f2" => Self::F2,
            "f4" => Self::F4,
            "f8" => Self::F8,
            "i1" => Self::I1,
            "i2" => Self::I2,
            "i4" => Self::I4,
            "i8" => Self::I8,
            "u1" => Self::U1,
            "u2" => Self::U2,
            "u4" => Self::U4,
            "u8" => Self::U8,
            _ => return None,
        })
    }
}

/// What the header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The element type as NumPy writes it; a list of fields as it stands.
    pub(super) descr: String,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<usize>,
}

impl Header {
    /// Splits a file into its header and its numbers; the error says what is wrong.
    pub(super) fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), String> {
        let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("it does not begin with the mark of NumPy")?;
        let too_short = || "the header is cut off".to_owned();
        let (version, rest) = rest.split_at_checked(2).ok_or_else(too_short)?;
        let width = match version[0] {
            1 => 2,
            2 | 3 => 4,
            other => return Err(format!("version {other} of the format is unknown")),
        };
        let (length, rest) = rest.split_at_checked(width).ok_or_else(too_short)?;
        let length = length.iter().rev().fold(0_usize, |sum, byte| sum << 8 | usize::from(*byte));
        let (text, data) = rest.split_at_checked(length).ok_or_else(too_short)?;
        let text = String::from_utf8_lossy(text);
        let header = Scanner { rest: text.trim() }.dictionary().ok_or("its header cannot be understood")?;
        Ok((header, data))
    }

    /// The type of the elements, and whether their bytes are stored most significant first.
    pub(super) fn element(&self, file: &str) -> Result<(Element, bool)> {
        let code = self.descr.trim_start_matches(['<', '>', '|', '=']);
        match Element::of(code) {
            Some(element) => Ok((element, self.descr.starts_with('>'))),
            None => Err(Error::ElementType {
                file: file.to_owned(),
                kind: kind(code),
                dtype: crate::number::printable(self.descr.as_bytes()),
            }),
        }
    }
}

/// In words, what NumPy's code stands for.
fn kind(code: &str) -> &'static str {
    match code.chars().next() {
        Some('O') => "Python objects",
        Some('S' | 'a' | 'U' | 'T') => "text",
        Some('c') => "complex numbers",
        Some('M') => "dates",
        Some('m') => "time differences",
        Some('f') => "floats of a size that only some machines know",
        Some('[') => "records of several fields",
        Some('V') => "raw bytes",
        _ => "something unknown",
    }
}

/// Reads the few forms of Python that a header consists of.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn dictionary(mut self) -> Option<Header> {
        let (mut descr, mut order, mut shape) = (None, None, None);
        self.take("{")?;
        while self.take("}").is_none() {
            let key = self.string()?;
            self.take(":")?;
            match key {
                "descr" => descr = Some(self.string().or_else(|| self.list())?.to_owned()),
                "fortran_order" => order = Some(self.boolean()?),
                "shape" => shape = Some(self.tuple()?),
                _ => return None,
            }
            if self.take(",").is_none() && !self.rest.starts_with('}') {
                return None;
            }
        }
        Some(Header { descr: descr?, fortran_order: order?, shape: shape? })
    }

    /// Passes over `token` and the spaces around it.
    fn take(&mut self, token: &str) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(token)?.trim_start();
        Some(())
    }

    fn string(&mut self) -> Option<&'a str> {
        let quote = self.rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (text, rest) = self.rest[1..].split_once(quote)?;
        self.rest = rest.trim_start();
        Some(text)
    }

    fn boolean(&mut self) -> Option<bool> {
        if self.take("True").is_some() { Some(true) } else { self.take("False").map(|()| false) }
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        self.take("(")?;
        let mut out = Vec::new();
        while self.take(")").is_none() {
            let digits = self.rest.find(|c: char| !c.is_ascii_digit())?;
            let (number, rest) = self.rest.split_at(digits);
            out.push(number.parse().ok()?);
            // Python 2 wrote long integers with an L.
            self.rest = rest.trim_start_matches('L').trim_start();
            if self.take(",").is_none() && !self.rest.starts_with(')') {
                return None;
            }
        }
        Some(out)
    }

    /// A list as it stands, with whatever lists are inside.
    fn list(&mut self) -> Option<&'a str> {
        if !self.rest.starts_with('[') {
            return None;
        }
        let mut depth = 0_usize;
        for (at, c) in self.rest.char_indices() {
            depth = if c == '[' { depth + 1 } else { depth - usize::from(c == ']') };
            if depth == 0 {
                let (list, rest) = self.rest.split_at(at + 1);
                self.rest = rest.trim_start();
                return Some(list);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Option<Header> {
        Scanner { rest: text }.dictionary()
    }

    #[test]
    fn headers_as_numpy_writes_them() {
        let plain = scan("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }").unwrap();
        assert_eq!(plain, Header { descr: "<f8".into(), fortran_order: false, shape: vec![3, 2] });
        assert_eq!(scan("{'shape':(3L,),'descr':\"|b1\",'fortran_order':True}").unwrap().shape, [3]);
        assert_eq!(
            scan("{'descr': '<i4', 'fortran_order': False, 'shape': ()}").unwrap().shape,
            [0_usize; 0]
        );
        let record = scan(
            "{'descr': [('a', '<f8', (2,)), ('b', [('c', '|O')])], 'fortran_order': False, 'shape': (1,)}",
        );
        assert_eq!(record.unwrap().descr, "[('a', '<f8', (2,)), ('b', [('c', '|O')])]");
    }

    #[test]
    fn other_headers_are_refused() {
        for text in
            ["", "{", "{}", "{'descr': '<f8'}", "{'descr': [", "[1]", "{'shape': (1 2)}", "{'shape': (-1,)}"]
        {
            assert_eq!(scan(text), None, "{text}");
        }
        assert_eq!(
            scan("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,)}"),
            None
        );
    }

    #[test]
    fn what_is_not_a_number_is_named() {
        let refused = |descr: &str| {
            let header = Header { descr: descr.into(), fortran_order: false, shape: vec![1] };
            header.element("a.npy").unwrap_err().to_string()
        };
        let rest = "only floats, integers and booleans can be read";
        assert_eq!(refused("<c16"), format!("a.npy holds complex numbers (dtype `<c16`); {rest}"));
        assert_eq!(refused("|O"), format!("a.npy holds Python objects (dtype `|O`); {rest}"));
        assert_eq!(refused("<U7"), format!("a.npy holds text (dtype `<U7`); {rest}"));
        assert_eq!(refused("<M8[ns]"), format!("a.npy holds dates (dtype `<M8[ns]`); {rest}"));
    }
}
