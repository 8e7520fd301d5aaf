//! The directory of an export: written aside, and put in its place when it is complete.

use std::fs::{DirBuilder, File};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use comity_kernel::Error;
use comity_kernel::archive::Exporting;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// How many exports of one project may have no name of their own.
const UNNAMED_MAX: u32 = 10_000;

/// A directory that is being filled; dropped before it is complete, it is gone.
pub(super) struct Site {
    target: PathBuf,
    aside: PathBuf,
    complete: bool,
}

impl Site {
    /// Begins one where it was asked for, or under the project's name.
    pub(super) fn begin(exporting: &Exporting, slug: &str) -> Result<Self, Error> {
        let exports = &exporting.exports;
        let target = match &exporting.asked.to {
            Some(to) => exports.join(to),
            None => free_name(exports, slug),
        };
        let taken = std::fs::symlink_metadata(&target).is_ok();
        let (Some(parent), Some(name), false) = (target.parent(), target.file_name(), taken) else {
            return Err(exists(&target));
        };
        if parent == exports {
            let mut private = DirBuilder::new();
            let made = private.recursive(true).mode(0o700).create(parent);
            made.map_err(refused(parent))?;
        }
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.new", std::process::id()));
        let aside = parent.join(hidden);
        // What a process of the same number left behind when it was killed.
        let _ = std::fs::remove_dir_all(&aside);
        std::fs::create_dir(&aside).map_err(refused(&aside))?;
        Ok(Self {
            target,
            aside,
            complete: false,
        })
    }

    /// Begins a file in it.
    pub(super) fn file(&self, name: &str) -> Result<Sheet, Error> {
        let path = self.aside.join(name);
        let file = File::create_new(&path).map_err(refused(&path))?;
        Ok(Sheet {
            file: BufWriter::new(file),
            path,
        })
    }

    /// Writes a whole file.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let mut sheet = self.file(name)?;
        sheet.push_bytes(content)?;
        sheet.end()
    }

    /// Makes a directory in it.
    pub(super) fn directory(&self, name: &str) -> Result<(), Error> {
        let path = self.aside.join(name);
        std::fs::create_dir(&path).map_err(refused(&path))
    }

    /// Puts it in its place, unless somebody else has been quicker.
    pub(super) fn finish(mut self) -> Result<PathBuf, Error> {
        let named = renameat_with(CWD, &self.aside, CWD, &self.target, RenameFlags::NOREPLACE);
        match named {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(exists(&self.target)),
            Err(error) => return Err(refused(&self.target)(error.into())),
        }
        self.complete = true;
        if let Some(parent) = self.target.parent() {
            let synced = File::open(parent).and_then(|parent| parent.sync_all());
            synced.map_err(refused(parent))?;
        }
        Ok(self.target.clone())
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !self.complete {
            let _ = std::fs::remove_dir_all(&self.aside);
        }
    }
}

/// A file that is being written.
pub(super) struct Sheet {
    file: BufWriter<File>,
    path: PathBuf,
}

impl Sheet {
    /// Adds some text.
    pub(super) fn push(&mut self, text: &str) -> Result<(), Error> {
        self.push_bytes(text.as_bytes())
    }

    fn push_bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all(bytes).map_err(refused(&self.path))
    }

    /// Ends it; it reaches the disk.
    pub(super) fn end(self) -> Result<(), Error> {
        let Self { file, path } = self;
        let ended = file
            .into_inner()
            .map_err(std::io::IntoInnerError::into_error);
        ended
            .and_then(|file| file.sync_data())
            .map_err(refused(&path))
    }
}

fn free_name(exports: &Path, slug: &str) -> PathBuf {
    let plain = exports.join(slug);
    let numbered = (2..UNNAMED_MAX).map(|number| exports.join(format!("{slug}-{number}")));
    let mut names = std::iter::once(plain.clone()).chain(numbered);
    names.find(|name| !name.exists()).unwrap_or(plain)
}

fn exists(target: &Path) -> Error {
    let rule = format!("names what exists already: `{}`", target.display());
    Error::invalid("to", rule)
}

fn refused(path: &Path) -> impl FnOnce(std::io::Error) -> Error {
    let path = path.display().to_string();
    move |cause| match cause.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Error::StorageFull,
        _ => Error::Unusable {
            what: format!("`{path}` cannot be written: {cause}"),
        },
    }
}
