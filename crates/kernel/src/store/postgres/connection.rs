//! One session with the server, driven from synchronous code.

use std::collections::HashMap;
use std::future::{Future, poll_fn, ready};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_postgres::{AsyncMessage, Client, Error, NoTls, RowStream, Statement};

use super::bind::Bound;
use super::fault::classify;
use super::placeholder::numbered;
use super::settings::{self, Role};
use super::target::PostgresTarget;
use crate::store::StoreError;

/// How long a session may take to begin, all hosts and the hand-shake included.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// A request that was sent, or waits in the driver to be sent with the next ones.
pub(super) type Sent<T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send>>;

/// A session, its runtime and its prepared statements; remade after a loss.
pub(super) struct Connection {
    target: PostgresTarget,
    role: Role,
    runtime: Runtime,
    link: Option<Link>,
    statements: HashMap<&'static str, Statement>,
}

impl Connection {
    /// Connects and sets the session up.
    pub(super) fn open(target: &PostgresTarget, role: Role) -> Result<Self, StoreError> {
        let runtime = runtime()?;
        let link = runtime.block_on(Link::open(target, role))?;
        Ok(Self {
            target: target.clone(),
            role,
            runtime,
            link: Some(link),
            statements: HashMap::new(),
        })
    }

    pub(super) fn target(&self) -> &PostgresTarget {
        &self.target
    }

    /// Connects again if the session is gone; nothing of the old one is left.
    pub(super) fn ensure(&mut self) -> Result<(), StoreError> {
        self.drive();
        if !self.is_closed() {
            return Ok(());
        }
        self.sever();
        let link = self
            .runtime
            .block_on(Link::open(&self.target, self.role))
            .map_err(|error| StoreError::Lost(Arc::new(error)))?;
        self.link = Some(link);
        Ok(())
    }

    /// Tells whether the session is known to be gone.
    pub(super) fn is_closed(&self) -> bool {
        self.link
            .as_ref()
            .is_none_or(|link| link.client.is_closed())
    }

    /// Looks at the socket once, without waiting: only then is the end of a session noticed.
    pub(super) fn drive(&self) {
        self.runtime.block_on(async {
            // The first polls the socket, the second lets the session read what came.
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
        });
    }

    /// Closes the socket, so that the server gives up whatever it still holds for us.
    pub(super) fn sever(&mut self) {
        self.statements.clear();
        if let Some(mut link) = self.link.take() {
            link.task.abort();
            // The task drops the socket; its only answer is that it was aborted.
            let _: Result<(), _> = self.runtime.block_on(&mut link.task);
        }
    }

    /// Tells whether the statement was prepared in this session.
    pub(super) fn is_prepared(&self, sql: &'static str) -> bool {
        self.statements.contains_key(sql)
    }

