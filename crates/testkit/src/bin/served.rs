//! A server in a process of its own, for tests that count or take away its descriptors.
//!
//! `served '{"directory":"…","descriptors":128,"head_ms":500}'` prints `{"addr","token"}` with an
//! operator's token, and serves until standard input ends.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use comity_kernel::token::CreateToken;
use comity_kernel::{Actor, Kernel, Options};
use comity_server::outbound::Reach;
use comity_server::{Patience, Server, Settings};
use comity_testkit::kit::request;
use rustix::process::{Resource, Rlimit, setrlimit};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    directory: PathBuf,
    /// Its database, if that is not a file of the directory.
    postgres: Option<String>,
    /// How many descriptors it may have.
    descriptors: Option<u64>,
    /// How long it waits for the head of a request.
    head_ms: Option<u64>,
    /// Whether hooks may call this machine.
    #[serde(default)]
    private: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: Wanted = serde_json::from_str(&std::env::args().nth(1).unwrap_or_default())?;
    if wanted.descriptors.is_some() {
        // The server asks for all it may have.
        let (current, maximum) = (wanted.descriptors, wanted.descriptors);
        setrlimit(Resource::Nofile, Rlimit { current, maximum })?;
    }
    let options = match wanted.postgres {
        Some(url) => Options::postgres(&url)?,
        None => Options::sqlite(wanted.directory.join("comity.db")),
    };
    let kernel = Kernel::open(options)?;
    let create: CreateToken = request(&json!({ "role": "operator" }));
    let made = kernel.execute(Actor::OPERATOR.into(), create).wait()?;
    let token = made.answer.secret.map(|secret| secret.reveal());
    let mut patience = Patience::default();
    if let Some(ms) = wanted.head_ms {
        patience.head = Duration::from_millis(ms);
    }
    let mut settings = Settings::default();
    if wanted.private {
        settings.hooks.reach = Reach::Everywhere;
    }
    let server = Server::new(Arc::new(kernel), settings).with_patience(patience);
    let (stop, stopped) = oneshot::channel();
    std::thread::spawn(move || {
        // Whatever comes, the end of it counts.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        let _ = stop.send(());
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        println!(
            "{}",
            json!({ "addr": listener.local_addr()?, "token": token })
        );
        let ended = async {
            let _ = stopped.await;
        };
        server.serve(listener, None, ended).await
    })?;
    Ok(())
}
