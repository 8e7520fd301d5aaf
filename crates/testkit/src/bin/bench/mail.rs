//! Mail: sends, inboxes and searches.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use comity_domain::search::indexed;
use comity_kernel::mail::{Inbox, Search};
use comity_kernel::{Actor, Kernel, Options};
use comity_testkit::kit::request;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

use crate::Wanted;
use crate::base::{CALLERS, PROJECT, READER, SqliteBase, message_json, messages};
use crate::commit::{many_callers, one_caller, p50_us};
use crate::pairs::Pairs;
use crate::row::{Row, Target};

/// Messages of one run with many callers, and with one.
const MANY: usize = 8_192;
const FEW: usize = 1_000;
/// Reads of one run.
const READS: usize = 400;
/// Messages of the small and the large inbox, and of the searched one.
const SMALL: usize = 1_000;
const LARGE: usize = 1_000_000;
const SEARCHED: usize = 100_000;

/// Durable sends, in process.
pub(crate) fn sends(wanted: &Wanted) -> Vec<Row> {
    let pairs = many_callers(wanted, MANY, messages);
    let note = format!(
        "{MANY} messages of some 80 words sent by {CALLERS} callers; SQLite; the floor is the same \
         statements in transactions of {CALLERS}, the index at their ends"
    );
    let single = one_caller(wanted, FEW, messages);
    let alone = format!("p50 of {FEW} messages sent one after the other; SQLite");
    vec![
        Row::compared("mail_send", "/s", &pairs, Target::AtLeast(0.5), note),
        Row::compared(
            "mail_send_single",
            "us",
            &single,
            Target::AtMost(2.0),
            alone,
        ),
    ]
}

/// A page of an inbox with a million messages, against one with a thousand.
pub(crate) fn inbox(wanted: &Wanted) -> Vec<Row> {
    let (large, _large) = filled(wanted, LARGE, Words::Without);
    let (small, _small) = filled(wanted, SMALL, Words::Without);
    let query: Inbox = request(&json!({ "agent": READER, "project": PROJECT, "limit": 20 }));
    let pairs = Pairs::measure(|| {
        let mut took = [Vec::new(), Vec::new()];
        for _ in 0..READS {
            for (kernel, took) in [&large, &small].into_iter().zip(&mut took) {
                let started = Instant::now();
                let page = kernel.query(Actor::OPERATOR, query.clone()).wait();
                took.push(started.elapsed());
                assert_eq!(page.expect("a page").answer.items.len(), 20);
            }
        }
        let [large, small] = took;
        (p50_us(large), p50_us(small))
    });
    let note = format!("p50 of a page of 20 of {LARGE} messages, against {SMALL}; SQLite");
    vec![Row::compared(
        "mail_inbox",
        "us",
        &pairs,
        Target::AtMost(1.3),
        note,
    )]
}

/// Two common words among 100,000 messages, against the engine's own query.
pub(crate) fn search(wanted: &Wanted) -> Vec<Row> {
    let (kernel, data) = filled(wanted, SEARCHED, Words::Indexed);
    let by_hand = open(&data.path().join("mail.db"));
    let ask = |order: &str| -> Search {
        request(
            &json!({ "query": "parser merge", "project": PROJECT, "order": order, "limit": 20 }),
        )
    };
    let hand = "select m.id, m.subject, m.body from message_text t join message m on m.id = t.rowid
        where message_text match '\"parser\" AND \"merge\"' and m.project_id = 1
        order by bm25(message_text, 4.0, 1.0), m.id desc limit 21";
    let ranked = Pairs::measure(|| {
        let mut took = [Vec::new(), Vec::new()];
        for _ in 0..READS / 20 {
            let started = Instant::now();
            let page = kernel.query(Actor::OPERATOR, ask("rank")).wait();
            took[0].push(started.elapsed());
            assert_eq!(page.expect("hits").answer.items.len(), 20);
            let started = Instant::now();
            let mut query = by_hand.prepare_cached(hand).expect("a query");
            let rows = query
                .query_map([], |row| row.get::<_, String>(2))
                .expect("rows");
            assert_eq!(rows.count(), 21);
            took[1].push(started.elapsed());
        }
        let [ours, hand] = took;
        (p50_us(ours), p50_us(hand))
    });
    let newest = crate::pairs::Series::measure(|| {
        let took = (0..READS).map(|_| {
            let started = Instant::now();
            let page = kernel.query(Actor::OPERATOR, ask("newest")).wait();
            assert_eq!(page.expect("hits").answer.items.len(), 20);
            started.elapsed()
        });
        p50_us(took.collect()) / 1e3
    });
    let note =
        format!("p50 of two common words, ranked, of {SEARCHED} messages, against FTS5 by hand");
    let newest_note = format!("p50 of the same, newest first, of {SEARCHED} messages");
    vec![
        Row::compared("mail_search", "us", &ranked, Target::AtMost(2.0), note),
        Row::absolute(
            "mail_search_newest",
            "ms",
            &newest,
            Target::AtMost(2.0),
            newest_note,
        ),
    ]
}

/// Whether messages are indexed as they are put in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Without,
    Indexed,
}

/// Makes a database with many messages. They are put into the tables by hand, beside the log: what
/// is measured reads tables, and a million sends would take minutes.
fn filled(wanted: &Wanted, count: usize, words: Words) -> (Arc<Kernel>, TempDir) {
    let directory = TempDir::new_in(&wanted.directory).expect("a directory");
    let base = SqliteBase::new(directory.path());
    let path = base.copy("mail.db");
    let mut conn = open(&path);
    let filling = conn.transaction().expect("a transaction");
    {
        let mut message = filling.prepare("insert into message (id, project_id, thread_id, subject, body, importance, ack_required, created_at, revision) values (?1, 1, ?1, ?2, ?3, 'normal', 0, ?1, 1)").expect("a statement");
        let mut recipient = filling.prepare("insert into recipient (message_id, agent_id, delivery, ack_required) values (?1, 1, 'to', 0)").expect("a statement");
        let mut text = filling
            .prepare("insert into message_text (rowid, subject, body) values (?1, ?2, ?3)")
            .expect("a statement");
        for nth in 1..=count {
            let sent = message_json(nth);
            let (subject, body) = (
                sent["subject"].as_str().expect("text"),
                sent["body"].as_str().expect("text"),
            );
            let id = i64::try_from(nth).expect("few");
            let body = if words == Words::Indexed {
                body
            } else {
                "short"
            };
            message.execute((id, subject, body)).expect("a row");
            recipient.execute([id]).expect("a row");
            if words == Words::Indexed {
                let line = |places: &[comity_domain::search::Indexed]| {
                    let tokens: Vec<&str> =
                        places.iter().filter_map(|place| place.token()).collect();
                    tokens.join(" ")
                };
                let [subject, body] = indexed(subject, body);
                text.execute((id, line(&subject), line(&body)))
                    .expect("a row");
            }
        }
    }
    filling.commit().expect("it is filled");
    drop(conn);
    let kernel = Kernel::open(Options::sqlite(&path)).expect("the kernel opens");
    (Arc::new(kernel), directory)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the floor is what SQLite does without us"
)]
fn open(path: &Path) -> Connection {
    Connection::open(path).expect("the base opens")
}
