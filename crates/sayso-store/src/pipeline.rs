//! Pipelining for PostgreSQL: statements are queued and sent together.
//!
//! A round trip to the server takes longer than most statements, even on one machine. So a statement whose result
//! is not needed is queued until one is needed, and all are sent before the first response is read. The server runs
//! them in order, as if each had been waited for.

use crate::postgres::{in_full, silent};
use crate::prefetch::QueryKey;
use crate::tx::SqlArg;
use crate::{Error, Result};
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::{Client, Config, Connection, NoTls, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The most statements that are queued before they are sent.
const KEPT_MAX: usize = 512;

/// The longest an exchange with the server may take in a short-lived process. It is longer than the lock timeout.
const EXCHANGE_MAX: Duration = Duration::from_secs(30);

/// An error of an exchange.
#[derive(Debug)]
pub(crate) enum PgError {
    /// An error from the server, or a broken connection.
    Said(tokio_postgres::Error),
    /// No response within the timeout.
    Silent(Duration),
}

impl PgError {
    pub(crate) fn as_db_error(&self) -> Option<&DbError> {
        match self {
            PgError::Said(error) => error.as_db_error(),
            PgError::Silent(_) => None,
        }
    }

    pub(crate) fn code(&self) -> Option<&SqlState> {
        match self {
            PgError::Said(error) => error.code(),
            PgError::Silent(_) => None,
        }
    }
}

impl From<tokio_postgres::Error> for PgError {
    fn from(error: tokio_postgres::Error) -> Self {
        PgError::Said(error)
    }
}

impl fmt::Display for PgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PgError::Said(error) => error.fmt(f),
            PgError::Silent(limit) => write!(f, "no answer within {} s", limit.as_secs()),
        }
    }
}

impl std::error::Error for PgError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            PgError::Said(error) => error.source(),
            PgError::Silent(_) => None,
        }
    }
}

pub(crate) enum PipelineStep {
    /// Several statements without values.
    Batch(String),
    /// A statement whose affected rows are counted.
    Exec(Statement, Vec<OwnedValue>),
    /// A statement whose rows are read.
    Query(Statement, Vec<OwnedValue>),
}

/// An owned value of a queued statement.
#[derive(Debug)]
pub(crate) enum OwnedValue {
    Null,
    Int(i64),
    Text(String),
}

/// The result of a step.
#[derive(Default)]
pub(crate) struct PipelineResult {
    pub(crate) rows: Vec<Row>,
    pub(crate) count: u64,
}

pub(crate) struct PgPipeline {
    client: Client,
    /// The queued steps, each with the prefetched query it is for.
    kept: Vec<(PipelineStep, Option<QueryKey>)>,
    /// Drives the connection while a caller waits, on the caller's thread.
    runtime: Runtime,
    /// The timeout of an exchange.
    exchange_max: Duration,
}

