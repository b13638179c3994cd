//! Why records cannot be compared.

use streamgauge_schema::{Direction, GateStatistic, Identifier};

use super::Side;
use super::matching::{Difference, MatchingCondition, list};

/// What to do where the metrics of a record are another tool's.
const IMPORTED: &str = ": it was imported, and its metrics have the definitions of the tool that measured; only \
                        gates that name them, by the interval rule, judge it, against runs of the same \
                        tool";

/// Records that cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The sides have different numbers of runs, so that they are no blocks.
    #[error(
        "cell {cell} has {baseline} runs of the baseline and {candidate} of the candidate: blocks \
         have one of each; judge the runs unpaired, or leave out what belongs to no block"
    )]
    BlocksUneven {
        /// The cell.
        cell: Identifier,
        /// Runs of the baseline.
        baseline: usize,
        /// Runs of the candidate.
        candidate: usize,
    },
    /// The point rule takes one run of each cell; it neither pools nor chooses.
    #[error(
        "cell {cell} has more than one run on the {side} side: the point rule takes one; name one of \
         them, or judge them all by the interval rule"
    )]
    CellRepeated {
        /// The cell.
        cell: Identifier,
        /// The side that has it more than once.
        side: Side,
    },
    /// A cell without a partner.
    #[error("cell {cell} stands on the {side} side only")]
    CellUnmatched {
        /// The cell.
        cell: Identifier,
        /// The side that has it.
        side: Side,
    },
    /// A gate states another direction than the metric has.
    #[error("the gate on {metric} says {stated}, the metric is {own}")]
    DirectionContradicted {
        /// The metric.
        metric: Identifier,
        /// What the gate says.
        stated: Direction,
        /// What the metric is.
        own: Direction,
    },
    /// Matching conditions differ.
    #[error("the sides are not comparable: {}", list(.differences))]
    Differing {
        /// Each condition that differs, with both values.
        differences: Vec<Difference>,
    },
    /// A run did not verify the certificate of its server: nobody knows which server it measured.
    #[error(
        "{side} run {run_id} did not verify the certificate of its server (--insecure): another one may \
         have answered, and no gate is judged by it unless that is allowed"
    )]
    Insecure {
        /// The run's side.
        side: Side,
        /// The run.
        run_id: Identifier,
    },
    /// The looks are not what was measured: they rise, and the look that this is has so many blocks.
    #[error(
        "look {look} of {} was planned, cell {cell} has {blocks} blocks: looks rise, and each is \
         taken at the number of blocks that was planned for it", join(.planned_blocks)
    )]
    LookNotPlanned {
        /// The cell.
        cell: Identifier,
        /// Its blocks.
        blocks: usize,
        /// Blocks after which somebody looks.
        planned_blocks: Vec<u64>,
        /// Which of them this is, from 1.
        look: u64,
    },
    /// A record without the metrics that are gated, such as any of version 1.
    #[error(
        "{side} record {run_id} has no {}{}", join(.metrics),
        if *.is_imported { IMPORTED } else { "" }
    )]
    MetricsMissing {
        /// The record's side.
        side: Side,
        /// The record.
        run_id: Identifier,
        /// The metrics that it lacks.
        metrics: Vec<Identifier>,
        /// Another program measured, by definitions of its own.
        is_imported: bool,
    },
    /// A side without a record.
    #[error("there is no {side} record of a run that measured speed")]
    NoRuns {
        /// The side.
        side: Side,
    },
    /// By their starts, the runs do not follow each other in blocks.
    #[error(
        "the runs of cell {cell} were not taken in blocks: by their starts, {run_id} of the {side} \
         has no run of the other side beside it; judge the runs unpaired, or name them in the \
         order of the blocks"
    )]
    NotInBlocks {
        /// The cell.
        cell: Identifier,
        /// A run without a partner.
        run_id: Identifier,
        /// Its side.
        side: Side,
    },
    /// A gate on a metric that has no better and worse.
    #[error("{metric} has no better and worse, and cannot be gated")]
    NotGateable {
        /// The metric.
        metric: Identifier,
    },
    /// A run that was given more than once, of which a second one says nothing new.
    #[error("run {run_id} is given more than once")]
    RunRepeated {
        /// The run.
        run_id: Identifier,
    },
    /// One side served several builds.
    #[error("the {side} side names several of {member}: {}", join(.values))]
    SeveralBuilds {
        /// The side.
        side: Side,
        /// What differs between its runs.
        member: &'static str,
        /// What its runs say.
        values: Vec<String>,
    },
    /// One side served several images, so that it is not one build.
    #[error("the {side} side names several images: {}", join(.images))]
    SeveralImages {
        /// The side.
        side: Side,
        /// The images.
        images: Vec<String>,
    },
    /// The runs of one side do not belong to one cell.
    #[error(
        "{} of cell {cell} differs on the {side} side: {first}, but {found} in {run_id}",
        .condition.as_str()
    )]
    SideUneven {
        /// The cell.
        cell: Identifier,
        /// The side.
        side: Side,
        /// The condition.
        condition: MatchingCondition,
        /// What its first run says.
        first: String,
        /// What another one says.
        found: String,
        /// The other one.
        run_id: Identifier,
    },
    /// A gate states another statistic than the metric is.
    #[error("the gate on {metric} says {stated}, the metric is {own}")]
    StatisticContradicted {
        /// The metric.
        metric: Identifier,
        /// What the gate says.
        stated: GateStatistic,
        /// What the metric is.
        own: GateStatistic,
    },
    /// A metric that this version does not know, on a gate that does not say what it is.
    #[error("the statistic of {metric} is not known here: its gate must state it")]
    StatisticUnknown {
        /// The metric.
        metric: Identifier,
    },
    /// More turnover runs than a comparison by the point rule has members for.
    #[error(
        "the {side} side has {found} turnover runs: the point rule takes at most {most}; name fewer, \
         or judge them all by the interval rule"
    )]
    TooManyTurnovers {
        /// The side.
        side: Side,
        /// The most that it takes.
        most: usize,
        /// What was given.
        found: usize,
    },
    /// A turnover run that did not come to its end: what it would have shown nobody knows.
    #[error("the turnover run {run_id} of the {side} was cut off; leave it out, or take it again")]
    TurnoverCut {
        /// The record's side.
        side: Side,
        /// The record.
        run_id: Identifier,
    },
    /// A turnover run whose answers were not all graded, so that nobody knows what came of it.
    #[error("not every answer of the turnover run {run_id} of the {side} was graded")]
    TurnoverUngraded {
        /// The record's side.
        side: Side,
        /// The record.
        run_id: Identifier,
    },
}

fn join<T: ToString>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}
