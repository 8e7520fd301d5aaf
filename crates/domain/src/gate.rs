//! Gates: what must be so before a run leaves a phase.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::Line;
use crate::limits::{CHECKS_PER_GATE_MAX, LABEL_BYTES_MAX};
use crate::run::{Chain, Phase};
use crate::words::words;

words! {
    /// The kinds of check.
    CheckKind {
        /// A phase has an artifact, of a kind if one is named.
        ArtifactExists = "artifact_exists",
        /// No agent of the run is at work.
        AgentsComplete = "agents_complete",
        /// No dispatch of the run is open.
        DispatchesSettled = "dispatches_settled",
        /// The phase has a verdict other than `reject`.
        VerdictExists = "verdict_exists",
        /// The same, and none of its verdicts is `fail`.
        VerdictClean = "verdict_clean",
        /// Every living child is at a phase or past it.
        ChildrenAtPhase = "children_at_phase",
        /// Every run that this one waits for is at a phase or past it.
        UpstreamsAtPhase = "upstreams_at_phase",
        /// The run and everything below it used no more tokens than it may.
        BudgetNotExceeded = "budget_not_exceeded",
        /// Somebody with a role approved the phase.
        Approval = "approval",
    }
}

words! {
    /// What a failed check means.
    Tier {
        /// The run does not move.
        Hard = "hard",
        /// It is recorded, and the run moves.
        Soft = "soft",
    }
}

words! {
    /// Whose approval counts.
    Approver {
        /// The operator's.
        Operator = "operator",
        /// That of an agent with the right `orchestrate`, or the operator's.
        Orchestrator = "orchestrator",
    }
}

/// One thing that must be so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// A phase has an artifact, of a kind if one is named.
    ArtifactExists {
        /// The phase.
        phase: Phase,
        /// The kind.
        kind: Option<Line<LABEL_BYTES_MAX>>,
    },
    /// No agent of the run is at work; passes with none.
    AgentsComplete,
    /// No dispatch of the run is open.
    DispatchesSettled,
    /// The phase has a verdict other than `reject`.
    VerdictExists,
    /// The same, and none of its verdicts is `fail`.
    VerdictClean,
    /// Every living child is at a phase or past it; failed ones are not.
    ChildrenAtPhase {
        /// The phase.
        phase: Phase,
    },
    /// Every run that this one waits for is at a phase or past it.
    UpstreamsAtPhase {
        /// The phase.
        phase: Phase,
    },
    /// The run and everything below it used no more tokens than it may.
    BudgetNotExceeded,
    /// Somebody with a role approved the phase.
    Approval {
        /// Whose approval counts.
        role: Approver,
    },
}

/// A check and what it means to fail it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "RuleForm", into = "RuleForm")]
pub struct Rule {
    /// What must be so.
    pub check: Check,
    /// What a failed check means.
    pub tier: Tier,
}

/// One check of a gate, as callers write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RuleForm {
    /// The kind of check.
    pub check: CheckKind,
    /// The phase, for `artifact_exists`, `children_at_phase` and `upstreams_at_phase`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// The kind of artifact, for `artifact_exists`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Line<LABEL_BYTES_MAX>>,
    /// Whose approval counts, for `approval`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Approver>,
    /// `hard` refuses, `soft` is only recorded; `hard` unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
}

impl Check {
    /// Returns the kind of check.
    pub const fn kind(&self) -> CheckKind {
        match self {
            Self::ArtifactExists { .. } => CheckKind::ArtifactExists,
            Self::AgentsComplete => CheckKind::AgentsComplete,
            Self::DispatchesSettled => CheckKind::DispatchesSettled,
            Self::VerdictExists => CheckKind::VerdictExists,
            Self::VerdictClean => CheckKind::VerdictClean,
            Self::ChildrenAtPhase { .. } => CheckKind::ChildrenAtPhase,
            Self::UpstreamsAtPhase { .. } => CheckKind::UpstreamsAtPhase,
            Self::BudgetNotExceeded => CheckKind::BudgetNotExceeded,
            Self::Approval { .. } => CheckKind::Approval,
        }
    }
}

impl Rule {
    /// Makes a check that refuses.
    pub const fn hard(check: Check) -> Self {
        Self {
            check,
            tier: Tier::Hard,
        }
    }
}

