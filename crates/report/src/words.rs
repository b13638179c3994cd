//! Words that records have as identifiers, for people.

use streamgauge_schema::{Direction, GateStanding, SearchedLoad, Unit};

/// A unit as it stands behind a figure; a count and a share have none.
pub(crate) fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Count | Unit::Ratio => "",
        other => other.as_str(),
    }
}

/// A unit in full.
pub(crate) fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "a count",
        Unit::Milliseconds => "milliseconds (ms)",
        Unit::Ratio => "a share from 0 to 1",
        Unit::RequestsPerSecond => "requests a second (req/s)",
        Unit::Seconds => "seconds (s)",
        Unit::Tokens => "tokens (tok)",
        Unit::TokensPerSecond => "tokens a second (tok/s)",
    }
}

/// Which way a metric gets better.
pub(crate) fn better(direction: Direction) -> &'static str {
    match direction {
        Direction::HigherIsBetter => "more is better",
        Direction::LowerIsBetter => "less is better",
        Direction::Neutral => "neither more nor less is better",
    }
}

/// A word of a vocabulary as words: `warm_engine_unique_prefixes` is three.
pub(crate) fn spaced(word: &str) -> String {
    word.replace('_', " ")
}

/// A count with its noun, in the number that goes with it.
pub(crate) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", crate::number::count(count), if count == 1 { one } else { many })
}

/// What a search varied.
pub(crate) fn searched(load: SearchedLoad) -> &'static str {
    match load {
        SearchedLoad::Clients => "clients",
        SearchedLoad::RequestsPerS => "requests per second",
    }
}

/// How a gate, or all of them, stand.
pub(crate) fn standing(of: GateStanding) -> &'static str {
    match of {
        GateStanding::Fail => "fail",
        GateStanding::Inconclusive => "inconclusive",
        GateStanding::Ineligible => "ineligible",
        GateStanding::NotEvaluated => "not evaluated",
        GateStanding::Pass => "pass",
    }
}
