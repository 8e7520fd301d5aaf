//! What an agent says of itself, as options.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use comity_domain::limits::{LABEL_BYTES_MAX, TASK_BYTES_MAX};
use comity_domain::{ContactPolicy, Line, Prose, Right};
use serde_json::Value;

use crate::parse::{json, text, word};

/// A one-line label.
pub(crate) type Label = Line<LABEL_BYTES_MAX>;

/// What an agent says of itself, and what it was given.
#[derive(Args)]
pub(crate) struct Described {
    /// The program it runs in.
    #[arg(long, value_parser = text::<Label>)]
    pub(crate) program: Option<Label>,
    /// The model that drives it.
    #[arg(long, value_parser = text::<Label>)]
    pub(crate) model: Option<Label>,
    /// What it is here for.
    #[arg(long, value_parser = text::<Prose<TASK_BYTES_MAX>>)]
    pub(crate) task: Option<Prose<TASK_BYTES_MAX>>,
    /// What it can do; again for more.
    #[arg(long = "capability", value_name = "CAPABILITY", value_parser = text::<Label>)]
    capabilities: Vec<Label>,
    /// Whatever else its owner wants to keep: an object.
    #[arg(long, value_name = "JSON", value_parser = json::<Metadata>)]
    metadata: Option<Metadata>,
    /// What it may do beyond its own things; the operator's to give.
    #[arg(long = "right", value_name = "RIGHT", value_parser = word::<Right>(&["orchestrate"]))]
    rights: Vec<Right>,
    /// Who may write to it.
    #[arg(long, value_name = "POLICY", value_parser = word::<ContactPolicy>(&["open", "contacts", "closed"]))]
    pub(crate) contact_policy: Option<ContactPolicy>,
}

/// Whatever an owner keeps.
type Metadata = BTreeMap<String, Value>;

impl Described {
    /// Returns the capabilities, if any are given.
    pub(crate) fn capabilities(&self) -> Option<BTreeSet<Label>> {
        given(&self.capabilities)
    }

    /// Returns the metadata, if any is given.
    pub(crate) fn metadata(&self) -> Option<Metadata> {
        self.metadata.clone()
    }

    /// Returns the rights, if any are given.
    pub(crate) fn rights(&self) -> Option<BTreeSet<Right>> {
        given(&self.rights)
    }
}

fn given<T: Clone + Ord>(values: &[T]) -> Option<BTreeSet<T>> {
    (!values.is_empty()).then(|| values.iter().cloned().collect())
}
