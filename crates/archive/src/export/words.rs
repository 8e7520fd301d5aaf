//! What may be searched for, as a script that holds data alone.

use comity_kernel::Error;
use comity_kernel::archive::export::ExportedMessage;

use super::escape::script;
use super::site::{Sheet, Site};

/// Characters of a body that may be searched for: what a person looks for is near its start, and the
/// file is loaded whole.
const CHARS: usize = 2_000;

/// The file, as it is written.
pub(super) struct Words(Sheet);

impl Words {
    /// Begins it.
    pub(super) fn begin(site: &Site) -> Result<Self, Error> {
        let mut sheet = site.file("words.js")?;
        sheet.push("self.comityWords = [\n")?;
        Ok(Self(sheet))
    }

    /// Adds a message: thread, page, number, time, sender, subject, beginning of the body.
    pub(super) fn add(
        &mut self,
        thread: i64,
        page: i64,
        message: &ExportedMessage,
    ) -> Result<(), Error> {
        let beginning: String = message.body.chars().take(CHARS).collect();
        self.0.push(&format!(
            "[{thread},{page},{},{},{},{},{}],\n",
            message.id,
            script(&message.at.to_string()),
            script(&message.from),
            script(&message.subject),
            script(&beginning),
        ))
    }

    /// Ends it.
    pub(super) fn end(mut self) -> Result<(), Error> {
        self.0.push("];\n")?;
        self.0.end()
    }
}
