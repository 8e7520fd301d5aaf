//! Addresses of other people's services.

use hyper::Uri;
use hyper::http::uri::Scheme;

/// The longest address.
const URL_BYTES_MAX: usize = 2_048;

/// An address that a request can be made to: `http` or `https`, a host, no user, no fragment.
#[derive(Clone)]
pub struct Url {
    pub(super) uri: Uri,
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) secure: bool,
}

/// What is wrong with an address, to be read behind `the address` or a field's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadUrl(pub &'static str);

impl Url {
    /// Reads an address.
    pub fn parse(text: &str) -> Result<Self, BadUrl> {
        if text.len() > URL_BYTES_MAX {
            return Err(BadUrl("may be at most 2048 bytes long"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BadUrl("may have only visible ASCII characters"));
        }
        if text.contains('#') {
            return Err(BadUrl("may not have a fragment"));
        }
        let uri: Uri = text.parse().map_err(|_| BadUrl("is not a URL"))?;
        let secure = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(BadUrl("must begin with http:// or https://")),
        };
        let authority = uri.authority().ok_or(BadUrl("must name a host"))?;
        if authority.as_str().contains('@') {
            return Err(BadUrl("may not have a user or password"));
        }
        let host = authority.host();
        let bare = host
            .strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'));
        let host = bare.unwrap_or(host).to_owned();
        if host.is_empty() {
            return Err(BadUrl("must name a host"));
        }
        let told = authority.as_str().len() > authority.host().len();
        let port = match authority.port_u16() {
            Some(0) => return Err(BadUrl("may not have port 0")),
            Some(port) => port,
            None if told => {
                return Err(BadUrl("must have a port from 1 to 65535 behind its colon"));
            }
            None if secure => 443,
            None => 80,
        };
        Ok(Self {
            uri,
            host,
            port,
            secure,
        })
    }

    /// Returns the host, the part that may be shown to anybody.
    pub fn host(&self) -> &str {
        &self.host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for (text, host, port, secure) in [
            ("http://a.example", "a.example", 80, false),
            ("https://a.example/x?y=z", "a.example", 443, true),
            ("HTTPS://a.example:8443/", "a.example", 8443, true),
            ("http://[::1]:9/", "::1", 9, false),
            ("http://127.1/", "127.1", 80, false),
        ] {
            let url = Url::parse(text).unwrap();
            assert_eq!((&*url.host, url.port, url.secure), (host, port, secure));
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in [
            "",
            "/",
            "a.example",
            "//a.example/",
            "ftp://a.example/",
            "file:///etc/passwd",
            "http://",
            "http:///x",
            "http://:80/",
            "http://u@a.example/",
            "http://u:p@a.example/",
            "http://a.example/#f",
            "http://a.example:0/",
            "http://a.example:/",
            "http://a.example:65536/",
            "http://a.example/\u{e9}",
            "http://a.example/a b",
            "http://a.example/\r\nX: y",
            "http://a.example\0/",
        ] {
            assert!(Url::parse(text).is_err(), "{text:?}");
        }
        assert!(Url::parse(&format!("http://a.example/{}", "x".repeat(2_048))).is_err());
    }
}
