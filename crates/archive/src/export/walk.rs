//! Walks the threads of a project and writes their pages.

use std::collections::BTreeSet;

use comity_domain::MessageId;
use comity_kernel::archive::batch::Blob;
use comity_kernel::archive::export::{
    ExportMessages, ExportScope, ExportThreads, ExportedMessage, ExportedThread, Scope,
};
use comity_kernel::archive::{Exported, Exporting};
use comity_kernel::mail::table::Attachment;
use comity_kernel::{Actor, Error, Kernel};

use super::index;
use super::page::{FOOT, SEARCH, STYLE, head, pages_of};
use super::site::{Sheet, Site};
use super::thread::{MESSAGES, Summary, attachment, links, message, place};
use super::words::Words;

/// Threads that are read at a time.
const THREADS_READ: i64 = 500;

/// Messages that are read at a time; a body may have 256 KiB. It divides a page.
const MESSAGES_READ: i64 = 50;

/// Writes a project's mail and runs as pages into a new directory, which is there whole or not at all.
pub fn export(kernel: &Kernel, exporting: &Exporting) -> Result<Exported, Error> {
    let asked = ExportScope {
        project: exporting.asked.project.clone(),
    };
    let scope = kernel.query(Actor::System, asked).wait()?.answer;
    let site = Site::begin(exporting, &scope.slug)?;
    site.write("style.css", STYLE.as_bytes())?;
    site.write("search.js", SEARCH.as_bytes())?;
    site.directory("attachments")?;
    let mut walk = Walk {
        kernel,
        scope: &scope,
        words: Words::begin(&site)?,
        site: &site,
        attachments: BTreeSet::new(),
        messages: 0,
        pages: 0,
    };
    let summaries = walk.threads()?;
    let (runs, unreadable_runs) = walk.runs()?;
    let (messages, mut pages) = (walk.messages, walk.pages);
    walk.words.end()?;
    pages += index::write(&site, kernel, (&scope, exporting.at), (summaries, runs))?;
    let directory = site.finish()?.display().to_string();
    Ok(Exported {
        directory,
        messages,
        runs,
        unreadable_runs,
        pages,
    })
}

/// An export on its way.
pub(super) struct Walk<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) scope: &'a Scope,
    pub(super) site: &'a Site,
    pub(super) words: Words,
    /// What is copied already: messages share attachments.
    attachments: BTreeSet<String>,
    messages: i64,
    pub(super) pages: i64,
}

impl Walk<'_> {
    /// Writes every thread, and returns what the index says of them.
    fn threads(&mut self) -> Result<Vec<Summary>, Error> {
        let (mut summaries, mut after) = (Vec::new(), MessageId::new(0));
        loop {
            let asked = ExportThreads {
                project: self.scope.project,
                after,
                through: self.scope.through,
                limit: THREADS_READ,
            };
            let threads = self.kernel.query(Actor::System, asked).wait()?.answer;
            let Some(last) = threads.last() else {
                return Ok(summaries);
            };
            after = last.id;
            for thread in threads {
                summaries.push(self.thread(thread)?);
            }
        }
    }

    fn thread(&mut self, thread: ExportedThread) -> Result<Summary, Error> {
        let mut summary = Summary::of(thread);
        let mut after = MessageId::new(0);
        for page in 1..=pages_of(summary.thread.messages, MESSAGES) {
            let mut sheet = self.begin(&summary.thread, page)?;
            for _ in 0..MESSAGES / MESSAGES_READ {
                let messages = self.piece(summary.thread.id, after)?;
                let Some(last) = messages.last() else { break };
                after = last.id;
                for one in &messages {
                    summary.add(one);
                    self.message(&mut sheet, (summary.thread.id, page), one)?;
                }
            }
            sheet.push(&links(&summary.thread, page))?;
            sheet.push(FOOT)?;
            sheet.end()?;
        }
        Ok(summary)
    }

    fn begin(&mut self, thread: &ExportedThread, page: i64) -> Result<Sheet, Error> {
        let mut sheet = self.site.file(&place(thread.id.get(), page))?;
        let way = "<nav><a href=\"index.html\">All threads</a></nav>\n";
        sheet.push(&head(&thread.subject, way))?;
        sheet.push(&links(thread, page))?;
        self.pages += 1;
        Ok(sheet)
    }

    fn piece(&self, thread: MessageId, after: MessageId) -> Result<Vec<ExportedMessage>, Error> {
        let asked = ExportMessages {
            project: self.scope.project,
            thread,
            after,
            through: self.scope.through,
            limit: MESSAGES_READ,
        };
        Ok(self.kernel.query(Actor::System, asked).wait()?.answer)
    }

    fn message(
        &mut self,
        sheet: &mut Sheet,
        (thread, page): (MessageId, i64),
        one: &ExportedMessage,
    ) -> Result<(), Error> {
        sheet.push(&message(one))?;
        self.words.add(thread.get(), page, one)?;
        for attachment in &one.attachments {
            self.attachment(attachment)?;
        }
        self.messages += 1;
        Ok(())
    }

    /// Copies an attachment, once.
    fn attachment(&mut self, one: &Attachment) -> Result<(), Error> {
        let name = attachment(one);
        if !self.attachments.insert(name.clone()) {
            return Ok(());
        }
        let blob = self
            .kernel
            .query(Actor::System, Blob { sha256: one.sha256 });
        let bytes = blob.wait()?.answer;
        let bytes = bytes.ok_or_else(|| Error::Damaged {
            what: format!("attachment {} is missing", one.sha256),
        })?;
        self.site.write(&name, &bytes)
    }
}
