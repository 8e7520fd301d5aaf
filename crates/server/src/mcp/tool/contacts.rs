//! `contacts`.

use comity_domain::limits::TASK_BYTES_MAX;
use comity_domain::{Address, ContactId, Prose, Timestamp};
use comity_kernel::Error;
use comity_kernel::contact::answer::Verdict;
use comity_kernel::page::{After, Limit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::lean::{each_marked, marked};
use super::untrusted::Marks;

/// Lists contacts; with `request`, asks an agent whether you may write to it; with `id`, answers one who asked you.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Contacts {
    /// The agent to ask.
    #[serde(default)]
    request: Option<Address>,
    /// Why you ask.
    #[serde(default)]
    reason: Option<Prose<TASK_BYTES_MAX>>,
    /// The contact to answer.
    #[serde(default)]
    id: Option<ContactId>,
    /// `approve` or `refuse`.
    #[serde(default)]
    answer: Option<Verdict>,
    /// Until when the approval holds.
    #[serde(default)]
    until: Option<Timestamp>,
    /// How many at most.
    #[serde(default)]
    limit: Limit,
    /// The `next` of the page before.
    #[serde(default)]
    after: After,
}

impl Own for Contacts {
    const NAME: &'static str = "contacts";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        match (&self.request, self.id, self.answer) {
            (Some(agent), None, None) => {
                let request = json!({ "agent": agent, "reason": self.reason });
                Ok(("request_contact", request))
            }
            (None, Some(id), Some(answer)) => {
                let request = json!({ "id": id, "answer": answer, "until": self.until });
                Ok(("answer_contact", request))
            }
            (None, None, None) => {
                let request = json!({ "limit": self.limit, "after": self.after });
                Ok(("list_contacts", request))
            }
            (None, Some(_), None) => Err(Error::invalid("answer", "is missing")),
            (None, None, Some(_)) => Err(Error::invalid("id", "is missing")),
            (Some(_), _, _) => Err(Error::invalid("request", "must not go with `id`")),
        }
    }

    fn lean(mut answer: Value, marks: &Marks) -> Value {
        let Value::Object(fields) = &mut answer else {
            return answer;
        };
        if let Some(contact) = fields.get_mut("contact") {
            *contact = marked(contact, &["reason"], marks);
        }
        if fields.contains_key("items") {
            let items = each_marked(fields.get("items"), &["reason"], marks);
            fields.insert("items".to_owned(), items.into());
        }
        fields.insert("note".to_owned(), marks.note());
        answer
    }
}
