//! `comity guard`.

mod check;
mod hook;
mod install;
mod status;
mod told;
mod uninstall;

use clap::Subcommand;

use crate::failure::Failure;
use crate::globals::Globals;
use crate::show::Shown;

/// The guard.
#[derive(Subcommand)]
pub(crate) enum GuardCommand {
    /// Put the guard's hooks into this repository; hooks that are there run first.
    Install(install::Install),
    /// Take the guard's hooks out of this repository, and put back what was there.
    Uninstall(uninstall::Uninstall),
    /// Show which of the guard's hooks this repository has.
    Status(status::Status),
    /// Ask whether paths may be written: 0 if nobody is in the way, 1 if somebody is, 9 if nobody
    /// could be asked.
    Check(check::Check),
    /// Ask as a hook of Git; the scripts of `guard install` call it.
    #[command(hide = true)]
    Hook(hook::RunHook),
}

impl GuardCommand {
    /// Runs the command; a hook that lets pass shows nothing.
    pub(crate) fn run(&self, globals: &Globals) -> Result<Option<Shown>, Failure> {
        match self {
            Self::Install(install) => install.run(globals).map(Some),
            Self::Uninstall(uninstall) => uninstall.run().map(Some),
            Self::Status(status) => status.run().map(Some),
            Self::Check(check) => check.run(globals).map(Some),
            Self::Hook(hook) => hook.run(globals).map(|()| None),
        }
    }
}
