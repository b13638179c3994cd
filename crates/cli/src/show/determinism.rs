//! Which prompts are answered the same each time, for the operator alone: their names in a dataset are
//! no part of a report.

use std::collections::BTreeMap;

use streamgauge_client::bounded;
use streamgauge_schema::{
    AnswerPart, AnswerPlace, Determinism, Digest, PromptVerdict, RepeatedPrompt, RepeatedRun,
    Stability,
};

use super::number::count;
use super::table::table;
use crate::args::Format;
use crate::console::printable;

/// Most prompts that are shown; the report holds all of them.
const MAX_SHOWN: usize = 20;
/// Digits of a prompt that has no name.
const DIGEST_DIGITS: usize = 12;

/// A report as sentences and a table of the prompts that are not as they should be.
pub(crate) fn determinism(
    report: &Determinism,
    names: &BTreeMap<Digest, String>,
    format: Format,
) -> String {
    let mut lines = vec![of_run(&report.baseline, "Baseline", report.candidate.is_some())];
    if let Some(candidate) = &report.candidate {
        lines.push(of_run(candidate, "Candidate", true));
    }
    if let Some(compared) = &report.compared {
        lines.push(format!(
            "On the {} prompts that are stable on the baseline: {} with the same answer, {} with \
             another one, {} unstable on the candidate, {} not answered by it",
            count(report.baseline.stable),
            count(compared.same),
            count(compared.differing),
            count(compared.unstable_on_candidate),
            count(compared.missing),
        ));
    }
    let rows: Vec<[String; 3]> =
        report.prompts.iter().filter_map(|prompt| row(prompt, names)).collect();
    let left_out = rows.len().saturating_sub(MAX_SHOWN);
    if !rows.is_empty() {
        let header = ["prompt", "what came of it", "first difference"];
        lines.push(format!("\n{}", table(format, header, rows.into_iter().take(MAX_SHOWN))));
    }
    if left_out > 0 {
        lines.push(format!("… and {left_out} more; the report lists every prompt"));
    }
    printable(&lines.join("\n"))
}

fn of_run(run: &RepeatedRun, side: &str, is_one_of_two: bool) -> String {
    let RepeatedRun { repetitions, prompts, stable, unstable, incomplete, .. } = run;
    let begin = if is_one_of_two { format!("{side}: ") } else { String::new() };
    format!(
        "{begin}{} of {} prompts got the same answer {repetitions} times ({} did not, {} were not \
         always answered){}",
        count(*stable),
        count(*prompts),
        count(*unstable),
        count(*incomplete),
        sampled(run.temperature),
    )
}

/// What is drawn at random is not the same each time.
fn sampled(temperature: Option<f64>) -> String {
    match temperature {
        Some(0.0) => String::new(),
        Some(temperature) => format!("; answers were sampled at a temperature of {temperature}"),
        None => {
            "; answers were sampled as the server has it, as no temperature was sent".to_owned()
        }
    }
}

/// A prompt that is worth a look: its name, what came of it, and where.
fn row(prompt: &RepeatedPrompt, names: &BTreeMap<Digest, String>) -> Option<[String; 3]> {
    let difference = |side: Option<&streamgauge_schema::RepeatedAnswer>| {
        side.and_then(|it| it.first_difference.as_ref()).map(|it| place(it, true))
    };
    let baseline = prompt.baseline.as_ref();
    let (what, place) = match prompt.verdict {
        Some(PromptVerdict::Same) => return None,
        Some(PromptVerdict::Differs) => {
            ("another answer", prompt.divergence.as_ref().map(|it| place(it, false)))
        }
        Some(PromptVerdict::UnstableOnCandidate) => {
            ("unstable on the candidate", difference(prompt.candidate.as_ref()))
        }
        Some(PromptVerdict::Missing) => ("not answered by the candidate", None),
        Some(PromptVerdict::NotComparable) | None => match baseline?.state {
            Stability::Stable => return None,
            Stability::Unstable => ("unstable", difference(baseline)),
            Stability::Incomplete => ("not always answered", None),
        },
    };
    let name = names.get(&prompt.prompt_sha256).map(|name| bounded(name));
    let name = name.unwrap_or_else(|| prompt.prompt_sha256.prefix(DIGEST_DIGITS));
    Some([name, what.to_owned(), place.unwrap_or_else(|| "–".to_owned())])
}

fn place(place: &AnswerPlace, between_repetitions: bool) -> String {
    let part = match place.part {
        AnswerPart::Content => "content",
        AnswerPart::FinishReasons => "finish reasons, after",
        AnswerPart::Reasoning => "reasoning",
    };
    let mut text = format!("{part} character {}", count(place.character));
    if let Some(event) = place.output_event {
        text.push_str(&format!(", output event {}", count(event)));
    }
    if between_repetitions {
        text.push_str(&format!(", repetition {}", count(place.repetition)));
    }
    text
}
