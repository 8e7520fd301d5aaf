//! The configuration: defaults, then `comity.toml`, then the environment, then flags.

mod embedder;
mod file;
mod keys;
mod password;
mod values;

use std::path::{Path, PathBuf};
use std::time::Duration;

use comity_domain::limits::BATCH_MAX_POSTGRES;
use comity_kernel::datadir::DataDir;
use comity_kernel::{Error, Options};
use comity_server::archiving::Archiving;
use comity_server::hooks::{Commands, Hooking};
use comity_server::outbound::Reach;
use toml::{Table, Value};

use self::keys::{KEYS, Key, Origin};
use self::values::Values;

/// The file's name in the data directory.
pub(crate) const FILE: &str = "comity.toml";

/// The file that `comity init` writes.
pub(crate) const TEMPLATE: &str = include_str!("config/template.toml");

/// The settings, and where each came from.
pub(crate) struct Config {
    pub(crate) values: Values,
    table: Table,
    origins: Vec<Origin>,
}

impl Config {
    /// Reads the settings of a data directory.
    pub(crate) fn load(directory: &Path, database: Option<&str>) -> Result<Self, Error> {
        let mut config = Self {
            values: Values::default(),
            table: Table::try_from(Values::default()).map_err(Error::internal)?,
            origins: vec![Origin::Default; KEYS.len()],
        };
        let path = directory.join(FILE);
        if let Some(file) = file::read(&path)? {
            for key in KEYS {
                if let Some(value) = key.of(&file) {
                    config.set(key, value.clone(), &Origin::File(path.clone()))?;
                }
            }
        }
        for key in KEYS {
            if let Ok(text) = std::env::var(key.variable)
                && !text.is_empty()
            {
                let value = config.as_given(key, &text);
                config.set(key, value, &Origin::Variable(key.variable))?;
            }
        }
        for key in KEYS.iter().filter(|key| key.path() == "server.database") {
            if let Some(url) = database {
                config.set(key, Value::from(url), &Origin::Flag("--database"))?;
            }
        }
        if config.values.server.database.is_some() && !config.is_given("writer.batch_max") {
            config.values.writer.batch_max = BATCH_MAX_POSTGRES;
        }
        Ok(config)
    }

    /// Returns every setting as shown to people, with its origin.
    pub(crate) fn explain(&self) -> Result<Vec<(String, serde_json::Value, &Origin)>, Error> {
        let mut shown = self.values.clone();
        shown.server.database = shown
            .server
            .database
            .as_deref()
            .map(password::without_password);
        let shown = serde_json::to_value(shown)?;
        let row = |(key, origin): (&Key, _)| {
            let value = shown.get(key.section).and_then(|it| it.get(key.name));
            (key.path(), value.cloned().unwrap_or_default(), origin)
        };
        Ok(KEYS.iter().zip(&self.origins).map(row).collect())
    }

    /// Returns how a kernel is opened with these settings.
    pub(crate) fn options(&self, file: PathBuf) -> Result<Options, Error> {
        let Values {
            leases,
            hooks,
            writer,
            readers,
            ..
        } = &self.values;
        let base = match &self.values.server.database {
            Some(url) => Options::postgres(url)?,
            None => Options::sqlite(file),
        };
        Ok(Options {
            lease_ttl_us: leases.default_ttl.us,
            lease_grace_us: leases.grace.us,
            hook_commands: hooks.allow_commands,
            queue_max: writer.queue_max,
            batch_max: writer.batch_max,
            readers: readers.threads,
            embedder: embedder::of(&self.values.embedder)?,
            ..base
        })
    }

    /// Returns how the archive of a data directory is written, unless it is switched off.
    pub(crate) fn archiving(&self, data: &DataDir) -> Option<Archiving> {
        let archive = &self.values.archive;
        if !archive.enabled {
            return None;
        }
        let mut archiving = Archiving::of(data);
        archiving.place.batch_max = archive.batch_max;
        archiving.interval = Duration::from_micros(archive.interval.us.unsigned_abs());
        Some(archiving)
    }

    /// Returns how hooks are told.
    pub(crate) fn hooking(&self) -> Hooking {
        let hooks = &self.values.hooks;
        Hooking {
            commands: if hooks.allow_commands {
                Commands::Allowed
            } else {
                Commands::Refused
            },
            reach: if hooks.allow_private_addresses {
                Reach::Everywhere
            } else {
                Reach::Public
            },
            ..Hooking::default()
        }
    }

    /// Returns how long a lease lasts when nobody says.
    pub(crate) const fn lease_ttl_us(&self) -> i64 {
        self.values.leases.default_ttl.us
    }

    /// Tells whether the data lies elsewhere than in the data directory.
    pub(crate) fn has_database_url(&self) -> bool {
        self.values.server.database.is_some()
    }

    fn is_given(&self, path: &str) -> bool {
        let mut origins = KEYS.iter().zip(&self.origins);
        origins.any(|(key, origin)| key.path() == path && *origin != Origin::Default)
    }

    /// Takes a value over what is there; one that does not fit is refused by its own name.
    fn set(&mut self, key: &Key, value: Value, origin: &Origin) -> Result<(), Error> {
        if let Some(section) = self
            .table
            .get_mut(key.section)
            .and_then(Value::as_table_mut)
        {
            section.insert(key.name.to_owned(), value);
        }
        self.values = self.table.clone().try_into().map_err(|error| {
            let rule = file::reason(&error);
            let path = key.path();
            Error::Unusable {
                what: format!("{origin}: `{path}`: {rule}"),
            }
        })?;
        if let Some(rule) = self.values.broken_rule() {
            return Err(Error::Unusable {
                what: format!("{origin}: `{}`: {rule}", key.path()),
            });
        }
        let place = KEYS.iter().zip(&mut self.origins);
        for (_, known) in place.filter(|(known, _)| known.path() == key.path()) {
            known.clone_from(origin);
        }
        Ok(())
    }

    /// Reads a variable's text as the kind of value that is there.
    fn as_given(&self, key: &Key, text: &str) -> Value {
        match key.of(&self.table) {
            Some(Value::Boolean(_)) => text.parse().map_or_else(|_| text.into(), Value::Boolean),
            Some(Value::Integer(_)) => text.parse().map_or_else(|_| text.into(), Value::Integer),
            Some(Value::Array(_)) => {
                let parts = text
                    .split(',')
                    .map(str::trim)
                    .filter(|part| !part.is_empty());
                Value::Array(parts.map(Value::from).collect())
            }
            _ => Value::from(text),
        }
    }
}

#[cfg(test)]
mod tests;
