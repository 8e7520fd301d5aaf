//! `comity config`.

use clap::Subcommand;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::session::Context;
use crate::show::{Column, Shown};

const COLUMNS: &[Column] = &[
    Column::text("key"),
    Column::text("value"),
    Column::text("from"),
];

/// Settings.
#[derive(Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting, its value, and where it came from.
    Explain,
}

impl ConfigCommand {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let Self::Explain = self;
        let rows = context.config.explain()?.into_iter();
        let items: Vec<Value> = rows
            .map(|(key, value, from)| json!({ "key": key, "value": value, "from": from.to_string() }))
            .collect();
        let answer = json!({ "items": items, "data": context.directory });
        Ok(Shown::table(answer, COLUMNS))
    }
}
