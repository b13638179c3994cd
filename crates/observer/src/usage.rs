//! Token counts over the events of one response.

use streamgauge_schema::Usage;

use crate::count::count;
use crate::json::Value;

/// The fields of [`Usage`], in alphabetical order.
const FIELDS: [&str; 4] =
    ["cached_tokens", "completion_tokens", "prompt_tokens", "reasoning_tokens"];

/// What one event reports. Null and absent are both `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report<'a> {
    pub(crate) cached_tokens: Option<Value<'a>>,
    pub(crate) completion_tokens: Option<Value<'a>>,
    pub(crate) prompt_tokens: Option<Value<'a>>,
    pub(crate) reasoning_tokens: Option<Value<'a>>,
}

/// What a report is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// A state of things while the answer is still being made.
    Running,
    /// The end of one choice.
    Choice,
    /// The end of the request: the event is about no choice.
    Request,
}

/// What was odd about one report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Oddities {
    pub(crate) invalid: u64,
    pub(crate) falling: u64,
}

/// Each field's last valid value, and what else the reports tell.
#[derive(Debug, Default)]
pub(crate) struct UsageTally {
    last: Counts,
    invalid: [bool; FIELDS.len()],
    choice_ends: Ends,
    request_ends: Ends,
}

type Counts = [Option<u64>; FIELDS.len()];

/// The final reports of one scope.
#[derive(Debug, Default)]
struct Ends {
    first: Option<Counts>,
    differ: bool,
}

impl Report<'_> {
    /// Whether any field has a value, valid or not.
    pub(crate) fn says_anything(&self) -> bool {
        self.values().iter().any(Option::is_some)
    }

    fn values(&self) -> [Option<Value<'_>>; FIELDS.len()] {
        [self.cached_tokens, self.completion_tokens, self.prompt_tokens, self.reasoning_tokens]
    }
}

impl UsageTally {
    /// Takes what the next event reports.
    pub(crate) fn push(&mut self, report: &Report<'_>, scope: Scope) -> Oddities {
        let mut oddities = Oddities::default();
        let mut counts = Counts::default();
        for (field, value) in report.values().into_iter().enumerate() {
            let Some(value) = value else { continue };
            let Some(count) = value.number().and_then(count) else {
                self.invalid[field] = true;
                oddities.invalid += 1;
                continue;
            };
            oddities.falling += u64::from(self.last[field].is_some_and(|last| count < last));
            self.last[field] = Some(count);
            counts[field] = Some(count);
        }
        match scope {
            Scope::Running => {}
            Scope::Choice => self.choice_ends.push(counts),
            Scope::Request => self.request_ends.push(counts),
        }
        oddities
    }

    /// Whether the final reports contradict each other: those about the request, else those that
    /// came with the ends of its choices. With several choices they may be sums or not.
    pub(crate) fn final_reports_differ(&self) -> bool {
        let ends = match self.request_ends.first {
            Some(_) => &self.request_ends,
            None => &self.choice_ends,
        };
        ends.differ
    }

    /// Each field's last valid value; `None` when there was none at all.
    pub(crate) fn usage(&self) -> Option<Usage> {
        let [cached_tokens, completion_tokens, prompt_tokens, reasoning_tokens] = self.last;
        self.last.iter().any(Option::is_some).then_some(Usage {
            prompt_tokens,
            completion_tokens,
            reasoning_tokens,
            cached_tokens,
        })
    }

    /// The fields for which a value came that is no count, sorted.
    pub(crate) fn invalid(&self) -> Vec<String> {
        let named = FIELDS.iter().zip(self.invalid);
        named.filter(|(_, invalid)| *invalid).map(|(name, _)| (*name).to_owned()).collect()
    }
}

impl Ends {
    fn push(&mut self, counts: Counts) {
        let first = self.first.get_or_insert(counts);
        self.differ |=
            first.iter().zip(counts).any(|pair| matches!(pair, (Some(a), Some(b)) if *a != b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report<'a>(prompt: Option<&'a str>, completion: Option<&'a str>) -> Report<'a> {
        Report {
            prompt_tokens: prompt.and_then(Value::parse),
            completion_tokens: completion.and_then(Value::parse),
            ..Report::default()
        }
    }

    #[test]
    fn each_field_keeps_its_last_valid_value() {
        let mut tally = UsageTally::default();
        assert_eq!(tally.usage(), None);
        assert_eq!(tally.push(&report(Some("9"), Some("4")), Scope::Running).falling, 0);
        let odd = tally.push(&report(Some("\"9\""), Some("3.0")), Scope::Running);
        assert_eq!(odd, Oddities { invalid: 1, falling: 1 });
        assert_eq!(tally.invalid(), ["prompt_tokens"]);
        let usage = tally.usage().unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(9), Some(3)));
        assert_eq!((usage.reasoning_tokens, usage.cached_tokens), (None, None));
    }

    #[test]
    fn reports_about_the_request_outrank_those_about_choices() {
        use Scope::{Choice, Request, Running};
        for (reports, expected) in [
            (&[("4", Running), ("9", Running)][..], false),
            (&[("4", Choice), ("9", Choice)], true),
            (&[("4", Choice), ("4", Choice)], false),
            (&[("4", Choice), ("9", Choice), ("13", Request)], false),
            (&[("4", Request), ("9", Request)], true),
            (&[("4", Request), ("4", Request)], false),
        ] {
            let mut tally = UsageTally::default();
            for (completion, scope) in reports {
                tally.push(&report(Some("7"), Some(completion)), *scope);
            }
            assert_eq!(tally.final_reports_differ(), expected, "{reports:?}");
        }
    }
}
