//! The tree of commands.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::commands::{
    agent::AgentCommand,
    archive::ArchiveCommand,
    ask_release::{AnswerRelease, AskRelease},
    backup::Backup,
    call::Call,
    check::Check,
    completions::Completions,
    config::ConfigCommand,
    contact::ContactCommand,
    discovery::DiscoveryCommand,
    dispatch::DispatchCommand,
    doctor::Doctor,
    events::EventsCommand,
    export::Export,
    fleet,
    gate::GateCommand,
    guard::GuardCommand,
    health::Health,
    hook::HookCommand,
    init::Init,
    join::Join,
    leases::Leases,
    lock::LockCommand,
    mail::MailCommand,
    man::Man,
    mcp::Mcp,
    migrate::Migrate,
    portfolio::PortfolioCommand,
    project::ProjectCommand,
    release::Release,
    renew::Renew,
    reserve::Reserve,
    restore::Restore,
    run::RunCommand,
    search::Search,
    sentinel::SentinelCommand,
    serve::Serve,
    state::StateCommand,
    status::{Prime, Status},
    token::TokenCommand,
    wait::Wait,
};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::output::{self, LogFormat};
use crate::session::Context;
use crate::show::Shown;

/// Coordinates fleets of coding agents.
#[derive(Parser)]
#[command(name = "comity", version, about, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) globals: Globals,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Make a data directory for this project.
    Init(Init),
    /// Serve the data directory until told to stop.
    Serve(Serve),
    /// Register in this project, or come back to it, and learn how things stand.
    Join(Join),
    /// Speak MCP on stdin and stdout for the agent of one client program.
    Mcp(Mcp),
    /// Show who you are and how things stand.
    Status(Status),
    /// Say who you are and how things stand, for a model's context.
    Prime(Prime),
    /// Projects: what agents work on together.
    #[command(subcommand)]
    Project(ProjectCommand),
    /// Agents: who works in a project.
    #[command(subcommand)]
    Agent(AgentCommand),
    /// Mail between agents and with the operator.
    #[command(subcommand)]
    Mail(MailCommand),
    /// Wait for mail that is not read.
    Wait(Wait),
    /// Find messages by their words.
    Search(Search),
    /// Take leases on files before you write them.
    Reserve(Reserve),
    /// Ask whether files are free, without taking them.
    Check(Check),
    /// Keep your leases longer.
    Renew(Renew),
    /// Give leases back.
    Release(Release),
    /// Show who holds which files.
    Leases(Leases),
    /// Ask the holder of a lease to release it.
    AskRelease(AskRelease),
    /// Answer somebody who asked for a lease of yours.
    AnswerRelease(AnswerRelease),
    /// Locks: ports, test runners, databases, by name.
    #[command(subcommand)]
    Lock(LockCommand),
    /// Sentinels: what is to be done once per interval.
    #[command(subcommand)]
    Sentinel(SentinelCommand),
    /// State: what agents keep between turns.
    #[command(subcommand)]
    State(StateCommand),
    /// Runs: work that moves through phases on evidence.
    #[command(subcommand)]
    Run(RunCommand),
    /// Gates: what must be so before a run leaves a phase.
    #[command(subcommand)]
    Gate(GateCommand),
    /// Dispatches: work that is handed out, claimed and settled.
    #[command(subcommand)]
    Dispatch(DispatchCommand),
    /// Discoveries: what somebody found, and what it is worth.
    #[command(subcommand)]
    Discovery(DiscoveryCommand),
    /// Portfolios: runs with parts, and runs that wait for each other.
    #[command(subcommand)]
    Portfolio(PortfolioCommand),
    /// Events: what happened, in the order of the log.
    #[command(subcommand)]
    Events(EventsCommand),
    /// Contacts: who may write to whom.
    #[command(subcommand)]
    Contact(ContactCommand),
    /// The guard: Git asks before it writes what somebody else holds.
    #[command(subcommand)]
    Guard(GuardCommand),
    /// Hooks that client programs call before and after they act.
    #[command(subcommand)]
    Hook(HookCommand),
    /// Tokens of operators and observers.
    #[command(subcommand)]
    Token(TokenCommand),
    /// Call any operation by name, with its request as JSON.
    Call(Call),
    /// Probe the server, or without one the database.
    Health(Health),
    /// Verify the database: log chain, fold, revisions, soundness. Repairs nothing.
    Doctor(Doctor),
    /// Copy the database into a new, verified file.
    Backup(Backup),
    /// Write a project's mail as pages that people without access can read and search.
    Export(Export),
    /// Fill an empty data directory from an archive.
    Restore(Restore),
    /// Move the workspace to PostgreSQL, or back; nothing may run meanwhile.
    Migrate(Migrate),
    /// The archive: the log as a Git repository that people can read.
    #[command(subcommand)]
    Archive(ArchiveCommand),
    /// Settings and where they come from.
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Print what makes a shell complete commands and names.
    Completions(Completions),
    /// Print the manual page, or write all pages into a directory.
    Man(Man),
}

