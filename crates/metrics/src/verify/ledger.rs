//! Rules of the ledger of decisions: every line is whole, unchanged, in its place, and follows the
//! one before.
//!
//! A chain proves what lies before its end. That lines were cut off at the end, or that all of it was
//! written anew, only shows by the digest of a line that was kept elsewhere.

use std::collections::HashSet;

use streamgauge_schema::{Decision, Digest, LedgerLine, ReadError, read_typed};

use super::decision::is_against;

/// Faults after which nothing more is looked for: the ledger is something else.
const MAX_FAULTS: usize = 100;

/// A line of a ledger at which a rule does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LedgerFault {
    /// The line, from 1.
    pub line: usize,
    /// Where in it, from 1, if that is known.
    pub column: Option<usize>,
    /// The rule's name.
    pub rule: &'static str,
    /// What must hold, with the values seen.
    pub statement: String,
}

/// What was found in a ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LedgerVerification {
    /// Its lines; `None` for one that cannot be read.
    pub lines: Vec<Option<LedgerLine>>,
    /// Where rules do not hold; after a hundred nothing more is looked for.
    pub faults: Vec<LedgerFault>,
    /// Bytes of a last line that was cut off; it is none of the lines.
    pub torn_bytes: usize,
    /// Rules that were applied.
    pub rules: usize,
}

impl LedgerVerification {
    /// The last line, by whose digest the whole ledger is known. `None` for an empty ledger.
    #[must_use]
    pub fn head(&self) -> Option<&LedgerLine> {
        self.lines.last()?.as_ref()
    }

    /// Whether some line has this digest: then the ledger is unchanged up to there.
    #[must_use]
    pub fn reaches(&self, head: Digest) -> bool {
        self.lines.iter().flatten().any(|line| line.sha256 == head)
    }
}

/// Checks every line of a ledger and how it follows the one before.
///
/// ```
/// use streamgauge_metrics::verify_ledger;
/// assert!(verify_ledger(b"").faults.is_empty());
/// let found = verify_ledger(b"{}\n");
/// assert_eq!((found.faults[0].line, found.faults[0].rule), (1, "line-shape"));
/// let found = verify_ledger(b"{\"schema\": ");
/// assert_eq!((found.torn_bytes, found.faults[0].rule), (11, "line-is-whole"));
/// ```
#[must_use]
pub fn verify_ledger(bytes: &[u8]) -> LedgerVerification {
    let mut found = LedgerVerification::default();
    let mut listed = HashSet::new();
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        if found.faults.len() >= MAX_FAULTS {
            break;
        }
        if piece.ends_with(b"\n") {
            let line = check_line(&mut found, piece, &mut listed);
            found.lines.push(line);
        } else {
            found.torn_bytes = piece.len();
            let statement = format!(
                "the line ends with a line feed; it is cut off after {} bytes",
                piece.len()
            );
            let line = found.lines.len() + 1;
            found.faults.push(LedgerFault { line, column: None, rule: "line-is-whole", statement });
        }
    }
    found
}

/// Holds a line against the file of the decision that it lists.
#[must_use]
pub fn verify_listed(line: &LedgerLine, decision: &Decision, file: &[u8]) -> Option<String> {
    let sha256 = Digest::of(file);
    if sha256 != line.decision_sha256 {
        return Some(format!(
            "{} is not the decision that was listed: its digest is {sha256}, not {}",
            line.decision_file, line.decision_sha256
        ));
    }
    let expected = LedgerLine::after(None, decision, line.decision_file.clone(), sha256).ok()?;
    let listed = LedgerLine {
        line: expected.line,
        previous_sha256: expected.previous_sha256,
        sha256: expected.sha256,
        ..line.clone()
    };
    (listed != expected).then(|| format!("it says something else than {}", line.decision_file))
}

fn check_line(
    found: &mut LedgerVerification,
    bytes: &[u8],
    listed: &mut HashSet<Digest>,
) -> Option<LedgerLine> {
    let number = found.lines.len() + 1;
    let previous = found.lines.last().map(Option::as_ref);
    let line: LedgerLine = match read_typed(bytes) {
        Ok(line) => line,
        Err(error) => {
            let (column, statement) = in_line(error);
            found.rules += 1;
            found.faults.push(LedgerFault { line: number, column, rule: "line-shape", statement });
            return None;
        }
    };
    let digest = line.digest().ok();
    let mut checks = vec![
        (
            "line-is-canonical",
            line.file_bytes().is_ok_and(|canonical| canonical == bytes),
            "the line is written as its members are, without blanks".to_owned(),
        ),
        (
            "line-is-unchanged",
            digest == Some(line.sha256),
            format!("sha256 ({}) is the digest of the line's other members", line.sha256),
        ),
        (
            "line-is-in-its-place",
            line.line == number as u64,
            format!("its number ({}) is its place ({number})", line.line),
        ),
        (
            "override-fits-outcome",
            line.overridden == is_against(line.decision, line.outcome),
            format!("{} against {} is marked ({})", line.decision, line.outcome, line.overridden),
        ),
        (
            "file-is-a-name",
            !line.decision_file.as_str().contains('/'),
            format!("{} is a file's name without a folder", line.decision_file),
        ),
        (
            "decision-is-listed-once",
            listed.insert(line.decision_sha256),
            format!("{} stands in no line before", line.decision_id),
        ),
    ];
    // What an unreadable line was is not known; it has a fault of its own.
    let expected = match previous {
        None => Some(None),
        Some(None) => None,
        Some(Some(previous)) => Some(Some(previous.sha256)),
    };
    checks.extend(expected.map(|expected| {
        let statement = follows(line.previous_sha256, expected, number);
        ("line-follows", line.previous_sha256 == expected, statement)
    }));
    found.rules += checks.len();
    let broken = checks.into_iter().filter(|(_, holds, _)| !holds);
    found.faults.extend(broken.map(|(rule, _, statement)| LedgerFault {
        line: number,
        column: None,
        rule,
        statement,
    }));
    Some(line)
}

fn follows(found: Option<Digest>, expected: Option<Digest>, number: usize) -> String {
    match (found, expected) {
        (_, None) => {
            "nothing comes before the first line: lines were removed, or put there".to_owned()
        }
        (None, Some(_)) => format!("it follows line {}, and not nothing", number - 1),
        (Some(found), Some(expected)) => format!(
            "it follows line {before}, whose sha256 begins with {}, not {}: line {before} was \
             changed, or lines were removed, moved or put between",
            expected.prefix(12),
            found.prefix(12),
            before = number - 1
        ),
    }
}

/// An error within one line: the column, and what is wrong.
fn in_line(error: ReadError) -> (Option<usize>, String) {
    match error {
        ReadError::Shape { path, position, message } => {
            (Some(position.column), format!("{path}: {message}"))
        }
        ReadError::NotJson { message } => {
            (None, format!("not JSON: {}", message.replace("line 1 column", "column")))
        }
        other => (None, other.to_string()),
    }
}
