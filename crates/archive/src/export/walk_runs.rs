//! Walks the runs of a project and writes their pages.

use comity_domain::{RunId, Seq};
use comity_kernel::archive::export_runs::{ExportRuns, ExportSteps, ExportedRun, FoundRun};
use comity_kernel::{Actor, Error};

use super::page::{FOOT, counted, head, pages, pages_of};
use super::run::{self, RUNS, STEPS};
use super::walk::Walk;

/// Runs that are read at a time.
const RUNS_READ: i64 = 100;

/// Things that happened that are read at a time; it divides a page.
const STEPS_READ: i64 = 50;

impl Walk<'_> {
    /// Writes every run and the list of them, and tells how many there are and which of them cannot
    /// be read.
    pub(super) fn runs(&mut self) -> Result<(i64, Vec<RunId>), Error> {
        let (mut lines, mut unreadable, mut after) = (Vec::new(), Vec::new(), RunId::new(0));
        loop {
            let asked = ExportRuns {
                project: self.scope.project,
                after,
                until: self.scope.until,
                limit: RUNS_READ,
            };
            let runs = self.kernel.query(Actor::System, asked).wait()?.answer;
            let Some(last) = runs.last() else { break };
            after = last.id();
            for one in &runs {
                lines.push(match one {
                    FoundRun::Read(one) => {
                        self.run(one)?;
                        run::line(one)
                    }
                    FoundRun::Unreadable(id) => {
                        unreadable.push(*id);
                        run::unreadable_line(*id)
                    }
                });
            }
        }
        lines.reverse();
        self.list(&lines)?;
        Ok((i64::try_from(lines.len()).unwrap_or(i64::MAX), unreadable))
    }

    /// Writes the list, the newest run first; without runs there is none.
    fn list(&mut self, lines: &[String]) -> Result<(), Error> {
        let count = i64::try_from(lines.len()).unwrap_or(i64::MAX);
        let last = pages_of(count, i64::try_from(RUNS).unwrap_or(i64::MAX));
        for (page, lines) in (1..).zip(lines.chunks(RUNS)) {
            let mut sheet = self.site.file(&run::list_place(page))?;
            let way = "<nav><a href=\"index.html\">All threads</a></nav>\n";
            sheet.push(&head(&self.scope.name, way))?;
            let others = pages(page, last, run::list_place);
            sheet.push(&format!(
                "<p class=\"about\">{}</p>\n",
                counted(count, "run")
            ))?;
            sheet.push(&format!("<h2>Runs</h2>\n{others}<ul class=\"threads\">\n"))?;
            for line in lines {
                sheet.push(line)?;
            }
            sheet.push(&format!("</ul>\n{others}{FOOT}"))?;
            sheet.end()?;
            self.pages += 1;
        }
        Ok(())
    }

    fn run(&mut self, one: &ExportedRun) -> Result<(), Error> {
        let (id, title) = (one.run.id, run::title(one));
        let mut after = Seq::ZERO;
        for page in 1..=run::pages_for(one) {
            let mut sheet = self.site.file(&run::place(id, page))?;
            let way = "<nav><a href=\"runs.html\">All runs</a></nav>\n";
            sheet.push(&head(&title, way))?;
            sheet.push(&run::head(one))?;
            sheet.push(&run::links(one, page))?;
            for _ in 0..STEPS / STEPS_READ {
                let asked = ExportSteps {
                    project: self.scope.project,
                    run: id,
                    after,
                    until: self.scope.until,
                    limit: STEPS_READ,
                };
                let steps = self.kernel.query(Actor::System, asked).wait()?.answer;
                let Some(last) = steps.last() else { break };
                after = last.told.seq;
                for step in &steps {
                    sheet.push(&run::step(step))?;
                    self.words.add_step((id.get(), page, &title), step)?;
                }
            }
            sheet.push(&run::links(one, page))?;
            sheet.push(FOOT)?;
            sheet.end()?;
            self.pages += 1;
        }
        Ok(())
    }
}
