//! The tree of commands.

use clap::builder::Resettable;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches, Parser, Subcommand};

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

/// A noun: its verbs are put together when it is the one that was named. Those of all nouns would take
/// every command half a millisecond.
struct Noun<V> {
    verb: V,
}

impl<V: Subcommand> Args for Noun<V> {
    fn augment_args(noun: clap::Command) -> clap::Command {
        noun.defer(|noun| {
            let (about, more) = (noun.get_about().cloned(), noun.get_long_about().cloned());
            V::augment_subcommands(noun)
                .about(Resettable::from(about))
                .long_about(Resettable::from(more))
                .subcommand_required(true)
                .arg_required_else_help(true)
        })
    }

    fn augment_args_for_update(noun: clap::Command) -> clap::Command {
        Self::augment_args(noun)
    }
}

impl<V: Subcommand> FromArgMatches for Noun<V> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let verb = V::from_arg_matches(matches)?;
        Ok(Self { verb })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.verb.update_from_arg_matches(matches)
    }
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
    Project(Noun<ProjectCommand>),
    /// Agents: who works in a project.
    Agent(Noun<AgentCommand>),
    /// Mail between agents and with the operator.
    Mail(Noun<MailCommand>),
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
    Lock(Noun<LockCommand>),
    /// Sentinels: what is to be done once per interval.
    Sentinel(Noun<SentinelCommand>),
    /// State: what agents keep between turns.
    State(Noun<StateCommand>),
    /// Runs: work that moves through phases on evidence.
    Run(Noun<RunCommand>),
    /// Gates: what must be so before a run leaves a phase.
    Gate(Noun<GateCommand>),
    /// Dispatches: work that is handed out, claimed and settled.
    Dispatch(Noun<DispatchCommand>),
    /// Discoveries: what somebody found, and what it is worth.
    Discovery(Noun<DiscoveryCommand>),
    /// Portfolios: runs with parts, and runs that wait for each other.
    Portfolio(Noun<PortfolioCommand>),
    /// Events: what happened, in the order of the log.
    Events(Noun<EventsCommand>),
    /// Contacts: who may write to whom.
    Contact(Noun<ContactCommand>),
    /// The guard: Git asks before it writes what somebody else holds.
    Guard(Noun<GuardCommand>),
    /// Hooks that client programs call before and after they act.
    Hook(Noun<HookCommand>),
    /// Tokens of operators and observers.
    Token(Noun<TokenCommand>),
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
    Archive(Noun<ArchiveCommand>),
    /// Settings and where they come from.
    Config(Noun<ConfigCommand>),
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
            Some(Command::Hook(hook)) => Some(&hook.verb),
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
            Command::Project(project) => project.verb.run(&context()?),
            Command::Agent(agent) => agent.verb.run(&context()?),
            Command::Mail(mail) => return mail.verb.run(&context()?),
            Command::Guard(guard) => return guard.verb.run(&self.globals),
            Command::Wait(wait) => wait.run(&context()?),
            Command::Search(search) => search.run(&context()?),
            Command::Reserve(reserve) => reserve.run(&context()?),
            Command::Check(check) => check.run(&context()?),
            Command::Renew(renew) => renew.run(&context()?),
            Command::Release(release) => release.run(&context()?),
            Command::Leases(leases) => leases.run(&context()?),
            Command::AskRelease(ask) => ask.run(&context()?),
            Command::AnswerRelease(answer) => answer.run(&context()?),
            Command::Lock(lock) => lock.verb.run(&context()?),
            Command::Sentinel(sentinel) => sentinel.verb.run(&context()?),
            Command::State(state) => state.verb.run(&context()?),
            Command::Run(run) => run.verb.run(&context()?),
            Command::Gate(gate) => gate.verb.run(&context()?),
            // A keeper has what it needs, and no business with the data.
            Command::Dispatch(Noun {
                verb: DispatchCommand::Keep(keep),
            }) => return keep.run().map(|()| None),
            Command::Dispatch(dispatch) => return dispatch.verb.run(&context()?),
            Command::Discovery(discovery) => discovery.verb.run(&context()?),
            Command::Portfolio(portfolio) => portfolio.verb.run(&context()?),
            Command::Contact(contact) => contact.verb.run(&context()?),
            // Its answer is its own, and so are its exit codes.
            Command::Hook(_) => return Ok(None),
            Command::Events(events) => return events.verb.run(&context()?),
            Command::Token(token) => token.verb.run(&context()?),
            Command::Call(call) => call.run(&context()?),
            Command::Health(health) => health.run(&context()?),
            Command::Doctor(doctor) => doctor.run(&context()?),
            Command::Backup(backup) => backup.run(&context()?),
            Command::Export(export) => export.run(&context()?),
            Command::Restore(restore) => restore.run(&context()?),
            Command::Migrate(migrate) => migrate.run(&context()?),
            Command::Archive(archive) => archive.verb.run(&context()?),
            Command::Config(config) => config.verb.run(&context()?),
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

    /// Puts a noun together by itself, without the global options.
    fn opened(noun: &Command) -> Command {
        let mut noun = noun.clone();
        noun.build();
        noun
    }

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
        let mut commands: Vec<_> = root.get_subcommands().map(opened).collect();
        let mut seen = 0;
        while let Some(command) = commands.pop() {
            let own = ids(&command);
            let both: Vec<_> = own.intersection(&globals).collect();
            assert!(both.is_empty(), "{}: {both:?}", command.get_name());
            commands.extend(command.get_subcommands().cloned());
            seen += 1;
        }
        assert!(seen > 150, "{seen}");
    }

    #[test]
    fn a_noun_has_the_same_help_before_and_after_its_verbs_are_known() {
        for noun in Cli::command().get_subcommands() {
            let about = |noun: &Command| noun.get_about().map(ToString::to_string);
            let long = |noun: &Command| noun.get_long_about().map(ToString::to_string);
            let opened = opened(noun);
            assert!(about(noun).is_some_and(|about| !about.is_empty()));
            assert_eq!(about(noun), about(&opened), "{}", noun.get_name());
            assert_eq!(long(noun), long(&opened), "{}", noun.get_name());
        }
    }
}
