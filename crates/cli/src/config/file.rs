//! Reads `comity.toml` and refuses what it does not know.

use std::path::Path;

use comity_domain::suggest::nearest;
use comity_kernel::Error;
use toml::{Table, Value};

use super::keys::KEYS;

/// Reads the file, if there is one.
pub(super) fn read(path: &Path) -> Result<Option<Table>, Error> {
    let unusable = |what: String| Error::Unusable {
        what: format!("`{}`: {what}", path.display()),
    };
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(error.to_string())),
    };
    let table: Table = text.parse().map_err(|error| {
        let line = line_of(&error, &text);
        unusable(format!("line {line}: {}", reason(&error)))
    })?;
    for (section, value) in &table {
        let known = KEYS.iter().filter(|key| key.section == section);
        let names: Vec<_> = known.map(|key| key.name).collect();
        if names.is_empty() {
            let near = nearest(section, KEYS.iter().map(|key| key.section));
            return Err(unusable(unknown("section", section, near)));
        }
        let Value::Table(keys) = value else {
            return Err(unusable(format!(
                "`{section}` must be a section: `[{section}]`"
            )));
        };
        let stranger = keys.keys().find(|name| !names.contains(&name.as_str()));
        if let Some(name) = stranger {
            let near = nearest(name, names).map(|near| format!("{section}.{near}"));
            let name = format!("{section}.{name}");
            return Err(unusable(unknown("key", &name, near.as_deref())));
        }
    }
    Ok(Some(table))
}

fn unknown(kind: &str, name: &str, near: Option<&str>) -> String {
    let near = near.map(|near| format!("; did you mean `{near}`?"));
    format!("there is no {kind} `{name}`{}", near.unwrap_or_default())
}

/// The line an error points at; the text of its place may hold a password and is not repeated.
fn line_of(error: &toml::de::Error, text: &str) -> usize {
    let at = error.span().map_or(0, |span| span.start);
    let before = text.bytes().take(at);
    before.filter(|byte| *byte == b'\n').count() + 1
}

/// Writes an error of the format in one line.
pub(super) fn reason(error: &toml::de::Error) -> String {
    error.message().trim_end().replace('\n', "; ")
}
