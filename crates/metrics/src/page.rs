//! METRICS.md, written from the catalogue.

use streamgauge_schema::{Direction, Unit, WindowName};

use crate::catalogue::{FAMILIES, Family, MetricSpec, Presence};
use crate::statistic::Statistic;

/// The rules that all metrics share.
const RULES: &str = include_str!("page/rules.md");
/// What other tools call these figures.
const ELSEWHERE: &str = include_str!("page/elsewhere.md");

/// The text of METRICS.md: the shared rules, every metric of the catalogue, and its names in other
/// tools.
#[must_use]
pub fn metrics_markdown() -> String {
    let families: Vec<String> = FAMILIES.into_iter().map(section).collect();
    format!("{RULES}\n{}\n{ELSEWHERE}", families.join("\n"))
}

fn section(family: &Family) -> String {
    let (direction, unit) = (better(family.direction), unit_name(family.unit));
    let tokens = family.token_source.map_or("none needed", |_| "the server's own usage");
    let mut rows = definitions(family);
    let steady = ids(&family.specs(WindowName::Steady));
    if !steady.is_empty() && !family.specs(WindowName::Whole).is_empty() {
        rows.push((steady, "The same over the steady window.".to_owned()));
    }
    if let Some(records) = presence(family.presence) {
        rows.push(("Stands in".to_owned(), records.to_owned()));
    }
    rows.extend([
        ("Formula".to_owned(), family.formula.to_owned()),
        ("Unit".to_owned(), format!("{unit}; {direction}")),
        ("Taken over".to_owned(), family.population.text().to_owned()),
        ("Token counts".to_owned(), tokens.to_owned()),
        ("Absent when".to_owned(), family.absent_when.to_owned()),
        ("Example".to_owned(), family.example.to_owned()),
    ]);
    let rows: String = rows.iter().map(|(name, text)| format!("| {name} | {text} |\n")).collect();
    let old = family.specs(WindowName::Whole).iter().any(|spec| spec.in_version_1);
    let version = if old { " (record 1)" } else { "" };
    format!("### {}{version}\n\n| | |\n| --- | --- |\n{rows}", family.name)
}

/// One row for each metric with words of its own; the statistics of one quantity share a row.
fn definitions(family: &Family) -> Vec<(String, String)> {
    let mut specs = family.specs(WindowName::Whole);
    if specs.is_empty() {
        specs = family.specs(WindowName::Steady);
    }
    let (shared, own): (Vec<MetricSpec>, Vec<MetricSpec>) =
        specs.into_iter().partition(|spec| spec.statistic.is_some() && !spec.in_version_1);
    let mut rows: Vec<(String, String)> =
        own.iter().map(|spec| (name(spec), spec.definition.to_string())).collect();
    if !shared.is_empty() {
        let statistics = shared.iter().filter_map(|spec| spec.statistic).map(Statistic::phrase);
        let statistics: Vec<&str> = statistics.collect();
        rows.push((ids(&shared), format!("{} of {}", statistics.join(", "), family.meaning)));
    }
    rows
}

fn ids(specs: &[MetricSpec]) -> String {
    specs.iter().map(name).collect::<Vec<_>>().join(" ")
}

fn name(spec: &MetricSpec) -> String {
    format!("`{}`", spec.id)
}

fn presence(presence: Presence) -> Option<&'static str> {
    match presence {
        Presence::Always => None,
        Presence::Goals => Some("records of runs with goals"),
        Presence::Graded => Some("records of graded runs"),
        Presence::Retries => Some("records of runs with `--retries`"),
        Presence::Schedule => Some("records of runs with due times: open loops and traces"),
        Presence::ServerMetrics => Some("records of runs with `--server-metrics`"),
    }
}

fn better(direction: Direction) -> &'static str {
    match direction {
        Direction::HigherIsBetter => "more is better",
        Direction::LowerIsBetter => "less is better",
        Direction::Neutral => "neither more nor less is better",
    }
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "a count",
        Unit::Milliseconds => "milliseconds (`ms`)",
        Unit::Ratio => "a ratio from 0 to 1 (`ratio`)",
        Unit::RequestsPerSecond => "requests a second (`req/s`)",
        Unit::Seconds => "seconds (`s`)",
        Unit::Tokens => "tokens (`tok`)",
        Unit::TokensPerSecond => "tokens a second (`tok/s`)",
    }
}
