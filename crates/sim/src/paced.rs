//! The body that sends a plan: each event at its due time, in a write of its own or, where that is
//! configured, together with others that are due too; then the plan's end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use thiserror::Error;

use crate::account::{Entry, Mark, RequestOutcome};
use crate::alarm::{Alarm, Alarms};
use crate::answer::Answer;
use crate::engine::{End, Event, Plan, Step};
use crate::render::Renderer;
use crate::socket::Tap;

/// An ordered fault: the connection is to be dropped here.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the response is cut here by an ordered fault")]
pub(crate) struct Severed;

/// What a response is made with.
#[derive(Debug)]
pub(crate) struct Delivery {
    pub(crate) alarms: Alarms,
    pub(crate) entry: Arc<Entry>,
    /// How many events that are due may share a write.
    pub(crate) events_per_write: u32,
    /// The receipt of the request, from which the plan's times count.
    pub(crate) received_ns: u64,
    pub(crate) renderer: Renderer,
    pub(crate) tap: Arc<Tap>,
    /// Whether the connection ends with the body although its head did not say so.
    pub(crate) then_close: bool,
}

impl Delivery {
    /// A time of the plan on the account's clock.
    pub(crate) fn due_ns(&self, due: Duration) -> u64 {
        self.received_ns.saturating_add(u64::try_from(due.as_nanos()).unwrap_or(u64::MAX))
    }

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
    alarm: Alarm,
    answer: Answer,
    delivery: Delivery,
    end: End,
    steps: std::iter::Peekable<std::vec::IntoIter<Step>>,
    /// The body of a response that is not streamed: its head tells its length.
    whole: Option<Bytes>,
}

impl PacedBody {
    /// Follows the steps and the end of `plan`; its head is the caller's part.
    pub(crate) fn new(mut delivery: Delivery, plan: Plan) -> Self {
        if plan.steps.is_empty() {
            delivery.tap.announce_head();
        }
        let whole = plan.is_whole().then(|| {
            delivery.renderer.render(&plan.answer, &Event::Whole);
            delivery.renderer.take()
        });
        let steps = plan.steps.into_iter().peekable();
        Self { alarm: Alarm::default(), answer: plan.answer, delivery, end: plan.end, steps, whole }
    }

    /// Writes out what is due, as much as may go in one write.
    fn render_due(&mut self, now_ns: u64) -> (Bytes, Mark) {
        let Self { answer, delivery, steps, .. } = self;
        let mut mark = Mark::default();
        while mark.events < delivery.events_per_write.into()
            && let Some(step) = steps.next_if(|step| delivery.due_ns(step.due) <= now_ns)
        {
            mark.add(
                delivery.due_ns(step.due),
                answer.tokens_of(&step.event),
                matches!(step.event, Event::Output { .. }),
            );
            if self.whole.is_none() {
                delivery.renderer.render(answer, &step.event);
            }
        }
        mark.is_last = steps.peek().is_none() && self.end == End::Body { by_fault: false };
        (self.whole.take().unwrap_or_else(|| delivery.renderer.take()), mark)
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
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Severed>>> {
        let body = self.get_mut();
        let Some(due) = body.steps.peek().map(|step| step.due) else {
            ready!(body.delivery.tap.poll_written(cx));
            return body.poll_end();
        };
        let Delivery { alarms, tap, .. } = &body.delivery;
        let now_ns = ready!(alarms.poll(cx, body.delivery.due_ns(due), &mut body.alarm));
        ready!(tap.poll_written(cx));
        let (bytes, mark) = body.render_due(now_ns);
        body.delivery.tap.announce(Arc::clone(&body.delivery.entry), mark);
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.whole.as_ref().map(|bytes| bytes.len() as u64);
        length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
