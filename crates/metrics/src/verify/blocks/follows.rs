//! What a comparison with intervals concludes: each member is what the judge finds again.

use serde::Serialize;
use streamgauge_schema::{
    Build, CellComparisonV2, ComparisonV2, Json, JsonPath, MetricComparisonV2,
};

use super::super::{Rules, at};
use super::{Placed, cells, of_runs, turnovers};

pub(super) fn check(comparison: &ComparisonV2, judged: &ComparisonV2, rules: &mut Rules) {
    let again = judged.cells.iter().map(|(_, cell)| cell);
    for (placed, again) in cells(comparison).zip(again) {
        findings(comparison, &placed, again, rules);
        speed(&placed, again, rules);
        let metrics = placed.1.metrics.iter().zip(again.metrics.iter());
        for ((name, metric), (_, again)) in metrics {
            let path = placed.0.clone().key("metrics").key(name.as_str());
            let place = Place { comparison, cell: &placed, path };
            place.gate(name.as_str(), (metric, again), rules);
            place.change((metric, again), rules);
            place.verdict(name.as_str(), (metric, again), rules);
        }
    }
    levels(comparison, judged, rules);
    whole(comparison, judged, rules);
}

/// Records that a member is what the judge finds; `inputs` are the members that it comes from.
pub(super) fn follows<T: Serialize>(
    rules: &mut Rules,
    rule: &'static str,
    member: JsonPath,
    [found, expected]: [&T; 2],
    inputs: Vec<JsonPath>,
) {
    let text = |value: &T| {
        let json = Json::from_value(value).ok();
        json.and_then(|json| serde_json::to_string(&json).ok()).unwrap_or("no JSON".to_owned())
    };
    let (found, expected) = (text(found), text(expected));
    let statement = if found == expected {
        format!("{member} ({found}) follows from what was given")
    } else {
        format!("{member} ({found}) follows from what was given, which is {expected}")
    };
    rules.check(rule, found == expected, std::iter::once(member).chain(inputs), statement);
}

/// The members that lead to every level.
pub(super) fn terms(comparison: &ComparisonV2) -> Vec<JsonPath> {
    let planned = comparison.looks.as_ref().map_or(0, |looks| looks.planned_blocks.len());
    let planned = (0..planned).map(|index| at("looks.planned_blocks").index(index));
    planned.chain([at("alpha")]).collect()
}

fn findings(
    comparison: &ComparisonV2,
    placed @ (path, cell): &Placed<'_>,
    again: &CellComparisonV2,
    rules: &mut Rules,
) {
    let from_runs = of_runs(placed, &["offered", "succeeded"]);
    for (index, (finding, again)) in cell.counts.iter().zip(&again.counts).enumerate() {
        let member = |key: &str| path.clone().key("counts").index(index).key(key);
        let tallies = ["baseline", "candidate"]
            .into_iter()
            .flat_map(|side| ["count", "of"].map(|key| member(side).key(key)));
        for (side, found, expected) in [
            ("baseline", &finding.baseline, &again.baseline),
            ("candidate", &finding.candidate, &again.candidate),
        ] {
            let values = [found, expected];
            let inputs = from_runs.iter().cloned().chain(tallies.clone()).collect();
            follows(rules, "failures-follow", member(side), values, inputs);
        }
        let p_values = [&finding.p_value, &again.p_value];
        follows(rules, "p-value-follows", member("p_value"), p_values, tallies.collect());
        let inputs = terms(comparison).into_iter().chain([member("p_value")]).collect();
        let verdicts = [&finding.verdict, &again.verdict];
        follows(rules, "finding-follows", member("verdict"), verdicts, inputs);
    }
    for (index, (finding, again)) in cell.values.iter().zip(&again.values).enumerate() {
        let member = |key: &str| path.clone().key("values").index(index).key(key);
        let sides = [("baseline", finding.baseline.len()), ("candidate", finding.candidate.len())];
        let values = sides
            .into_iter()
            .flat_map(|(side, count)| (0..count).map(move |place| member(side).index(place)));
        let values: Vec<JsonPath> = values.chain([at("method")]).collect();
        let differences = [&finding.difference, &again.difference];
        follows(rules, "difference-follows", member("difference"), differences, values.clone());
        let p_values = [&finding.p_value, &again.p_value];
        follows(rules, "p-value-follows", member("p_value"), p_values, values);
        let inputs = terms(comparison).into_iter().chain([member("p_value")]).collect();
        let verdicts = [&finding.verdict, &again.verdict];
        follows(rules, "finding-follows", member("verdict"), verdicts, inputs);
    }
}

