//! Random access to a file's bytes: a file on disk where there is one, all bytes in memory otherwise.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::reader::{ChunkReader, Length};
use bytes::{Buf, Bytes};

use crate::input::{Anywhere, Input};
use crate::object::{Object, Reader};

/// Where the bytes are.
pub(super) enum Source {
    /// On disk, with the number of bytes.
    Disk(File, u64),
    /// In object storage.
    Object(Arc<Object>),
    Memory(Bytes),
}

impl Source {
    pub(super) fn new(input: Input<'_>) -> crate::Result<Self> {
        match input.held() {
            Some((Anywhere::Disk(file), length)) => Ok(Self::Disk(file, length)),
            Some((Anywhere::Object(object), _)) => Ok(Self::Object(object)),
            None => Ok(Self::Memory(input.into_bytes()?.into())),
        }
    }
}

impl Source {
    /// Whether a mark stands at the end, and another of that length could stand before it.
    pub(super) fn ends_with(&self, mark: &[u8]) -> bool {
        let start = self.len().checked_sub(mark.len() as u64).filter(|start| *start >= mark.len() as u64);
        start.and_then(|start| self.get_bytes(start, mark.len()).ok()).is_some_and(|bytes| bytes == mark)
    }
}

impl Length for Source {
    fn len(&self) -> u64 {
        match self {
            Self::Disk(_, length) => *length,
            Self::Object(object) => object.length(),
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }
}

impl ChunkReader for Source {
    type T = Box<dyn Read>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        check(start, 0, self.len())?;
        match self {
            Self::Disk(file, _) => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(start))?;
                Ok(Box::new(BufReader::new(file)))
            }
            Self::Object(object) => Ok(Box::new(BufReader::new(Reader::new(object.clone(), start)))),
            Self::Memory(bytes) => Ok(Box::new(bytes.slice(usize::try_from(start)?..).reader())),
        }
    }

    /// Nothing is allocated for bytes that the file does not have.
    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        check(start, length as u64, self.len())?;
        match self {
            Self::Disk(..) => {
                // Not filled with zeros first.
                let mut buffer = Vec::with_capacity(length);
                if self.get_read(start)?.take(length as u64).read_to_end(&mut buffer)? < length {
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                }
                Ok(buffer.into())
            }
            Self::Object(object) => Ok(object.get(start, length)?),
            Self::Memory(bytes) => {
                let start = usize::try_from(start)?;
                Ok(bytes.slice(start..start + length))
            }
        }
    }
}

fn check(start: u64, length: u64, total: u64) -> Result<()> {
    if start.checked_add(length).is_some_and(|end| end <= total) {
        return Ok(());
    }
    Err(ParquetError::EOF(format!("it should go on after its {total} bytes")))
}
