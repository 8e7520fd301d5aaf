//! Lists contacts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::table::{self, Contact};
use crate::actor::{Actor, Party};
use crate::error::Error;
use crate::page::{After, Limit, Page};
use crate::query::Query;
use crate::tx::Snapshot;

/// Lists contacts: those you asked for and those who asked you; the operator sees all.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListContacts {
    /// How many at most.
    #[serde(default)]
    pub limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    pub after: After,
}

impl Query for ListContacts {
    const NAME: &'static str = "list_contacts";
    const WHO: &'static [Party] = &[Party::Itself, Party::Operator];
    type Answer = Page<Contact>;

    fn run(&self, actor: &Actor, snapshot: &mut Snapshot<'_>) -> Result<Page<Contact>, Error> {
        let of = match actor {
            Actor::Agent { agent, .. } => Some(*agent),
            Actor::Operator { .. } | Actor::Observer { .. } | Actor::System => None,
        };
        let contacts = table::page(snapshot, of, self.after.get(), self.limit.and_one())?;
        Ok(Page::cut(contacts, self.limit, |contact| contact.id.get()))
    }
}