fn speed(placed @ (path, cell): &Placed<'_>, again: &CellComparisonV2, rules: &mut Rules) {
    let names =
        ["run_id", "offered", "succeeded", "performance_eligible", "another_model_answered"];
    let lists = [("counts", cell.counts.len()), ("values", cell.values.len())];
    let verdicts = lists.into_iter().flat_map(|(list, count)| {
        (0..count).map(move |index| path.clone().key(list).index(index).key("verdict"))
    });
    let inputs = of_runs(placed, &names).into_iter().chain(verdicts);
    let answers = cell.correctness.as_ref().map(|_| path.clone().key("correctness").key("differs"));
    let inputs = inputs.chain([at("max_failure_ratio")]).chain(answers).collect();
    let values = [&cell.speed_void, &again.speed_void];
    follows(rules, "speed-void-follows", path.clone().key("speed_void"), values, inputs);
}

/// A gated metric and what is around it.
struct Place<'a> {
    comparison: &'a ComparisonV2,
    cell: &'a Placed<'a>,
    path: JsonPath,
}

type Both<'a> = (&'a MetricComparisonV2, &'a MetricComparisonV2);

impl Place<'_> {
    fn member(&self, key: &str) -> JsonPath {
        self.path.clone().key(key)
    }

    fn gate(&self, name: &str, (metric, again): Both<'_>, rules: &mut Rules) {
        let stated = |key| self.of_gate(name, &[key]);
        let rule = "gate-is-stated";
        let values = [&metric.limit_percent, &again.limit_percent];
        follows(rules, rule, self.member("limit_percent"), values, stated("limit_percent"));
        let values = [&metric.direction, &again.direction];
        follows(rules, rule, self.member("direction"), values, stated("direction"));
        let values = [&metric.statistic, &again.statistic];
        follows(rules, rule, self.member("statistic"), values, stated("statistic"));
    }

    fn change(&self, (metric, again): Both<'_>, rules: &mut Rules) {
        for (key, found, expected) in [
            ("baseline_mean", &metric.baseline_mean, &again.baseline_mean),
            ("candidate_mean", &metric.candidate_mean, &again.candidate_mean),
            ("delta_percent", &metric.delta_percent, &again.delta_percent),
            ("noise_percent", &metric.noise_percent, &again.noise_percent),
            ("degrees_of_freedom", &metric.degrees_of_freedom, &again.degrees_of_freedom),
        ] {
            let inputs = self.figures(metric, "value").into_iter().chain([at("method")]).collect();
            follows(rules, "change-follows", self.member(key), [found, expected], inputs);
        }
        for (key, found, expected) in [
            ("pass_interval", &metric.pass_interval, &again.pass_interval),
            ("fail_interval", &metric.fail_interval, &again.fail_interval),
        ] {
            let parts =
                ["level", "method", "lower", "upper"].map(|part| self.member(key).key(part));
            let inputs = self.figures(metric, "value").into_iter().chain(terms(self.comparison));
            let inputs = inputs.chain(parts).collect();
            follows(rules, "interval-follows", self.member(key), [found, expected], inputs);
        }
    }

    fn verdict(&self, name: &str, (metric, again): Both<'_>, rules: &mut Rules) {
        let mut inputs = self.figures(metric, "value");
        inputs.extend(self.figures(metric, "samples"));
        inputs.extend(of_runs(self.cell, &["run_id", "succeeded", "client_limited"]));
        inputs.extend(self.of_gate(name, &["limit_percent", "direction", "min_samples"]));
        inputs.extend(terms(self.comparison));
        inputs.push(self.cell.0.clone().key("speed_void"));
        let values = [&metric.equivalence, &again.equivalence];
        follows(rules, "equivalence-follows", self.member("equivalence"), values, inputs.clone());
        let values = [&metric.verdict, &again.verdict];
        follows(rules, "gate-verdict-follows", self.member("verdict"), values, inputs.clone());
        let values = [&metric.reason, &again.reason];
        follows(rules, "reason-follows", self.member("reason"), values, inputs);
    }

    /// Members of the gate of this name.
    fn of_gate(&self, name: &str, keys: &[&str]) -> Vec<JsonPath> {
        let gates = self.comparison.gates.iter();
        let index = gates.into_iter().position(|gate| gate.metric.as_str() == name);
        let of = |index: usize| keys.iter().map(move |key| at("gates").index(index).key(*key));
        index.into_iter().flat_map(of).collect()
    }

    fn figures(&self, metric: &MetricComparisonV2, key: &str) -> Vec<JsonPath> {
        let sides = [("baseline", metric.baseline.len()), ("candidate", metric.candidate.len())];
        let each = sides.into_iter().flat_map(|(side, count)| {
            (0..count).map(move |index| self.member(side).index(index).key(key))
        });
        each.collect()
    }
}

