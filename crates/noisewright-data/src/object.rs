//! Objects in storage of the kind of S3, by addresses `s3://bucket/key`: their bytes in any order, by requests for ranges of them.
//!
//! Credentials, region and endpoint come from the environment, by the names that every tool of AWS knows (`AWS_ACCESS_KEY_ID`,
//! `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`, …).

use std::collections::VecDeque;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as Key;
use object_store::{ObjectStore, ObjectStoreExt, RetryConfig};
use tokio::runtime::{Builder, Runtime};

use crate::{Error, Result};

/// Bytes that are asked for at once, if no more are needed; at the beginning of an object, where only its kind is looked at, fewer.
const WINDOW: u64 = 1 << 22;
const HEAD: u64 = 1 << 16;
/// Ranges that are kept of an object: columns are read side by side.
const WINDOWS: usize = 16;
/// How often, and how long, a request is tried again that the server could not answer.
const RETRIES: (usize, Duration) = (3, Duration::from_secs(30));

/// Whether a path is the address of an object.
pub(crate) fn is_address(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().starts_with(b"s3://")
}

/// An object whose length is known.
pub(crate) struct Object {
    store: AmazonS3,
    key: Key,
    name: String,
    length: u64,
    /// What tells it from a later one of the same name.
    tag: Option<String>,
    windows: Mutex<VecDeque<(u64, Bytes)>>,
}

impl Object {
    /// Asks for the length of an object.
    ///
    /// # Errors
    /// When there is none, or it may not be read.
    pub(crate) fn open(name: &str) -> Result<Self> {
        let (bucket, key) = parts(name)?;
        let (store, key) = (bucket_store(name, bucket)?, parsed(name, key)?);
        let about = runtime(name)?.block_on(store.head(&key)).map_err(|error| refused(name, &error))?;
        let (length, tag) = (about.size, about.e_tag);
        Ok(Self { store, key, name: name.to_owned(), length, tag, windows: Mutex::default() })
    }

    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// So many bytes from a place on, which must be there.
    ///
    /// # Errors
    /// When they are not, or cannot be had.
    pub(crate) fn get(&self, start: u64, length: usize) -> io::Result<Bytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.length);
        let Some(end) = end else { return Err(io::ErrorKind::UnexpectedEof.into()) };
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let within = |first: u64, bytes: &Bytes| first <= start && end <= first + bytes.len() as u64;
        let slice = |first: u64, bytes: &Bytes| {
            // Both are within a range that is in memory.
            let from = (start - first) as usize;
            bytes.slice(from..from + length)
        };
        if let Some((first, bytes)) = windows.iter().find(|(first, bytes)| within(*first, bytes)) {
            return Ok(slice(*first, bytes));
        }
        let wanted = if start == 0 { HEAD } else { WINDOW };
        let range = start..end.max(self.length.min(start + wanted));
        let told = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
        let fetched = runtime(&self.name)
            .map_err(|error| told(&error))?
            .block_on(self.store.get_range(&self.key, range));
        let bytes = fetched.map_err(|error| told(&refused(&self.name, &error)))?;
        let found = slice(start, &bytes);
        windows.push_back((start, bytes));
        if windows.len() > WINDOWS {
            windows.pop_front();
        }
        Ok(found)
    }
}

/// An object as a file that is read from some place on.
pub(crate) struct Reader {
    object: Arc<Object>,
    at: u64,
}

impl Reader {
    pub(crate) fn new(object: Arc<Object>, at: u64) -> Self {
        Self { object, at }
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.object.length.saturating_sub(self.at);
        let count = left.min(buffer.len().min(HEAD as usize) as u64) as usize;
        if count > 0 {
            buffer[..count].copy_from_slice(&self.object.get(self.at, count)?);
            self.at += count as u64;
        }
        Ok(count)
    }
}

