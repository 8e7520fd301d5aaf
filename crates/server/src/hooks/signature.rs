//! What a receiver knows a request by.

use comity_domain::token::to_hex;
use comity_domain::{HookSecret, Timestamp};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Signs a body at a time: `t=<unix seconds>,v1=<hex>`, the HMAC-SHA256 of `<seconds>.<body>`.
///
/// The time is signed as well, so that a request which somebody kept is not good for ever.
pub(super) fn sign(secret: &HookSecret, at: Timestamp, body: &[u8]) -> String {
    let seconds = at.micros().div_euclid(1_000_000);
    let prefix = format!("{seconds}.");
    let code = code(secret.reveal().as_bytes(), &[prefix.as_bytes(), body]);
    format!("t={seconds},v1={code}")
}

fn code(key: &[u8], parts: &[&[u8]]) -> String {
    // A key of any length is good.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return String::new();
    };
    for part in parts {
        mac.update(part);
    }
    to_hex(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 4231, cases 1, 2, 3 and 6
    #[test]
    fn the_code_is_that_of_the_standard() {
        for (key, data, expected) in [
            (
                vec![0x0b; 20],
                b"Hi There".to_vec(),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe".to_vec(),
                b"what do ya want for nothing?".to_vec(),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                vec![0xaa; 20],
                vec![0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                vec![0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First".to_vec(),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
        ] {
            assert_eq!(code(&key, &[&data]), expected);
        }
    }

    #[test]
    fn a_signature_names_its_time() {
        let secret = HookSecret::new([7; 32]);
        let signed = sign(
            &secret,
            Timestamp::from_micros(1_700_000_000_999_999),
            b"{}",
        );
        let expected = code(secret.reveal().as_bytes(), &[b"1700000000.{}"]);
        assert_eq!(signed, format!("t=1700000000,v1={expected}"));
    }
}
