//! `comity doctor`.

use clap::Args;
use comity_kernel::{Error, doctor};
use serde_json::Value;

use crate::failure::Failure;
use crate::output::{self, Form};
use crate::session::Context;
use crate::show::{Shown, View, harmless};

/// Verifies the database.
#[derive(Args)]
pub(crate) struct Doctor {}

impl Doctor {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<Shown, Failure> {
        let Self {} = self;
        let session = context.session()?;
        let spinner = output::spinner(Form::of(context.globals), "examining the database");
        let findings = session.call("doctor", &doctor::Doctor {})?;
        drop(spinner);
        let healthy = findings.get("ok") == Some(&Value::Bool(true));
        let view = View::Text(checks(&findings));
        Ok(Shown {
            failure: (!healthy).then(damaged),
            ..Shown::new(findings, view)
        })
    }
}

fn damaged() -> Failure {
    let what = "the database does not agree with itself".to_owned();
    Error::Damaged { what }.into()
}

/// One line per check, the same for doctors and for `/health`.
pub(crate) fn checks(findings: &Value) -> String {
    let checks = findings.get("checks").and_then(Value::as_array);
    let line = |check: &Value| {
        let text = |field| check.get(field).and_then(Value::as_str).unwrap_or_default();
        let verdict = match check.get("ok") {
            Some(Value::Bool(true)) => "ok",
            Some(_) => "DAMAGED",
            None => text("status"),
        };
        let (verdict, name) = (harmless(verdict), harmless(text("name")));
        format!("{verdict:8}  {name:12}  {}", harmless(text("detail")))
    };
    let lines: Vec<_> = checks.into_iter().flatten().map(line).collect();
    lines.join("\n")
}