impl Seek for Reader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.object.length.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// The addresses of the objects that a pattern names, in the order of their names: `*` and `?` in the last part of the key.
///
/// # Errors
/// When there are none, or the bucket may not be listed.
pub(crate) fn matching(pattern: &str) -> Result<Vec<String>> {
    let (bucket, key) = parts(pattern)?;
    let (folder, last) = key.rsplit_once('/').unwrap_or(("", key));
    if folder.contains(['*', '?']) {
        return Err(unopened(pattern, "a pattern may stand in the last part of an address only"));
    }
    let store = bucket_store(pattern, bucket)?;
    let prefix = if folder.is_empty() { None } else { Some(parsed(pattern, folder)?) };
    let listed = runtime(pattern)?.block_on(store.list_with_delimiter(prefix.as_ref()));
    let objects = listed.map_err(|error| refused(pattern, &error))?.objects;
    let named = |key: &Key| key.filename().is_some_and(|name| matches(last.as_bytes(), name.as_bytes()));
    let mut found: Vec<String> = objects
        .iter()
        .filter(|object| named(&object.location))
        .map(|object| format!("s3://{bucket}/{}", object.location))
        .collect();
    found.sort();
    if found.is_empty() {
        return Err(Error::NoObject { pattern: pattern.to_owned() });
    }
    Ok(found)
}

/// Whether a name is one of those that a pattern stands for.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match pattern.split_first() {
        None => name.is_empty(),
        Some((b'*', rest)) => (0..=name.len()).any(|taken| matches(rest, &name[taken..])),
        Some((mark, rest)) => name
            .split_first()
            .is_some_and(|(first, left)| (*mark == b'?' || mark == first) && matches(rest, left)),
    }
}

/// Bucket and key of an address.
fn parts(name: &str) -> Result<(&str, &str)> {
    let parts = name.strip_prefix("s3://").and_then(|rest| rest.split_once('/'));
    parts
        .filter(|(bucket, key)| !bucket.is_empty() && !key.is_empty())
        .ok_or_else(|| unopened(name, "an address must name a bucket and an object: s3://bucket/key"))
}

fn parsed(name: &str, key: &str) -> Result<Key> {
    Key::parse(key).map_err(|error| unopened(name, &error.to_string()))
}

fn bucket_store(name: &str, bucket: &str) -> Result<AmazonS3> {
    let retry = RetryConfig { max_retries: RETRIES.0, retry_timeout: RETRIES.1, ..RetryConfig::default() };
    // Whoever names an endpoint without encryption, as on the loopback, wants none.
    let plain = ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]
        .iter()
        .any(|variable| std::env::var(variable).is_ok_and(|url| url.starts_with("http://")));
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
    if plain {
        builder = builder.with_allow_http(true);
    }
    builder.build().map_err(|error| refused(name, &error))
}

/// The one runtime of the process: requests wait for one another, since a reader needs its bytes before it goes on.
fn runtime(name: &str) -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| Builder::new_multi_thread().worker_threads(1).enable_all().build());
    made.as_ref().map_err(|error| unopened(name, &error.to_string()))
}

fn unopened(name: &str, reason: &str) -> Error {
    Error::Open { file: name.to_owned(), reason: reason.to_owned() }
}

/// What the storage says, as one sentence.
fn refused(name: &str, error: &object_store::Error) -> Error {
    use object_store::Error as E;
    let reason = match error {
        E::NotFound { .. } => "there is no such object, or no such bucket".to_owned(),
        E::PermissionDenied { .. } | E::Unauthenticated { .. } => {
            "access is denied; check the credentials in the environment".to_owned()
        }
        other => {
            let words = other.to_string();
            words.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('.').to_owned()
        }
    };
    Error::Object { file: name.to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, same) in [
            ("*.parquet", "part-1.parquet", true),
            ("part-?.parquet", "part-12.parquet", false),
            ("part-?.parquet", "part-1.parquet", true),
            ("*-*.parquet", "part.parquet", false),
            ("", "", true),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), same, "{pattern} {name}");
        }
    }

    #[test]
    fn addresses() {
        assert!(is_address(Path::new("s3://bucket/a.parquet")) && !is_address(Path::new("a/s3://b")));
        assert_eq!(parts("s3://bucket/a/b.parquet").unwrap(), ("bucket", "a/b.parquet"));
        for wrong in ["s3://bucket", "s3:///key", "s3://bucket/"] {
            assert!(parts(wrong).unwrap_err().to_string().contains("s3://bucket/key"), "{wrong}");
        }
    }
}
