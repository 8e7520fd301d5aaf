//! The one function that examines gates: for the question, the advance, the override, the doctor.

use comity_domain::{Check, Phase, Rule, RunState, Transition};

use super::Examined;
use super::evidence;
use crate::error::{Error, Impossible};
use crate::run::table::{self, Run};
use crate::store::StoreError;
use crate::tx::Read;

/// A step that a run may take, and what its gates were found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Way {
    /// The phase it leads to.
    pub(crate) to: Phase,
    /// The place of that phase.
    pub(crate) position: usize,
    /// Whether it is the last.
    pub(crate) completes: bool,
    /// Every check of every step in between.
    pub(crate) checks: Vec<Examined>,
}

impl Way {
    /// Tells whether the gates let the run pass.
    pub(crate) fn is_open(&self) -> bool {
        !self.checks.iter().any(Examined::refuses)
    }
}

/// Finds the next phase of a run and examines the gates on the way to it, all through one reader:
/// what it says holds for the transaction that reads (G1).
pub(crate) fn way(read: &mut impl Read, run: &Run) -> Result<Way, Error> {
    let skipped = table::skipped(read, run.id)?;
    let next = run
        .phases
        .next(run.place(), |phase| skipped.contains(phase));
    let position = next.ok_or_else(|| Error::IllegalTransition {
        what: format!("run {}", run.id),
        state: run.state.as_str(),
    })?;
    let to = run.phases.at(position).cloned();
    let to = to.ok_or_else(|| Error::internal(Impossible("a run is outside of its chain")))?;
    Ok(Way {
        checks: examine(read, run, position)?,
        completes: position == run.phases.last(),
        position,
        to,
    })
}

/// Examines every step from where a run is to a place ahead.
fn examine(read: &mut impl Read, run: &Run, to: usize) -> Result<Vec<Examined>, Error> {
    let phases = run.phases.phases();
    let ahead = phases.iter().zip(phases.iter().skip(1));
    let steps = ahead.take(to).skip(run.place());
    let mut examined = Vec::new();
    for (from, to) in steps {
        let step = Transition {
            from: from.clone(),
            to: to.clone(),
        };
        let mut rules = run
            .gates
            .of(&step)
            .map_err(|_| StoreError::Shape("gates"))?;
        // A budget that is enforced is a check of every step.
        let budget = Rule::hard(Check::BudgetNotExceeded);
        if run.budget_enforced && !rules.contains(&budget) {
            rules.push(budget);
        }
        for rule in rules {
            examined.push(check(read, run, &step, rule)?);
        }
    }
    Ok(examined)
}

/// What a check found: whether it passed, in words, and the numbers of what it relied on.
pub(super) struct Found {
    pub(super) passed: bool,
    pub(super) detail: String,
    pub(super) evidence: Vec<i64>,
}

fn check(
    read: &mut impl Read,
    run: &Run,
    step: &Transition,
    rule: Rule,
) -> Result<Examined, Error> {
    let found = match &rule.check {
        Check::ArtifactExists { phase, kind } => {
            evidence::artifact(read, run.id, phase, kind.as_deref())?
        }
        Check::AgentsComplete => evidence::agents(read, run.id)?,
        Check::DispatchesSettled => evidence::dispatches(read, run.id)?,
        Check::VerdictExists => evidence::verdict(read, run.id, &step.from)?,
        Check::VerdictClean => evidence::clean_verdict(read, run.id, &step.from)?,
        Check::ChildrenAtPhase { phase } => {
            let mut children = table::children(read, run.id)?;
            children.retain(|child| child.state != RunState::Cancelled);
            at_phase(["child", "children"], &children, phase)
        }
        Check::UpstreamsAtPhase { phase } => at_phase(
            ["upstream", "upstreams"],
            &table::upstreams(read, run.id)?,
            phase,
        ),
        Check::BudgetNotExceeded => budget(read, run)?,
        Check::Approval { role } => evidence::approval(read, run.id, &step.from, *role)?,
    };
    Ok(Examined {
        step: step.clone(),
        rule,
        passed: found.passed,
        detail: found.detail,
        evidence: found.evidence,
    })
}

/// Runs that one check names at most.
const RUNS_NAMED: usize = 50;

/// Finds the runs that are not yet at a phase; one that failed or was cancelled never will be.
fn at_phase(what: [&str; 2], runs: &[Run], phase: &Phase) -> Found {
    let behind: Vec<_> = runs.iter().filter(|run| !has_reached(run, phase)).collect();
    let detail = match behind.as_slice() {
        [] => format!("{} at `{phase}` or past it", counted(runs.len(), what)),
        [first, rest @ ..] => {
            let more = match rest.len() {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            format!(
                "{} {} is {} in `{}`{more}",
                what[0],
                first.id,
                first.state.as_str(),
                first.phase
            )
        }
    };
    let shown = if behind.is_empty() {
        runs.iter().collect()
    } else {
        behind.clone()
    };
    Found {
        passed: behind.is_empty(),
        detail,
        evidence: shown
            .iter()
            .take(RUNS_NAMED)
            .map(|run| run.id.get())
            .collect(),
    }
}

/// Tells whether a run is at a phase or past it.
pub(crate) fn has_reached(run: &Run, phase: &Phase) -> bool {
    match run.state {
        RunState::Completed => true,
        RunState::Active | RunState::Paused => {
            let wanted = run.phases.position(phase);
            wanted.is_some_and(|wanted| wanted <= run.place())
        }
        RunState::Cancelled | RunState::Failed => false,
    }
}

/// Compares what a run and everything below it used with what they may.
fn budget(read: &mut impl Read, run: &Run) -> Result<Found, Error> {
    let used = table::tokens_below(read, run.id)?;
    Ok(match run.token_budget {
        None => Found {
            passed: true,
            detail: format!("{used} tokens used, no budget"),
            evidence: Vec::new(),
        },
        Some(budget) => Found {
            passed: used <= budget,
            detail: format!("{used} of {budget} tokens used"),
            evidence: vec![used, budget],
        },
    })
}

/// Writes a number of things: `no artifact`, `1 artifact`, `2 artifacts`.
pub(super) fn counted(number: usize, [one, many]: [&str; 2]) -> String {
    match number {
        0 => format!("no {one}"),
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    }
}

/// Refuses evidence for a phase that is not looked at next: neither the present one, nor a skipped
/// one that the next advance jumps (G2).
pub(crate) fn must_be_open(read: &mut impl Read, run: &Run, phase: &Phase) -> Result<(), Error> {
    let Some(at) = run.phases.position(phase) else {
        let rule = format!("is no phase of run {}", run.id);
        return Err(Error::invalid("phase", rule));
    };
    let skipped = table::skipped(read, run.id)?;
    let next = run
        .phases
        .next(run.place(), |phase| skipped.contains(phase));
    let is_jumped = at > run.place() && next.is_some_and(|next| at < next);
    if is_jumped {
        return Ok(());
    }
    run.must_be_in(phase)
}
