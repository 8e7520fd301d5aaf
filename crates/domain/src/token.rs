//! Tokens: 256 random bits with a recognisable prefix, known to the database as a SHA-256 only.

use std::fmt;

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::TokenId;

const PREFIX: &str = "comity";

/// A token as its owner holds it: `comity_<id>_<64 hex digits>`.
///
/// It has no `Serialize`, no `Display`, and a `Debug` that hides it, so that it reaches a log, an
/// event or a stored answer only by somebody calling [`TokenSecret::reveal`] (S18).
#[derive(Clone)]
pub struct TokenSecret {
    id: TokenId,
    secret: [u8; 32],
}

/// What the database keeps of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenHash([u8; 32]);

impl TokenSecret {
    /// Makes the token with this id from fresh random bytes.
    pub const fn new(id: TokenId, secret: [u8; 32]) -> Self {
        Self { id, secret }
    }

    /// Reads a token as its owner presents it; `None` if it cannot be one of ours.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?.strip_prefix('_')?;
        let (id, secret) = rest.split_once('_')?;
        let number: i64 = id.parse().ok().filter(|&number| number > 0)?;
        if number.to_string() != id {
            return None;
        }
        Some(Self {
            id: TokenId::new(number),
            secret: from_hex(secret)?,
        })
    }

    /// Returns the public half, by which the database finds the token.
    pub const fn id(&self) -> TokenId {
        self.id
    }

    /// Returns the text that the owner keeps; the one way to see it.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}_{}_{}", self.id, to_hex(&self.secret))
    }

    /// Returns what the database keeps: the SHA-256 of [`TokenSecret::reveal`].
    pub fn hash(&self) -> TokenHash {
        TokenHash(Sha256::digest(self.reveal()).into())
    }
}

impl fmt::Debug for TokenSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenSecret({}, ..)", self.id)
    }
}

impl TokenHash {
    /// Takes the bytes the database holds.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes to store.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Compares in constant time (S19).
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

/// Writes bytes as lower-case hex digits.
pub fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|nibble| DIGITS.get(usize::from(nibble)))
        .collect()
}

/// Reads exactly 32 bytes from lower-case hex digits.
pub fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        for &digit in pair {
            let nibble = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'f' => digit - b'a' + 10,
                _ => return None,
            };
            *byte = *byte << 4 | nibble;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_round_trips_and_hides_itself() {
        let token = TokenSecret::new(TokenId::new(12), [0xab; 32]);
        let text = token.reveal();
        assert!(text.starts_with("comity_12_abab"));
        let read = TokenSecret::parse(&text).unwrap();
        assert!(read.hash().matches(&token.hash()));
        assert_eq!(format!("{token:?}"), "TokenSecret(12, ..)"); // S18
    }

    #[test]
    fn what_is_not_a_token_is_refused() {
        let good = TokenSecret::new(TokenId::new(1), [1; 32]).reveal();
        for bad in [
            "",
            "comity_1_",
            "comity__00",
            &good.replace("comity_1", "comity_01"),
            &good.replace("comity_1", "comity_-1"),
            &good.replace("comity", "Comity"),
            &good.to_uppercase(),
            &format!("{good}0"),
        ] {
            assert!(TokenSecret::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn the_stored_hash_is_what_sha256sum_prints() {
        let token = TokenSecret::new(TokenId::new(1), [0; 32]);
        let expected = Sha256::digest(format!("comity_1_{}", "0".repeat(64)));
        assert_eq!(to_hex(token.hash().bytes()), to_hex(&expected));
    }
}
