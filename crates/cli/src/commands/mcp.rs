//! `comity mcp`.

use std::sync::Arc;

use clap::Args;
use comity_kernel::Error;
use comity_server::mcp::{self, Handler, Profiles};

use super::serve::stop_signal;
use crate::door::runtime;
use crate::envoy::Envoy;
use crate::failure::Failure;
use crate::session::Context;

/// Speaks MCP for one agent.
#[derive(Args)]
pub(crate) struct Mcp {
    /// The tools on offer, as in `core,work`: core, work, orchestrate, research, all.
    #[arg(long, value_name = "PROFILES", default_value = "core", value_parser = Profiles::parse)]
    profile: Profiles,
}

impl Mcp {
    /// Answers one client program until it goes away or a signal comes; stdout is the protocol's.
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<(), Failure> {
        let globals = context.globals;
        if globals.operator || globals.key.is_some() {
            let option = if globals.operator {
                "--operator"
            } else {
                "--key"
            };
            let rule =
                "does not go with `mcp`: it acts as its agent, and every call has a key of its own";
            return Err(Error::invalid(option, rule).into());
        }
        let handler = Handler::new(Arc::new(Envoy::new(context)?), self.profile.clone());
        let runtime = runtime()?;
        let ended = runtime.block_on(async {
            let stop = stop_signal()?;
            let (input, output) = mcp::stdio_pipes();
            mcp::serve(handler, input, output, stop).await
        });
        // A call that hangs must not hold the process.
        runtime.shutdown_background();
        match ended {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::unusable(format!("speaking MCP failed: {error}"))),
        }
    }
}
