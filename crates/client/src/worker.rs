//! Carries out orders: holds each until it is due, has a connection ready by then, sends it, and
//! reports its line.

use std::collections::VecDeque;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use streamgauge_schema::{Extraction, RequestLine};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::task::JoinSet;

use crate::alarm::Alarm;
use crate::send::{Order, Sender, Sent};

/// Carries out orders on one thread.
#[derive(Debug)]
pub(crate) struct Worker {
    /// Its number.
    pub(crate) number: usize,
    pub(crate) sender: Arc<Sender>,
    /// What to send, in the order in which it is due. At their end the worker ends, too.
    pub(crate) orders: UnboundedReceiver<Order>,
    pub(crate) reports: UnboundedSender<Report>,
    /// Connections to open before the first order, along each lane.
    pub(crate) open_first: Vec<u64>,
}

/// What a worker has to say.
#[derive(Debug)]
pub(crate) enum Report {
    /// An order has ended in this line.
    Ended {
        /// The worker's number.
        worker: usize,
        line: Box<RequestLine>,
        /// What the response said, where it was kept.
        said: Option<Box<Extraction>>,
    },
    /// It cannot go on.
    Failed(io::Error),
    /// It carries out nothing any more.
    Gone,
    /// The sink has the line of an order of this worker.
    Kept { worker: usize },
    /// Its first connections are open.
    Ready,
    /// The sink takes nothing any more.
    SinkGone,
}

impl Worker {
    /// Carries out orders until there are no more.
    pub(crate) async fn work(mut self) {
        if let Err(error) = self.try_work().await {
            // Nobody listens when the run has been given up.
            let _ = self.reports.send(Report::Failed(error));
        }
    }

    async fn try_work(&mut self) -> io::Result<()> {
        let Self { number, sender, orders, reports, open_first } = self;
        let (worker, cancel) = (*number, &sender.common.cancel);
        let mut cancelled = pin!(cancel.wait());
        tokio::select! {
            () = &mut cancelled => {}
            () = sender.lanes.connect_ahead(open_first) => {}
        }
        let _ = reports.send(Report::Ready);
        let mut alarm = Alarm::new()?;
        let mut waiting = VecDeque::new();
        let lanes = &sender.lanes;
        let mut ahead = vec![Ahead::default(); lanes.len()];
        let mut connecting = FuturesUnordered::new();
        let mut under_way = JoinSet::new();
        let mut more = true;
        while more || !waiting.is_empty() || !under_way.is_empty() {
            while let Some(order) = pop_due(&mut waiting, cancel.is_given()) {
                ahead[lanes.number_of(order.request.index)].waiting -= 1;
                under_way.spawn(Arc::clone(sender).send(order));
            }
            let next_due = waiting.front().and_then(|order: &Order| order.held_for());
            tokio::select! {
                biased;
                () = &mut cancelled, if !cancel.is_given() => {}
                order = orders.recv(), if more => match order {
                    Some(order) => {
                        let number = lanes.number_of(order.request.index);
                        let (lane, ahead) = (lanes.at(number), &mut ahead[number]);
                        ahead.waiting += 1;
                        let needed = ahead.waiting.saturating_sub(ahead.connecting);
                        if order.held_for().is_some() && lane.lacks_connections(needed) {
                            ahead.connecting += 1;
                            connecting.push(async move { (number, lane.connector.connect().await) });
                        }
                        waiting.push_back(order);
                    }
                    None => more = false,
                },
                rung = ring_at(&mut alarm, next_due), if next_due.is_some() => rung?,
                Some((number, opened)) = connecting.next() => {
                    ahead[number].connecting -= 1;
                    lanes.at(number).keep(opened);
                }
                Some(ended) = under_way.join_next() => {
                    let Sent { line, said } = ended.map_err(io::Error::other)?;
                    let _ = reports.send(Report::Ended { worker, line, said });
                }
            }
        }
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.reports.send(Report::Gone);
    }
}

/// What is made ready for the orders of one lane that are not due yet.
#[derive(Clone, Copy, Debug, Default)]
struct Ahead {
    /// Orders that wait for their time.
    waiting: usize,
    /// Connections that are being made.
    connecting: usize,
}

/// Takes the first order if it is due, or if nothing is waited for any more.
fn pop_due(waiting: &mut VecDeque<Order>, cancelled: bool) -> Option<Order> {
    waiting.pop_front_if(|order| {
        cancelled || order.held_for().is_none_or(|moment| moment <= Instant::now())
    })
}

async fn ring_at(alarm: &mut Alarm, due: Option<Instant>) -> io::Result<()> {
    match due {
        Some(due) => alarm.wait_until(due).await,
        None => std::future::pending().await,
    }
}
