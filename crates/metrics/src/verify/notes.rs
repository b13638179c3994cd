//! Words of open vocabularies that this version does not know.

use streamgauge_schema::{Document, JsonPath};

use super::{Note, at};

pub(super) fn unknown_words(document: &Document) -> Vec<Note> {
    let Document::Run(record) = document else {
        return Vec::new();
    };
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
