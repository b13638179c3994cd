//! Tokens of each output event, where a server counts them as it streams.

/// What the output events of one response counted.
#[derive(Debug)]
pub(crate) struct TokenCounts {
    /// Tokens of each output event so far; `None` once one of them did not say.
    tokens: Option<Vec<u64>>,
    counted: u64,
}

impl TokenCounts {
    /// Nothing counted yet, and nothing ever if they are not kept.
    pub(crate) fn new(kept: bool) -> Self {
        Self { tokens: kept.then(Vec::new), counted: 0 }
    }

    /// Takes what an output event says of the tokens so far, its own included.
    pub(crate) fn push(&mut self, counted: Option<u64>) {
        let Some(tokens) = &mut self.tokens else { return };
        match counted.filter(|counted| *counted > self.counted) {
            Some(counted) => {
                tokens.push(counted - self.counted);
                self.counted = counted;
            }
            None => self.tokens = None,
        }
    }

    /// Bytes of memory that they take.
    pub(crate) fn held_bytes(&self) -> usize {
        self.tokens.as_ref().map_or(0, |tokens| size_of::<u64>() * tokens.capacity())
    }

    /// Tokens of each output event, if there was any and each carried a count above the one before.
    pub(crate) fn into_tokens(self) -> Option<Vec<u64>> {
        self.tokens.filter(|tokens| !tokens.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_tokens_only_when_every_event_has_a_higher_one() {
        for (counts, expected) in [
            (&[Some(1), Some(2), Some(7)][..], Some(&[1, 1, 5][..])),
            (&[Some(3)], Some(&[3])),
            (&[Some(u64::MAX)], Some(&[u64::MAX])),
            (&[], None),
            (&[None, Some(2)], None),
            (&[Some(1), None, Some(3)], None),
            (&[Some(0), Some(1)], None),
            (&[Some(1), Some(1)], None),
            (&[Some(2), Some(1), Some(3)], None),
        ] {
            let mut tokens = TokenCounts::new(true);
            counts.iter().for_each(|counted| tokens.push(*counted));
            assert_eq!(tokens.into_tokens().as_deref(), expected, "{counts:?}");
        }
    }
}
