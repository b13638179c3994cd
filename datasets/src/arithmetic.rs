//! The arithmetic set: word problems whose numbers were chosen so that they come out.
//!
//! Invariant: the answer is computed in whole numbers, and no wrong answer equals it.

mod problems;

use streamgauge_schema::{Expectation, NumberWithin};

use crate::draw::Draw;
use crate::line::{Case, Line};
use problems::PROBLEMS;

/// A problem with what comes out, and what comes out when a step is left out or taken twice.
#[derive(Debug)]
struct Problem {
    text: String,
    /// Decimals of the answer: all numbers here are multiples of the last of them.
    decimals: i32,
    answer: i64,
    wrong: [i64; 3],
}

pub(crate) fn case(place: u32, draw: &mut Draw) -> Case {
    let problem = PROBLEMS[place as usize % PROBLEMS.len()](draw);
    let unit = 10_f64.powi(problem.decimals);
    let number = |answer: i64| {
        let number = answer as f64 / unit;
        if problem.decimals == 0 { format!("{answer}") } else { format!("{number:.2}") }
    };
    let answer = number(problem.answer);
    let within = if problem.decimals == 0 { 0.0 } else { 0.5 / unit };
    let expected = NumberWithin { value: problem.answer as f64 / unit, within, within_ratio: 0.0 };
    let slips = problem.wrong.into_iter().map(|wrong| format!("That makes\n{}", number(wrong)));
    Case {
        line: Line {
            id: format!("arithmetic-{:03}", place + 1),
            prompt: format!(
                "{}\nWork it out step by step. End with a line that holds the answer alone, as a number \
                 without its unit.\n",
                problem.text
            ),
            expect: Expectation::Numeric(expected),
        },
        right: format!("Step by step, then.\n{answer}"),
        wrong: slips
            .chain([
                format!("The answer is {answer}, unless one counts the 7 that were not there."),
                format!("-{answer}"),
                "I would rather not say.".to_owned(),
            ])
            .collect(),
    }
}
