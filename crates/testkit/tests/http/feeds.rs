//! Live feeds, through real sockets: everything committed that the caller may see, nothing else, in
//! order, whoever else is slow (I7, fault 15).

mod ends;
mod meaning;
mod pruned;
mod sight;
mod slow;
mod stream;
mod whole;
mod wire;

use comity_kernel::{Actor, Error};
use serde_json::{Value, json};

use crate::town::Town;

impl Town {
    /// Returns who presents a token.
    fn actor(&self, token: &str) -> Actor {
        let found = self.served.kit.kernel().authenticate(token);
        found.wait().unwrap().answer
    }

    /// Calls an operation beside the server, as who holds a token.
    fn does(&self, token: &str, operation: &str, request: &Value) -> Result<Value, Error> {
        self.served.kit.call(self.actor(token), operation, request)
    }

    /// Sends a message and returns the place of its event.
    fn send(&self, token: &str, message: &Value) -> i64 {
        let sent = self.does(token, "send_message", message).unwrap();
        sent["seq"].as_i64().unwrap()
    }

    /// Writes a short message to one recipient, and returns the place of its event.
    fn note(&self, token: &str, to: &str, body: &str) -> i64 {
        self.send(token, &json!({ "to": [to], "subject": "s", "body": body }))
    }

    /// Returns the log's end.
    fn end(&self) -> i64 {
        self.served.kit.kernel().head().borrow().get()
    }
}
