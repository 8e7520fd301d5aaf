//! `comity serve`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
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

use crate::config::Config;
use crate::door::{WhenLost, open_alone, runtime};
use crate::failure::Failure;
use crate::output::{self, Form, LogFormat};
use crate::session::Context;

/// Serves the data directory.
#[derive(Args)]
pub(crate) struct Serve {
    /// Where to listen; port 0 picks a free one. `127.0.0.1:7117` unless configured.
    #[arg(long)]
    addr: Option<SocketAddr>,
    /// Listen beyond this machine without TLS: tokens and mail can be read on the way.
    #[arg(long)]
    allow_plain: bool,
    /// Go on with a database that is older than its archive, in a new epoch: every number from then
    /// on is above the archive's, which is kept beside the new one.
    #[arg(long)]
    new_epoch: bool,
    /// How the log is written.
    #[arg(
        long,
        env = "COMITY_LOG_FORMAT",
        default_value = "text",
        value_name = "FORMAT"
    )]
    pub(crate) log: LogFormat,
}

impl Serve {
    pub(crate) fn run(&self, context: &Context<'_>) -> Result<(), Failure> {
        let addr = self.addr.unwrap_or(context.config.values.server.addr);
        if !addr.ip().is_loopback() && !self.allow_plain {
            let rule = "must be a loopback address; `--allow-plain` serves others without TLS";
            return Err(Error::invalid("--addr", rule).into());
        }
        let data = DataDir::open(&context.directory)?;
        let when_lost = if self.new_epoch {
            WhenLost::NewEpoch
        } else {
            WhenLost::Refuse
        };
        let (_hold, kernel) = open_alone(&data, &context.config, when_lost)?;
        let token = ensure_operator_token(&kernel, &data)?;
        kernel.check_in_background();
        let gave_up = kernel.gave_up();
        let server = Server::new(Arc::clone(&kernel), settings(&context.config, &data));
        let form = Form::of(context.globals);
        let runtime = runtime()?;
        let done = runtime.block_on(async {
            let done = serve(server, addr, &data, |bound| {
                announce(form, bound, &data, &token);
            })
            .await;
            // Inside the runtime, so that a second signal still ends a stop that hangs.
            let stopped = tokio::task::spawn_blocking(move || kernel.stop()).await;
            done.and(stopped.map_err(Error::internal))
        });
        // A request that hangs must not hold the process.
        runtime.shutdown_timeout(Duration::from_millis(100));
        done?;
        let reason = gave_up.borrow().clone();
        match reason {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

fn settings(config: &Config, data: &DataDir) -> Settings {
    let (server, limits) = (&config.values.server, &config.values.limits);
    Settings {
        allowed_hosts: server.allowed_hosts.clone(),
        requests_per_second: limits.requests_per_second,
        requests_burst: limits.requests_burst,
        requests_at_once: limits.requests_at_once,
        connections_max: limits.connections_max,
        data: Some(data.clone()),
        archive: config.archiving(data),
        hooks: config.hooking(),
    }
}

async fn serve(
    server: Server,
    addr: SocketAddr,
    data: &DataDir,
    announce: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let unusable = |what: String| Error::Unusable { what };
    let listener = TcpListener::bind(addr)
        .await
        .map_err(|error| unusable(format!("cannot listen on {addr}: {error}")))?;
    let bound = listener
        .local_addr()
        .map_err(|error| unusable(error.to_string()))?;
    let stop = stop_signal().map_err(|error| unusable(error.to_string()))?;
    let door = socket::bind(data)
        .map_err(|error| unusable(format!("the socket cannot be opened: {error}")))?;
    announce(bound);
    let ended = server.serve(listener, Some(door), stop).await;
    socket::remove(data);
    ended.map_err(|error| unusable(format!("serving failed: {error}")))
}

/// Says where it listens and how to connect: files, never what is in them.
fn announce(form: Form, addr: SocketAddr, data: &DataDir, token: &Path) {
    let (url, socket) = (format!("http://{addr}"), socket::locate(data));
    match form {
        Form::Quiet => {}
        Form::Json => output::line(&json!({
            "addr": addr,
            "url": url,
            "mcp_url": format!("{url}/mcp"),
            "socket": socket,
            "data": data.path(),
        })),
        Form::People => output::say(&format!(
            "comity listens on {url}
  data            {}
  socket          {}
  operator token  {}
  an agent        comity join --name NAME, then `Authorization: Bearer` with its token file
  look            {url}/api/docs, comity health",
            data.path().display(),
            socket.display(),
            token.display(),
        )),
    }
}

/// Ends at the first SIGTERM or SIGINT; a second one ends the process at once (fault 10).
pub(super) fn stop_signal() -> std::io::Result<impl Future<Output = ()> + Send + 'static> {
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
fn ensure_operator_token(kernel: &Kernel, data: &DataDir) -> Result<PathBuf, Error> {
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
