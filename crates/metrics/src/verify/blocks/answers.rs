//! Right answers in a comparison with intervals: what was given is sound, and what follows is what the
//! judge finds again.

use streamgauge_schema::{
    ComparedFigure, ComparisonV2, CorrectnessComparison, JsonPath, PromptPairs,
};

use super::super::{Rules, at, shown};
use super::follows::{follows, terms};
use super::{cells, of_runs};

pub(super) fn check(comparison: &ComparisonV2, rules: &mut Rules) {
    if let Some(gate) = &comparison.correctness_gate {
        rules.check(
            "gate-limit-in-range",
            (0.0..100.0).contains(&gate.limit_percent),
            [at("correctness_gate.limit_percent")],
            format_args!(
                "limit_percent of right answers ({:?}) is 0 or more and less than 100",
                gate.limit_percent
            ),
        );
    }
    for (path, cell) in cells(comparison) {
        let Some(correctness) = &cell.correctness else { continue };
        let path = path.key("correctness");
        rules.check(
            "answers-have-a-gate",
            comparison.correctness_gate.is_some(),
            [path.clone().key("limit_percent")],
            format_args!("{path}: a gate on right answers stands among the members"),
        );
        let sides = [
            ("baseline", &correctness.baseline, cell.baseline_runs.len()),
            ("candidate", &correctness.candidate, cell.candidate_runs.len()),
        ];
        for (side, figures, runs) in sides {
            check_rates(&path.clone().key(side), figures, runs, rules);
        }
        if let Some(pairs) = &correctness.pairs {
            let runs = cell.baseline_runs.len().min(cell.candidate_runs.len());
            check_pairs(&path.clone().key("pairs"), pairs, runs as u64, rules);
            check_pairs_fit(&path, correctness, pairs, rules);
        }
    }
}

/// A share of whole requests for each run.
fn check_rates(path: &JsonPath, figures: &[ComparedFigure], runs: usize, rules: &mut Rules) {
    rules.check(
        "one-figure-a-run",
        figures.len() == runs,
        [path.clone()],
        format_args!("{path}: {} figures are one for each of {runs} runs", figures.len()),
    );
    for (index, figure) in figures.iter().enumerate() {
        let member = |key: &str| path.clone().index(index).key(key);
        let counted = |share: f64| (share * figure.samples as f64).round();
        let is_share = figure.value.is_none_or(|share| {
            (0.0..=1.0).contains(&share) && counted(share) / figure.samples as f64 == share
        });
        rules.check(
            "pass-rates-count-requests",
            is_share,
            ["value", "samples"].map(member),
            format_args!(
                "{path}: a pass rate ({}) is a whole number of requests of {}",
                shown(figure.value),
                figure.samples
            ),
        );
    }
}

fn check_pairs(path: &JsonPath, pairs: &PromptPairs, runs: u64, rules: &mut Rules) {
    let prompts = pairs.count().saturating_add(pairs.unpaired);
    rules.check(
        "pairs-are-of-runs",
        pairs.runs == runs && pairs.unsteady <= prompts && (runs > 1 || pairs.unsteady == 0),
        ["runs", "unsteady"].map(|key| path.clone().key(key)),
        format_args!(
            "{path}: {} runs of each side are as many as both have ({runs}), and {} unsteady prompts \
             are among those that were sent ({prompts})",
            pairs.runs, pairs.unsteady
        ),
    );
}

