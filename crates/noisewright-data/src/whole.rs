//! Writing a file whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::reason;
use crate::{Error, Result};

/// Has `contents` write a file beside `path` and moves it there when it is complete.
pub(crate) fn write(path: &Path, contents: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    replace(path, contents)
        .map_err(|error| Error::Write { file: path.display().to_string(), reason: refusal(&error) })
}

/// What the system says; nothing is missing but the folder when a file is to be made.
fn refusal(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::NotFound { "there is no such folder".to_owned() } else { reason(error) }
}

fn replace(path: &Path, contents: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    // A link is followed, so that it stays one.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let existing = fs::metadata(&target).ok();
    if existing.as_ref().is_some_and(|data| !data.is_file()) {
        // A device or a pipe cannot be moved onto; a folder refuses here.
        return contents(&mut File::options().write(true).open(&target)?);
    }
    let mut beside = temporary(&folder_of(&target))?;
    contents(beside.as_file_mut())?;
    if let Some(data) = existing {
        beside.as_file().set_permissions(data.permissions())?;
    }
    beside.as_file().sync_all()?;
    beside.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// A file that vanishes unless it is moved to its name, with the permissions of any new file.
fn temporary(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".noisewright-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}
