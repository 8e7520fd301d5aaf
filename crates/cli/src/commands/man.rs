//! `comity man`.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use serde_json::json;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::show::{Shown, View};

/// Prints or writes manual pages.
#[derive(Args)]
pub(crate) struct Man {
    /// Where to write all pages.
    directory: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self) -> Result<Shown, Failure> {
        let unusable = |error: std::io::Error| {
            Failure::unusable(format!("the pages cannot be written: {error}"))
        };
        let Some(directory) = &self.directory else {
            let mut page = Vec::new();
            let man = clap_mangen::Man::new(Cli::command());
            man.render(&mut page).map_err(unusable)?;
            let page = String::from_utf8_lossy(&page).into_owned();
            return Ok(Shown::new(json!({ "page": page }), View::Raw(page)));
        };
        std::fs::create_dir_all(directory).map_err(unusable)?;
        clap_mangen::generate_to(Cli::command(), directory).map_err(unusable)?;
        let text = format!("pages written into {}", directory.display());
        Ok(Shown::new(
            json!({ "directory": directory }),
            View::Text(text),
        ))
    }
}