impl TryFrom<RuleForm> for Rule {
    type Error = String;

    fn try_from(form: RuleForm) -> Result<Self, String> {
        let word = form.check.as_str();
        let RuleForm {
            check,
            mut phase,
            mut kind,
            mut role,
            tier,
        } = form;
        let mut named = || {
            phase
                .take()
                .ok_or_else(|| format!("`{word}` needs `phase`"))
        };
        let check = match check {
            CheckKind::ArtifactExists => Check::ArtifactExists {
                phase: named()?,
                kind: kind.take(),
            },
            CheckKind::AgentsComplete => Check::AgentsComplete,
            CheckKind::DispatchesSettled => Check::DispatchesSettled,
            CheckKind::VerdictExists => Check::VerdictExists,
            CheckKind::VerdictClean => Check::VerdictClean,
            CheckKind::ChildrenAtPhase => Check::ChildrenAtPhase { phase: named()? },
            CheckKind::UpstreamsAtPhase => Check::UpstreamsAtPhase { phase: named()? },
            CheckKind::BudgetNotExceeded => Check::BudgetNotExceeded,
            CheckKind::Approval => Check::Approval {
                role: role.take().ok_or("`approval` needs `role`")?,
            },
        };
        let left = [
            ("phase", phase.is_some()),
            ("kind", kind.is_some()),
            ("role", role.is_some()),
        ];
        if let Some((field, _)) = left.into_iter().find(|(_, given)| *given) {
            return Err(format!("`{word}` has no `{field}`"));
        }
        Ok(Self {
            check,
            tier: tier.unwrap_or(Tier::Hard),
        })
    }
}

impl From<Rule> for RuleForm {
    fn from(Rule { check, tier }: Rule) -> Self {
        let word = check.kind();
        let (mut phase, mut kind, mut role) = (None, None, None);
        match check {
            Check::ArtifactExists {
                phase: at,
                kind: of,
            } => (phase, kind) = (Some(at), of),
            Check::ChildrenAtPhase { phase: at } | Check::UpstreamsAtPhase { phase: at } => {
                phase = Some(at);
            }
            Check::Approval { role: whose } => role = Some(whose),
            Check::AgentsComplete
            | Check::DispatchesSettled
            | Check::VerdictExists
            | Check::VerdictClean
            | Check::BudgetNotExceeded => {}
        }
        Self {
            check: word,
            phase,
            kind,
            role,
            tier: Some(tier),
        }
    }
}

/// From one phase to another, written `from->to`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transition {
    /// The phase that is left.
    pub from: Phase,
    /// The phase that is entered.
    pub to: Phase,
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}->{}", self.from, self.to)
    }
}

impl Serialize for Transition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Transition {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (from, to) = text
            .split_once("->")
            .ok_or_else(|| de::Error::custom("must be two phases, written `from->to`"))?;
        Ok(Self {
            from: Phase::parse(from).map_err(de::Error::custom)?,
            to: Phase::parse(to).map_err(de::Error::custom)?,
        })
    }
}

impl JsonSchema for Transition {
    fn schema_name() -> Cow<'static, str> {
        "Transition".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// The checks of every step of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Gates(BTreeMap<Transition, Vec<Rule>>);

impl Gates {
    /// Returns the checks of the standard chain: each phase leaves something behind, the work is
    /// finished before it is reviewed, and reviewed before it is polished.
    pub fn standard() -> Self {
        let chain = Chain::standard();
        let steps = steps(&chain).map(|step| {
            let rules = match (&*step.from, &*step.to) {
                ("executing", _) => vec![Rule::hard(Check::AgentsComplete)],
                ("review", _) => vec![Rule::hard(Check::VerdictExists)],
                ("polish", _) => Vec::new(),
                _ => vec![Rule::hard(Check::ArtifactExists {
                    phase: step.from.clone(),
                    kind: None,
                })],
            };
            (step, rules)
        });
        Self(steps.collect())
    }

