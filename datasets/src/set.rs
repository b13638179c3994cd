//! The sets by name, and how a set becomes a file with a manifest.

use std::collections::BTreeSet;

use streamgauge_grade::Grader;
use streamgauge_schema::{
    DatasetGenerator, DatasetManifest, DatasetManifestSchema, Digest, GraderName, Identifier,
    PublicText,
};

use crate::draw::Draw;
use crate::line::Case;
use crate::{arithmetic, evidence, turnover};

/// The seed of the files that ship.
const SEED: u64 = 20_311_107;

/// A set: what it is called, and how its lines are made.
#[derive(Debug)]
pub struct Set {
    /// Its name, without its version.
    pub name: &'static str,
    /// Counts up with every change of its bytes.
    pub version: u32,
    /// What it measures.
    pub measures: &'static str,
    /// Tokens that are enough for any right answer to it without reasoning.
    answer_tokens: u64,
    lines: u32,
    /// Parts its draws from those of the others.
    number: u32,
    case: fn(&Self, u32, &mut Draw) -> Case,
}

/// The sets that ship.
pub const SETS: [Set; 5] = [
    Set {
        name: "arithmetic",
        version: 1,
        measures: "Whether word problems of two to five steps come out right, with numbers beside them \
                   that do not matter.",
        answer_tokens: 512,
        lines: 96,
        number: 1,
        case: |_, place, draw| arithmetic::case(place, draw),
    },
    evidence_set("evidence-512", 2, 64),
    evidence_set("evidence-4k", 3, 8),
    evidence_set("evidence-16k", 4, 3),
    Set {
        name: "turnover",
        version: 1,
        measures: "Whether each of many short answers is whole, its own and nobody else's: a marker, then \
                   a word a stated number of times.",
        answer_tokens: 96,
        lines: 128,
        number: 5,
        case: |_, place, draw| turnover::case(place, draw),
    },
];

const fn evidence_set(name: &'static str, number: u32, lines: u32) -> Set {
    Set {
        name,
        version: 1,
        measures: "Whether facts are found in a document and given back exactly: serial numbers, sums, \
                   times and names, each with a neighbour that it could be taken for.",
        answer_tokens: 192,
        lines,
        number,
        case: |set, place, draw| evidence::case(set.name, place, draw),
    }
}

/// A set as its two files.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// What the manifest says.
    pub manifest: DatasetManifest,
    /// The lines.
    pub jsonl: Vec<u8>,
}

impl Set {
    /// Its lines, with answers to each.
    #[must_use]
    pub fn cases(&self) -> Vec<Case> {
        let case = |place| (self.case)(self, place, &mut Draw::new(SEED, self.number, place));
        (0..self.lines).map(case).collect()
    }

    /// Its file and its manifest.
    ///
    /// # Panics
    /// Never: names, texts and expectations are those that a test makes.
    #[must_use]
    pub fn make(&self) -> Made {
        let cases = self.cases();
        let mut jsonl = Vec::new();
        for case in &cases {
            serde_json::to_writer(&mut jsonl, &case.line)
                .expect("a line is texts and numbers, and memory takes any bytes");
            jsonl.push(b'\n');
        }
        let grader = |case: &Case| Grader::new(&case.line.expect).map(|grader| grader.name());
        let graders: Result<BTreeSet<GraderName>, _> = cases.iter().map(grader).collect();
        let graders = graders.expect("every expectation can be graded");
        let identifier = |text: String| Identifier::new(text).expect("the names are constant");
        let public = |text| PublicText::new(text).expect("the texts are constant");
        let manifest = DatasetManifest {
            schema: DatasetManifestSchema::V1,
            name: identifier(self.name.to_owned()),
            version: self.version,
            file: identifier(format!("{}-v{}.jsonl", self.name, self.version)),
            sha256: Digest::of(&jsonl),
            bytes: jsonl.len() as u64,
            lines: cases.len() as u64,
            measures: public(self.measures),
            graders: graders.into_iter().collect(),
            answer_tokens: Some(self.answer_tokens),
            licence: public("MIT OR Apache-2.0"),
            generator: Some(DatasetGenerator {
                name: identifier(env!("CARGO_PKG_NAME").to_owned()),
                seed: SEED,
            }),
        };
        Made { manifest, jsonl }
    }
}