fn levels(comparison: &ComparisonV2, judged: &ComparisonV2, rules: &mut Rules) {
    let rule = "levels-follow";
    let inputs = || terms(comparison);
    let values = [&comparison.findings_judged, &judged.findings_judged];
    follows(rules, rule, at("findings_judged"), values, inputs());
    let values = [&comparison.gates_judged, &judged.gates_judged];
    follows(rules, rule, at("gates_judged"), values, inputs());
    let values = [&comparison.pass_level, &judged.pass_level];
    follows(rules, rule, at("pass_level"), values, inputs());
    let values = [&comparison.fail_level, &judged.fail_level];
    follows(rules, rule, at("fail_level"), values, inputs());
}

fn whole(comparison: &ComparisonV2, judged: &ComparisonV2, rules: &mut Rules) {
    turnovers_judged(comparison, judged, rules);
    let answers = cells(comparison)
        .filter(|(_, cell)| cell.correctness.is_some())
        .map(|(path, _)| path.key("correctness").key("verdict"));
    let verdicts = cells(comparison).flat_map(|(path, cell)| {
        let names = cell.metrics.iter().map(|(name, _)| name.as_str());
        names.map(move |name| path.clone().key("metrics").key(name).key("verdict"))
    });
    let turnover = comparison.turnover.iter();
    let turnover = turnover.flat_map(|_| [at("turnover.verdict"), at("turnover.candidate")]);
    let inputs = verdicts.chain(answers).chain(turnover).collect();
    let values = [&comparison.verdict, &judged.verdict];
    follows(rules, "comparison-verdict-follows", at("verdict"), values, inputs);
    limitations(comparison, judged, rules);
}

fn turnovers_judged(comparison: &ComparisonV2, judged: &ComparisonV2, rules: &mut Rules) {
    let (Some(found), Some(again)) = (&comparison.turnover, &judged.turnover) else { return };
    let inputs = || -> Vec<JsonPath> {
        let runs = turnovers(comparison).flat_map(|(run, _)| {
            let outcome = run.clone().key("outcome");
            let counts = ["requests", "exact_output_passed", "failed"];
            let given = ["policy", "prompts_sha256"].map(|key| run.clone().key(key));
            given.into_iter().chain(counts.map(|key| outcome.clone().key(key)))
        });
        runs.chain(terms(comparison)).collect()
    };
    for (member, found, again) in [
        ("turnover.baseline_exact", &found.baseline_exact, &again.baseline_exact),
        ("turnover.candidate_exact", &found.candidate_exact, &again.candidate_exact),
    ] {
        let parts = ["count", "of"].map(|part| at(member).key(part));
        let inputs = inputs().into_iter().chain(parts).collect();
        follows(rules, "turnover-counts-follow", at(member), [found, again], inputs);
    }
    let values = [&found.p_value, &again.p_value];
    follows(rules, "turnover-test-follows", at("turnover.p_value"), values, inputs());
    let values = [&found.verdict, &again.verdict];
    follows(rules, "turnover-verdict-follows", at("turnover.verdict"), values, inputs());
    let values = [&found.reason, &again.reason];
    follows(rules, "reason-follows", at("turnover.reason"), values, inputs());
}

fn limitations(comparison: &ComparisonV2, judged: &ComparisonV2, rules: &mut Rules) {
    let names = ["started_at", "completed_at", "evidence_mode", "instrument", "time_basis"];
    let mut inputs: Vec<JsonPath> =
        cells(comparison).flat_map(|placed| of_runs(&placed, &names)).collect();
    for (side, build) in [("baseline", &comparison.baseline), ("candidate", &comparison.candidate)]
    {
        inputs.extend(members(build).into_iter().map(|key| at(side).key(&key)));
    }
    for index in 0..comparison.allowed_differences.len() {
        let path = at("allowed_differences").index(index);
        inputs.extend(["cell", "condition"].map(|key| path.clone().key(key)));
    }
    for index in 0..comparison.limitations.len() {
        let path = at("limitations").index(index);
        inputs.extend(["kind", "text"].map(|key| path.clone().key(key)));
    }
    inputs.push(at("method"));
    let values = [&comparison.limitations, &judged.limitations];
    follows(rules, "limitations-follow", at("limitations"), values, inputs);
}

fn members(build: &Build) -> Vec<String> {
    match Json::from_value(build) {
        Ok(Json::Object(members)) => members.into_iter().map(|(key, _)| key).collect(),
        _ => Vec::new(),
    }
}
