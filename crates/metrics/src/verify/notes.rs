//! Words of open vocabularies that this version does not know.

use streamgauge_schema::{ComparisonV2, Document, JsonPath, RunRecord};

use super::{Note, at};

pub(super) fn unknown_words(document: &Document) -> Vec<Note> {
    match document {
        Document::Comparison(_) | Document::Decision(_) | Document::Determinism(_) => Vec::new(),
        Document::ComparisonV2(comparison) => of_comparison(comparison),
        Document::Run(record) => of_record(record),
    }
}

fn of_comparison(comparison: &ComparisonV2) -> Vec<Note> {
    let mut notes = Vec::new();
    for (name, cell) in comparison.cells.iter() {
        let sides =
            [("baseline_runs", &cell.baseline_runs), ("candidate_runs", &cell.candidate_runs)];
        for (side, runs) in sides {
            for (index, run) in
                runs.iter().enumerate().filter(|(_, it)| it.evidence_mode.is_other())
            {
                let run_path = at("cells").key(name.as_str()).key(side).index(index);
                let member = run_path.key("evidence_mode");
                notes.push(Note { member, word: run.evidence_mode.to_string() });
            }
        }
    }
    notes
}

fn of_record(record: &RunRecord) -> Vec<Note> {
    let performance = record.performance();
    let mut notes = Vec::new();
    let mut note = |unknown: bool, word: &str, member: JsonPath| {
        if unknown {
            notes.push(Note { member, word: word.to_owned() });
        }
    };
    macro_rules! look {
        ($($value:expr => $path:expr;)+) => {
            $(note($value.is_other(), $value.as_str(), $path);)+
        };
    }
    look! {
        record.phase() => at("phase");
        record.role() => at("role");
        record.boundary() => at("boundary");
        record.evidence_mode() => at("evidence_mode");
        performance.cache_state => at("performance.cache_state");
        performance.stream_interval_basis => at("performance.stream_interval_basis");
        performance.token_accounting => at("performance.token_accounting");
    }
    for (index, case) in record.cases().unwrap_or_default().iter().enumerate() {
        if let Some(stage) = &case.failure_stage {
            look! { stage => at("cases").index(index).key("failure_stage"); }
        }
    }
    notes
}
