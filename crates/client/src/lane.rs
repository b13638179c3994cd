//! Where a request goes: a lane for each address, with connections of its own.
//!
//! Invariant: a request's lane is a function of its place in its stage, so that whatever becomes of it,
//! it is sent again where it was sent before.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream;
use hyper::http::uri::InvalidUri;
use streamgauge_schema::{Plan, ReplicaTurns};

use crate::access::Access;
use crate::connect::Connector;
use crate::connection::Connection;
use crate::error::TransportError;
use crate::pool::Pool;
use crate::template::Template;
use crate::way::Way;

/// Connections that are made at once to one address when many are opened before the first request: a
/// server's queue of new connections is short.
const OPENING_AT_ONCE: usize = 64;

/// What leads to one address.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) connector: Connector,
    pub(crate) pool: Arc<Pool>,
    pub(crate) template: Template,
}

/// All of them, in the order of the plan's addresses.
#[derive(Debug)]
pub(crate) struct Lanes {
    lanes: Vec<Lane>,
    turns: ReplicaTurns,
}

impl Lanes {
    /// A lane for each way, of which the plan holds as many addresses.
    ///
    /// # Errors
    /// When the plan's path holds characters that HTTP does not allow.
    pub(crate) fn along(
        ways: &[Way],
        turns: ReplicaTurns,
        plan: &Plan,
        access: &Access,
    ) -> Result<Self, InvalidUri> {
        let lane = |way: &Way| Lane::along(way, plan, access);
        Ok(Self { lanes: ways.iter().map(lane).collect::<Result<_, _>>()?, turns })
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.lanes.len()
    }

    /// The number of a request's lane.
    pub(crate) fn number_of(&self, index: u64) -> usize {
        self.turns.of(index)
    }

    /// A request's lane.
    pub(crate) fn of(&self, index: u64) -> &Lane {
        self.at(self.number_of(index))
    }

    /// The lane of a number.
    pub(crate) fn at(&self, number: usize) -> &Lane {
        &self.lanes[number]
    }

    /// How many of some requests go along each.
    pub(crate) fn shares(&self, requests: impl Iterator<Item = u64>) -> Vec<u64> {
        let mut shares = vec![0; self.lanes.len()];
        requests.for_each(|index| shares[self.number_of(index)] += 1);
        shares
    }

    /// Opens so many connections along each before they are needed.
    pub(crate) async fn connect_ahead(&self, counts: &[u64]) {
        join_all(self.lanes.iter().zip(counts).map(|(lane, count)| lane.connect_ahead(*count)))
            .await;
    }
}

impl Lane {
    fn along(way: &Way, plan: &Plan, access: &Access) -> Result<Self, InvalidUri> {
        let target = &plan.target;
        let path = &target.endpoint_path;
        let timeout = Duration::from_millis(plan.limits.connect_timeout_ms);
        Ok(Self {
            connector: Connector::new(way.clone(), timeout, plan.instrument.kernel_stamps),
            pool: Arc::default(),
            template: Template::new(&way.endpoint, path, target.dialect, access)?,
        })
    }

    /// Up to the first that fails. Its request tries again and bears the failure; waiting for the others
    /// to fail in turn would take for ever.
    async fn connect_ahead(&self, count: u64) {
        let opening = (0..count).map(|_| self.connector.connect());
        let mut opening = stream::iter(opening).buffer_unordered(OPENING_AT_ONCE);
        while let Some(Ok(connection)) = opening.next().await {
            self.pool.put(connection);
        }
    }

    /// Whether fewer connections wait than so many requests need.
    pub(crate) fn lacks_connections(&self, needed: usize) -> bool {
        self.pool.drop_closed();
        self.pool.idle() < needed
    }

    /// Keeps what was opened ahead. A request whose connection could not be opened tries again.
    pub(crate) fn keep(&self, opened: Result<Connection, TransportError>) {
        if let Ok(connection) = opened {
            self.pool.put(connection);
        }
    }
}
