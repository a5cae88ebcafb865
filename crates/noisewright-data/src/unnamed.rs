//! Files of Linux that have no name until they are whole, so that whatever ends the process leaves nothing behind.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

/// A file in a folder without a name in it.
pub(crate) struct Unnamed {
    pub(crate) file: File,
}

impl Unnamed {
    /// None where the file system has no such files, or nothing that names them (`/proc`).
    pub(crate) fn within(folder: &Path) -> Option<Self> {
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        // As any new file: what the user's mask leaves of it.
        let file = File::from(open(folder, flags, Mode::from_raw_mode(0o666)).ok()?);
        let unnamed = Self { file };
        unnamed.path().exists().then_some(unnamed)
    }

    /// The file as the process sees it.
    fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.file.as_raw_fd()).into()
    }

    /// Gives it a name that nobody else has.
    pub(crate) fn link(&self, name: &Path) -> io::Result<()> {
        Ok(linkat(CWD, self.path(), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }
}
