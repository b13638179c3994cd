//! The workers of a run, and who gets the next order.
//!
//! A single worker is a task of the runtime that the run is on; several have a thread each.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::send::{Common, Order, Sender};
use crate::worker::{Report, Worker};

/// The workers, as the run sees them. Dropping it ends everything under way.
#[derive(Debug)]
pub(crate) struct Crew {
    members: Vec<Member>,
    /// Who is asked first among equals.
    turn: usize,
    reports: UnboundedReceiver<Report>,
    reports_to: UnboundedSender<Report>,
    common: Arc<Common>,
}

#[derive(Debug)]
struct Member {
    orders: Option<UnboundedSender<Order>>,
    under_way: u64,
    /// Where the worker is a task of the run's runtime.
    task: Option<tokio::task::JoinHandle<()>>,
    /// Where it has a thread of its own.
    thread: Option<JoinHandle<()>>,
}

impl Crew {
    /// Hires a worker for each sender, which together open a connection for each of the first requests.
    /// Needs the context of a runtime.
    ///
    /// # Errors
    /// When the system gives no thread or no runtime.
    pub(crate) fn hire(
        common: Arc<Common>,
        senders: Vec<Sender>,
        first: impl Iterator<Item = u64> + Clone,
    ) -> io::Result<Self> {
        let (reports_to, reports) = unbounded_channel();
        let count = senders.len();
        let share = |of_lane: u64| of_lane.div_ceil(count as u64);
        let mut crew = Self { members: Vec::new(), turn: 0, reports, reports_to, common };
        for (number, sender) in senders.into_iter().enumerate() {
            let (orders_to, orders) = unbounded_channel();
            let open_first = sender.lanes.shares(first.clone()).into_iter().map(share).collect();
            let worker = Worker {
                number,
                sender: Arc::new(sender),
                orders,
                reports: crew.reports_to(),
                open_first,
            };
            let (task, thread) = match count {
                1 => (Some(tokio::spawn(worker.work())), None),
                _ => (None, Some(on_thread(worker)?)),
            };
            crew.members.push(Member { orders: Some(orders_to), under_way: 0, task, thread });
        }
        Ok(crew)
    }

    /// What all its workers share.
    pub(crate) fn common(&self) -> &Arc<Common> {
        &self.common
    }

    /// Where reports are sent.
    pub(crate) fn reports_to(&self) -> UnboundedSender<Report> {
        self.reports_to.clone()
    }

    /// How many workers there are.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Orders given that have not been concluded.
    pub(crate) fn under_way(&self) -> u64 {
        self.members.iter().map(|member| member.under_way).sum()
    }

    /// Gives an order to a worker that has the fewest.
    pub(crate) fn give(&mut self, order: Order) {
        let count = self.members.len();
        let in_turn = (0..count).map(|step| (self.turn + step) % count);
        let Some(chosen) = in_turn.min_by_key(|&number| self.members[number].under_way) else {
            return;
        };
        self.turn = (chosen + 1) % count;
        let member = &mut self.members[chosen];
        member.under_way += 1;
        if let Some(orders) = &member.orders {
            // A worker that is gone has said so itself.
            let _ = orders.send(order);
        }
    }

    /// Whether a report waits to be heard.
    pub(crate) fn has_report(&self) -> bool {
        !self.reports.is_empty()
    }

    /// The next report.
    pub(crate) async fn report(&mut self) -> Report {
        self.reports.recv().await.unwrap_or(Report::Gone)
    }

    /// An order of this worker is no longer under way.
    pub(crate) fn conclude(&mut self, worker: usize) {
        self.members[worker].under_way -= 1;
    }

    /// Waits until nobody works any more. What their connections were open for can then be opened by
    /// others; a thread is waited for when this is dropped.
    pub(crate) async fn dismiss(&mut self) {
        for member in &mut self.members {
            member.orders = None;
            if let Some(task) = member.task.take() {
                // One that panicked has said so by its end.
                let _ = task.await;
            }
        }
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.common.cancel.give();
        for member in &mut self.members {
            member.orders = None;
        }
        for thread in self.members.iter_mut().filter_map(|member| member.thread.take()) {
            // One that panicked has said so by its end.
            let _ = thread.join();
        }
    }
}

fn on_thread(worker: Worker) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name(format!("worker-{}", worker.number)).spawn(move || {
        // A task of its own: the runtime wakes it without waking itself up.
        let work = runtime.spawn(worker.work());
        // A worker that panicked has said so by its end.
        let _ = runtime.block_on(work);
    })
}
