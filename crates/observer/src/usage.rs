//! Token counts over the events of one response.

use streamgauge_schema::{CountScope, CountSource, Usage, UsageSources};

use crate::count::count;
use crate::json::Value;

/// The fields of [`Usage`], in alphabetical order.
const FIELDS: [&str; 4] =
    ["cached_tokens", "completion_tokens", "prompt_tokens", "reasoning_tokens"];

/// The place of `completion_tokens` in [`FIELDS`].
const COMPLETION: usize = 1;

/// What one event says about one field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reported {
    /// So many tokens.
    Count(u64),
    /// A value that is no count.
    Invalid,
}

/// What one event reports. Null and absent are both `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    pub(crate) cached_tokens: Option<Reported>,
    pub(crate) completion_tokens: Option<Reported>,
    pub(crate) prompt_tokens: Option<Reported>,
    pub(crate) reasoning_tokens: Option<Reported>,
}

/// What was odd about one report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Oddities {
    pub(crate) invalid: u64,
    pub(crate) falling: u64,
    /// Fields whose final value is not the one that an earlier final report gave.
    pub(crate) disagreeing: u64,
}

/// Each field's last valid value, and what else the reports tell.
#[derive(Debug, Default)]
pub(crate) struct UsageTally {
    last: Counts,
    sources: [Option<CountSource>; FIELDS.len()],
    invalid: [bool; FIELDS.len()],
    choice_ends: Ends,
    request_ends: Ends,
    finals: Ends,
    completion_fell: bool,
}

type Counts = [Option<u64>; FIELDS.len()];

/// Reports that should agree.
#[derive(Debug, Default)]
struct Ends {
    reports: u64,
    last: Counts,
    differ: bool,
}

impl Reported {
    /// What a value says: nothing, if it is null.
    pub(crate) fn of(value: Value<'_>) -> Option<Self> {
        let count = || value.number().and_then(count).map_or(Self::Invalid, Self::Count);
        (!value.is_null()).then(count)
    }
}

impl Report {
    /// Whether any field has a value, valid or not.
    pub(crate) fn says_anything(&self) -> bool {
        self.values().iter().any(Option::is_some)
    }

    fn values(&self) -> [Option<Reported>; FIELDS.len()] {
        [self.cached_tokens, self.completion_tokens, self.prompt_tokens, self.reasoning_tokens]
    }
}

impl UsageTally {
    /// Takes what the next event reports; `is_final` says that nothing can follow that changes it.
    pub(crate) fn push(&mut self, report: &Report, from: CountSource, is_final: bool) -> Oddities {
        let mut oddities = Oddities::default();
        let mut counts = Counts::default();
        for (field, value) in report.values().into_iter().enumerate() {
            match value {
                None => {}
                Some(Reported::Invalid) => {
                    self.invalid[field] = true;
                    oddities.invalid += 1;
                }
                Some(Reported::Count(count)) => {
                    let fell = self.last[field].is_some_and(|last| count < last);
                    oddities.falling += u64::from(fell);
                    self.completion_fell |= fell && field == COMPLETION;
                    self.last[field] = Some(count);
                    self.sources[field] = Some(from);
                    counts[field] = Some(count);
                }
            }
        }
        match from.scope {
            CountScope::Running => {}
            CountScope::Choice => _ = self.choice_ends.push(counts),
            CountScope::Request => _ = self.request_ends.push(counts),
        }
        if is_final {
            oddities.disagreeing = self.finals.push(counts);
        }
        oddities
    }

    /// Whether the count of completion tokens ever fell.
    pub(crate) fn completion_fell(&self) -> bool {
        self.completion_fell
    }

    /// Whether it stays open what was counted, where there are several choices: final reports about
    /// the request contradict each other, or there are only such that came with the end of a
    /// choice, and several of them. Those may be about that choice or about all.
    pub(crate) fn is_ambiguous(&self) -> bool {
        match self.request_ends.reports {
            0 => self.choice_ends.reports > 1,
            _ => self.request_ends.differ,
        }
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

    /// Where those values were reported; `None` when there was none at all.
    pub(crate) fn sources(&self) -> Option<UsageSources> {
        let [cached_tokens, completion_tokens, prompt_tokens, reasoning_tokens] = self.sources;
        self.sources.iter().any(Option::is_some).then_some(UsageSources {
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
    /// Takes a further report; says how many of its fields are not as before.
    fn push(&mut self, counts: Counts) -> u64 {
        let mut differing = 0;
        for (last, count) in self.last.iter_mut().zip(counts) {
            differing += u64::from(last.is_some() && count.is_some() && *last != count);
            *last = count.or(*last);
        }
        self.reports += 1;
        self.differ |= differing > 0;
        differing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(prompt: &str, completion: &str) -> Report {
        let reported = |text| Reported::of(Value::parse(text).unwrap());
        Report {
            prompt_tokens: reported(prompt),
            completion_tokens: reported(completion),
            ..Report::default()
        }
    }

    fn at(event: u64, scope: CountScope) -> CountSource {
        CountSource { event, scope }
    }

    #[test]
    fn each_field_keeps_its_last_valid_value_and_its_source() {
        let mut tally = UsageTally::default();
        assert_eq!((tally.usage(), tally.sources()), (None, None));
        let (first, second) = (at(3, CountScope::Running), at(5, CountScope::Request));
        assert_eq!(tally.push(&report("9", "4"), first, false).falling, 0);
        let odd = tally.push(&report("\"9\"", "3.0"), second, false);
        assert_eq!(odd, Oddities { invalid: 1, falling: 1, disagreeing: 0 });
        assert!(tally.completion_fell());
        let later = at(6, CountScope::Request);
        assert_eq!(tally.push(&report("null", "null"), later, false), Oddities::default());
        let sources = tally.sources().unwrap();
        assert_eq!((sources.prompt_tokens, sources.completion_tokens), (Some(first), Some(second)));
        assert_eq!((sources.reasoning_tokens, sources.cached_tokens), (None, None));
        assert_eq!(tally.invalid(), ["prompt_tokens"]);
        let usage = tally.usage().unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), (Some(9), Some(3)));
        assert_eq!((usage.reasoning_tokens, usage.cached_tokens), (None, None));
    }

    #[test]
    fn reports_about_the_request_outrank_those_about_choices() {
        use CountScope::{Choice, Request, Running};
        for (reports, expected) in [
            (&[("4", Running), ("9", Running)][..], false),
            (&[("4", Choice), ("9", Choice)], true),
            (&[("4", Choice), ("4", Choice)], true),
            (&[("4", Running), ("9", Choice)], false),
            (&[("4", Choice), ("9", Choice), ("13", Request)], false),
            (&[("4", Request), ("9", Request)], true),
            (&[("4", Request), ("4", Request)], false),
        ] {
            let mut tally = UsageTally::default();
            for (completion, scope) in reports {
                tally.push(&report("7", completion), at(0, *scope), false);
            }
            assert_eq!(tally.is_ambiguous(), expected, "{reports:?}");
        }
    }

    #[test]
    fn final_reports_agree_or_not() {
        let mut tally = UsageTally::default();
        for (completion, is_final, expected) in [
            ("1", false, 0),
            ("9", true, 0),
            ("null", true, 0),
            ("9", true, 0),
            ("12", true, 1),
            ("14", false, 0),
            ("11", true, 1),
        ] {
            let odd = tally.push(&report("7", completion), at(0, CountScope::Request), is_final);
            assert_eq!(odd.disagreeing, expected, "{completion}");
        }
    }
}
