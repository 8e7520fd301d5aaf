//! `comity health`.

use clap::Args;
use comity_kernel::Error;
use serde_json::Value;

use super::doctor::checks;
use crate::failure::Failure;
use crate::session::Context;
use crate::show::{Shown, View, harmless};
use crate::who;

/// Probes the server, or the database.
#[derive(Args)]
pub(crate) struct Health {}

impl Health {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let Self {} = self;
        // Everybody may ask; whoever has a credential learns more than the word.
        let who = match who::choose(context.globals, &context.directory) {
            Err(Error::Forbidden { .. }) => None,
            chosen => Some(chosen?),
        };
        let door = context.door()?;
        let mut health = door.health(who.as_ref())?;
        let server = door.server();
        let place = match &server {
            Some(server) => format!("the server at {server}"),
            None => "no server runs; the database".to_owned(),
        };
        let status = health
            .get("status")
            .and_then(Value::as_str)
            .unwrap_or("failing");
        let failing = !matches!(status, "ok" | "degraded");
        let text = format!("{place} is {}\n{}", harmless(status), checks(&health));
        if let Value::Object(health) = &mut health {
            health.insert("server".to_owned(), server.into());
        }
        Ok(Shown {
            failure: failing.then(|| Failure::unusable(format!("{place} is failing"))),
            ..Shown::new(health, View::Text(text))
        })
    }
}
