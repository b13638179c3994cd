//! What can go wrong when a record is made.

use streamgauge_schema::{CanonicalError, Digest, Load, Shard, Stage, TextFault};

/// Plan, journal and receipts do not make a record.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The record has a number that cannot be written.
    #[error("the record cannot be written")]
    Canonical(#[from] CanonicalError),
    /// The cases stand in a file of their own, which version 1 does not know.
    #[error("a version 1 record holds its cases, and this one has {declared} of them in a file")]
    CasesApart {
        /// Cases that the record declares.
        declared: u64,
    },
    /// A line of the journal says two things that cannot both be.
    #[error("{stage} request {index} of the journal contradicts itself: {contradiction}")]
    Contradiction {
        /// Its stage.
        stage: Stage,
        /// Its place in its stage, from 0.
        index: u64,
        /// What contradicts what, with both values.
        contradiction: String,
    },
    /// Two measured requests have the same prompt, by which receipts are joined.
    #[error(
        "measured requests {first} and {second} have the same prompt ({}…), by which receipts of \
         graders are joined",
        prompt.prefix(12)
    )]
    EqualPrompts {
        /// The place of one, from 0.
        first: u64,
        /// The place of the other.
        second: u64,
        /// The prompt's digest.
        prompt: Digest,
    },
    /// The receipts have a layout that is not known.
    #[error("the receipts have version {version}, this program reads 1")]
    GradesVersion {
        /// Their version.
        version: u32,
    },
    /// The graders of the receipts cannot be.
    #[error("the receipts contradict themselves: {contradiction}")]
    Grading {
        /// What contradicts what.
        contradiction: String,
    },
    /// The journal's end announces another number of request lines.
    #[error("the journal holds {found} request lines, its trailer says {announced}")]
    LinesMissing {
        /// Lines by the trailer.
        announced: u64,
        /// Lines that are there.
        found: u64,
    },
    /// The name of the run is too long for a run id made of it.
    #[error("the run name {name:?} is too long: with 13 characters of digest it is no identifier")]
    NameTooLong {
        /// The name.
        name: String,
    },
    /// The journal's end says that every request has ended, and some have no line.
    #[error("the journal's trailer says finished, {found} of {declared} requests have a line")]
    NotFinished {
        /// Requests that the plan holds, warm-up included.
        declared: u64,
        /// Request lines that are there.
        found: u64,
    },
    /// A line stands for a request that another shard has.
    #[error("the journal of shard {shard} has {stage} request {index}, which is another shard's")]
    OtherShard {
        /// The stage.
        stage: Stage,
        /// Its place in its stage, from 0.
        index: u64,
        /// The shard of the journal.
        shard: Shard,
    },
    /// The plan asks for what cannot be.
    #[error("the plan contradicts itself: {contradiction}")]
    Plan {
        /// What contradicts what, with the values.
        contradiction: String,
    },
    /// The journal was written for another plan.
    #[error(
        "the journal belongs to the plan {}…, this plan is {}…",
        journal.prefix(12),
        plan.prefix(12)
    )]
    PlanDiffers {
        /// Digest of the plan that was given.
        plan: Digest,
        /// Digest of the plan that the journal names.
        journal: Digest,
    },
    /// A receipt contradicts itself, the graders or the journal.
    #[error("the receipt of prompt {}… contradicts: {contradiction}", prompt.prefix(12))]
    Receipt {
        /// The prompt's digest.
        prompt: Digest,
        /// What contradicts what, with both values.
        contradiction: String,
    },
    /// Two receipts are of the same prompt.
    #[error("prompt {}… has two receipts", prompt.prefix(12))]
    ReceiptRepeated {
        /// The prompt's digest.
        prompt: Digest,
    },
    /// A receipt is of no request whose answer could be graded.
    #[error(
        "the receipt of prompt {}… belongs to no measured request that succeeded",
        prompt.prefix(12)
    )]
    ReceiptUnmatched {
        /// The prompt's digest.
        prompt: Digest,
    },
    /// Two lines stand for the same request.
    #[error("{stage} request {index} has two lines in the journal")]
    RepeatedRequest {
        /// Its stage.
        stage: Stage,
        /// Its place in its stage, from 0.
        index: u64,
    },
    /// What the server's metrics said stands in an order in which it cannot have been asked.
    #[error(
        "line {line} of what the server's metrics said: asked before the line before it was answered, or \
         answered before it was asked"
    )]
    Scrapes {
        /// Which line, from 1.
        line: u64,
    },
    /// A line of what the server's metrics said holds what is never written.
    #[error(
        "line {line} of what the server's metrics said: a value is not from 0 to 2^53, or figures stand \
         beside a failure"
    )]
    ScrapeValues {
        /// Which line, from 1.
        line: u64,
    },
    /// A member of the record would say where the server is, which is private.
    #[error(
        "{member} names the host of the server or of its proxy, which stands in no record; call it \
         something else"
    )]
    NamesServer {
        /// The member.
        member: &'static str,
    },
    /// The journals are not those of the shards of one run.
    #[error("the shards do not make a run: {problem}")]
    Shards {
        /// Why not.
        problem: String,
    },
    /// The plan holds more requests than a run may have.
    #[error(
        "the plan holds {requests} {stage} requests, a run has at most {} of a stage",
        Load::MAX_REQUESTS
    )]
    TooManyRequests {
        /// The stage.
        stage: Stage,
        /// Requests that the plan holds.
        requests: u64,
    },
    /// A line stands for a request that the plan does not hold.
    #[error("the journal has {stage} request {index}, the plan holds {declared}, counted from 0")]
    UndeclaredRequest {
        /// Its stage.
        stage: Stage,
        /// Its place in its stage, from 0.
        index: u64,
        /// Requests of that stage that the plan holds.
        declared: u64,
    },
    /// A text that the record would hold may not be published.
    #[error("{} cannot stand in a record", shown(.text, *.fault))]
    Unpublishable {
        /// The text.
        text: String,
        /// The rule that it breaks.
        #[source]
        fault: TextFault,
    },
}

/// A text that is refused; one that may be a secret is not shown.
fn shown(text: &str, fault: TextFault) -> String {
    match fault {
        TextFault::Credential => "a text".to_owned(),
        _ => format!("{text:?}"),
    }
}
