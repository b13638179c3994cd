//! The body that sends a plan: each event at its due time, in a write of its own, then the plan's
//! end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use thiserror::Error;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::account::{Entry, Mark, RequestOutcome};
use crate::clock::monotonic_ns;
use crate::engine::{End, Event, Plan, Step};
use crate::render::Renderer;
use crate::socket::Tap;

/// An ordered fault: the connection is to be dropped here.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the response is cut here by an ordered fault")]
pub(crate) struct Severed;

/// The receipt of a request, on the account's clock and on the timer's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receipt {
    pub(crate) at: Instant,
    pub(crate) ns: u64,
}

impl Receipt {
    pub(crate) fn new(ns: u64) -> Self {
        let since = Duration::from_nanos(monotonic_ns().saturating_sub(ns));
        let now = Instant::now();
        Self { at: now.checked_sub(since).unwrap_or(now), ns }
    }
}

/// What a response is made with.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) entry: Arc<Entry>,
    pub(crate) receipt: Receipt,
    pub(crate) renderer: Renderer,
    pub(crate) tap: Arc<Tap>,
    /// Whether the connection ends with the body although its head did not say so.
    pub(crate) then_close: bool,
}

impl Delivery {
    /// Ends a response by a fault that leaves it unfinished. Stays pending for a stall: the
    /// connection's task goes on reading and drops the response when the client goes away.
    pub(crate) fn poll_cut(&self, end: End) -> Poll<Severed> {
        self.entry.conclude(RequestOutcome::Faulted);
        match end {
            End::Body { .. } | End::Close => Poll::Ready(Severed),
            End::Hang => Poll::Pending,
            End::Reset => {
                self.tap.reset_on_close();
                Poll::Ready(Severed)
            }
        }
    }
}

/// A response body that follows a plan.
#[derive(Debug)]
pub(crate) struct PacedBody {
    delivery: Delivery,
    end: End,
    /// The event that `timer` waits for, written out in advance.
    next: Option<(Bytes, Mark)>,
    steps: std::vec::IntoIter<Step>,
    timer: Pin<Box<Sleep>>,
    whole_length: Option<u64>,
}

impl PacedBody {
    /// Follows the steps and the end of `plan`; its head is the caller's part.
    pub(crate) fn new(delivery: Delivery, plan: Plan) -> Self {
        if plan.steps.is_empty() {
            delivery.tap.announce_head();
        }
        let whole = matches!(plan.steps[..], [Step { event: Event::Whole(_), .. }]);
        let timer = Box::pin(sleep_until(delivery.receipt.at));
        let mut body = Self {
            delivery,
            end: plan.end,
            next: None,
            steps: plan.steps.into_iter(),
            timer,
            whole_length: None,
        };
        body.prepare_next();
        body.whole_length =
            body.next.as_ref().filter(|_| whole).map(|(bytes, _)| bytes.len() as u64);
        body
    }

    fn prepare_next(&mut self) {
        self.next = self.steps.next().map(|step| {
            let Receipt { at, ns } = self.delivery.receipt;
            self.timer.as_mut().reset(at + step.due);
            let mark = Mark {
                due_ns: ns.saturating_add(u64::try_from(step.due.as_nanos()).unwrap_or(u64::MAX)),
                is_last: self.steps.len() == 0 && self.end == End::Body { by_fault: false },
                is_output: matches!(step.event, Event::Output { .. }),
                tokens: step.event.tokens(),
            };
            (self.delivery.renderer.render(&step.event), mark)
        });
    }

    fn poll_end(&self) -> Poll<Option<Result<Frame<Bytes>, Severed>>> {
        let End::Body { by_fault } = self.end else {
            return self.delivery.poll_cut(self.end).map(|severed| Some(Err(severed)));
        };
        if by_fault {
            self.delivery.entry.conclude(RequestOutcome::Faulted);
        }
        if self.delivery.then_close {
            self.delivery.tap.end_after_stream();
        }
        Poll::Ready(None)
    }
}

impl Body for PacedBody {
    type Data = Bytes;
    type Error = Severed;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Severed>>> {
        if self.next.is_some() {
            ready!(self.timer.as_mut().poll(cx));
        }
        ready!(self.delivery.tap.poll_written(cx));
        let Some((bytes, mark)) = self.next.take() else { return self.poll_end() };
        self.delivery.tap.announce(Arc::clone(&self.delivery.entry), mark);
        self.prepare_next();
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        self.whole_length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
