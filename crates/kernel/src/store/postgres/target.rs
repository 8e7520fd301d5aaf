//! Where a PostgreSQL workspace lies.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// The schema of a URL that names none.
const SCHEMA: &str = "comity";

/// The longest name PostgreSQL keeps whole.
const NAME_BYTES_MAX: usize = 63;

/// A server, a database and a schema in it.
#[derive(Clone, Debug)]
pub struct PostgresTarget {
    config: Config,
    schema: String,
}

/// A URL that names no PostgreSQL workspace. Never holds the URL: it may hold a password.
#[derive(Clone, Debug, thiserror::Error)]
pub enum TargetError {
    /// Another kind of address.
    #[error("expected a URL that starts with `postgres://`")]
    Scheme,
    /// A schema that cannot be written without quotes, or two of them.
    #[error("expected one schema of at most 63 lowercase letters, digits and `_`, found `{0}`")]
    Schema(String),
    /// No server to connect to.
    #[error("the URL names no host")]
    Host,
    /// Anything else the driver refuses.
    #[error("the URL cannot be read")]
    Url(#[source] Arc<tokio_postgres::Error>),
}

impl PostgresTarget {
    /// Reads `postgres://user:password@host/database?schema=name`, or `?host=/path` for a socket.
    pub fn parse(url: &str) -> Result<Self, TargetError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(TargetError::Scheme);
        }
        let (url, schema) = split_schema(url)?;
        let config = Config::from_str(&url).map_err(|error| TargetError::Url(Arc::new(error)))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(TargetError::Host);
        }
        Ok(Self { config, schema })
    }

    /// Returns the schema's name; it needs no quotes unless it is a word of SQL.
    pub(super) fn schema(&self) -> &str {
        &self.schema
    }

    /// Returns the channel on which commits to this workspace are told.
    ///
    /// The bare schema name: a channel is a name of at most 63 bytes too, so nothing can be added.
    pub(super) fn channel(&self) -> &str {
        &self.schema
    }

    /// Returns what the driver needs to know.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }
}

impl fmt::Display for PostgresTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "schema {} of database ", self.schema)?;
        let name = self.config.get_dbname().or(self.config.get_user());
        f.write_str(name.unwrap_or("(default)"))?;
        for (nth, host) in self.config.get_hosts().iter().enumerate() {
            f.write_str(if nth == 0 { " on " } else { ", " })?;
            match host {
                Host::Tcp(host) => f.write_str(host)?,
                Host::Unix(path) => path.display().fmt(f)?,
            }
        }
        Ok(())
    }
}

/// Takes `schema` out of the query: the driver refuses parameters it does not know.
fn split_schema(url: &str) -> Result<(String, String), TargetError> {
    // A password may hold a question mark, so the query begins after the credentials.
    let (credentials, rest) = url
        .split_once('@')
        .map_or(("", url), |(credentials, rest)| (credentials, rest));
    let at = if credentials.is_empty() { "" } else { "@" };
    let Some((place, query)) = rest.split_once('?') else {
        return Ok((url.to_owned(), SCHEMA.to_owned()));
    };
    let (schemas, others): (Vec<&str>, Vec<&str>) = query
        .split('&')
        .partition(|pair| pair.starts_with("schema="));
    let schema = match schemas.as_slice() {
        [] => SCHEMA,
        [pair] => pair.trim_start_matches("schema="),
        [_, second, ..] => return Err(TargetError::Schema((*second).to_owned())),
    };
    if !is_plain_name(schema) {
        return Err(TargetError::Schema(schema.to_owned()));
    }
    let query = others.join("&");
    let mark = if query.is_empty() { "" } else { "?" };
    Ok((
        format!("{credentials}{at}{place}{mark}{query}"),
        schema.to_owned(),
    ))
}

fn is_plain_name(name: &str) -> bool {
    name.len() <= NAME_BYTES_MAX
        && name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schema_is_taken_out_of_the_url_and_defaults_to_comity() {
        for (url, schema, shown) in [
            (
                "postgres://h/d",
                "comity",
                "schema comity of database d on h",
            ),
            (
                "postgres://u:p@h/d?schema=a_1",
                "a_1",
                "schema a_1 of database d on h",
            ),
            (
                "postgresql://u:a?b@h/d?schema=x",
                "x",
                "schema x of database d on h",
            ),
            (
                "postgres:///d?host=/run/pg&schema=x&port=5433",
                "x",
                "schema x of database d on /run/pg",
            ),
            (
                "postgres://u@/d?host=/run/pg,h&application_name=y",
                "comity",
                "schema comity of database d on /run/pg,h",
            ),
        ] {
            let target = PostgresTarget::parse(url).expect(url);
            assert_eq!(target.schema(), schema, "{url}");
            assert_eq!(target.to_string(), shown, "{url}");
        }
    }

    #[test]
    fn bad_urls_are_refused() {
        let long = format!("postgres://h/d?schema={}", "x".repeat(64));
        for url in [
            "sqlite:///x",
            "postgres:///d",
            "postgres://h/d?schema=",
            "postgres://h/d?schema=A",
            "postgres://h/d?schema=1a",
            "postgres://h/d?schema=a\"b",
            "postgres://h/d?schema=a%62",
            "postgres://h/d?schema=a&schema=b",
            "postgres://h/d?colour=red",
            "postgres://h:port/d",
            &long,
        ] {
            assert!(PostgresTarget::parse(url).is_err(), "{url}");
        }
    }

    // S18
    #[test]
    fn neither_debug_nor_display_nor_errors_show_the_password() {
        let target = PostgresTarget::parse("postgres://u:hunter2@h/d").expect("valid");
        let wrong = PostgresTarget::parse("postgres://u:hunter2@h/d?x=1").expect_err("refused");
        for shown in [
            format!("{target:?}"),
            target.to_string(),
            format!("{wrong:?} {wrong}"),
        ] {
            assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
}