    /// Prepares statements in one round trip, and keeps them as long as the session.
    pub(super) fn prepare(&mut self, statements: &[&'static str]) -> Result<(), StoreError> {
        let client = self.client()?;
        let mut sent = Vec::with_capacity(statements.len());
        for &sql in statements {
            let client = Arc::clone(&client);
            let prepare = self.begun(async move { client.prepare(&numbered(sql)).await })?;
            sent.push((sql, prepare));
        }
        for (sql, prepare) in sent {
            let statement = self.wait(prepare)?.map_err(|error| self.explain(error))?;
            self.statements.insert(sql, statement);
        }
        Ok(())
    }

    /// Sends a prepared statement for its effect; the answer is how many rows it changed.
    pub(super) fn execute(
        &self,
        sql: &'static str,
        params: Vec<Bound>,
    ) -> Result<Sent<u64>, StoreError> {
        let (client, statement) = (self.client()?, self.statement(sql)?);
        self.begun(async move { client.execute_raw(&statement, params).await })
    }

    /// Sends a prepared statement for its rows.
    pub(super) fn query(
        &self,
        sql: &'static str,
        params: Vec<Bound>,
    ) -> Result<Sent<RowStream>, StoreError> {
        let (client, statement) = (self.client()?, self.statement(sql)?);
        self.begun(async move { client.query_raw(&statement, params).await })
    }

    /// Ends a transaction: by the statement, or without the session if that fails.
    pub(super) fn finish(&mut self, sql: &'static str) {
        let is_finished = match self.execute(sql, Vec::new()) {
            Ok(answer) => self.wait(answer).is_ok_and(|answer| answer.is_ok()),
            Err(_) => false,
        };
        if !is_finished {
            self.sever();
        }
    }

    /// Waits for the server; a server that is silent for too long counts as lost.
    pub(super) fn wait<T>(&mut self, work: impl Future<Output = T>) -> Result<T, StoreError> {
        let answer_max = self.role.answer_max();
        let waited = self
            .runtime
            .block_on(async { tokio::time::timeout(answer_max, work).await });
        waited.map_err(|elapsed| {
            self.sever();
            StoreError::Lost(Arc::new(elapsed))
        })
    }

    /// Waits without a limit: for migrations, which have none.
    pub(super) fn wait_long<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub(super) fn client(&self) -> Result<Arc<Client>, StoreError> {
        let link = self.link.as_ref().ok_or_else(severed)?;
        Ok(Arc::clone(&link.client))
    }

    /// Hands a request to the driver; the connection sends what it has when it is next driven.
    ///
    /// One that cannot be sent is an error at once: the server would know nothing of it, and all
    /// other answers would be good.
    fn begun<T: Send + 'static>(
        &self,
        request: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<Sent<T>, StoreError> {
        let mut request: Sent<T> = Box::pin(request);
        let mut context = Context::from_waker(Waker::noop());
        match request.as_mut().poll(&mut context) {
            Poll::Ready(Err(error)) => Err(self.explain(error)),
            Poll::Ready(Ok(done)) => Ok(Box::pin(ready(Ok(done)))),
            Poll::Pending => Ok(request),
        }
    }

    // A session that was remade has none of the old statements: whoever asks was in the old one.
    fn statement(&self, sql: &'static str) -> Result<Statement, StoreError> {
        self.statements.get(sql).cloned().ok_or_else(severed)
    }

    /// Classifies an error; a bare "closed" is replaced by the reason the session ended with.
    pub(super) fn explain(&self, error: Error) -> StoreError {
        let reason = self.link.as_ref().and_then(|link| link.end.get());
        match reason {
            Some(reason) if error.is_closed() => StoreError::Lost(Arc::clone(reason) as _),
            _ => classify(error),
        }
    }

    /// Says that the session is gone, and why if it is known.
    pub(super) fn lost(&self) -> StoreError {
        let reason = self.link.as_ref().and_then(|link| link.end.get());
        reason.map_or_else(severed, |reason| StoreError::Lost(Arc::clone(reason) as _))
    }
}

/// The driver's two halves: the client, and the task that owns the socket.
pub(super) struct Link {
    pub(super) client: Arc<Client>,
    /// Signalled by every notification and by the end of the session.
    pub(super) woken: Arc<Notify>,
    end: Arc<OnceLock<Arc<Error>>>,
    task: JoinHandle<()>,
}

impl Link {
    /// Connects and sets the session up, on the runtime this is awaited on.
    pub(super) async fn open(target: &PostgresTarget, role: Role) -> Result<Self, StoreError> {
        tokio::time::timeout(CONNECT_MAX, Self::open_at_leisure(target, role))
            .await
            .map_err(|elapsed| StoreError::Lost(Arc::new(elapsed)))?
    }

    async fn open_at_leisure(target: &PostgresTarget, role: Role) -> Result<Self, StoreError> {
        let config = settings::config(target);
        let (client, mut connection) = config.connect(NoTls).await.map_err(classify)?;
        let woken = Arc::new(Notify::new());
        let end = Arc::new(OnceLock::new());
        let task = tokio::spawn({
            let (woken, end) = (Arc::clone(&woken), Arc::clone(&end));
            async move {
                while let Some(message) = poll_fn(|cx| connection.poll_message(cx)).await {
                    match message {
                        Ok(AsyncMessage::Notification(_)) => woken.notify_one(),
                        Ok(_) => {}
                        Err(error) => {
                            // Set once: this is the only place.
                            let _: Result<(), _> = end.set(Arc::new(error));
                            break;
                        }
                    }
                }
                woken.notify_one();
            }
        });
        let link = Self {
            client: Arc::new(client),
            woken,
            end,
            task,
        };
        settings::establish(&link.client, target, role).await?;
        Ok(link)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Makes the runtime of one connection; it runs only while its thread waits for the server.
pub(super) fn runtime() -> Result<Runtime, StoreError> {
    Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| StoreError::Other(Arc::new(error)))
}

fn severed() -> StoreError {
    StoreError::Lost(Arc::new(std::io::Error::from(
        std::io::ErrorKind::NotConnected,
    )))
}
