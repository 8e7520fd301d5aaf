//! `lock` and `unlock`.

use comity_domain::{RunId, Seq, Span, Ttl};
use comity_kernel::Error;
use comity_kernel::lock::Name;
use comity_kernel::reservation::Reason;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Own;
use super::lean::only;
use super::untrusted::Marks;

/// Takes a named lock, for a port, a test runner or a database; taking it again renews it.
///
/// A conflict names the holder: `wait`, or write to it. Give it back with `unlock`.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Lock {
    /// The lock's name.
    name: Name,
    /// How long; `30m` unless given.
    #[serde(default)]
    ttl: Option<Ttl>,
    /// Why, for whoever wants the same.
    #[serde(default)]
    reason: Option<Reason>,
    /// The run it is for: the lock ends with it.
    #[serde(default)]
    run: Option<RunId>,
    /// Wait for its holder to let go, up to `60s`.
    #[serde(default)]
    wait: Option<Span>,
    /// The fence of the lock you hold: renews that one, and is refused if you lost it.
    #[serde(default)]
    fence: Option<Seq>,
}

impl Own for Lock {
    const NAME: &'static str = "lock";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        let Some(fence) = self.fence else {
            return Ok((
                "acquire_lock",
                json!({
                    "name": self.name, "ttl": self.ttl, "reason": self.reason, "run": self.run,
                    "wait": self.wait,
                }),
            ));
        };
        let given = [
            ("reason", self.reason.is_some()),
            ("run", self.run.is_some()),
            ("wait", self.wait.is_some()),
        ];
        if let Some((field, _)) = given.into_iter().find(|(_, given)| *given) {
            return Err(Error::invalid(field, "does not go with `fence`"));
        }
        let request = json!({ "name": self.name, "ttl": self.ttl, "fence": fence });
        Ok(("renew_lock", request))
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        shown(&answer)
    }
}

/// Gives your lock back.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Unlock {
    /// The lock's name.
    name: Name,
    /// The fence you know; another one is refused.
    #[serde(default)]
    fence: Option<Seq>,
}

impl Own for Unlock {
    const NAME: &'static str = "unlock";

    fn plan(self) -> Result<(&'static str, Value), Error> {
        Ok(("release_lock", serde_json::to_value(&self)?))
    }

    fn lean(answer: Value, _marks: &Marks) -> Value {
        shown(&answer)
    }
}

fn shown(answer: &Value) -> Value {
    let lock = answer.get("lock").unwrap_or(&Value::Null);
    let names = ["id", "name", "fence", "ttl_remaining_ms"];
    let mut lean = only(answer, &["created"]);
    lean.insert("lock".to_owned(), Value::Object(only(lock, &names)));
    Value::Object(lean)
}
