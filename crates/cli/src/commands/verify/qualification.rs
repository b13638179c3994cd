//! A qualification's directory held against itself: its runs, its log, its comparisons.

use std::collections::BTreeSet;
use std::path::Path;

use streamgauge_client::{RunDir, read_file};
use streamgauge_schema::{Digest, QualificationLine, QualificationPlan, QualificationStep};

use super::{Broken, Report, check_document, check_path, ledger};
use crate::input::read_document;
use crate::ledger::LEDGER;
use crate::qualify::{COMPARISON, Course, QualificationDir, Stand, bytes, comparison};
use crate::rebuild::first_difference;

/// The reports of a qualification: of each run that counts, each comparison, the log, and the ledger of
/// what was decided on it.
pub(super) fn check(
    dir: &QualificationDir,
    explain: bool,
    head: Option<Digest>,
) -> anyhow::Result<Vec<Report>> {
    let plan = dir.read_plan()?;
    let (lines, torn) = dir.read_log()?;
    let course = Course::of(&lines);
    let mut reports = Vec::new();
    let mut log = Findings::default();
    for (visit, cell, run) in course.all_finished() {
        let path = dir.runs().join(run.directory.as_str());
        match check_path(&path, explain) {
            Ok(report) => reports.push(report),
            Err(error) => log.broken("runs-are-there", format!("{visit}, cell {cell}: {error:#}")),
        }
    }
    for (place, line) in lines.iter().enumerate() {
        if let QualificationStep::Compared(it) = &line.step {
            let stand = Stand { phase: it.phase, blocks: it.blocks, look: it.look };
            let written = dir.file(it.file.as_str());
            if let Some(report) =
                compared(dir, &plan, (&lines[..place], stand), &written, explain, &mut log)
            {
                reports.push(report);
            }
            log.rule();
            if read_file(&written).is_ok_and(|bytes| Digest::of(&bytes) != it.sha256) {
                log.broken(
                    "comparisons-are-those-of-the-log",
                    format!("{}: the log has another digest of it", written.display()),
                );
            }
        }
    }
    log.of_lines(dir, &plan, &lines, &course)?;
    reports.push(log.report(dir, &course, torn)?);
    let decisions = dir.file(LEDGER);
    if decisions.exists() {
        reports.push(ledger::check(&decisions, &read_document(&decisions)?, head)?);
    }
    Ok(reports)
}

/// A comparison must be, byte for byte, what the runs give.
fn compared(
    dir: &QualificationDir,
    plan: &QualificationPlan,
    (lines, stand): (&[QualificationLine], Stand),
    written: &Path,
    explain: bool,
    log: &mut Findings,
) -> Option<Report> {
    const RULE: &str = "comparison-is-what-the-runs-give";
    let checked = read_file(written)
        .map_err(anyhow::Error::new)
        .and_then(|found| Ok((check_document(written, &found, explain)?, found)));
    let (mut report, found) = match checked {
        Ok(checked) => checked,
        Err(error) => {
            log.broken("comparisons-are-there", format!("{error:#}"));
            return None;
        }
    };
    report.rules += 1;
    let again = comparison(dir, plan, lines, stand).and_then(|again| bytes(&again));
    let difference = match again {
        Ok(again) => first_difference(&found, &again)
            .map(|text| text.replace("plan and journal give", "the runs give")),
        Err(error) => Some(format!("{error:#}")),
    };
    report.broken.extend(difference.map(|statement| Broken {
        rule: RULE.to_owned(),
        statement,
        members: Vec::new(),
    }));
    report.holds = report.broken.is_empty();
    Some(report)
}

/// What is found in the log.
#[derive(Debug, Default)]
struct Findings {
    rules: usize,
    broken: Vec<Broken>,
}

impl Findings {
    fn rule(&mut self) {
        self.rules += 1;
    }

    fn broken(&mut self, rule: &str, statement: String) {
        self.broken.push(Broken { rule: rule.to_owned(), statement, members: Vec::new() });
    }

    /// Rules that the lines must keep among themselves, and with the directories.
    fn of_lines(
        &mut self,
        dir: &QualificationDir,
        plan: &QualificationPlan,
        lines: &[QualificationLine],
        course: &Course,
    ) -> anyhow::Result<()> {
        let digest = Digest::of_value(plan)?;
        let visits: BTreeSet<_> = plan.visits().into_iter().collect();
        let mut slots = BTreeSet::new();
        for (number, line) in (1..).zip(lines) {
            self.rule();
            match &line.step {
                QualificationStep::Opened(it) if it.plan_sha256 != digest => self.broken(
                    "log-is-of-the-plan",
                    format!(
                        "line {number}: opened for another plan, {}",
                        it.plan_sha256.prefix(12)
                    ),
                ),
                QualificationStep::Finished(it) => {
                    let (visit, cell) = (it.visit, &it.cell);
                    if !visits.contains(&visit) || !plan.cells_of(visit).contains(&cell) {
                        self.broken(
                            "runs-were-planned",
                            format!("line {number}: {visit}, cell {cell} is not in the plan"),
                        );
                    }
                    if !slots.insert((visit, cell)) {
                        self.broken(
                            "runs-count-once",
                            format!("line {number}: {visit}, cell {cell} has a run already"),
                        );
                    }
                }
                _ => {}
            }
        }
        for (visit, cell, run) in course.all_finished() {
            self.rule();
            let record = RunDir::at(&dir.runs().join(run.directory.as_str())).record();
            if read_file(&record).is_ok_and(|bytes| Digest::of(&bytes) != run.record_sha256) {
                self.broken(
                    "records-are-those-of-the-log",
                    format!("{visit}, cell {cell}: the log has another digest of its record"),
                );
            }
        }
        self.last_comparison(dir, course);
        Ok(())
    }

    /// What the qualification ends by is its last look.
    fn last_comparison(&mut self, dir: &QualificationDir, course: &Course) {
        let Some(last) = course.compared.last().filter(|_| course.complete) else { return };
        self.rule();
        let found = read_file(&dir.file(COMPARISON));
        if !found.is_ok_and(|bytes| Digest::of(&bytes) == last.sha256) {
            self.broken(
                "comparison-is-the-last-look",
                format!("{COMPARISON} is not {}, by which the log ends", last.file),
            );
        }
    }

    fn report(
        self,
        dir: &QualificationDir,
        course: &Course,
        torn: usize,
    ) -> anyhow::Result<Report> {
        let mut notes: Vec<String> = course
            .unused()
            .map(|(directory, visit, cell)| {
                format!("{directory}, begun for {visit}, cell {cell}, was cut off and is not used")
            })
            .collect();
        let used: BTreeSet<&str> = course
            .all_finished()
            .map(|(_, _, run)| run.directory.as_str())
            .chain(course.unused().map(|(directory, ..)| directory.as_str()))
            .collect();
        for entry in std::fs::read_dir(dir.runs())? {
            let name = entry?.file_name();
            let name = name.to_string_lossy();
            if !used.contains(name.as_ref()) {
                notes.push(format!("{name}: the log does not know it"));
            }
        }
        if torn > 0 {
            notes.push(format!("the last line was cut off after {torn} bytes and is left out"));
        }
        if !course.complete {
            notes.push("it is not complete".to_owned());
        }
        notes.sort_unstable();
        Ok(Report {
            path: dir.log().display().to_string(),
            holds: self.broken.is_empty(),
            rules: self.rules,
            broken: self.broken,
            notes,
            ..Report::default()
        })
    }
}
