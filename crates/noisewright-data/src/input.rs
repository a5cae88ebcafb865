//! Opening what the caller names: a file or standard input, unpacked if it is gzip, its first bytes looked at.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use flate2::read::MultiGzDecoder;

use crate::error::reason;
use crate::object::{Object, Reader, is_address};
use crate::{Error, Result};

/// How many of the first bytes are looked at to tell what a file is.
const HEAD: u64 = 1 << 16;

/// Bytes handed over by the system at a time.
const BUFFER: usize = 1 << 17;

/// An opened source of bytes with its name and its first bytes, which are still to be read.
pub(crate) struct Input<'a> {
    pub(crate) file: String,
    pub(crate) head: Vec<u8>,
    reader: Box<dyn Read + 'a>,
    /// Whether the bytes are unpacked ones.
    packed: bool,
    /// Where the bytes are, if it was opened by name.
    held: Option<Anywhere>,
}

/// The bytes of a file or of an object, in any order.
pub(crate) enum Anywhere {
    Disk(File),
    Object(Arc<Object>),
}

/// What can be read from any place on.
pub(crate) trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

impl<'a> Input<'a> {
    /// Opens a file, or standard input if the path is `-`.
    pub(crate) fn open(path: &Path) -> Result<Input<'static>> {
        if path == Path::new("-") {
            return Input::new("standard input", io::stdin().lock());
        }
        let file = path.display().to_string();
        if is_address(path) {
            let object = Arc::new(Object::open(&file)?);
            let reader = Reader::new(object.clone(), 0);
            return Ok(Input { held: Some(Anywhere::Object(object)), ..Input::new(&file, reader)? });
        }
        if fs::metadata(path).is_ok_and(|data| data.is_dir()) {
            return Err(Error::Folder { file });
        }
        match File::open(path) {
            Ok(opened) => {
                let held = opened.try_clone().ok().map(Anywhere::Disk);
                Ok(Input { held, ..Input::new(&file, opened)? })
            }
            Err(error) => Err(Error::Open { file, reason: reason(&error) }),
        }
    }

    /// Wraps a reader, unpacking it if its first bytes say gzip.
    pub(crate) fn new(file: &str, reader: impl Read + 'a) -> Result<Self> {
        let (head, reader) = peek(file, reader)?;
        if !head.starts_with(b"\x1f\x8b") {
            let reader = Box::new(reader);
            return Ok(Self { file: file.to_owned(), head, reader, packed: false, held: None });
        }
        let unpacked = MultiGzDecoder::new(BufReader::with_capacity(BUFFER, Cursor::new(head).chain(reader)));
        let (head, reader) = peek(file, unpacked)?;
        Ok(Self { file: file.to_owned(), head, reader: Box::new(reader), packed: true, held: None })
    }

    /// All bytes, those of the head first.
    pub(crate) fn into_buffered(self) -> impl BufRead + use<'a> {
        BufReader::with_capacity(BUFFER, Cursor::new(self.head).chain(self.reader))
    }

    /// The bytes and their number, where they can be had in any order and as they are.
    pub(crate) fn held(&self) -> Option<(Anywhere, u64)> {
        match self.held.as_ref().filter(|_| !self.packed)? {
            Anywhere::Disk(file) => {
                let data = file.metadata().ok().filter(fs::Metadata::is_file)?;
                Some((Anywhere::Disk(file.try_clone().ok()?), data.len()))
            }
            Anywhere::Object(object) => Some((Anywhere::Object(object.clone()), object.length())),
        }
    }

    /// The bytes from the first on, to be read in any order.
    ///
    /// # Errors
    /// For what is packed (with this reason), and for what does not come from a file.
    pub(crate) fn anywhere(&self, packed: &'static str) -> Result<impl BufRead + Seek + use<>> {
        let mut bytes: Box<dyn ReadSeek> = match self.held() {
            Some((Anywhere::Disk(file), _)) => Box::new(file),
            Some((Anywhere::Object(object), _)) => Box::new(Reader::new(object, 0)),
            None => return Err(Error::NotInBlocks { file: self.file.clone(), what: packed }),
        };
        // The handle shares its position with the one that the first bytes were read through.
        let begun = bytes.seek(SeekFrom::Start(0));
        begun.map_err(|error| Error::Read { file: self.file.clone(), reason: reason(&error) })?;
        Ok(BufReader::with_capacity(BUFFER, bytes))
    }

    /// All bytes at once.
    pub(crate) fn into_bytes(self) -> Result<Vec<u8>> {
        let Self { file, mut head, mut reader, .. } = self;
        reader.read_to_end(&mut head).map_err(|error| Error::Read { file, reason: reason(&error) })?;
        Ok(head)
    }
}

fn peek<R: Read>(file: &str, mut reader: R) -> Result<(Vec<u8>, R)> {
    let mut head = Vec::new();
    let read = reader.by_ref().take(HEAD).read_to_end(&mut head);
    read.map_err(|error| Error::Read { file: file.to_owned(), reason: reason(&error) })?;
    Ok((head, reader))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn gzip_is_unpacked_even_in_several_members_and_the_head_is_not_lost() {
        let long: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
        let both = [packed(b"first"), packed(&long)].concat();
        let input = Input::new("f", &both[..]).unwrap();
        assert_eq!(input.head.len() as u64, HEAD);
        assert_eq!(input.into_bytes().unwrap(), [&b"first"[..], &long].concat());
    }

    #[test]
    fn a_cut_gzip_file_is_an_error() {
        let whole = packed(b"x\n1\n2\n3\n");
        let error = Input::new("f.csv.gz", &whole[..whole.len() - 9]).err().unwrap();
        assert_eq!(error.to_string(), "cannot read f.csv.gz: the file ends too early");
    }
}
