//! What may be searched for, as a script that holds data alone.

use comity_kernel::Error;
use comity_kernel::archive::export::ExportedMessage;
use comity_kernel::archive::export_runs::ExportedStep;

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

    /// Adds what happened to a run: run, page, place in the log, time, who, the run's title, what
    /// happened, and that it is of a run.
    pub(super) fn add_step(
        &mut self,
        (run, page, title): (i64, i64, &str),
        step: &ExportedStep,
    ) -> Result<(), Error> {
        let told = [step.told.text.as_str()].into_iter();
        let told: Vec<_> = told
            .chain(step.told.failed.iter().map(String::as_str))
            .collect();
        let beginning: String = told.join("\n").chars().take(CHARS).collect();
        self.0.push(&format!(
            "[{run},{page},{},{},{},{},{},\"run\"],\n",
            step.told.seq,
            script(&step.told.at.to_string()),
            script(&step.who),
            script(title),
            script(&beginning),
        ))
    }

    /// Ends it.
    pub(super) fn end(mut self) -> Result<(), Error> {
        self.0.push("];\n")?;
        self.0.end()
    }
}
