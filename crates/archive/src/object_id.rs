//! The name of an object, as Git prints it.

/// The full name of an object in hexadecimal: SHA-1 or SHA-256.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectId(String);

impl ObjectId {
    /// Takes a full name; anything else, such as a branch or an option, is none (S12).
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if !matches!(text.len(), 40 | 64) || !text.iter().all(is_hex) {
            return None;
        }
        std::str::from_utf8(text)
            .ok()
            .map(|text| Self(text.to_owned()))
    }

    /// Tells whether it stands for "no object".
    pub(crate) fn is_none(&self) -> bool {
        self.0.bytes().all(|digit| digit == b'0')
    }

    /// Returns the hexadecimal digits.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for ObjectId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S12
    #[test]
    fn only_whole_hexadecimal_names_are_taken() {
        let sha1 = "a9993e364706816aba3e25717850c26c9cd0d89d";
        assert_eq!(ObjectId::parse(sha1.as_bytes()).unwrap().as_str(), sha1);
        assert!(ObjectId::parse(&[b'0'; 64]).unwrap().is_none());
        for refused in [
            "",
            "main",
            "--all",
            "a9993e364706816aba3e25717850c26c9cd0d89",
            "A9993E364706816ABA3E25717850C26C9CD0D89D",
        ] {
            assert_eq!(ObjectId::parse(refused.as_bytes()), None, "{refused}");
        }
    }
}
