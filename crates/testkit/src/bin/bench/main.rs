//! Measures Comity against what could be done by hand; `scripts/bench` builds and runs it.
//!
//! `row` says what a result is and `pairs` how two things are compared; `base` makes the database
//! that all measurements start from and `load` calls the kernel. `hand_sqlite` and `hand_postgres`
//! are the hand floor: the statements the kernel issued, issued again without it. The other files
//! are the rows: `archive`, `commit`, `lease`, `postgres`, `readers`, `run`, `server`,
//! `state`.
//!
//! The kernel measured in process has the feature `testing`, whose failpoints cost it a look into
//! an empty map per event; the server that is started does not.

mod archive;
mod base;
mod commit;
mod hand_postgres;
mod hand_sqlite;
mod http;
mod lease;
mod live;
mod load;
mod mail;
mod pairs;
mod postgres;
mod readers;
mod row;
mod run;
mod server;
mod state;
mod wire;

use std::path::PathBuf;
use std::process::ExitCode;

use row::Row;

/// What the command line asks for.
struct Wanted {
    /// Rows are measured if their name begins with this.
    only: String,
    /// Where the databases go.
    directory: PathBuf,
    /// The product's binary.
    comity: PathBuf,
    output: Output,
}

enum Output {
    /// A table for people.
    Table,
    /// One object per row.
    Json,
    /// The names of the rows that would be measured.
    Names,
}

/// Rows that are measured together, and how.
struct Group {
    rows: &'static [&'static str],
    measure: fn(&Wanted) -> Vec<Row>,
}

const GROUPS: [Group; 21] = [
    Group {
        rows: &["commit"],
        measure: commit::concurrent,
    },
    Group {
        rows: &["commit_single"],
        measure: commit::single,
    },
    Group {
        rows: &["commit_postgres", "commit_postgres_waiting"],
        measure: postgres::concurrent,
    },
    Group {
        rows: &["round_trips_postgres"],
        measure: postgres::round_trips,
    },
    Group {
        rows: &["readers"],
        measure: readers::readers,
    },
    Group {
        rows: &["http_read"],
        measure: http::read,
    },
    Group {
        rows: &["mail_send", "mail_send_single"],
        measure: mail::sends,
    },
    Group {
        rows: &["mail_http_8", "mail_http_64"],
        measure: http::sends,
    },
    Group {
        rows: &["mail_inbox"],
        measure: mail::inbox,
    },
    Group {
        rows: &["mail_search", "mail_search_newest"],
        measure: mail::search,
    },
    Group {
        rows: &["mail_live"],
        measure: live::live,
    },
    Group {
        rows: &["mail_memory"],
        measure: live::memory,
    },
    Group {
        rows: &[
            "lease_file",
            "lease_glob",
            "lease_glob_check",
            "lease_glob_time",
        ],
        measure: lease::reserve,
    },
    Group {
        rows: &["lease_check", "lease_hostile"],
        measure: lease::checks,
    },
    Group {
        rows: &["state_readers"],
        measure: state::readers,
    },
    Group {
        rows: &["state_get_cold"],
        measure: state::get,
    },
    Group {
        rows: &["run_advance"],
        measure: run::advance,
    },
    Group {
        rows: &["run_claim"],
        measure: run::claim,
    },
    Group {
        rows: &["archive_drain"],
        measure: archive::drain,
    },
    Group {
        rows: &["archive_growth"],
        measure: archive::growth,
    },
    Group {
        rows: &["start", "memory"],
        measure: server::start_and_memory,
    },
];

fn main() -> ExitCode {
    let wanted = match Wanted::read(std::env::args().skip(1)) {
        Ok(wanted) => wanted,
        Err(what) => {
            eprintln!("bench: {what}");
            return ExitCode::from(2);
        }
    };
    let is_wanted = |name: &&str| name.starts_with(&wanted.only);
    let groups = GROUPS
        .iter()
        .filter(|group| group.rows.iter().any(is_wanted));
    if matches!(wanted.output, Output::Names) {
        let names = groups
            .flat_map(|group| group.rows)
            .filter(|name| is_wanted(name));
        names.for_each(|name| println!("{name}"));
        return ExitCode::SUCCESS;
    }
    let mut missed = false;
    if matches!(wanted.output, Output::Table) {
        println!("{}", Row::HEADER);
    }
    for group in groups {
        for row in (group.measure)(&wanted) {
            if !is_wanted(&row.name) {
                continue;
            }
            missed |= !row.is_ok();
            match wanted.output {
                Output::Json => println!("{}", row.json()),
                Output::Table | Output::Names => println!("{row}"),
            }
        }
    }
    if missed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

impl Wanted {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut wanted = Self {
            only: String::new(),
            directory: std::env::temp_dir(),
            comity: PathBuf::from("target/release/comity"),
            output: Output::Table,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--only" => wanted.only = value()?,
                "--directory" => wanted.directory = value()?.into(),
                "--comity" => wanted.comity = value()?.into(),
                "--json" => wanted.output = Output::Json,
                "--list" => wanted.output = Output::Names,
                other => return Err(format!("`{other}` is none of --only NAME, --json, --list")),
            }
        }
        let mut names = GROUPS.iter().flat_map(|group| group.rows);
        if names.any(|name| name.starts_with(&wanted.only)) {
            return Ok(wanted);
        }
        Err(format!("no row's name begins with `{}`", wanted.only))
    }
}
