//! Lets one run wait for another.

use std::collections::{BTreeSet, VecDeque};

use comity_domain::RunId;
use comity_domain::limits::{LINKS_PER_RUN_MAX, WAITED_FOR_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{is_linked, upstream_ids, waited_for};
use crate::actor::Party;
use crate::command::{Command, Stop};
use crate::error::Error;
use crate::run::event::RunsLinked;
use crate::run::table::{self as run_table, Run};
use crate::tx::{Read, WriteTx};

/// Lets one run wait for another: the check `upstreams_at_phase` of the one looks at the other.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkRuns {
    /// The run that is waited for.
    pub upstream: RunId,
    /// The run that waits.
    pub downstream: RunId,
}

/// The link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// The run that is waited for.
    pub upstream: RunId,
    /// The run that waits.
    pub downstream: RunId,
}

/// The link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkAnswer {
    /// The link.
    pub link: Link,
}

impl Command for LinkRuns {
    const NAME: &'static str = "link_runs";
    const WHO: &'static [Party] = &[Party::Orchestrator, Party::Operator];
    type Answer = LinkAnswer;

    fn decide(&self, tx: &mut WriteTx<'_, '_>) -> Result<LinkAnswer, Stop> {
        let actor = tx.actor().clone();
        let upstream = run_table::visible(tx, &actor, self.upstream)?;
        let downstream = run_table::visible(tx, &actor, self.downstream)?;
        downstream.must_be_live()?;
        if is_linked(tx, upstream.id, downstream.id)? {
            return Err(Error::AlreadyExists {
                what: format!("the link from run {} to run {}", upstream.id, downstream.id),
                id: None,
            }
            .into());
        }
        must_not_circle(tx, &upstream, &downstream)?;
        if upstream_ids(tx, downstream.id)?.len() >= LINKS_PER_RUN_MAX {
            return Err(Error::LimitExceeded {
                what: "the number of runs that one waits for",
                limit: LINKS_PER_RUN_MAX as u64,
            }
            .into());
        }
        tx.emit(RunsLinked {
            upstream: upstream.id,
            downstream: downstream.id,
            project: downstream.project_id,
        })?;
        Ok(LinkAnswer {
            link: Link {
                upstream: upstream.id,
                downstream: downstream.id,
            },
        })
    }
}

/// Refuses a link by which a run would wait for itself: through others, their parts, or what it is a
/// part of.
fn must_not_circle(read: &mut impl Read, upstream: &Run, downstream: &Run) -> Result<(), Error> {
    let circle = || Error::Cycle {
        what: format!("that run {} waits for run {}", downstream.id, upstream.id),
    };
    if upstream.id == downstream.id {
        return Err(circle());
    }
    for (one, other) in [(upstream, downstream), (downstream, upstream)] {
        let above = run_table::ancestors(read, one)?;
        if above.iter().any(|run| run.id == other.id) {
            return Err(circle());
        }
    }
    let mut seen = BTreeSet::from([upstream.id]);
    let mut next = VecDeque::from([upstream.id]);
    while let Some(run) = next.pop_front() {
        for ahead in waited_for(read, run)? {
            if ahead == downstream.id {
                return Err(circle());
            }
            if seen.insert(ahead) {
                next.push_back(ahead);
            }
        }
        if seen.len() > WAITED_FOR_MAX {
            return Err(Error::LimitExceeded {
                what: "the number of runs that a linked run waits for",
                limit: WAITED_FOR_MAX as u64,
            });
        }
    }
    Ok(())
}