    /// Checks the gates of a chain: every step is named, nothing else is, and what the checks name
    /// is there. The error is the place and the rule it breaks.
    pub fn fit(&self, chain: &Chain) -> Result<(), String> {
        for step in steps(chain) {
            if !self.0.contains_key(&step) {
                return Err(format!(
                    "must name every step of the chain; `{step}` is missing (`[]` lets it pass)"
                ));
            }
        }
        for (step, rules) in &self.0 {
            let from = chain.position(&step.from);
            if from.is_none() || from.map(|at| at + 1) != chain.position(&step.to) {
                return Err(format!("`{step}` is no step of the chain"));
            }
            if rules.len() > CHECKS_PER_GATE_MAX {
                return Err(format!(
                    "`{step}` must have at most {CHECKS_PER_GATE_MAX} checks"
                ));
            }
            for rule in rules {
                if let Check::ArtifactExists { phase, .. } = &rule.check
                    && chain.position(phase).is_none()
                {
                    return Err(format!("`{step}` names `{phase}`, which is no phase"));
                }
            }
        }
        Ok(())
    }

    /// Returns the checks of a step.
    pub fn of(&self, step: &Transition) -> &[Rule] {
        self.0.get(step).map_or(&[], Vec::as_slice)
    }
}

/// Returns the steps of a chain.
fn steps(chain: &Chain) -> impl Iterator<Item = Transition> {
    chain
        .phases()
        .iter()
        .zip(chain.phases().iter().skip(1))
        .map(|(from, to)| Transition {
            from: from.clone(),
            to: to.clone(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gates(json: &str) -> Result<Gates, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    fn abc() -> Chain {
        serde_json::from_str(r#"["a","b","c"]"#).unwrap()
    }

    #[test]
    fn the_standard_gates_fit_the_standard_chain() {
        let (chain, gates) = (Chain::standard(), Gates::standard());
        assert_eq!(gates.fit(&chain), Ok(()));
        let text = serde_json::to_string(&gates).unwrap();
        assert_eq!(serde_json::from_str::<Gates>(&text).unwrap(), gates);
        let free: Vec<_> = steps(&chain)
            .filter(|step| gates.of(step).is_empty())
            .map(|step| step.to_string())
            .collect();
        assert_eq!(free, ["polish->reflect"]);
    }

    #[test]
    fn every_step_is_named_and_nothing_else() {
        let chain = abc();
        assert_eq!(
            gates(r#"{"a->b":[],"b->c":[]}"#).unwrap().fit(&chain),
            Ok(())
        );
        for (refused, why) in [
            (r#"{"a->b":[]}"#, "`b->c` is missing"),
            (r#"{"a->b":[],"b->c":[],"a->c":[]}"#, "no step"),
            (r#"{"a->b":[],"b->c":[],"b->a":[]}"#, "no step"),
            (r#"{"a->b":[],"b->c":[],"x->y":[]}"#, "no step"),
            (
                r#"{"a->b":[{"check":"artifact_exists","phase":"x"}],"b->c":[]}"#,
                "`x`, which is no phase",
            ),
        ] {
            let error = gates(refused).unwrap().fit(&chain).unwrap_err();
            assert!(error.contains(why), "{refused}: {error}");
        }
    }

    #[test]
    fn a_check_has_what_it_needs_and_nothing_else() {
        for good in [
            r#"{"check":"artifact_exists","phase":"a","kind":"plan"}"#,
            r#"{"check":"agents_complete","tier":"soft"}"#,
            r#"{"check":"approval","role":"operator"}"#,
            r#"{"check":"children_at_phase","phase":"done"}"#,
        ] {
            let rule: Rule = serde_json::from_str(good).unwrap();
            let again = serde_json::to_string(&rule).unwrap();
            assert_eq!(serde_json::from_str::<Rule>(&again).unwrap(), rule);
        }
        for bad in [
            r#"{"check":"artifact_exists"}"#,
            r#"{"check":"approval"}"#,
            r#"{"check":"agents_complete","phase":"a"}"#,
            r#"{"check":"verdict_exists","role":"operator"}"#,
            r#"{"check":"children_at_phase","phase":"a","kind":"k"}"#,
            r#"{"check":"always"}"#,
            r#"{"check":"verdict_exists","tier":"medium"}"#,
            r#"{"check":"verdict_exists","colour":"red"}"#,
            "{}",
        ] {
            assert!(serde_json::from_str::<Rule>(bad).is_err(), "{bad}");
        }
        assert!(gates(r#"{"a>b":[]}"#).is_err());
    }
}
