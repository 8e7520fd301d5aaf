//! Where the data lies: the global options that say it, and what they open.

use std::path::{Path, PathBuf};

use clap::Args;
use comity_kernel::datadir::{DataDir, Hold};
use comity_kernel::options::Sharing;
use comity_kernel::{Error, Kernel, Options};

/// Where the data lies.
#[derive(Args)]
pub(crate) struct Place {
    /// The data directory: the nearest `.comity` upwards, else the user's.
    #[arg(long, global = true, value_name = "DIR", env = "COMITY_DATA")]
    data: Option<PathBuf>,
    /// A PostgreSQL URL that replaces the embedded database.
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "COMITY_DATABASE_URL",
        hide_env_values = true
    )]
    database: Option<String>,
}

/// A kernel with the right to its data directory.
pub(crate) struct Embedded {
    pub(crate) kernel: Kernel,
    pub(crate) data: DataDir,
    _hold: Hold,
}

impl Place {
    /// Opens the data directory.
    pub(crate) fn directory(&self) -> Result<DataDir, Error> {
        let path = match &self.data {
            Some(path) => path.clone(),
            None => nearest(&std::env::current_dir().unwrap_or_default()).map_or_else(users, Ok)?,
        };
        DataDir::open(&path)
    }

    /// Opens the kernel for one command, beside others of its kind.
    pub(crate) fn embedded(&self) -> Result<Embedded, Error> {
        let data = self.directory()?;
        let hold = data.hold_shared()?;
        let mut options = self.options(&data)?;
        options.sharing = Sharing::Shared;
        options.readers = 1;
        Ok(Embedded {
            kernel: Kernel::open(options)?,
            data,
            _hold: hold,
        })
    }

    /// Opens the kernel for a server, alone on its data directory.
    pub(crate) fn served(&self) -> Result<Embedded, Error> {
        let data = self.directory()?;
        let hold = data.hold_for_server()?;
        Ok(Embedded {
            kernel: Kernel::open(self.options(&data)?)?,
            data,
            _hold: hold,
        })
    }

    fn options(&self, data: &DataDir) -> Result<Options, Error> {
        let mut options = match &self.database {
            Some(url) => Options::postgres(url)?,
            None => Options::sqlite(data.database()),
        };
        options.backups = Some(data.backups()?);
        Ok(options)
    }
}

/// Finds the nearest `.comity` from `start` upwards.
fn nearest(start: &Path) -> Option<PathBuf> {
    start
        .ancestors()
        .map(|directory| directory.join(".comity"))
        .find(|candidate| candidate.is_dir())
}

/// The user's data directory.
fn users() -> Result<PathBuf, Error> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_DATA_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/share")))
        .map(|base| base.join("comity"))
        .ok_or_else(|| Error::Unusable {
            what: "there is no home directory; say `--data DIR`".to_owned(),
        })
}
