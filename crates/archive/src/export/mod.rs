//! A project's mail and runs as pages that a browser shows without a server, for people without access.
//!
//! `walk` goes through the threads and `walk_runs` through the runs; `thread`, `run` and `index` write
//! their pages, `page` is what all pages have in common, `words` what may be searched for. `escape` makes texts harmless: all of them are the
//! words of others (S14). `site` puts the files into a directory that is there whole or not at all.

mod escape;
mod index;
mod page;
mod run;
mod site;
mod thread;
mod walk;
mod walk_runs;
mod words;

pub use walk::export;