/// A prompt that is steady is right in every run of a side or in none: so many as are right by the pairs
/// were right in each run, but for the unsteady ones.
fn check_pairs_fit(
    path: &JsonPath,
    correctness: &CorrectnessComparison,
    pairs: &PromptPairs,
    rules: &mut Rules,
) {
    let sides = [
        ("baseline", &correctness.baseline, pairs.baseline_only),
        ("candidate", &correctness.candidate, pairs.candidate_only),
    ];
    for (side, figures, only) in sides {
        let right = pairs.both.saturating_add(only);
        let taken = usize::try_from(pairs.runs).unwrap_or(usize::MAX);
        for (place, figure) in figures.iter().enumerate().take(taken) {
            let Some(share) = figure.value else { continue };
            // Prompts that are in no pair may be right too.
            if pairs.unpaired > 0 {
                continue;
            }
            let passed = (share * figure.samples as f64).round() as u64;
            // Of what was declared some may not have been sent.
            let least = if figure.samples == pairs.count() { right } else { 0 };
            let fits = passed <= right.saturating_add(pairs.unsteady)
                && passed.saturating_add(pairs.unsteady) >= least;
            let member = path.clone().key(side).index(place).key("value");
            rules.check(
                "pairs-fit-pass-rates",
                fits,
                [member.clone(), path.clone().key("pairs")],
                format_args!(
                    "{member}: {passed} right answers are the {right} of the pairs, but for {} unsteady \
                     prompts",
                    pairs.unsteady
                ),
            );
        }
    }
}

/// What the judge finds again.
pub(super) fn follow(comparison: &ComparisonV2, judged: &ComparisonV2, rules: &mut Rules) {
    let again = judged.cells.iter().map(|(_, cell)| cell.correctness.as_ref());
    for (placed, again) in cells(comparison).zip(again) {
        let Some((found, again)) = placed.1.correctness.as_ref().zip(again) else { continue };
        let path = placed.0.clone().key("correctness");
        let place = Place { path, terms: terms(comparison), runs: of_runs(&placed, &NAMES) };
        place.differences((found, again), rules);
        place.gate((found, again), rules);
    }
}

/// Members of runs on which a verdict on right answers depends.
const NAMES: [&str; 2] = ["run_id", "another_model_answered"];

struct Place {
    path: JsonPath,
    terms: Vec<JsonPath>,
    runs: Vec<JsonPath>,
}

type Both<'a> = (&'a CorrectnessComparison, &'a CorrectnessComparison);

impl Place {
    fn member(&self, key: &str) -> JsonPath {
        self.path.clone().key(key)
    }

    fn pairs(&self) -> Vec<JsonPath> {
        let counts = ["both", "baseline_only", "candidate_only", "neither"];
        counts.map(|key| self.member("pairs").key(key)).into()
    }

    fn differences(&self, (found, again): Both<'_>, rules: &mut Rules) {
        let values = [&found.difference_percent, &again.difference_percent];
        let member = self.member("difference_percent");
        follows(rules, "difference-follows", member, values, self.pairs());
        let values = [&found.p_value, &again.p_value];
        follows(rules, "p-value-follows", self.member("p_value"), values, self.pairs());
        let values = [&found.differs, &again.differs];
        let inputs = self.terms.iter().cloned().chain([self.member("p_value")]).collect();
        follows(rules, "finding-follows", self.member("differs"), values, inputs);
    }

    fn gate(&self, (found, again): Both<'_>, rules: &mut Rules) {
        let stated = ["limit_percent", "min_samples"].map(|key| at("correctness_gate").key(key));
        let values = [&found.limit_percent, &again.limit_percent];
        let member = self.member("limit_percent");
        follows(rules, "gate-is-stated", member, values, stated.clone().into());
        for (key, found, again) in [
            ("pass_interval", &found.pass_interval, &again.pass_interval),
            ("fail_interval", &found.fail_interval, &again.fail_interval),
        ] {
            let parts =
                ["level", "method", "lower", "upper"].map(|part| self.member(key).key(part));
            let inputs = self.pairs().into_iter().chain(self.terms.iter().cloned()).chain(parts);
            let inputs = inputs.collect();
            follows(rules, "interval-follows", self.member(key), [found, again], inputs);
        }
        let inputs: Vec<JsonPath> = self
            .pairs()
            .into_iter()
            .chain([self.member("pairs"), self.member("pairs").key("unpaired")])
            .chain(self.terms.iter().cloned())
            .chain(self.runs.iter().cloned())
            .chain(stated)
            .collect();
        let values = [&found.verdict, &again.verdict];
        follows(rules, "gate-verdict-follows", self.member("verdict"), values, inputs.clone());
        let values = [&found.reason, &again.reason];
        follows(rules, "reason-follows", self.member("reason"), values, inputs);
    }
}
