//! What the answers of one run are held against, by the digests of their prompts.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use anyhow::{Context, bail};
use streamgauge_grade::{Answer, Canaries};
use streamgauge_schema::{Digest, Grade, GraderIdentity, Grading};
use streamgauge_workload::Requests;

use super::prepared::{Expectations, Prepared};

/// The graders of a run's measured requests.
#[derive(Debug)]
pub(crate) struct Expected {
    grading: Grading,
    by_prompt: HashMap<Digest, Arc<Prepared>>,
    canaries: Canaries,
}

impl Expected {
    /// The graders of these prompts. `sha256` is the digest of the file or recipe that says what is
    /// expected.
    ///
    /// # Errors
    /// When two requests send the same prompt, by which receipts are joined, or when markers do not
    /// tell answers apart.
    pub(crate) fn new(
        sha256: Digest,
        asked: impl IntoIterator<Item = (Digest, Arc<Prepared>)>,
    ) -> anyhow::Result<Self> {
        let mut by_prompt: HashMap<Digest, Arc<Prepared>> = HashMap::new();
        let mut markers: HashMap<String, Arc<Prepared>> = HashMap::new();
        let mut graders = BTreeSet::new();
        for (prompt, prepared) in asked {
            let (name, sha256) = (prepared.grader.name(), prepared.grader.sha256());
            graders.insert(GraderIdentity { name, sha256 });
            if let Some(marker) = &prepared.marker {
                let known = markers.entry(marker.clone()).or_insert_with(|| Arc::clone(&prepared));
                if !Arc::ptr_eq(known, &prepared) {
                    bail!(
                        "{} and {} have the marker {marker:?}: an answer of the one would pass for \
                         one of the other",
                        known.place,
                        prepared.place
                    );
                }
            }
            match by_prompt.entry(prompt) {
                Entry::Vacant(entry) => entry.insert(prepared),
                Entry::Occupied(other) => bail!(equal(other.get(), &prepared)),
            };
        }
        let canaries = match markers.is_empty() {
            true => Canaries::none(),
            false => Canaries::new(markers.into_keys())?,
        };
        let graders = graders.into_iter().collect();
        let grading = Grading { expectations_sha256: sha256, graders };
        Ok(Self { grading, by_prompt, canaries })
    }

    /// The graders of the lines that a run asks.
    ///
    /// # Errors
    /// As [`Self::new`], with the file.
    pub(crate) fn of_lines(
        expectations: &Expectations,
        requests: &Requests,
    ) -> anyhow::Result<Self> {
        let asked = requests.asked().filter_map(|(prompt, line)| {
            Some((prompt, Arc::clone(expectations.of_line(line.line)?)))
        });
        Self::new(expectations.sha256, asked).with_context(|| expectations.file.clone())
    }

    /// The graders of a turnover run; `sha256` is the digest of what all its requests ask for.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn of_turnover(sha256: Digest, requests: &Requests) -> anyhow::Result<Self> {
        let mut asked = Vec::new();
        for (index, (prompt, expectation)) in requests.controlled().enumerate() {
            let prepared = Prepared::new(&expectation, format!("request {index}"))?;
            asked.push((prompt, Arc::new(prepared)));
        }
        Self::new(sha256, asked)
    }

    /// What grades.
    pub(crate) fn grading(&self) -> &Grading {
        &self.grading
    }

    /// The receipt of an answer; `None` for a prompt that nothing is expected of.
    pub(crate) fn grade(&self, prompt: Digest, answer: Answer<'_>) -> Option<Grade> {
        let prepared = self.by_prompt.get(&prompt)?;
        Some(prepared.grader.grade(prompt, answer, &self.canaries))
    }
}

fn equal(one: &Arc<Prepared>, other: &Arc<Prepared>) -> String {
    let which = match Arc::ptr_eq(one, other) {
        true => format!("{} is asked more than once", one.place),
        false => format!("{} and {} send the same prompt", one.place, other.place),
    };
    format!(
        "{which}, and graders' receipts are joined by prompts; ask each once, give --nonce, or grade \
         nothing (--no-grade)"
    )
}
