//! The hand floor on PostgreSQL: the kernel's statements without the kernel, pipelined.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use comity_kernel::store::Value;
use comity_kernel::store::recording::{Call, Transaction};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, NoTls, Statement};

use crate::hand_sqlite::statements;

/// What is waited for before the next statement is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wait {
    /// The rows of every query: whoever decides must know them first.
    ForRows,
    /// Nothing until COMMIT: only a replay knows all values beforehand.
    ForNothing,
}

/// A session with its statements prepared.
pub(crate) struct Hand {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
    begin: Statement,
    commit: Statement,
}

type Sent<'a> = Pin<Box<dyn Future<Output = Result<(), tokio_postgres::Error>> + 'a>>;

impl Hand {
    /// Connects to a schema and prepares all that the script will need.
    pub(crate) async fn open(server: &str, schema: &str, script: &[Transaction]) -> Self {
        let (client, connection) = tokio_postgres::connect(server, NoTls)
            .await
            .expect("the server answers");
        tokio::spawn(connection);
        client
            .batch_execute(&format!("set search_path to \"{schema}\""))
            .await
            .expect("the schema is chosen");
        let mut prepared = HashMap::new();
        let texts: BTreeSet<_> = statements(script).map(|statement| statement.sql).collect();
        for sql in texts {
            let statement = client.prepare(&sql.replace('?', "$")).await;
            prepared.insert(sql, statement.expect("a statement can be prepared"));
        }
        let begin = client.prepare("begin isolation level read committed").await;
        let commit = client.prepare("commit").await;
        Self {
            begin: begin.expect("`begin` can be prepared"),
            commit: commit.expect("`commit` can be prepared"),
            client,
            prepared,
        }
    }

    /// Issues what several transactions issued as one, the head moved once.
    pub(crate) async fn together(
        &self,
        script: &[Transaction],
        wait: Wait,
    ) -> Result<(), tokio_postgres::Error> {
        let mut sent = Vec::new();
        sent.push(begun(self.issue(&self.begin, &[], Call::Write)));
        for statement in statements(script) {
            let prepared = &self.prepared[statement.sql];
            sent.push(begun(self.issue(
                prepared,
                &statement.params,
                statement.call,
            )));
            if let (Wait::ForRows, Call::Each) = (wait, statement.call) {
                for answer in sent.drain(..) {
                    answer.await?;
                }
            }
        }
        sent.push(begun(self.issue(&self.commit, &[], Call::Write)));
        for answer in sent {
            answer.await?;
        }
        Ok(())
    }

    async fn issue(
        &self,
        prepared: &Statement,
        params: &[Value],
        call: Call,
    ) -> Result<(), tokio_postgres::Error> {
        let params = params.iter().map(Bound);
        match call {
            Call::Write => self.client.execute_raw(prepared, params).await.map(drop),
            Call::Each => {
                let params: Vec<Bound<'_>> = params.collect();
                let params: Vec<&(dyn ToSql + Sync)> =
                    params.iter().map(|param| param as _).collect();
                self.client.query(prepared, &params).await.map(drop)
            }
        }
    }

    /// Returns where the log ends.
    pub(crate) async fn head(&self) -> i64 {
        let head = self.client.query_one("select seq from log_head", &[]).await;
        head.expect("the head is there").get(0)
    }
}

/// Hands a request to the driver, which sends it when it is next waited for.
fn begun<'a>(request: impl Future<Output = Result<(), tokio_postgres::Error>> + 'a) -> Sent<'a> {
    let mut request: Sent<'a> = Box::pin(request);
    match request
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        Poll::Ready(done) => Box::pin(std::future::ready(done)),
        Poll::Pending => request,
    }
}

/// A recorded value in PostgreSQL's types.
#[derive(Debug)]
struct Bound<'a>(&'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(number) => number.to_sql(ty, out),
            Value::Real(number) => number.to_sql(ty, out),
            Value::Text(text) => text.to_sql(ty, out),
            Value::Blob(bytes) => bytes.to_sql(ty, out),
        }
    }

    // The value decides, not the Rust type.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
