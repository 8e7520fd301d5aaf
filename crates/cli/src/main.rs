//! The `comity` command: data on stdout, everything else on stderr, exit codes that mean something.

mod commands;
mod output;
mod place;

use clap::{Parser, Subcommand};

/// Coordinates fleets of coding agents.
#[derive(Parser)]
#[command(name = "comity", version, about, disable_help_subcommand = true)]
struct Cli {
    #[command(flatten)]
    place: place::Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the data directory until told to stop.
    Serve(commands::serve::Serve),
    /// Call any operation by name, with its request as JSON.
    Call(commands::call::Call),
    /// Verify the database: log chain, fold, revisions, soundness. Repairs nothing.
    Doctor(commands::doctor::Doctor),
    /// Copy the database into a new, verified file.
    Backup(commands::backup::Backup),
}

fn main() -> std::process::ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    output::start_logging(&cli.command);
    let done = match cli.command {
        Command::Serve(serve) => serve.run(&cli.place),
        Command::Call(call) => call.run(&cli.place),
        Command::Doctor(doctor) => doctor.run(&cli.place),
        Command::Backup(backup) => backup.run(&cli.place),
    };
    output::exit(done)
}
