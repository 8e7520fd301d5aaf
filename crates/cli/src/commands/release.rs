//! `comity release`.

use std::path::PathBuf;

use clap::Args;
use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{Pattern, ReservationId, Seq, Text};
use comity_kernel::reservation::{ForceRelease, Release as Request};
use comity_kernel::{Command as _, Error};

use crate::failure::Failure;
use crate::ground::Ground;
use crate::parse::{json, text};
use crate::session::Context;
use crate::show::{Shown, View, leases};

/// Gives leases back.
#[derive(Args)]
#[command(
    after_help = "With --force it ends another's lease: the operator's right, and anybody's once the holder has\n\
    been silent for longer than the project's grace. The holder gets mail with the reason.\n\
    Example: comity release src/login.rs"
)]
pub(crate) struct Release {
    /// Numbers of leases, or files as they were reserved; a file named by a number is `./7`.
    #[arg(value_name = "ID|PATH", required_unless_present_any = ["path", "pattern", "all"])]
    what: Vec<PathBuf>,
    /// A file, as it was reserved.
    #[arg(long)]
    path: Vec<PathBuf>,
    /// A pattern, as it was reserved.
    #[arg(long, value_parser = text::<Pattern>)]
    pattern: Vec<Pattern>,
    /// Everything you hold.
    #[arg(long, conflicts_with_all = ["what", "path", "pattern"])]
    all: bool,
    /// The fence you know; another one is refused.
    #[arg(long, value_name = "N", value_parser = json::<Seq>)]
    fence: Option<Seq>,
    /// End a lease or lock of another, by its number.
    #[arg(long, requires = "reason", conflicts_with_all = ["path", "pattern", "all", "fence"])]
    force: bool,
    /// Why you end it; its holder reads it.
    #[arg(long, requires = "force", value_parser = text::<Text<TASK_BYTES_MAX>>)]
    reason: Option<Text<TASK_BYTES_MAX>>,
}

impl Release {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        if let Some(reason) = &self.reason {
            return self.force(context, reason);
        }
        let mut request = Request {
            ids: Vec::new(),
            paths: Vec::new(),
            patterns: self.pattern.clone(),
            all: self.all,
            fence: self.fence,
        };
        let mut paths = self.path.clone();
        for what in &self.what {
            match number(what) {
                Some(id) => request.ids.push(id),
                None => paths.push(what.clone()),
            }
        }
        if !paths.is_empty() {
            request.paths = Ground::of(context.globals)?.paths(&paths)?;
        }
        let answer = context.session()?.call(Request::NAME, &request)?;
        let text = leases::ended("released", &answer);
        Ok(Shown::new(answer, View::Text(text)))
    }

    fn force(
        &self,
        context: &Context<'_>,
        reason: &Text<TASK_BYTES_MAX>,
    ) -> Result<Shown, Failure> {
        let ids: Vec<_> = self.what.iter().map(|what| number(what)).collect();
        let [Some(id)] = ids.as_slice() else {
            return Err(Error::invalid("--force", "needs the number of one lease").into());
        };
        let request = ForceRelease {
            id: *id,
            reason: reason.clone(),
        };
        let answer = context.session()?.call(ForceRelease::NAME, &request)?;
        let text = leases::ended("ended", &answer);
        Ok(Shown::new(answer, View::Text(text)))
    }
}

fn number(what: &std::path::Path) -> Option<ReservationId> {
    what.to_str().and_then(|text| json(text).ok())
}
