//! The only way out: requests that the server makes to addresses somebody else chose.
//!
//! The address comes from a person and the answer from a stranger, so everything has a bound: the
//! time, the size, where a name may lead. A name is resolved here, each of its addresses is judged
//! (`address`), and the connection goes to exactly one that was: asking twice would let the second
//! answer be another one. Redirects are not followed, and no proxy is taken from the environment.

mod address;
mod client;
mod names;
mod tls;
mod url;

pub use address::is_public;
pub use client::{Limits, Outbound, Reach, Response};
pub use url::{BadUrl, Url};

use std::net::IpAddr;

/// Why a request got no answer. The texts name the host and never the rest of the address, which
/// may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// The address cannot be used at all.
    #[error("the address {0}")]
    Url(#[from] BadUrl),
    /// A header cannot be sent.
    #[error("header `{name}` cannot be sent")]
    Header {
        /// Which one.
        name: String,
    },
    /// The name leads to where requests may not go.
    #[error(
        "`{host}` is {address}, which is not a public address; `[hooks] allow_private_addresses` \
         would allow it"
    )]
    Private {
        /// The name.
        host: String,
        /// Where it leads.
        address: IpAddr,
    },
    /// The name leads nowhere.
    #[error("`{host}` cannot be resolved: {reason}")]
    Name {
        /// The name.
        host: String,
        /// What the resolver said.
        reason: String,
    },
    /// Nobody took the connection, or it broke off.
    #[error("`{host}`: {reason}")]
    Connection {
        /// The name.
        host: String,
        /// What happened.
        reason: String,
    },
    /// It took too long.
    #[error("`{host}` did not {what} in time")]
    Slow {
        /// The name.
        host: String,
        /// What was waited for.
        what: &'static str,
    },
    /// The answer is longer than it may be.
    #[error("`{host}` answered more than {bytes_max} bytes")]
    TooLong {
        /// The name.
        host: String,
        /// What was allowed.
        bytes_max: usize,
    },
}

#[cfg(test)]
mod tests;
