//! How the events of an API are read. Each dialect is a file of its own and one arm of [`reader`].

mod openai_chat;

use std::fmt::Debug;

use streamgauge_schema::Dialect;

use crate::failure::FailureMembers;
use crate::json::{Members, Value};
use crate::tally::Tally;

/// Whether a JSON object is one of many or the whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One event of a stream.
    Event,
    /// The whole body.
    Whole,
}

/// What became of a text that should be an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It reports a failure; nothing else was taken from it.
    Failure,
    /// It is not one JSON object.
    NotAnObject,
    /// The dialect has read it.
    Read,
}

/// One API's way to say things.
///
/// An event is read in two steps, because of a doubled member the last one counts and because a
/// failure wins over everything else in its event: first all members are collected, then, if none of
/// them reports a failure, the dialect reads what it collected.
pub(crate) trait Rules: Debug + Send {
    /// The members of an event that matter.
    type Members<'a>: Default;

    /// Collects one member.
    fn collect<'a>(members: &mut Self::Members<'a>, key: &str, value: Value<'a>);

    /// Reads the members of one event into the tally.
    fn read(&mut self, members: &Self::Members<'_>, shape: Shape, tally: &mut Tally);
}

/// Reads events by the rules of one dialect.
pub(crate) trait Reader: Debug + Send {
    /// Reads a text that should be one JSON object.
    fn read_text(&mut self, text: &str, shape: Shape, tally: &mut Tally) -> Verdict;
}

/// The reader of a dialect's events.
pub(crate) fn reader(dialect: Dialect) -> Box<dyn Reader> {
    match dialect {
        Dialect::OpenaiChat => Box::new(openai_chat::OpenaiChat),
    }
}

impl<R: Rules> Reader for R {
    fn read_text(&mut self, text: &str, shape: Shape, tally: &mut Tally) -> Verdict {
        let mut failure = FailureMembers::default();
        let mut collected = R::Members::default();
        let mut members = Members::of(text);
        for (key, value) in members.by_ref() {
            let key = key.decode();
            failure.take(&key, value);
            R::collect(&mut collected, &key, value);
        }
        if !members.is_whole() {
            return Verdict::NotAnObject;
        }
        if failure.report_failure() {
            return Verdict::Failure;
        }
        self.read(&collected, shape, tally);
        Verdict::Read
    }
}
