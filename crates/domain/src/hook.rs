//! Hooks: where an event is told, and the secret by which the told one knows the teller.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::limits::{HOOK_ARGUMENT_BYTES_MAX, HOOK_ARGUMENTS_MAX, HOOK_URL_BYTES_MAX};
use crate::token::to_hex;

const PREFIX: &str = "comityhook";

/// The address of a service: `http` or `https`, a host, no user, no fragment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct HookUrl(String);

/// A program with its arguments, never a line for a shell; the program is an absolute path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct HookCommand(Vec<String>);

/// What signs the requests of one hook: `comityhook_<64 hex digits>`.
///
/// Like a token it has no `Serialize`, no `Display` and a `Debug` that hides it (S18); unlike one it
/// is kept whole, because signing needs it.
#[derive(Clone)]
pub struct HookSecret([u8; 32]);

impl HookUrl {
    /// Checks `text`; the error is the rule it breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > HOOK_URL_BYTES_MAX {
            return Err(format!("must be at most {HOOK_URL_BYTES_MAX} bytes long"));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("must have only visible ASCII characters".to_owned());
        }
        let rest = text.strip_prefix("http://");
        let rest = rest.or_else(|| text.strip_prefix("https://"));
        let rest = rest.ok_or("must begin with http:// or https://")?;
        if rest.contains('#') {
            return Err("must not have a fragment".to_owned());
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, _) = rest.split_at(end);
        if authority.contains('@') {
            return Err("must not have a user or password".to_owned());
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            _ => (authority, None),
        };
        if host.is_empty() || host.contains(['\\', '<', '>', '"', '`', '{', '}', '^', '|', '%']) {
            return Err("must name a host".to_owned());
        }
        match port.map(str::parse::<u16>) {
            None | Some(Ok(1..)) => Ok(Self(text.to_owned())),
            Some(_) => Err("must have a port from 1 to 65535 behind its colon".to_owned()),
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl HookCommand {
    /// Checks a program and its arguments; the error is the rule they break.
    pub fn parse(words: Vec<String>) -> Result<Self, String> {
        match words.first() {
            Some(program) if program.starts_with('/') => {}
            _ => return Err("must begin with the absolute path of a program".to_owned()),
        }
        if words.len() > HOOK_ARGUMENTS_MAX {
            return Err(format!("must have at most {HOOK_ARGUMENTS_MAX} words"));
        }
        let unfit = |word: &String| {
            word.len() > HOOK_ARGUMENT_BYTES_MAX || word.chars().any(char::is_control)
        };
        if words.iter().any(unfit) {
            return Err(format!(
                "must have words of at most {HOOK_ARGUMENT_BYTES_MAX} bytes without control characters"
            ));
        }
        Ok(Self(words))
    }

    /// Returns the program and its arguments.
    pub fn words(&self) -> &[String] {
        &self.0
    }
}

impl HookSecret {
    /// Takes fresh random bytes, or those that were kept.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes to keep.
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Returns the text that both sides sign with; the one way to see it.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}_{}", to_hex(&self.0))
    }
}

impl fmt::Debug for HookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HookSecret(..)")
    }
}

impl<'de> Deserialize<'de> for HookUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for HookCommand {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(Vec::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

impl JsonSchema for HookUrl {
    fn schema_name() -> Cow<'static, str> {
        "HookUrl".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^https?://", "maxLength": HOOK_URL_BYTES_MAX })
    }
}

impl JsonSchema for HookCommand {
    fn schema_name() -> Cow<'static, str> {
        "HookCommand".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "array",
            "minItems": 1,
            "maxItems": HOOK_ARGUMENTS_MAX,
            "items": { "type": "string", "maxLength": HOOK_ARGUMENT_BYTES_MAX },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S6
    #[test]
    fn an_address_is_one_that_can_be_called() {
        for good in [
            "http://a.example",
            "https://a.example:8443/x?y=z",
            "http://[::1]:9/",
            "http://[::1]/",
            "http://127.0.0.1?x",
        ] {
            assert_eq!(HookUrl::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "a.example",
            "ftp://a.example/",
            "HTTP://a.example/",
            "http://",
            "http:///x",
            "http://:80/",
            "http://u:p@a.example/",
            "http://a.example/#f",
            "http://a.example:0/",
            "http://a.example:/",
            "http://a.example:65536/",
            "http://a.example/\u{202e}",
            "http://a.example/a b",
            "http://a.example/\r\nX: y",
            "http://a.example\0/",
            "http://a%2eexample/",
        ] {
            assert!(HookUrl::parse(bad).is_err(), "{bad:?}");
        }
        let long = format!("http://a/{}", "x".repeat(HOOK_URL_BYTES_MAX));
        assert!(HookUrl::parse(&long).is_err());
    }

    #[test]
    fn a_command_is_a_program_with_its_arguments() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        assert!(HookCommand::parse(words(&["/bin/cat", "", "a b; rm"])).is_ok());
        for bad in [
            &[][..],
            &["cat"],
            &["./cat"],
            &["/bin/cat", "\0"],
            &["/bin/c\nat"],
        ] {
            assert!(HookCommand::parse(words(bad)).is_err(), "{bad:?}");
        }
        assert!(HookCommand::parse(vec!["/x".to_owned(); HOOK_ARGUMENTS_MAX + 1]).is_err());
    }

    #[test]
    fn a_secret_hides_itself() {
        let secret = HookSecret::new([0xab; 32]);
        assert_eq!(format!("{secret:?}"), "HookSecret(..)"); // S18
        assert!(secret.reveal().starts_with("comityhook_abab"));
    }
}
