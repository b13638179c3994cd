//! A dataset held against its manifest: the bytes, the lines, and that each can be sent and graded.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use streamgauge_grade::{Canaries, Grader};
use streamgauge_schema::{
    DatasetManifest, Digest, Expectation, GraderName, JsonPath, Position, read_typed,
};
use streamgauge_workload::{Dataset, DatasetLine, Prompt};

use super::{Broken, Member, Report, unreadable};
use crate::input::{read_dataset, read_document};
use crate::manifest::{ENDING, path_beside};

/// Most lines of a fault that are named one by one.
const MOST_NAMED: usize = 20;

/// The manifest that a path leads to: itself, or the one beside a dataset.
pub(super) fn manifest_of(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    if name.ends_with(ENDING) {
        return Some(path.to_owned());
    }
    let beside = path_beside(path);
    (name.ends_with(".jsonl") && beside.is_file()).then_some(beside)
}

/// The manifests of a folder, by name.
pub(super) fn manifests_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut manifests = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING)) {
            manifests.push(path);
        }
    }
    manifests.sort();
    Ok(manifests)
}

/// Holds the file beside a manifest against it.
pub(super) fn check(path: &Path) -> anyhow::Result<Report> {
    let text = read_document(path)?;
    let manifest: DatasetManifest = match read_typed(&text) {
        Ok(manifest) => manifest,
        Err(error) => return unreadable(path, error),
    };
    let file = path.with_file_name(manifest.file.as_str());
    let bytes = read_dataset(&file)?;
    let mut findings =
        Findings { text: String::from_utf8_lossy(&text).into_owned(), ..Findings::default() };
    findings.of_bytes(&manifest, &file, &bytes);
    if let Some(dataset) = findings.parsed(&file, &bytes) {
        findings.of_lines(&manifest, &dataset);
    }
    Ok(Report {
        path: path.display().to_string(),
        holds: findings.broken.is_empty(),
        rules: findings.rules,
        broken: findings.broken,
        notes: vec![format!("{} was held against it", file.display())],
        ..Report::default()
    })
}

/// What is found, rule by rule.
#[derive(Debug, Default)]
struct Findings {
    /// The manifest as it was written, in which members have their places.
    text: String,
    rules: usize,
    broken: Vec<Broken>,
}

impl Findings {
    /// Counts a rule; it is broken where there is something to say.
    fn rule(&mut self, rule: &str, statement: Option<String>, members: Vec<Member>) {
        self.rules += 1;
        if let Some(statement) = statement {
            self.broken.push(Broken { rule: rule.to_owned(), statement, members });
        }
    }

    /// A rule of one member of the manifest.
    fn says<T: PartialEq + std::fmt::Display>(&mut self, member: &str, says: T, is: T) {
        let path = JsonPath::root().key(member);
        let position = Position::of(&self.text, &path);
        let place = Member {
            path: path.to_string(),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
        };
        let statement = (says != is).then(|| format!("{member}: the file has {is}, not {says}"));
        self.rule("file-is-what-the-manifest-says", statement, vec![place]);
    }

    fn of_bytes(&mut self, manifest: &DatasetManifest, file: &Path, bytes: &[u8]) {
        self.says("sha256", manifest.sha256, Digest::of(bytes));
        self.says("bytes", manifest.bytes, bytes.len() as u64);
        let named = file.file_stem().is_some_and(|stem| stem == manifest.suite_version().as_str());
        let name = || format!("{} is not called {}", file.display(), manifest.suite_version());
        self.rule("file-is-called-by-name-and-version", (!named).then(name), Vec::new());
    }

    fn parsed(&mut self, file: &Path, bytes: &[u8]) -> Option<Dataset> {
        let parsed = Dataset::parse(bytes, &file.display().to_string());
        let fault = parsed.as_ref().err().map(ToString::to_string);
        self.rule("lines-can-be-sent", fault, Vec::new());
        parsed.ok()
    }

    fn of_lines(&mut self, manifest: &DatasetManifest, dataset: &Dataset) {
        self.says("lines", manifest.lines, dataset.lines().len() as u64);
        self.prompts(dataset);
        let (mut expected, mut graders, mut faults) = (Vec::new(), BTreeSet::new(), Vec::new());
        for line in dataset.lines() {
            match graded(line) {
                Ok((expectation, grader)) => {
                    expected.push(expectation);
                    graders.insert(grader);
                }
                Err(fault) => faults.push(format!("line {}: {fault}", line.line)),
            }
        }
        self.rule("answers-can-be-graded", few(faults), Vec::new());
        let names =
            |of: &[GraderName]| of.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let found: Vec<GraderName> = graders.into_iter().collect();
        self.says("graders", names(&manifest.graders), names(&found));
        self.markers(&expected);
    }

    fn prompts(&mut self, dataset: &Dataset) {
        let mut first: HashMap<Digest, usize> = HashMap::new();
        let mut twice = Vec::new();
        for line in dataset.lines() {
            let digest = match &line.prompt {
                Prompt::Messages(messages) => Digest::of_value(messages).ok(),
                Prompt::Text(text) => Digest::of_value(text).ok(),
                // Each line gets words of its own.
                Prompt::Synthetic { .. } => None,
            };
            let Some(digest) = digest else { continue };
            let earlier = *first.entry(digest).or_insert(line.line);
            if earlier != line.line {
                twice.push(format!("line {} asks what line {earlier} asks", line.line));
            }
        }
        self.rule("prompts-are-different", few(twice), Vec::new());
    }

    fn markers(&mut self, expectations: &[Expectation]) {
        let marker = |expectation: &Expectation| match expectation {
            Expectation::Canary(wanted) => Some(wanted.marker.clone()),
            Expectation::ControlledOutput(wanted) => wanted.canary.clone(),
            _ => None,
        };
        let fault = Canaries::new(expectations.iter().filter_map(marker)).err();
        self.rule("markers-are-apart", fault.map(|fault| fault.to_string()), Vec::new());
    }
}

/// What a line expects, and the grader that it names.
fn graded(line: &DatasetLine) -> Result<(Expectation, GraderName), String> {
    let expectation = line.expect.clone().ok_or("nothing is expected of its answer")?;
    let grader = Grader::new(&expectation).map_err(|error| error.to_string())?;
    Ok((expectation, grader.name()))
}

/// Some faults in one sentence; `None` of none.
fn few(faults: Vec<String>) -> Option<String> {
    let more = faults.len().saturating_sub(MOST_NAMED);
    let mut named = faults.into_iter().take(MOST_NAMED).collect::<Vec<_>>().join("; ");
    if more > 0 {
        named.push_str(&format!("; and {more} more"));
    }
    (!named.is_empty()).then_some(named)
}
