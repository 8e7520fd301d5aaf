//! The Unix socket of a data directory: the door for whoever owns the directory.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use comity_domain::token::to_hex;
use comity_kernel::ambient::Ambient;
use comity_kernel::datadir::DataDir;
use tokio::net::UnixListener;

/// Bytes of a path that still fits a socket's address, with its end.
const PATH_BYTES_MAX: usize = 107;

/// How the name of a directory begins that is made for a socket.
const PREFIX: &str = "comity-";
/// Letters behind it.
const RANDOM_LETTERS: usize = 12;

/// Opens the socket; whoever holds `serve.lock` may replace what a dead server left.
pub fn bind(data: &DataDir) -> io::Result<UnixListener> {
    let place = place(data);
    remove(data);
    let (path, note) = if place.as_os_str().len() <= PATH_BYTES_MAX {
        (place, None)
    } else {
        (short_path()?, Some(()))
    };
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    if note.is_some() {
        let text = format!("{}\n", path.display());
        data.write_private("comity.sock".as_ref(), &text)
            .map_err(io::Error::other)?;
    }
    Ok(listener)
}

/// Returns where the socket is: beside the data, or where the file in its place says.
pub fn locate(data: &DataDir) -> PathBuf {
    let place = place(data);
    let is_note = std::fs::symlink_metadata(&place).is_ok_and(|found| found.is_file());
    if is_note && let Ok(note) = std::fs::read_to_string(&place) {
        return PathBuf::from(note.trim_end());
    }
    place
}

/// Removes the socket; only its server may.
pub fn remove(data: &DataDir) {
    let socket = locate(data);
    for path in [&socket, &place(data)] {
        let ours = std::fs::symlink_metadata(path)
            .is_ok_and(|found| found.file_type().is_socket() || found.is_file());
        if ours {
            // Gone already is just as well; in the way it shows when binding.
            let _ = std::fs::remove_file(path);
        }
    }
    if let Some(directory) = socket
        .parent()
        .filter(|directory| is_made_for_it(directory))
    {
        // With something in it, it is not ours alone.
        let _ = std::fs::remove_dir(directory);
    }
}

fn place(data: &DataDir) -> PathBuf {
    data.path().join("comity.sock")
}

/// Makes a private directory with a short name in the runtime directory.
fn short_path() -> io::Result<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let runtime = runtime.filter(|path| path.is_absolute());
    let base = runtime.unwrap_or_else(std::env::temp_dir);
    let name = format!("{PREFIX}{}", to_hex(&Ambient::system().random::<6>()));
    make_private(&base.join(name)).map(|directory| directory.join("comity.sock"))
}

/// Tells whether a directory was made by [`short_path`].
fn is_made_for_it(directory: &Path) -> bool {
    let name = directory.file_name().and_then(|name| name.to_str());
    let random = name.and_then(|name| name.strip_prefix(PREFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM_LETTERS && random.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn make_private(path: &Path) -> io::Result<PathBuf> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().mode(0o700).create(path)?;
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_path_too_long_for_a_socket_leads_to_a_short_one() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["short", &"long".repeat(30)] {
            let data = DataDir::open(&directory.path().join(name)).unwrap();
            let listener = bind(&data).unwrap();
            let connected = tokio::net::UnixStream::connect(locate(&data)).await;
            connected.unwrap();
            let mode = std::fs::metadata(locate(&data))
                .unwrap()
                .permissions()
                .mode();
            assert_eq!(mode & 0o777, 0o600);
            // What a dead server left is replaced.
            drop(listener);
            let left = locate(&data);
            bind(&data).unwrap();
            let replaced = locate(&data);
            remove(&data);
            assert!(!locate(&data).exists(), "{name}");
            for socket in [left, replaced] {
                let directory = socket.parent().unwrap();
                assert_eq!(directory.exists(), directory == data.path(), "{socket:?}");
            }
        }
    }
}
