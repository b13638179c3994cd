//! The numbers of one request in four bytes each: a run can have millions of requests, and hardly any has
//! a number that is longer.

/// Stands for a number that is not there, and for one that needs more than four bytes.
const NONE: u32 = u32::MAX;
const LONG: u32 = u32::MAX - 1;
/// How many numbers there are.
const COUNT: usize = 12;

/// A number of a request: microseconds or a count.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Connect,
    /// From the due time to the start.
    Delay,
    Elapsed,
    FinalContent,
    FirstGenerated,
    FirstOutput,
    /// Gaps between its output events that are kept.
    Gaps,
    LastOutput,
    OutputEvents,
    /// 0 where there was output that nobody counted.
    OutputTokens,
    PromptTokens,
    Queued,
}

/// The numbers of a request, each of which may be missing.
#[derive(Debug)]
pub(crate) struct Numbers {
    short: [u32; COUNT],
    /// All of them, where one is too long.
    long: Option<Box<[u64; COUNT]>>,
}

impl Numbers {
    /// Those that are given; all others are missing.
    pub(crate) fn of(given: &[(Number, Option<u64>)]) -> Self {
        let mut numbers = Self { short: [NONE; COUNT], long: None };
        for (number, value) in given {
            let Some(value) = *value else { continue };
            let short = u32::try_from(value).ok().filter(|short| *short < LONG).unwrap_or(LONG);
            numbers.short[*number as usize] = short;
            if short == LONG {
                numbers.long.get_or_insert_default()[*number as usize] = value;
            }
        }
        numbers
    }

    pub(crate) fn get(&self, number: Number) -> Option<u64> {
        match self.short[number as usize] {
            NONE => None,
            LONG => self.long.as_ref().map(|long| long[number as usize]),
            short => Some(u64::from(short)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back() {
        let edge = u64::from(LONG);
        let given = [
            (Number::Connect, None),
            (Number::Delay, Some(0)),
            (Number::Elapsed, Some(edge - 1)),
            (Number::FirstOutput, Some(edge)),
            (Number::LastOutput, Some(edge + 1)),
            (Number::Queued, Some(u64::MAX)),
        ];
        let numbers = Numbers::of(&given);
        for (number, value) in given {
            assert_eq!(numbers.get(number), value, "{number:?}");
        }
        assert_eq!(numbers.get(Number::PromptTokens), None);
    }
}
