//! What every session must run under: set at the start, then read back (A9).

use std::collections::HashMap;
use std::time::Duration;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Config};

use super::fault::classify;
use super::target::PostgresTarget;
use crate::store::StoreError;

/// PostgreSQL 15, as `server_version_num` counts.
const VERSION_MIN: u64 = 150_000;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(10);
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;

/// What a session is for; its time limits follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Changes the workspace; others wait for it.
    Writer,
    /// Reads snapshots.
    Reader,
    /// Hears of commits.
    Listener,
    /// Reads everything once, which takes as long as the tables are large.
    Examiner,
    /// Changes the schema, which takes as long as the tables are large.
    Migrator,
}

impl Role {
    fn statement_timeout_ms(self) -> &'static str {
        match self {
            Self::Writer => "10000",
            Self::Reader | Self::Listener => "5000",
            Self::Migrator | Self::Examiner => "0",
        }
    }

    fn lock_timeout_ms(self) -> &'static str {
        match self {
            Self::Writer | Self::Reader | Self::Listener | Self::Examiner => "10000",
            // Another server may be migrating just now.
            Self::Migrator => "60000",
        }
    }

    /// How long the server may be silent. Its own limits end a statement earlier; this one is for a
    /// server that no longer keeps them.
    pub(super) fn answer_max(self) -> Duration {
        match self {
            Self::Writer | Self::Reader | Self::Listener | Self::Migrator => {
                Duration::from_secs(30)
            }
            Self::Examiner => Duration::from_hours(1),
        }
    }

    /// Whoever examines or moves a log that was pruned reads the archive first, with nothing to ask
    /// here meanwhile; nobody waits for a snapshot that only reads.
    fn idle_timeout_ms(self) -> &'static str {
        match self {
            Self::Writer | Self::Reader | Self::Listener | Self::Migrator => "5000",
            Self::Examiner => "0",
        }
    }
}

/// A session that does not run under what we rely on.
#[derive(Debug, thiserror::Error)]
#[error("expected the server's `{name}` to be {expected}, found `{found}`")]
struct Mismatch {
    name: &'static str,
    expected: String,
    found: String,
}

/// Completes what the URL says with our time limits.
pub(super) fn config(target: &PostgresTarget) -> Config {
    let mut config = target.config().clone();
    config
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_user_timeout(TCP_USER_TIMEOUT)
        .keepalives(true)
        .keepalives_idle(KEEPALIVE_IDLE)
        .keepalives_interval(KEEPALIVE_INTERVAL)
        .keepalives_retries(KEEPALIVE_RETRIES);
    if config.get_application_name().is_none() {
        // Tells the administrator of a shared server whose connection it is.
        config.application_name(format!("comity {}", target.schema()));
    }
    config
}

/// Sets everything up and reads it back; a mismatch is fatal.
pub(super) async fn establish(
    client: &Client,
    target: &PostgresTarget,
    role: Role,
) -> Result<(), StoreError> {
    let search_path = format!("\"{}\"", target.schema());
    let ours = [
        ("search_path", search_path.as_str()),
        ("client_encoding", "UTF8"),
        ("standard_conforming_strings", "on"),
        ("statement_timeout", role.statement_timeout_ms()),
        ("lock_timeout", role.lock_timeout_ms()),
        (
            "idle_in_transaction_session_timeout",
            role.idle_timeout_ms(),
        ),
        ("tcp_user_timeout", "10000"),
    ];
    let (names, values): (Vec<&str>, Vec<&str>) = ours.iter().copied().unzip();
    client
        .query_typed(
            "select set_config(name, value, false) from unnest($1, $2) as ours (name, value)",
            &[(&names, Type::TEXT_ARRAY), (&values, Type::TEXT_ARRAY)],
        )
        .await
        .map_err(classify)?;
    let found = Found::read(client).await?;
    found.expect_version()?;
    // Anything but off: an answered COMMIT is on disk.
    found.expect("synchronous_commit", "anything but off", |value| {
        value != "off"
    })?;
    found.expect("server_encoding", "UTF8", |value| value == "UTF8")?;
    for (name, expected) in ours {
        // A Unix socket has no such limit: the server answers 0 whatever was set.
        if name != "tcp_user_timeout" || found.is_tcp {
            found.expect(name, expected, |value| value == expected)?;
        }
    }
    Ok(())
}

struct Found {
    settings: HashMap<String, String>,
    is_tcp: bool,
}

impl Found {
    async fn read(client: &Client) -> Result<Self, StoreError> {
        // `setting` is in the base unit, milliseconds, where SHOW would choose one.
        let rows = client
            .query_typed(
                "select name, setting, inet_client_addr() is not null from pg_settings \
                 where name in ('server_version_num', 'server_encoding', 'synchronous_commit', \
                 'search_path', 'client_encoding', 'standard_conforming_strings', \
                 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', \
                 'tcp_user_timeout')",
                &[],
            )
            .await
            .map_err(classify)?;
        let mut found = Self {
            settings: HashMap::new(),
            is_tcp: false,
        };
        for row in rows {
            found.is_tcp = row.try_get(2).map_err(classify)?;
            found.settings.insert(
                row.try_get(0).map_err(classify)?,
                row.try_get(1).map_err(classify)?,
            );
        }
        Ok(found)
    }

    fn expect_version(&self) -> Result<(), StoreError> {
        self.expect("server_version_num", "150000 or more", |value| {
            value
                .parse()
                .is_ok_and(|version: u64| version >= VERSION_MIN)
        })
    }

    fn expect(
        &self,
        name: &'static str,
        expected: &str,
        is_right: impl Fn(&str) -> bool,
    ) -> Result<(), StoreError> {
        let found = self.settings.get(name).map_or("", String::as_str);
        if is_right(found) {
            return Ok(());
        }
        Err(StoreError::Other(std::sync::Arc::new(Mismatch {
            name,
            expected: expected.to_owned(),
            found: found.to_owned(),
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, setting: &str) -> Found {
        Found {
            settings: HashMap::from([(name.to_owned(), setting.to_owned())]),
            is_tcp: true,
        }
    }

    // A9
    #[test]
    fn a_mismatch_or_an_unknown_setting_is_an_error() {
        for (setting, is_fine) in [("140012", false), ("150000", true), ("x", false)] {
            let found = found("server_version_num", setting);
            assert_eq!(found.expect_version().is_ok(), is_fine, "{setting}");
        }
        let off = found("synchronous_commit", "off");
        assert!(
            off.expect("synchronous_commit", "on", |value| value != "off")
                .is_err()
        );
        assert!(off.expect("missing", "on", |value| value == "on").is_err());
    }
}
