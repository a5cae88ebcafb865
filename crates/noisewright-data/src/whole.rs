//! Writing a file whole or not at all.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::reason;
use crate::{Error, Result};

/// Has `contents` write a file beside `path` and moves it there when it is complete, so that a failure leaves what was
/// there. Links stay links and permissions are kept; devices and pipes are written to as they are. On Linux a process that is
/// ended before leaves nothing behind; elsewhere a file whose name begins with `.noisewright-`.
///
/// ```
/// use std::io::{Error, Write};
/// use noisewright_data::write_whole;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("notes.txt");
/// write_whole(&path, |file| file.write_all(b"all of it"))?;
/// assert!(write_whole(&path, |file| file.write_all(b"half").and(Err(Error::other("no more")))).is_err());
/// assert_eq!(std::fs::read_to_string(&path)?, "all of it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the system refuses, or `contents` fails.
pub fn write_whole(path: &Path, contents: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    replace(path, contents)
        .map_err(|error| Error::Write { file: path.display().to_string(), reason: refusal(&error) })
}

/// What the system says; nothing is missing but the folder when a file is to be made.
fn refusal(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "there is no such folder".to_owned(),
        _ => reason(error),
    }
}

fn replace(path: &Path, contents: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    if is_stream(path) {
        // Opened anew, a file that standard output goes to is written from its beginning unless it is appended to.
        return contents(&mut File::options().append(true).open(path)?);
    }
    // A link is followed, so that it stays one.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let existing = fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(|data| !data.is_file()) {
        // A device or a pipe cannot be moved onto; a folder refuses here.
        return contents(&mut File::options().write(true).open(&target)?);
    }
    let folder = folder_of(&target);
    #[cfg(target_os = "linux")]
    if let Some(mut unnamed) = crate::unnamed::Unnamed::within(&folder) {
        fill(&mut unnamed.file, contents, existing.as_ref())?;
        let beside = temporary().make_in(&folder, |name| unnamed.link(name))?;
        return Ok(beside.into_temp_path().persist(&target)?);
    }
    let mut beside = temporary().tempfile_in(&folder)?;
    fill(beside.as_file_mut(), contents, existing.as_ref())?;
    beside.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

/// Writes all of a file that is to stand where another may be, and sees it onto the disk.
fn fill(
    file: &mut File,
    contents: impl FnOnce(&mut File) -> io::Result<()>,
    existing: Option<&Metadata>,
) -> io::Result<()> {
    contents(file)?;
    if let Some(data) = existing {
        file.set_permissions(data.permissions())?;
    }
    file.sync_all()
}

/// Whether a name stands for something that this process has open, such as `/dev/stdout`.
fn is_stream(path: &Path) -> bool {
    let streams = ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"];
    streams.iter().any(|stream| path.starts_with(stream))
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// Files that vanish unless they are moved to their names, with the permissions of any new file.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".noisewright-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}
