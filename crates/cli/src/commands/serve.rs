//! `comity serve`.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use comity_kernel::actor::{Actor, Caller};
use comity_kernel::datadir::DataDir;
use comity_kernel::project::table::Label;
use comity_kernel::token::CreateToken;
use comity_kernel::{Error, Kernel};
use comity_server::{Server, Settings, socket};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::call::runtime;
use crate::output;
use crate::place::Place;

/// Serves the data directory.
#[derive(Args)]
pub(crate) struct Serve {
    /// Where to listen; port 0 picks a free one.
    #[arg(long, default_value = "127.0.0.1:7117")]
    addr: SocketAddr,
    /// Print where it listens as one line of JSON.
    #[arg(long)]
    json: bool,
}

impl Serve {
    pub(crate) fn run(&self, place: &Place) -> Result<(), Error> {
        if !self.addr.ip().is_loopback() {
            return Err(Error::invalid("--addr", "must be a loopback address"));
        }
        let owned = place.served()?;
        let token = ensure_operator_token(&owned.kernel, &owned.data)?;
        let kernel = Arc::new(owned.kernel);
        kernel.check_in_background();
        let gave_up = kernel.gave_up();
        let settings = Settings {
            data: Some(owned.data.clone()),
            ..Settings::default()
        };
        let server = Server::new(Arc::clone(&kernel), settings);
        let runtime = runtime()?;
        let done = runtime.block_on(async {
            let done = self.serve(server, &owned.data, &token).await;
            // Inside the runtime, so that a second signal still ends a stop that hangs.
            let stopped = tokio::task::spawn_blocking(move || kernel.stop()).await;
            done.and(stopped.map_err(Error::internal))
        });
        // A request that hangs must not hold the process.
        runtime.shutdown_timeout(Duration::from_millis(100));
        done?;
        let reason = gave_up.borrow().clone();
        match reason {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    async fn serve(&self, server: Server, data: &DataDir, token: &Path) -> Result<(), Error> {
        let unusable = |what: String| Error::Unusable { what };
        let listener = TcpListener::bind(self.addr)
            .await
            .map_err(|error| unusable(format!("cannot listen on {}: {error}", self.addr)))?;
        let addr = listener
            .local_addr()
            .map_err(|error| unusable(error.to_string()))?;
        let stop = stop_signal().map_err(|error| unusable(error.to_string()))?;
        let doors = socket::bind(data)
            .map_err(|error| unusable(format!("the socket cannot be opened: {error}")))?;
        if self.json {
            output::line(&json!({
                "addr": addr,
                "url": format!("http://{addr}"),
                "mcp_url": format!("http://{addr}/mcp"),
                "socket": socket::locate(data),
                "data": data.path(),
            }));
        } else {
            output::say(&format!("comity listens on http://{addr}"));
            output::say(&format!("  data            {}", data.path().display()));
            output::say(&format!("  operator token  {}", token.display()));
            output::say(&format!("  try             curl http://{addr}/health"));
        }
        let served = server.serve(listener, Some(doors), stop).await;
        socket::remove(data);
        served.map_err(|error| unusable(format!("serving failed: {error}")))
    }
}

/// Ends at the first SIGTERM or SIGINT; a second one ends the process at once (fault 10).
fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let mut first = async || {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        };
        first().await;
        tracing::info!("stopping; once more ends at once");
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            std::process::exit(2);
        });
    })
}

/// Makes the operator's token unless its file holds a good one; says where it is, never what.
fn ensure_operator_token(kernel: &Kernel, data: &DataDir) -> Result<std::path::PathBuf, Error> {
    let file = data.path().join("operator.token");
    if let Ok(token) = std::fs::read_to_string(&file)
        && kernel.authenticate(token.trim()).wait().is_ok()
    {
        return Ok(file);
    }
    let command = CreateToken {
        role: comity_domain::Role::Operator,
        project: None,
        name: Label::parse("operator.token").ok(),
    };
    let caller = Caller::from(Actor::System);
    let made = kernel.execute(caller, command).wait()?.answer;
    let secret = made.secret.ok_or(Error::Unauthorized)?;
    data.write_private("operator.token".as_ref(), &format!("{}\n", secret.reveal()))
}
