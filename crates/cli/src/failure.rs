//! Why a command failed, wherever it was decided: in this process or by a server.

use comity_kernel::Error;
use comity_kernel::error::CODES;
use serde_json::Value;

/// Exit code of a failure that has none of its own.
const FAILED: u8 = 2;

/// An error as every surface shows it, with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: u8,
    pub(crate) body: Value,
    /// Whether a server was called that is not there, or went away before it answered.
    pub(crate) is_away: bool,
}

impl Failure {
    /// Takes the error that a server answered.
    pub(crate) fn answered(body: Value) -> Self {
        let word = body.get("error").and_then(Value::as_str);
        let code = CODES.iter().find(|code| Some(code.word) == word);
        Self {
            exit: code.map_or(FAILED, |code| code.exit),
            body,
            is_away: false,
        }
    }

    /// Replaces the hint by a better one, where there is one.
    #[must_use]
    pub(crate) fn advised(mut self, next: Option<String>) -> Self {
        if let (Some(next), Value::Object(body)) = (next, &mut self.body) {
            body.insert("hint".to_owned(), next.into());
        }
        self
    }

    /// Returns what people are told.
    pub(crate) fn message(&self) -> &str {
        let message = self.body.get("message").and_then(Value::as_str);
        message.unwrap_or_default()
    }

    /// Says that something cannot be used as it is.
    pub(crate) fn unusable(what: impl Into<String>) -> Self {
        Error::Unusable { what: what.into() }.into()
    }
}

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        let error = error.into();
        Self {
            exit: error.code().exit,
            body: error.to_json(),
            is_away: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_servers_error_has_the_exit_code_of_its_word() {
        let exit = |word: &str| Failure::answered(json!({ "error": word })).exit;
        assert_eq!(exit("not_found"), 1);
        assert_eq!(exit("invalid"), 3);
        assert_eq!(exit("damaged"), 8);
        assert_eq!(exit("a_word_of_a_newer_server"), 2);
        let same = Error::not_found("agent", &"Blue").to_json();
        assert_eq!(Failure::answered(same.clone()).body, same);
    }
}
