//! OpenAI chat completions, and the many servers that speak the like.

use crate::dialect::openai::{Chunk, Place};
use crate::dialect::{Rules, Shape};
use crate::json::{Cursor, Value};
use crate::tally::Tally;

/// The rules of `/v1/chat/completions`.
#[derive(Debug)]
pub(crate) struct OpenaiChat;

impl Rules for OpenaiChat {
    const IS_STATELESS: bool = true;

    type Members<'a> = Chunk<'a>;

    #[inline]
    fn pass<'a>(
        chunk: &mut Chunk<'a>,
        key: &str,
        value: &mut Cursor<'a>,
        shape: Shape<'_>,
    ) -> bool {
        chunk.pass(key, value, shape)
    }

    #[inline]
    fn collect<'a>(chunk: &mut Chunk<'a>, key: &str, value: Value<'a>) {
        chunk.collect(key, value);
    }

    fn recognises(chunk: &Chunk<'_>, _: Shape<'_>) -> bool {
        chunk.place() == Some(Place::Delta)
    }

    fn read(&mut self, chunk: &Chunk<'_>, shape: Shape<'_>, tally: &mut Tally) {
        chunk.read(Place::Delta, shape, tally);
    }
}
