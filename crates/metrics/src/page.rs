//! METRICS.md, written from the catalogue.

use std::fmt::Write as _;

use streamgauge_schema::{Direction, Unit};

use crate::catalogue::{FAMILIES, Family};

const BEFORE: &str = include_str!("page/before.md");
const AFTER: &str = include_str!("page/after.md");

/// The text of METRICS.md: every metric of the catalogue between the rules that all share and the
/// names that other tools use.
#[must_use]
pub fn metrics_markdown() -> String {
    let mut page = BEFORE.to_owned();
    for family in FAMILIES {
        write_family(&mut page, family);
    }
    page.push('\n');
    page.push_str(AFTER);
    page
}

fn write_family(page: &mut String, family: &Family) {
    let specs = family.specs();
    let ids: Vec<String> = specs.iter().map(|spec| format!("`{}`", spec.id)).collect();
    let better = match family.direction {
        Direction::HigherIsBetter => "more is better",
        Direction::LowerIsBetter => "less is better",
        Direction::Neutral => "neither more nor less is better",
    };
    let tokens = match family.token_source {
        Some(_) => "the server's own usage",
        None => "none needed",
    };
    let rows = [
        ("Metrics", ids.join(", ")),
        ("Unit", format!("{}, {better}", unit_name(family.unit))),
        ("Formula", family.formula.to_owned()),
        ("Taken over", family.population.text().to_owned()),
        ("Token counts", tokens.to_owned()),
        ("Absent when", family.absent_when.to_owned()),
        ("Example", family.example.to_owned()),
    ];
    let version = if specs.iter().any(|spec| spec.in_version_1) { " (record 1)" } else { "" };
    let heading = format!("\n### {}{version}\n\n", family.name);
    page.push_str(&heading);
    for spec in &specs {
        writeln!(page, "> `{}`: {}", spec.id, spec.definition).expect("a String takes any text");
        page.push_str(">\n");
    }
    page.truncate(page.len() - ">\n".len());
    page.push_str("\n| | |\n| --- | --- |\n");
    for (name, text) in rows {
        writeln!(page, "| {name} | {text} |").expect("a String takes any text");
    }
}

fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "a count",
        Unit::Milliseconds => "milliseconds (ms)",
        Unit::Ratio => "a ratio from 0 to 1",
        Unit::RequestsPerSecond => "requests a second (req/s)",
        Unit::Seconds => "seconds (s)",
        Unit::Tokens => "tokens (tok)",
        Unit::TokensPerSecond => "tokens a second (tok/s)",
    }
}