impl PgPipeline {
    pub(crate) fn connect(config: &Config, tls: Option<MakeRustlsConnect>) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Error::Other(format!("no way to connect: {e}")))?;
        let client = match tls {
            Some(tls) => {
                runtime.block_on(config.connect(tls)).map(|pair| spawn_driver(&runtime, pair))
            }
            None => {
                runtime.block_on(config.connect(NoTls)).map(|pair| spawn_driver(&runtime, pair))
            }
        };
        let client = client.map_err(|e| silent(in_full(&e)))?;
        Ok(Self { client, kept: vec![], runtime, exchange_max: EXCHANGE_MAX })
    }

    /// Sets the timeout of later exchanges.
    pub(crate) fn limit_exchanges(&mut self, longest: Duration) {
        self.exchange_max = longest;
    }

    /// Queues a step. Returns true if the queue is full and should be sent.
    pub(crate) fn enqueue(&mut self, step: PipelineStep) -> bool {
        self.kept.push((step, None));
        self.kept.len() >= KEPT_MAX
    }

    /// Queues a step whose rows are the result of a prefetched query. Returns true if the queue is full.
    pub(crate) fn enqueue_prefetch(&mut self, step: PipelineStep, question: QueryKey) -> bool {
        self.kept.push((step, Some(question)));
        self.kept.len() >= KEPT_MAX
    }

    /// Sends the queue and then this step, and returns the result of this step.
    pub(crate) fn step(
        &mut self,
        step: PipelineStep,
    ) -> std::result::Result<PipelineResult, PgError> {
        self.enqueue(step);
        Ok(self.send()?.pop().map(|(_, came)| came).unwrap_or_default())
    }

    /// Sends the queue and returns the result of each step, in order. The first failure is the error of all: the
    /// server runs nothing after it.
    pub(crate) fn send(
        &mut self,
    ) -> std::result::Result<Vec<(Option<QueryKey>, PipelineResult)>, PgError> {
        let kept = std::mem::take(&mut self.kept);
        let client = &self.client;
        let all =
            kept.iter().map(|(step, _)| Box::pin(step.run(client)) as StepFuture<'_>).collect();
        let limit = self.exchange_max;
        let came =
            self.runtime.block_on(async { tokio::time::timeout(limit, join_in_order(all)).await });
        let came = came.map_err(|_| PgError::Silent(limit))?;
        kept.into_iter().zip(came).map(|((_, question), came)| Ok((question, came?))).collect()
    }

    /// True if the queue holds only the start of a transaction, none of which was sent.
    pub(crate) fn has_only_begun(&self) -> bool {
        matches!(self.kept.as_slice(), [(PipelineStep::Batch(_), None)])
    }

    pub(crate) fn forget(&mut self) {
        self.kept.clear();
    }

    /// Sends a statement without waiting for its result.
    pub(crate) fn tell(&mut self, sql: &str) {
        let said = self.client.batch_execute(sql);
        self.runtime.block_on(async {
            let mut said = Box::pin(said);
            let _ = poll_fn(|context| Poll::Ready(said.as_mut().poll(context))).await;
            tokio::task::yield_now().await;
        });
    }

    pub(crate) fn prepare(&mut self, sql: &str) -> std::result::Result<Statement, PgError> {
        let (limit, prepared) = (self.exchange_max, self.client.prepare(sql));
        let prepared = self.runtime.block_on(async { tokio::time::timeout(limit, prepared).await });
        Ok(prepared.map_err(|_| PgError::Silent(limit))??)
    }

    /// True if the server is known to have closed the connection, without asking it.
    pub(crate) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Reads messages that arrived in the meantime.
    pub(crate) fn read_pending(&mut self) {
        self.runtime.block_on(async {
            // One turn of the event loop sees that there is a message, the next one reads it.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
        });
    }
}

/// Spawns the connection's task, which runs while a caller waits. A lost connection shows at the next statement.
fn spawn_driver<S, T>(runtime: &Runtime, (client, connection): (Client, Connection<S, T>)) -> Client
where
    Connection<S, T>: Future + Send + 'static,
{
    runtime.spawn(async move {
        let _ = connection.await;
    });
    client
}

impl PipelineStep {
    async fn run(&self, client: &Client) -> std::result::Result<PipelineResult, PgError> {
        match self {
            PipelineStep::Batch(sql) => {
                client.batch_execute(sql).await?;
                Ok(PipelineResult::default())
            }
            PipelineStep::Exec(statement, values) => {
                let count =
                    client.execute_raw(statement, values.iter().map(OwnedValue::as_arg)).await?;
                Ok(PipelineResult { rows: vec![], count })
            }
            PipelineStep::Query(statement, values) => {
                let values: Vec<_> = values.iter().map(OwnedValue::as_arg).collect();
                let values: Vec<_> = values.iter().map(|value| value as _).collect();
                let rows = client.query(statement, &values).await?;
                Ok(PipelineResult { rows, count: 0 })
            }
        }
    }
}

impl OwnedValue {
    pub(crate) fn all(args: &[SqlArg<'_>]) -> Vec<Self> {
        let value = |arg: &SqlArg<'_>| match arg {
            SqlArg::Null => OwnedValue::Null,
            SqlArg::Int(value) => OwnedValue::Int(*value),
            SqlArg::Text(value) => OwnedValue::Text((*value).to_owned()),
        };
        args.iter().map(value).collect()
    }

    fn as_arg(&self) -> SqlArg<'_> {
        match self {
            OwnedValue::Null => SqlArg::Null,
            OwnedValue::Int(value) => SqlArg::Int(*value),
            OwnedValue::Text(value) => SqlArg::Text(value),
        }
    }
}

type StepFuture<'a> =
    Pin<Box<dyn Future<Output = std::result::Result<PipelineResult, PgError>> + Send + 'a>>;

/// Runs all of them. A statement is sent when its future is first polled, so all are sent, in order, before the first
/// response is read. Responses come in that order, so the first is awaited first.
async fn join_in_order(
    mut those: Vec<StepFuture<'_>>,
) -> Vec<std::result::Result<PipelineResult, PgError>> {
    let mut early = poll_fn(|context| {
        let first = |one: &mut StepFuture<'_>| match one.as_mut().poll(context) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        };
        Poll::Ready(those.iter_mut().map(first).collect::<Vec<_>>())
    })
    .await;
    let mut came = Vec::with_capacity(those.len());
    for (one, early) in those.into_iter().zip(early.drain(..)) {
        came.push(match early {
            Some(done) => done,
            None => one.await,
        });
    }
    came
}
