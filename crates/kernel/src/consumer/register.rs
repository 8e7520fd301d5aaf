//! Registers a consumer, or takes one over.

use comity_domain::limits::{CONSUMER_TTL_US_MAX, CONSUMER_TTL_US_MIN, CONSUMERS_MAX};
use comity_domain::{PlainName, Seq, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::ConsumerRegistered;
use super::table::{self, Consumer};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::event::{Filter, Wanted, pruned};
use crate::project::ProjectRef;
use crate::reservation::held;
use crate::tx::{Read as _, WriteTx};

/// Registers a program that reads the log, or takes over the one of this name: from then on only
/// the new generation may poll and acknowledge.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterConsumer {
    /// The project's key or slug; an agent's own, and the whole workspace for the operator, unless
    /// given.
    #[serde(default)]
    pub project: Option<ProjectRef>,
    /// The consumer's name.
    pub name: PlainName,
    /// Which events it wants; all that its caller may see unless given.
    #[serde(default)]
    pub filter: Wanted,
    /// Behind which event a new one starts: now unless given. One that is there goes on from where
    /// it is.
    #[serde(default)]
    pub since: Option<Seq>,
    /// Whether it stays however long it is silent: so it is unless `ttl` is given.
    #[serde(default)]
    pub durable: Option<bool>,
    /// After how long a silence it is gone, between 2 minutes and 30 days.
    #[serde(default)]
    pub ttl: Option<Span>,
}

/// The consumer as it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegisteredConsumer {
    /// The consumer.
    pub consumer: Consumer,
    /// Whether there was none of this name.
    pub created: bool,
}

impl Command for RegisterConsumer {
    const NAME: &'static str = "register_consumer";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = RegisteredConsumer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<RegisteredConsumer, Stop> {
        let actor = tx.actor().clone();
        let scope = table::scope(tx, &actor, self.project.as_ref())?;
        let ttl_us = self.ttl_us()?;
        let filter = self.filter.resolve(tx, &actor)?;
        let filter = Filter {
            // An agent sees its own project and its own mail anyway; an operator sees everything.
            project: filter
                .project
                .or(scope.filter(|_| actor.project().is_none())),
            ..filter
        };
        let now = tx.now().lease;
        let found = table::by_name(tx, scope, &self.name)?;
        let goes_on = found.as_ref().is_some_and(|found| found.is_alive(now));
        let since = if goes_on { None } else { Some(self.start(tx)?) };
        if !goes_on && table::count(tx, scope)? >= CONSUMERS_MAX {
            return Err(Error::LimitExceeded {
                what: "the number of consumers of a project or of the workspace",
                limit: CONSUMERS_MAX.unsigned_abs(),
            }
            .into());
        }
        let id = match &found {
            Some(found) => found.id,
            None => table::next_id(tx)?,
        };
        tx.emit(ConsumerRegistered {
            id,
            project: scope,
            name: self.name.to_string(),
            filter,
            ttl_us,
            generation: found.map_or(1, |found| found.generation + 1),
            agent: held::holder(&actor),
            since,
            registered: now,
        })?;
        let stored = table::present(tx, scope, &self.name)?;
        Ok(RegisteredConsumer {
            consumer: stored.show(tx)?,
            created: !goes_on,
        })
    }
}

impl RegisterConsumer {
    fn ttl_us(&self) -> Result<Option<i64>, Error> {
        match (self.durable, self.ttl) {
            (Some(true), Some(_)) => {
                Err(Error::invalid("ttl", "must not be given for a durable one"))
            }
            (Some(false), None) => Err(Error::invalid(
                "ttl",
                "must be given for one that is not durable",
            )),
            (_, None) => Ok(None),
            (_, Some(ttl)) => {
                let ttl_us = ttl.micros();
                if (CONSUMER_TTL_US_MIN..=CONSUMER_TTL_US_MAX).contains(&ttl_us) {
                    return Ok(Some(ttl_us));
                }
                Err(Error::invalid("ttl", "must be between 2m and 30d"))
            }
        }
    }

    /// Returns where a new one starts: behind its own registration, unless the caller says.
    fn start(&self, tx: &mut WriteTx<'_, '_>) -> Result<Seq, Error> {
        let Some(since) = self.since else {
            return Ok(tx.head().next());
        };
        must_be_in_the_log(tx, "since", since)?;
        Ok(since)
    }
}

/// Refuses a place that the log has not reached, or whose next event is gone.
pub(super) fn must_be_in_the_log(
    tx: &mut WriteTx<'_, '_>,
    field: &'static str,
    seq: Seq,
) -> Result<(), Error> {
    let head = tx.head();
    if !(Seq::ZERO..=head).contains(&seq) {
        let rule = format!("must be between 0 and {head}, the end of the log");
        return Err(Error::invalid(field, rule));
    }
    pruned::must_go_on(tx, seq)
}
