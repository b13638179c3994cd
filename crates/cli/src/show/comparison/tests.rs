//! The formats word by word, and what hostile texts become in them.

use insta::assert_snapshot;
use pulldown_cmark::{Event, Options, Parser, Tag};
use quick_xml::events::Event as Xml;
use quick_xml::{Reader, XmlVersion};
use streamgauge_metrics::Compared;
use streamgauge_schema::Document;

use super::*;

/// Where results go that no terminal shows.
fn page(format: Format) -> Page {
    Page { format, columns: 80 }
}

const POINTS: &str =
    include_str!("../../../../schema/tests/records/runtime-profile-comparison-v1.json");
const INTERVALS: &str = include_str!("../../../../schema/tests/records/comparison-v2.json");
const UNSTABLE: &str = include_str!("../../../../schema/tests/records/comparison-v2-unstable.json");

/// What a text of a comparison may be and do no harm.
const HOSTILE: [&str; 10] = [
    "a | b | c",
    "<script>alert(1)<script> <img src=x onerror=y><!-- ",
    "@team, see #12 and GH-7 and org#1",
    "[click](javascript:x) ![i](x) `code` *strong* _em_ ~~gone~~",
    "- item",
    "1. item",
    "# Heading | --- |",
    "*www.example.org and x@example.org*",
    "$\\frac{1}{2}$ &lt; \\| \\` ``` --> <details>",
    "\u{feff}turned around\u{fffe}",
];

/// The document with changes to its text.
fn changed(text: &str, changes: &[(&str, &str)]) -> Document {
    let text = changes.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    Document::read(text.as_bytes()).unwrap()
}

fn compared(document: &Document) -> Compared<'_> {
    match document {
        Document::Comparison(comparison) => Compared::V1(comparison),
        Document::ComparisonV2(comparison) => Compared::V2(comparison),
        _ => panic!("a comparison"),
    }
}

fn xml(document: &Document) -> String {
    String::from_utf8(junit(compared(document)).unwrap()).unwrap()
}

/// The golden documents by name, and one whose gates all pass.
fn documents() -> [(&'static str, Document); 4] {
    let quiet = changed(POINTS, &[]);
    let Document::Comparison(mut quiet) = quiet else { panic!("a comparison of version 1") };
    (quiet.candidate_turnover, quiet.candidate_turnover_repeat) = (None, None);
    [
        ("point", changed(POINTS, &[])),
        ("point_passed", Document::Comparison(quiet)),
        ("interval", changed(INTERVALS, &[])),
        ("interval_unstable", changed(UNSTABLE, &[])),
    ]
}

#[test]
fn every_format_word_by_word() {
    for (name, document) in documents() {
        for (format, word) in [(Format::Table, "table"), (Format::Markdown, "markdown")] {
            assert_snapshot!(
                format!("{name}_{word}"),
                comparison(compared(&document), page(format))
            );
        }
        assert_snapshot!(format!("{name}_junit"), xml(&document));
    }
}

#[test]
fn a_table_fits_into_a_hundred_columns() {
    for (name, document) in documents() {
        let shown = comparison(compared(&document), page(Format::Table));
        let head = "changes in %";
        let table = shown.lines().skip_while(|line| !line.starts_with(head));
        for line in table.take_while(|line| !line.contains(": ")) {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
    }
}

/// sgl-project/sglang#8285 wants "inconclusive: unstable" said, and fedify-dev/fedify#786 the band
/// of the noise.
#[test]
fn what_noise_left_open_is_said_in_words() {
    let document = changed(UNSTABLE, &[]);
    for format in [Format::Table, Format::Markdown] {
        let shown = comparison(compared(&document), page(format)).replace("**", "");
        let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            shown.contains("ttft_p50_ms: inconclusive: unstable, noise ") || {
                // In Markdown the underscores are references.
                shown.contains("ms: inconclusive: unstable, noise ")
            }
        );
        assert!(shown.contains(" a block: the interval from -"), "{shown}");
        assert!(shown.contains("noise "), "{shown}");
    }
    assert!(
        xml(&document).contains("<error type=\"inconclusive\" message=\"inconclusive: unstable")
    );
}

/// The events of a page, with the tables that GitHub knows.
fn events(markdown: &str) -> Vec<Event<'_>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_MATH;
    Parser::new_ext(markdown, options).collect()
}

/// A page's events without the words in it.
fn structure(markdown: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for event in events(markdown) {
        let event = match event {
            Event::Text(_) => "text".to_owned(),
            Event::Code(_) => "code".to_owned(),
            other => format!("{other:?}"),
        };
        // One text may come in several pieces.
        if found.last() != Some(&event) || event != "text" {
            found.push(event);
        }
    }
    found
}

