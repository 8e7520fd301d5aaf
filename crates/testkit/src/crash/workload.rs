//! A seeded stream of orders whose effects can be counted afterwards.

use serde_json::{Value, json};

use crate::SeededEntropy;

/// The project that every order works in.
pub const PROJECT: &str = "/srv/web";
/// An agent that is there from the start, so that its name is taken.
pub const KEEPER: &str = "Keeper";

/// One command of one caller.
#[derive(Clone, Debug)]
pub struct Order {
    /// Who gives it.
    pub caller: usize,
    /// Its id, its idempotency key, and the correlation of its events.
    pub id: String,
    /// The operation.
    pub op: &'static str,
    /// The request.
    pub request: Value,
    /// How many events it must leave in the log.
    pub events: usize,
    /// The only code it may end with instead of being done.
    pub refused_with: Option<&'static str>,
}

impl Order {
    /// Makes the project of all orders.
    pub fn project() -> Self {
        let id = "setup-project";
        Self::new(
            id,
            "ensure_project",
            json!({ "key": PROJECT, "name": id }),
            1,
        )
    }

    /// Registers an agent; without a name, doing it twice would make two.
    pub fn register(id: &str, name: Option<&str>) -> Self {
        let request = json!({
            "project": PROJECT, "name": name, "program": "driver", "model": "none", "task": id,
        });
        // The agent and its token.
        Self::new(id, "register_agent", request, 2)
    }

    /// Sends a message to the operator and to others.
    pub fn message(id: &str, others: &[&str]) -> Self {
        let to = [others, &["operator"]].concat();
        let request = json!({ "project": PROJECT, "to": to, "subject": id, "body": "word" });
        Self::new(id, "send_message", request, 1)
    }

    fn new(id: &str, op: &'static str, request: Value, events: usize) -> Self {
        Self {
            caller: 0,
            id: id.to_owned(),
            op,
            request,
            events,
            refused_with: None,
        }
    }

    /// Writes the line that the driver reads.
    pub fn line(&self) -> String {
        json!({
            "caller": self.caller.to_string(),
            "id": self.id,
            "op": self.op,
            "request": self.request,
            "key": self.id,
        })
        .to_string()
    }
}

/// The stream.
pub struct Workload {
    dice: SeededEntropy,
    made: u64,
}

impl Workload {
    /// Starts the stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self {
            dice: SeededEntropy::new(seed),
            made: 0,
        }
    }

    /// Returns a number below `bound`, from the stream's seed.
    pub fn below(&self, bound: u64) -> u64 {
        self.dice.below(bound)
    }

    /// Makes the next order of a caller.
    pub fn next(&mut self, caller: usize) -> Order {
        self.made += 1;
        let id = format!("c{caller}-{}", self.made);
        let order = match self.dice.below(14) {
            // Nothing but the key keeps these from being done twice.
            0..5 => Order::register(&id, None),
            5 | 6 => {
                let token = json!({ "role": "observer", "name": id });
                Order::new(&id, "create_token", token, 1)
            }
            7 => Order::register(&id, Some(&id)),
            8 => {
                let project = json!({ "key": format!("/srv/{id}"), "name": id });
                Order::new(&id, "ensure_project", project, 1)
            }
            9..12 => Order::message(&id, &[KEEPER]),
            12 => {
                let lock = json!({ "project": PROJECT, "name": id, "reason": id, "ttl": "24h" });
                Order::new(&id, "acquire_lock", lock, 1)
            }
            _ => Order {
                events: 0,
                refused_with: Some("name_taken"),
                ..Order::register(&id, Some(KEEPER))
            },
        };
        Order { caller, ..order }
    }
}
