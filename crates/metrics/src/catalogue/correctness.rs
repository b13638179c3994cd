//! How many answers were right. Whatever is declared stays in the denominator: a server that fails, or
//! is too slow to answer, does not answer right.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{graded_figure, request};
//! let lines = [request(&[100], 1), request(&[100], 1), request(&[100], 1), request(&[100], 1)];
//! let passed = [true, true, true, false];
//! assert_eq!(graded_figure("pass_ratio", &lines, &passed), Some(0.75));
//! assert_eq!(graded_figure("graded_pass_ratio", &lines, &passed), Some(0.75));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Population, Presence, Source};

/// The ids, by which verification finds them.
pub(crate) const PASS_RATIO: &str = "pass_ratio";
pub(crate) const PRIMARY_PASS_RATIO: &str = "primary_pass_ratio";
pub(crate) const GRADED_PASS_RATIO: &str = "graded_pass_ratio";

pub(crate) const PASSES: Family = Family {
    name: "Pass rate",
    meaning: "Share of all declared requests whose answer passed its grader. What failed, timed out, \
              was not run or not graded counts against it.",
    formula: "pass / declared",
    absent_when: "Nothing was declared. The metric stands only in records of graded runs.",
    example: "100 declared: 90 passed, 4 graded wrong, 3 timed out, 2 failed, 1 not run: \
              90 / 100 = 0.9.",
    source: Source::Share {
        metric: Entry::of_run(PASS_RATIO),
        of: |sent| Some(sent.graded.is_some_and(|graded| graded.passed)),
    },
    ..SHARE
};

pub(crate) const PRIMARY_PASSES: Family = Family {
    name: "Pass rate of the expected model",
    meaning: "Share of all declared requests whose answer passed its grader and came from exactly the \
              expected model, by the name in the response.",
    formula: "primary_passes / declared",
    absent_when: "Nothing was declared. The metric stands only in records of graded runs.",
    example: "100 declared, 90 passed, 2 of these named another model: 88 / 100 = 0.88.",
    source: Source::Share {
        metric: Entry::of_run(PRIMARY_PASS_RATIO),
        of: |sent| Some(sent.graded.is_some_and(|graded| graded.passed && graded.is_primary())),
    },
    ..SHARE
};

pub(crate) const GRADED_PASSES: Family = Family {
    name: "Pass rate of graded answers",
    population: Population::Succeeded,
    meaning: "Share of the graded answers that passed; requests without an answer do not count.",
    formula: "pass / (pass + fail)",
    absent_when: "No answer was graded. The metric stands only in records of graded runs.",
    example: "100 declared: 90 passed, 4 graded wrong, 6 not answered: 90 / 94 = 0.957.",
    source: Source::Share {
        metric: Entry::of_run(GRADED_PASS_RATIO),
        of: |sent| sent.graded.map(|graded| graded.passed),
    },
    ..SHARE
};

/// What these shares have in common.
const SHARE: Family = Family {
    name: "",
    unit: Unit::Ratio,
    direction: Direction::HigherIsBetter,
    population: Population::Declared,
    presence: Presence::Graded,
    token_source: None,
    meaning: "",
    formula: "",
    absent_when: "",
    example: "",
    source: Source::Share { metric: Entry::of_run(""), of: |_| None },
};