/// The comparisons with a text in every place that takes one.
fn with_text(text: &str) -> [Document; 2] {
    let Document::Comparison(mut points) = changed(POINTS, &[]) else { panic!("version 1") };
    let Document::ComparisonV2(mut intervals) = changed(INTERVALS, &[]) else {
        panic!("version 2")
    };
    let text = PublicText::new(text).unwrap();
    (points.baseline_image, points.candidate_image) = (text.clone(), text.clone());
    (points.qualification, points.promotion) = (text.clone(), text.clone());
    intervals.baseline.model = text.clone();
    intervals.baseline.image = Some(text.clone());
    for limitation in &mut intervals.limitations {
        limitation.text = text.clone();
    }
    for (_, cell) in &mut intervals.cells.0 {
        for (place, (_, metric)) in cell.metrics.0.iter_mut().enumerate() {
            // Alike reasons would be told once.
            let text = format!("{text}{place}");
            metric.reason = PublicText::new(text).unwrap();
        }
    }
    [Document::Comparison(points), Document::ComparisonV2(intervals)]
}

#[test]
fn a_hostile_text_is_a_text_in_markdown() {
    let harmless = with_text("plain").map(|it| comparison(compared(&it), page(Format::Markdown)));
    for text in HOSTILE {
        for (document, harmless) in with_text(text).iter().zip(&harmless) {
            let shown = comparison(compared(document), page(Format::Markdown));
            assert_eq!(structure(&shown), structure(harmless), "{text}");
            let mut said = String::new();
            for event in events(&shown) {
                if let Event::Text(text) = &event {
                    said += text;
                }
                let is_link = matches!(&event, Event::Start(Tag::Link { .. } | Tag::Image { .. }));
                assert!(!is_link, "{text}");
            }
            for called in ["@team", "#12", "org#1", "x@example", "www.example"] {
                assert!(!said.contains(called), "{called}: {shown}");
            }
            // What was said is there to be read, and nobody is called by it.
            let said = said.replace('\u{200b}', "");
            assert!(said.contains(crate::console::printable(text).trim()), "{text}: {said}");
        }
    }
}

/// The tests of a report: name, and what became of it.
fn tests_of(xml: &str) -> Vec<(String, String)> {
    let mut reader = Reader::from_str(xml);
    let mut found: Vec<(String, String)> = Vec::new();
    loop {
        match reader.read_event().unwrap() {
            Xml::Eof => return found,
            Xml::Start(start) => {
                let name = start.name().as_ref().to_owned();
                let attribute = |key: &str| {
                    let value = start.try_get_attribute(key).unwrap().unwrap();
                    value.normalized_value(XmlVersion::Explicit1_0).unwrap().into_owned()
                };
                match name.as_str() {
                    "testcase" => found.push((attribute("name"), "passed".to_owned())),
                    "failure" | "error" => found.last_mut().unwrap().1 = name,
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

#[test]
fn what_did_not_pass_is_never_green() {
    let flag = "\"candidate_performance_eligible\": true";
    let ineligible = changed(POINTS, &[(flag, "\"candidate_performance_eligible\": false")]);
    let mut without_gates = changed(POINTS, &[]);
    if let Document::Comparison(comparison) = &mut without_gates {
        (comparison.candidate_turnover, comparison.candidate_turnover_repeat) = (None, None);
        comparison.cells.0[0].1.metrics.0.clear();
        comparison.performance_gate_passed = false;
    }
    let cases = [
        (changed(POINTS, &[]), vec!["passed"; 6], "failure"),
        (ineligible, vec!["error"; 6], "failure"),
        (without_gates, vec!["passed"; 3], "error"),
        (
            changed(INTERVALS, &[]),
            vec!["passed", "failure", "error", "error", "error", "error"],
            "failure",
        ),
        (changed(UNSTABLE, &[]), vec![], "error"),
    ];
    for (document, gates, last) in cases {
        let report = xml(&document);
        let tests = tests_of(&report);
        let found: Vec<&str> = tests.iter().map(|(_, outcome)| outcome.as_str()).collect();
        assert_eq!(found, [gates, vec![last]].concat(), "{report}");
        let mut names: Vec<&String> = tests.iter().map(|(name, _)| name).collect();
        names.dedup();
        assert_eq!(names.len(), tests.len());
        for outcome in ["failure", "error"] {
            let count = found.iter().filter(|it| **it == outcome).count();
            assert!(report.contains(&format!("{outcome}s=\"{count}\"")), "{report}");
        }
    }
}

#[test]
fn a_hostile_text_is_a_text_in_xml() {
    for text in HOSTILE {
        let report = xml(&with_text(&format!("{text}\"']]>"))[1]);
        assert_eq!(tests_of(&report).len(), 7);
        assert!(!report.contains("<script") && !report.contains('\u{fffe}'));
    }
}
