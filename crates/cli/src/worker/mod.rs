//! `comity dispatch exec`: a worker that claims dispatches and runs a command for each.
//!
//! `exec` is the command, `worker` claims, `work` does one dispatch, `hold` keeps its claim, `report`
//! judges how it ended, `words` makes what is said fit, `desk` is the way to the operations, `stop`
//! hears signals, and `shown` is what people see.
//!
//! A `keeper` is a small process above each command: it ends the whole `tree` when it must, even if
//! the worker is stopped or dead. `keepers` starts them, `capture` takes what commands write,
//! `result_file` reads what they say, `record` finds what a crashed worker left, `folder` is where
//! all this lies, and `clock` is the time by which a claim is over.

mod capture;
mod clock;
mod desk;
mod exec;
mod folder;
mod hold;
mod keeper;
mod keepers;
mod record;
mod report;
mod result_file;
mod shown;
mod stop;
mod tree;
mod words;
mod work;
#[expect(
    clippy::module_inception,
    reason = "the worker is the one idea of its file"
)]
mod worker;

pub(crate) use exec::Exec;
pub(crate) use keeper::Keep;
