//! A comparison as JUnit XML: one test for each gate and cell, for whatever reads test reports.
//!
//! What failed is a failure. What noise left open or could not be judged is an *error*, not
//! *skipped*: Jenkins, GitLab and the readers on GitHub let skipped tests pass, and what did not
//! pass must not look as if it had.

use std::io;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use streamgauge_metrics::Compared;
use streamgauge_schema::GateStanding;

use super::{View, change, ends, unit, word};
use crate::show::number::figure;

const NAME: &str = "streamgauge compare";

/// One gate as a test.
struct Test {
    /// What groups it.
    cell: String,
    /// Readers keep one test of each name, so that the cell is in it.
    name: String,
    standing: GateStanding,
    reason: String,
    figures: String,
}

/// The report. Beside the gates it has a test for the turnover, where there was one, and one
/// for the verdict where that did not pass although every gate did: no report of a comparison that
/// did not pass is all green, and none is empty.
pub(crate) fn junit(compared: Compared<'_>) -> io::Result<Vec<u8>> {
    let view = View::of(compared);
    let tests = tests(&view);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let counts = counts(&tests);
    let suites = writer.create_element("testsuites").with_attribute(("name", NAME));
    let suites = suites.with_attributes(counts.iter().map(|(key, count)| (*key, count.as_str())));
    suites.write_inner_content(|writer| {
        let suite = writer.create_element("testsuite").with_attribute(("name", NAME));
        let counts = counts.iter().map(|(key, count)| (*key, count.as_str()));
        suite
            .with_attributes(counts)
            .write_inner_content(|writer| tests.iter().try_for_each(|test| write(writer, test)))
            .map(drop)
    })?;
    let mut bytes = writer.into_inner();
    bytes.push(b'\n');
    Ok(bytes)
}

fn tests(view: &View) -> Vec<Test> {
    let gates = view.standings.gates.iter().zip(&view.figures).map(|(gate, figures)| {
        let changed = gate.delta_percent.map_or_else(|| figure(None), change);
        let interval = gate.pass_interval.as_ref();
        let interval = interval.map_or_else(String::new, |it| format!(" ({})", ends(it)));
        Test {
            cell: gate.cell.to_string(),
            name: format!(
                "{} {} within {} {}",
                gate.cell,
                gate.metric,
                gate.limit_percent,
                unit(gate)
            ),
            standing: gate.verdict,
            reason: gate.reason.to_string(),
            figures: format!(
                "baseline {}, candidate {}, change {changed}{interval} {}",
                figure(figures.baseline),
                figure(figures.candidate),
                unit(gate)
            ),
        }
    });
    let mut tests: Vec<Test> = gates.collect();
    let turnover = view.standings.turnover.zip(view.turnover.as_ref());
    tests.extend(turnover.map(|(standing, text)| Test {
        cell: "turnover".to_owned(),
        name: "turnover".to_owned(),
        standing,
        reason: text.clone(),
        figures: String::new(),
    }));
    let green = tests.iter().all(|test| test.standing == GateStanding::Pass);
    if tests.is_empty() || green && view.standings.outcome != GateStanding::Pass {
        tests.push(Test {
            cell: "comparison".to_owned(),
            name: "verdict".to_owned(),
            standing: view.standings.outcome,
            reason: "there is a cell without a gate, or none at all".to_owned(),
            figures: format!("{} gates", view.standings.gates.len()),
        });
    }
    tests
}

fn counts(tests: &[Test]) -> [(&'static str, String); 4] {
    let of = |element| tests.iter().filter(|test| element_of(test.standing) == element).count();
    [
        ("tests", tests.len().to_string()),
        ("failures", of(Some("failure")).to_string()),
        ("errors", of(Some("error")).to_string()),
        ("skipped", "0".to_owned()),
    ]
}

fn element_of(standing: GateStanding) -> Option<&'static str> {
    match standing {
        GateStanding::Fail => Some("failure"),
        GateStanding::Inconclusive | GateStanding::Ineligible | GateStanding::NotEvaluated => {
            Some("error")
        }
        GateStanding::Pass => None,
    }
}

fn write(writer: &mut Writer<Vec<u8>>, test: &Test) -> io::Result<()> {
    let class = format!("streamgauge.{}", test.cell);
    let attributes = [("classname", class.as_str()), ("name", &test.name)];
    let element = writer.create_element("testcase").with_attributes(attributes);
    element
        .write_inner_content(|writer| {
            let reason = in_xml(&format!("{}: {}", word(test.standing), test.reason));
            let figures = in_xml(&test.figures);
            let text = format!("{reason}\n{figures}");
            let text = BytesText::new(text.trim_end());
            match element_of(test.standing) {
                Some(name) => {
                    let attributes = [("type", test.standing.as_str()), ("message", &reason)];
                    let element = writer.create_element(name).with_attributes(attributes);
                    element.write_text_content(text)?;
                }
                None => {
                    writer.create_element("system-out").write_text_content(text)?;
                }
            }
            Ok(())
        })
        .map(drop)
}

/// A text without what XML cannot hold, not even escaped.
fn in_xml(text: &str) -> String {
    let held = |c: char| match c {
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        c if c.is_control() && !matches!(c, '\t' | '\n') => '\u{fffd}',
        c => c,
    };
    text.chars().map(held).collect()
}
