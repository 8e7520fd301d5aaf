//! `comity hook`, which client programs call.

use std::io::Read as _;

use clap::Subcommand;

use crate::failure::Failure;
use crate::globals::Globals;
use crate::hook::{Verdict, pre_edit};

/// The longest input: what an edit writes may be in it.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Hooks.
#[derive(Subcommand)]
pub(crate) enum HookCommand {
    /// Take the lease of the file that is about to be written, or block the edit.
    #[command(
        after_help = "It reads the client program's JSON on stdin and acts as `COMITY_AS` or `--as`.\n\
        It ends with 0 to let pass, 2 to block (stderr says why), 1 if it could not do its part."
    )]
    PreEdit,
}

impl HookCommand {
    /// Judges; our own failures let pass.
    pub(crate) fn run(&self, globals: &Globals) -> Verdict {
        match self {
            Self::PreEdit => match input() {
                Ok(input) => pre_edit(globals, &input),
                Err(failure) => failure.into(),
            },
        }
    }
}

fn input() -> Result<Vec<u8>, Failure> {
    let mut input = Vec::new();
    let stdin = std::io::stdin().lock();
    let read = stdin.take(INPUT_BYTES_MAX + 1).read_to_end(&mut input);
    read.map_err(|error| Failure::unusable(format!("stdin cannot be read: {error}")))?;
    if input.len() as u64 > INPUT_BYTES_MAX {
        return Err(Failure::unusable("the client program says too much"));
    }
    Ok(input)
}