impl Cli {
    /// Tells whether a command line is that of a hook, even if it cannot be read.
    pub(crate) fn is_hook() -> bool {
        let lenient = Self::command().ignore_errors(true);
        let matches = lenient.try_get_matches_from(std::env::args_os());
        matches.is_ok_and(|matches| matches.subcommand_name() == Some("hook"))
    }

    /// Returns the hook that is asked for, if one is.
    pub(crate) fn hook(&self) -> Option<&HookCommand> {
        match &self.command {
            Some(Command::Hook(hook)) => Some(hook),
            _ => None,
        }
    }

    /// Runs the command; a server shows nothing at its end.
    pub(crate) fn run(&self) -> Result<Option<Shown>, Failure> {
        match &self.command {
            Some(Command::Serve(serve)) => output::start_logging("info,rmcp=off", serve.log),
            _ => output::start_logging("error,rmcp=error", LogFormat::Text),
        }
        let context = || Context::new(&self.globals);
        let Some(command) = &self.command else {
            return fleet::run(&context()?).map(Some);
        };
        let shown = match command {
            Command::Init(init) => init.run(&self.globals),
            Command::Serve(serve) => return serve.run(&context()?).map(|()| None),
            Command::Mcp(mcp) => return mcp.run(&context()?).map(|()| None),
            Command::Join(join) => join.run(&context()?),
            Command::Status(status) => status.run(&context()?),
            Command::Prime(prime) => prime.run(&context()?),
            Command::Project(project) => project.run(&context()?),
            Command::Agent(agent) => agent.run(&context()?),
            Command::Mail(mail) => return mail.run(&context()?),
            Command::Guard(guard) => return guard.run(&self.globals),
            Command::Wait(wait) => wait.run(&context()?),
            Command::Search(search) => search.run(&context()?),
            Command::Reserve(reserve) => reserve.run(&context()?),
            Command::Check(check) => check.run(&context()?),
            Command::Renew(renew) => renew.run(&context()?),
            Command::Release(release) => release.run(&context()?),
            Command::Leases(leases) => leases.run(&context()?),
            Command::AskRelease(ask) => ask.run(&context()?),
            Command::AnswerRelease(answer) => answer.run(&context()?),
            Command::Lock(lock) => lock.run(&context()?),
            Command::Sentinel(sentinel) => sentinel.run(&context()?),
            Command::State(state) => state.run(&context()?),
            Command::Run(run) => run.run(&context()?),
            Command::Gate(gate) => gate.run(&context()?),
            // A keeper has what it needs, and no business with the data.
            Command::Dispatch(DispatchCommand::Keep(keep)) => return keep.run().map(|()| None),
            Command::Dispatch(dispatch) => return dispatch.run(&context()?),
            Command::Discovery(discovery) => discovery.run(&context()?),
            Command::Portfolio(portfolio) => portfolio.run(&context()?),
            Command::Contact(contact) => contact.run(&context()?),
            // Its answer is its own, and so are its exit codes.
            Command::Hook(_) => return Ok(None),
            Command::Events(events) => return events.run(&context()?),
            Command::Token(token) => token.run(&context()?),
            Command::Call(call) => call.run(&context()?),
            Command::Health(health) => health.run(&context()?),
            Command::Doctor(doctor) => doctor.run(&context()?),
            Command::Backup(backup) => backup.run(&context()?),
            Command::Export(export) => export.run(&context()?),
            Command::Restore(restore) => restore.run(&context()?),
            Command::Migrate(migrate) => migrate.run(&context()?),
            Command::Archive(archive) => archive.run(&context()?),
            Command::Config(config) => config.run(&context()?),
            Command::Completions(completions) => completions.run(),
            Command::Man(man) => man.run(),
        };
        shown.map(Some)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{Command, CommandFactory as _};

    use super::Cli;

    fn ids(command: &Command) -> BTreeSet<String> {
        let arguments = command.get_arguments();
        arguments
            .map(|argument| argument.get_id().to_string())
            .collect()
    }

    // Clap finds out only when such a command is called.
    #[test]
    fn no_command_reuses_the_id_of_a_global_option() {
        let root = Cli::command();
        root.clone().debug_assert();
        let globals = ids(&root);
        let mut commands: Vec<_> = root.get_subcommands().collect();
        let mut seen = 0;
        while let Some(command) = commands.pop() {
            let own = ids(command);
            let both: Vec<_> = own.intersection(&globals).collect();
            assert!(both.is_empty(), "{}: {both:?}", command.get_name());
            commands.extend(command.get_subcommands());
            seen += 1;
        }
        assert!(seen > 25, "{seen}");
    }
}
