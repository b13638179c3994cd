//! Where a request whose answer is to cross waits for another one.
//!
//! Invariant: at most one request waits. Whoever meets it takes its answer and leaves its own under
//! one lock, so that both get the other's, or neither does.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use crate::answer::Answer;

/// The place where they meet.
#[derive(Debug, Default)]
pub(crate) struct Crossing(Mutex<Option<Waiting>>);

#[derive(Debug)]
struct Waiting {
    answer: Answer,
    exchanged: oneshot::Sender<Answer>,
}

/// What came of a meeting.
#[derive(Debug, PartialEq)]
pub(crate) enum Met {
    /// Another request was there: its answer.
    Other(Answer),
    /// None was: the request's own answer.
    Nobody(Answer),
}

impl Crossing {
    /// Exchanges an answer with that of a request that waits, if one does.
    pub(crate) fn pass(&self, own: Answer) -> Met {
        exchange(&mut self.lock(), own)
    }

    /// The same; where no request waits, this one does, until `end`.
    pub(crate) async fn wait(&self, own: Answer, end: impl Future<Output = ()>) -> Met {
        let mut exchanged = {
            let mut place = self.lock();
            let own = match exchange(&mut place, own) {
                Met::Nobody(own) => own,
                met => return met,
            };
            let (sender, receiver) = oneshot::channel();
            *place = Some(Waiting { answer: own, exchanged: sender });
            receiver
        };
        tokio::select! {
            biased;
            Ok(answer) = &mut exchanged => return Met::Other(answer),
            () = end => {}
        }
        // Another one may have come at the very end.
        let mut place = self.lock();
        match exchanged.try_recv() {
            Ok(answer) => Met::Other(answer),
            Err(_) => {
                let waiting = place.take().expect("who was not met still waits");
                Met::Nobody(waiting.answer)
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Waiting>> {
        // Every change is one assignment, so a panic elsewhere leaves nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request whose client has left waits for nobody.
fn exchange(place: &mut Option<Waiting>, own: Answer) -> Met {
    let Some(Waiting { answer, exchanged }) = place.take() else { return Met::Nobody(own) };
    match exchanged.send(own) {
        Ok(()) => Met::Other(answer),
        Err(own) => Met::Nobody(own),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;
    use crate::answer::{FinishReason, Tokens};

    fn answer(text: &str) -> Answer {
        let mut content = Tokens::default();
        content.push("", text);
        Answer { content, finish: FinishReason::Stop, reasoning: Tokens::default() }
    }

    #[tokio::test]
    async fn two_get_each_others_answers() {
        let crossing = Crossing::default();
        for other in ["passes", "waits"] {
            let first = crossing.wait(answer("first"), pending());
            let second = async {
                match other {
                    "passes" => crossing.pass(answer("second")),
                    _ => crossing.wait(answer("second"), pending()).await,
                }
            };
            let met = tokio::join!(biased; first, second);
            assert_eq!(met, (Met::Other(answer("second")), Met::Other(answer("first"))), "{other}");
            assert_eq!(crossing.pass(answer("third")), Met::Nobody(answer("third")));
        }
    }

    #[tokio::test]
    async fn without_another_one_an_answer_stays() {
        let crossing = Crossing::default();
        let met = crossing.wait(answer("alone"), ready(())).await;
        assert_eq!(met, Met::Nobody(answer("alone")));
        assert_eq!(crossing.pass(answer("later")), Met::Nobody(answer("later")));
    }

    #[tokio::test]
    async fn who_has_left_is_met_by_nobody() {
        let crossing = Crossing::default();
        {
            let mut gone = Box::pin(crossing.wait(answer("gone"), pending()));
            assert!(polled_once(gone.as_mut()).await.is_none());
        }
        assert_eq!(crossing.pass(answer("next")), Met::Nobody(answer("next")));
    }

    /// What a future gives when it is polled once.
    async fn polled_once<F: Future + Unpin>(future: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            output = future => Some(output),
            () = ready(()) => None,
        }
    }
}
