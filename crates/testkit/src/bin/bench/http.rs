//! What HTTP adds: a read against the same query in process, and sends against a bare handler.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use comity_domain::Role;
use comity_kernel::agent::ListAgents;
use comity_kernel::store::recording::Transaction;
use comity_kernel::token::CreateToken;
use comity_kernel::{Actor, Kernel};
use comity_server::{Server, Settings};
use comity_testkit::kit::request;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::Wanted;
use crate::base::{CALLERS, PROJECT, agents, message_json, messages};
use crate::commit::{Runs, p50_us, per_second};
use crate::hand_sqlite::Hand;
use crate::load::{run_all, runtime};
use crate::pairs::Pairs;
use crate::row::{Row, Target};
use crate::wire::{Wire, flood};

/// Agents on a page, and reads of one run.
const PAGE: usize = 20;
const READS: usize = 2_000;
/// Sends of one run, and before it is the other's turn.
const SENDS: usize = 8_192;
const TURN: usize = 1_024;

/// One client's read over a kept connection, against the same query in process.
pub(crate) fn read(wanted: &Wanted) -> Vec<Row> {
    let runs = Runs::new(wanted, &agents(1));
    let (kernel, _hand) = runs.open();
    run_all(&kernel, &runs.base.callers, agents(2_000));
    let (addr, token) = serve(&kernel);
    let path = format!("/api/agents?project={PROJECT}&limit={PAGE}&after=1000");
    let query: ListAgents = request(&json!({ "project": PROJECT, "limit": PAGE, "after": "1000" }));
    let pairs = Pairs::measure(|| {
        let (mut over, mut within) = (Vec::new(), Vec::new());
        runtime().block_on(async {
            let mut wire = Wire::connect(addr, &token).await;
            for _ in 0..READS {
                let started = Instant::now();
                wire.ask("GET", &path, "").await;
                over.push(started.elapsed());
                let started = Instant::now();
                let read = kernel.query(Actor::OPERATOR, query.clone()).await;
                assert_eq!(read.expect("a page").answer.items.len(), PAGE);
                within.push(started.elapsed());
            }
        });
        (p50_us(over), p50_us(within))
    });
    let note = format!(
        "p50 of {READS} pages of {PAGE} agents over one kept connection, against the same query in process"
    );
    vec![Row::compared(
        "http_read",
        "us",
        &pairs,
        Target::Reported,
        note,
    )]
}

/// Durable sends over 8 and 64 connections, against a bare handler with the same statements.
pub(crate) fn sends(wanted: &Wanted) -> Vec<Row> {
    [("mail_http_8", 8), ("mail_http_64", 64)]
        .map(|(name, connections)| over(wanted, name, connections))
        .into()
}

fn over(wanted: &Wanted, name: &'static str, connections: usize) -> Row {
    let runs = Runs::new(wanted, &messages(SENDS));
    let script: Arc<[Transaction]> = runs.script.iter().cloned().collect();
    let pairs = Pairs::measure(|| {
        let (kernel, hand) = runs.open();
        let (addr, token) = serve(&kernel);
        let floor = bare(hand, &script);
        runtime().block_on(async {
            let (mut ours, mut bare) = (Vec::new(), Vec::new());
            for _ in 0..connections {
                ours.push(Wire::connect(addr, &token).await);
                bare.push(Wire::connect(floor, &token).await);
            }
            let mut took = [std::time::Duration::ZERO; 2];
            for turn in (0..SENDS).step_by(TURN) {
                let bodies = || {
                    (turn..turn + TURN)
                        .map(|nth| message_json(nth).to_string())
                        .collect()
                };
                took[0] += flood(&mut ours, "/api/messages", bodies()).await;
                took[1] += flood(&mut bare, "/", bodies()).await;
            }
            (per_second(SENDS, took[0]), per_second(SENDS, took[1]))
        })
    });
    let note = format!(
        "{SENDS} messages sent over {connections} connections; the floor is a bare handler that \
         parses the same body and issues the same statements, up to {CALLERS} a transaction"
    );
    Row::compared(name, "/s", &pairs, Target::AtLeast(0.5), note)
}

/// Serves a kernel on a thread of its own, as `comity serve` does; returns where, and a token.
pub(crate) fn serve(kernel: &Arc<Kernel>) -> (SocketAddr, String) {
    let command = CreateToken {
        role: Role::Operator,
        project: None,
        name: None,
    };
    let made = kernel.execute(Actor::OPERATOR.into(), command).wait();
    let secret = made.expect("a token").answer.secret.expect("told once");
    let server = Server::new(Arc::clone(kernel), Settings::default());
    let (said, heard) = sync_channel(1);
    std::thread::spawn(move || {
        runtime().block_on(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            said.send(listener.local_addr().expect("an address"))
                .expect("somebody waits");
            let for_ever = std::future::pending();
            let ended = server.serve(listener, None, for_ever).await;
            ended.expect("it serves");
        });
    });
    (heard.recv().expect("it listens"), secret.reveal())
}

/// One who waits for the bare writer.
type Waiting = oneshot::Sender<usize>;

/// Serves a handler that does nothing it need not; returns where.
fn bare(hand: Hand, script: &Arc<[Transaction]>) -> SocketAddr {
    let (queue, waiting) = sync_channel::<Waiting>(4_096);
    let script = Arc::clone(script);
    std::thread::spawn(move || write(&hand, &script, &waiting));
    let (said, heard) = sync_channel(1);
    std::thread::spawn(move || {
        runtime().block_on(async move {
            let routes = Router::new().route("/", post(handle)).with_state(queue);
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            said.send(listener.local_addr().expect("an address"))
                .expect("somebody waits");
            axum::serve(listener, routes).await.expect("it serves");
        });
    });
    heard.recv().expect("it listens")
}

async fn handle(State(queue): State<SyncSender<Waiting>>, body: axum::body::Bytes) -> String {
    let message: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    let (reply, answer) = oneshot::channel();
    queue.send(reply).expect("the writer runs");
    let nth = answer.await.expect("it is written");
    json!({ "message": { "id": nth, "subject": message["subject"] }, "seq": nth }).to_string()
}

/// Takes whoever waits, writes for all of them at once, and answers.
fn write(hand: &Hand, script: &[Transaction], waiting: &Receiver<Waiting>) {
    let mut next = 0;
    while let Ok(first) = waiting.recv() {
        let mut batch = vec![first];
        batch.extend(waiting.try_iter().take(CALLERS - 1));
        let part = script
            .get(next..next + batch.len())
            .expect("a script for each");
        hand.together(part).expect("the statements are good");
        for reply in batch {
            next += 1;
            // Whoever asked may be gone.
            let _ = reply.send(next);
        }
    }
}
