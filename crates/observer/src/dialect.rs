//! How the events of an API are read. Each dialect is a file of its own and one arm of [`reader`].

mod anthropic_messages;
mod ollama;
mod ollama_chat;
mod ollama_generate;
mod openai;
mod openai_chat;
mod openai_completions;
mod openai_responses;
mod sglang_generate;
mod tgi_generate;

use std::borrow::Cow;
use std::fmt::Debug;

use streamgauge_schema::Dialect;

use crate::failure::FailureMembers;
use crate::framing::Framing;
use crate::json::{Cursor, Value, walk_object};
use crate::tally::Tally;

/// Whether a JSON object is one of many or the whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape<'a> {
    /// One event of a stream, and its name, empty without one.
    Event(&'a [u8]),
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
    /// How the bytes of its streams are divided into events.
    const FRAMING: Framing = Framing::EventStream;

    /// Whether events are read each by itself, whatever came before and whatever its name: then one
    /// that differs from another in a text alone says the same but for that text.
    const IS_STATELESS: bool = false;

    /// The members of an event that matter.
    type Members<'a>: Default;

    /// Passes over the value of a member, and may look into it on the way, so that it need not be
    /// read again. False if it is not valid.
    fn pass<'a>(
        _: &mut Self::Members<'a>,
        _key: &str,
        value: &mut Cursor<'a>,
        _: Shape<'_>,
    ) -> bool {
        value.pass()
    }

    /// Collects one member.
    fn collect<'a>(members: &mut Self::Members<'a>, key: &str, value: Value<'a>);

    /// Whether an event with these members is of this dialect and of no other.
    fn recognises(members: &Self::Members<'_>, shape: Shape<'_>) -> bool;

    /// Reads the members of one event into the tally.
    fn read(&mut self, members: &Self::Members<'_>, shape: Shape<'_>, tally: &mut Tally);
}

/// Reads events by the rules of one dialect.
pub(crate) trait Reader: Debug + Send {
    /// How the bytes of its streams are divided into events.
    fn framing(&self) -> Framing;

    /// Whether each event is read by itself.
    fn is_stateless(&self) -> bool;

    /// Whether a text is an event of this dialect and of no other.
    fn recognises(&self, text: &str, shape: Shape<'_>) -> bool;

    /// Reads a text that should be one JSON object.
    fn read_text(&mut self, text: &str, shape: Shape<'_>, tally: &mut Tally) -> Verdict;
}

/// The reader of a dialect's events.
pub(crate) fn reader(dialect: Dialect) -> Box<dyn Reader> {
    match dialect {
        Dialect::AnthropicMessages => Box::new(anthropic_messages::AnthropicMessages::default()),
        Dialect::OllamaChat => Box::new(ollama_chat::OllamaChat),
        Dialect::OllamaGenerate => Box::new(ollama_generate::OllamaGenerate),
        Dialect::OpenaiChat => Box::new(openai_chat::OpenaiChat),
        Dialect::OpenaiCompletions => Box::new(openai_completions::OpenaiCompletions),
        Dialect::OpenaiResponses => Box::new(openai_responses::OpenaiResponses),
        Dialect::SglangGenerate => Box::new(sglang_generate::SglangGenerate),
        Dialect::TgiGenerate => Box::new(tgi_generate::TgiGenerate),
    }
}

/// The dialect that a text is an event of, if it shows one.
pub(crate) fn recognise(text: &str, shape: Shape<'_>) -> Option<Dialect> {
    Dialect::ALL.iter().copied().find(|dialect| reader(*dialect).recognises(text, shape))
}

impl<R: Rules> Reader for R {
    fn framing(&self) -> Framing {
        R::FRAMING
    }

    fn is_stateless(&self) -> bool {
        R::IS_STATELESS
    }

    fn recognises(&self, text: &str, shape: Shape<'_>) -> bool {
        let mut collected = R::Members::default();
        let is_object = walk_object(text, |key, cursor| {
            let Some(value) = cursor.value() else { return false };
            R::collect(&mut collected, key, value);
            true
        });
        is_object && R::recognises(&collected, shape)
    }

    fn read_text(&mut self, text: &str, shape: Shape<'_>, tally: &mut Tally) -> Verdict {
        let mut failure = FailureMembers::default();
        let mut collected = R::Members::default();
        let is_object = walk_object(text, |key, cursor| {
            let pass = |cursor: &mut _| R::pass(&mut collected, key, cursor, shape);
            let Some(value) = cursor.value_by(pass) else { return false };
            failure.take(key, value);
            R::collect(&mut collected, key, value);
            true
        });
        if !is_object {
            return Verdict::NotAnObject;
        }
        if failure.report_failure() {
            return Verdict::Failure;
        }
        self.read(&collected, shape, tally);
        Verdict::Read
    }
}

/// What kind of event it is: its `type`, else its name.
fn kind<'a>(declared: Option<Value<'a>>, shape: Shape<'a>) -> Cow<'a, str> {
    match (declared.and_then(Value::some_text), shape) {
        (Some(declared), _) => declared.decode(),
        (None, Shape::Event(name)) => String::from_utf8_lossy(name),
        (None, Shape::Whole) => Cow::Borrowed(""),
    }
}
