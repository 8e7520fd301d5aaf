//! `comity check`.

use std::path::PathBuf;

use clap::Args;
use comity_domain::{LeaseMode, Pattern};
use comity_kernel::Query as _;
use comity_kernel::reservation::CheckFiles;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::ground::Ground;
use crate::parse::text;
use crate::session::Context;
use crate::show::{Shown, View, leases};

/// Asks whether files are free.
#[derive(Args)]
#[command(
    after_help = "It ends with 0 if they are, and with 1 if somebody holds any of it. It takes nothing.\n\
    Example: comity check src/login.rs && echo free"
)]
pub(crate) struct Check {
    /// Files, as you would name them here; a directory is everything below it.
    #[arg(value_name = "PATH", required_unless_present = "pattern")]
    paths: Vec<PathBuf>,
    /// A pattern from the project's root.
    #[arg(long, value_parser = text::<Pattern>)]
    pattern: Vec<Pattern>,
    /// Ask for a shared lease: only exclusive ones are in its way.
    #[arg(long)]
    shared: bool,
    /// Count your own leases too.
    #[arg(long)]
    include_own: bool,
}

impl Check {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let ground = Ground::of(context.globals)?;
        let request = CheckFiles {
            paths: ground.paths(&self.paths)?,
            project: Some(ground.project),
            patterns: self.pattern.clone(),
            mode: self.shared.then_some(LeaseMode::Shared),
            include_own: self.include_own,
        };
        let answer = context.session()?.call(CheckFiles::NAME, &request)?;
        if answer.get("free") == Some(&Value::Bool(true)) {
            return Ok(Shown::new(answer, View::Text("free".to_owned())));
        }
        let failure = Failure::answered(json!({
            "error": "reservation_conflict",
            "message": leases::in_the_way(&answer),
            "hint": leases::next_step(&answer),
            "conflicts": answer.get("conflicts"),
        }));
        Ok(Shown {
            failure: Some(failure),
            ..Shown::new(answer, View::Text("held".to_owned()))
        })
    }
}
