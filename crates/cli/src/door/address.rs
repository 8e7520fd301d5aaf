//! Where a server is: the socket of a data directory, or a URL.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use hyper::Uri;

use crate::failure::Failure;

/// Where a server is.
#[derive(Clone, Debug)]
pub(super) enum Address {
    /// The socket of a data directory: whoever can open it is the operator.
    Socket(PathBuf),
    /// A URL; the operator's token lies in the data directory.
    Url {
        authority: String,
        prefix: String,
        operator_token: PathBuf,
    },
}

impl Address {
    /// Reads a URL, and says what is wrong with it.
    pub(super) fn url(url: &str, operator_token: PathBuf) -> Result<Self, Failure> {
        let bad = |rule: &str| Failure::unusable(format!("the URL `{url}` {rule}"));
        // Credentials in a URL would end up in a transcript.
        if url.contains('@') {
            return Err(Failure::unusable(
                "the URL must not hold credentials: use `--as`, `--operator` or COMITY_TOKEN",
            ));
        }
        let uri: Uri = url.parse().map_err(|_| bad("cannot be read"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(bad("needs TLS, which comes later: use `http://`")),
            _ => return Err(bad("must begin with `http://`")),
        }
        let authority = uri.authority().ok_or_else(|| bad("names no host"))?;
        let port = authority.port_u16().unwrap_or(80);
        Ok(Self::Url {
            authority: format!("{}:{port}", authority.host()),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            operator_token,
        })
    }

    /// Tells whether what is sent leaves this machine unprotected.
    pub(super) fn is_exposed(&self) -> bool {
        let Self::Url { authority, .. } = self else {
            return false;
        };
        let host = authority.rsplit_once(':').map_or("", |(host, _)| host);
        let address: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
        host != "localhost" && !address.is_ok_and(|address| address.is_loopback())
    }

    /// Says that nobody answers there.
    pub(super) fn away(&self, error: &dyn std::error::Error) -> Failure {
        let what = format!("the server at {self} cannot be reached: {error}");
        Failure {
            is_away: true,
            ..Failure::unusable(what)
        }
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Socket(path) => path.display().fmt(f),
            Self::Url {
                authority, prefix, ..
            } => write!(f, "http://{authority}{prefix}"),
        }
    }
}

/// Tells whether somebody answers at a socket.
pub(super) fn answers(socket: &Path) -> bool {
    std::os::unix::net::UnixStream::connect(socket).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(url: &str) -> Result<Address, String> {
        Address::url(url, PathBuf::new()).map_err(|failure| failure.body["message"].to_string())
    }

    #[test]
    fn a_url_is_plain_http_without_credentials() {
        assert!(url("https://host").unwrap_err().contains("TLS"));
        assert!(url("host:1").unwrap_err().contains("http://"));
        let secret = url("http://me:canary@host").unwrap_err();
        assert!(secret.contains("credentials") && !secret.contains("canary"));
        assert_eq!(
            url("http://host/x/").unwrap().to_string(),
            "http://host:80/x"
        );
    }

    // S21
    #[test]
    fn a_url_that_leaves_the_machine_is_known() {
        for (address, exposed) in [
            ("http://127.0.0.1:7117", false),
            ("http://localhost:7117", false),
            ("http://[::1]:7117", false),
            ("http://192.168.1.2:7117", true),
            ("http://localhost.example.org", true),
        ] {
            assert_eq!(url(address).unwrap().is_exposed(), exposed, "{address}");
        }
    }
}
