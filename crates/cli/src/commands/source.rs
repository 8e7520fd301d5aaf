//! Text and documents that an option names: given as they are, in a file, or on stdin.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use comity_domain::json;
use comity_domain::limits::REQUEST_BYTES_MAX;
use comity_kernel::Error;
use serde::de::DeserializeOwned;

/// Reads a document that is given as JSON, as the name of a file, or as `-` for stdin.
pub(crate) fn document<T: DeserializeOwned>(option: &str, given: &str) -> Result<T, Error> {
    let text = match given.trim_start() {
        "-" => text_of(std::io::stdin().lock(), option, REQUEST_BYTES_MAX)?,
        document if document.starts_with(['{', '[', '"']) => given.to_owned(),
        _ => file(option, Path::new(given), REQUEST_BYTES_MAX)?,
    };
    let value = json::parse(text.as_bytes()).map_err(|not| Error::invalid(option, not.message))?;
    json::decode(value).map_err(|fault| match fault.field.as_str() {
        "" => Error::invalid(option, fault.rule),
        field => Error::invalid(option, format!("`{field}` {}", fault.rule)),
    })
}

/// Reads text that is given as it is, or as `-` for stdin.
pub(crate) fn text(option: &str, given: &str, bytes_max: usize) -> Result<String, Error> {
    match given {
        "-" => text_of(std::io::stdin().lock(), option, bytes_max),
        given => Ok(given.to_owned()),
    }
}

/// Reads the text of a file.
pub(crate) fn file(option: &str, path: &Path, bytes_max: usize) -> Result<String, Error> {
    let file = File::open(path).map_err(|error| unreadable(option, path, &error))?;
    text_of(file, option, bytes_max)
}

/// Reads text to its end.
pub(crate) fn text_of(source: impl Read, option: &str, bytes_max: usize) -> Result<String, Error> {
    let bytes = bounded(source, bytes_max);
    let bytes =
        bytes.map_err(|error| Error::invalid(option, format!("cannot be read: {error}")))?;
    if bytes.len() > bytes_max {
        let rule = format!("must be at most {bytes_max} bytes");
        return Err(Error::invalid(option, rule));
    }
    String::from_utf8(bytes).map_err(|_| Error::invalid(option, "must be UTF-8"))
}

/// Reads one byte more than there may be, to know whether there are more.
pub(crate) fn bounded(source: impl Read, bytes_max: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Says that a file cannot be read.
pub(crate) fn unreadable(option: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::invalid(
        option,
        format!("`{}` cannot be read: {error}", path.display()),
    )
}
