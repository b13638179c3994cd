//! The rows of the study: truths, and what the rule should make of them.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use streamgauge_schema::{ComparisonMethod, GateVerdict};

use super::latencies::{Runs, Shape};
use super::qualification::{Figures, Judged, Order, Truth};
use super::wanted::{Tables, Wanted};

const REPETITIONS: u64 = 4_000;
/// How much the machine slows down over a qualification that drifts.
const DRIFT: f64 = 0.1;
/// How far drift may move a figure, in points.
const DRIFT_MOVES: f64 = 2.0;

/// What is counted over the repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    ExcludesZero,
    Fail,
    Pass,
}

/// A truth and what is wanted of the rule.
#[derive(Clone, Copy, Debug)]
struct Case {
    name: &'static str,
    change: f64,
    deviation: f64,
    blocks: &'static [usize],
    wanted: &'static [(Counted, Wanted)],
}

const TEN_LOOKS: [usize; 10] = [4, 6, 8, 10, 12, 14, 16, 18, 20, 22];

const CASES: [Case; 10] = [
    Case {
        name: "+5 %, the limit",
        change: 0.05,
        deviation: 0.03,
        blocks: &[10],
        wanted: &[(Counted::Fail, Wanted::AtMost(3.3)), (Counted::Pass, Wanted::AtMost(3.3))],
    },
    Case {
        name: "0 %",
        change: 0.0,
        deviation: 0.03,
        blocks: &[10],
        wanted: &[
            (Counted::Fail, Wanted::AtMost(1.0)),
            (Counted::ExcludesZero, Wanted::AtMost(6.0)),
        ],
    },
    Case {
        name: "0 %, noise 7 %",
        change: 0.0,
        deviation: 0.07,
        blocks: &[10],
        wanted: &[
            (Counted::Fail, Wanted::AtMost(1.0)),
            (Counted::ExcludesZero, Wanted::AtMost(6.0)),
        ],
    },
    Case {
        name: "0 %, noise 10 %",
        change: 0.0,
        deviation: 0.1,
        blocks: &[10],
        wanted: &[
            (Counted::Fail, Wanted::AtMost(1.0)),
            (Counted::ExcludesZero, Wanted::AtMost(6.0)),
        ],
    },
    Case {
        name: "0 %",
        change: 0.0,
        deviation: 0.03,
        blocks: &[12],
        wanted: &[(Counted::Pass, Wanted::AtLeast(93.0))],
    },
    Case {
        name: "+1 %",
        change: 0.01,
        deviation: 0.03,
        blocks: &[12],
        wanted: &[(Counted::Pass, Wanted::Any), (Counted::Fail, Wanted::Any)],
    },
    Case {
        name: "+10 %",
        change: 0.1,
        deviation: 0.03,
        blocks: &[5],
        wanted: &[(Counted::ExcludesZero, Wanted::AtLeast(94.0))],
    },
    Case {
        name: "+10 %",
        change: 0.1,
        deviation: 0.03,
        blocks: &[10],
        wanted: &[(Counted::Fail, Wanted::AtLeast(83.0))],
    },
    Case {
        name: "+10 %",
        change: 0.1,
        deviation: 0.03,
        blocks: &[13],
        wanted: &[(Counted::Fail, Wanted::AtLeast(93.0))],
    },
    Case {
        name: "+5 %, the limit",
        change: 0.05,
        deviation: 0.03,
        blocks: &TEN_LOOKS,
        wanted: &[(Counted::Fail, Wanted::AtMost(5.0))],
    },
];

/// Shapes of latencies, and the drift of each column.
const COLUMNS: [(&str, Shape, f64); 3] = [
    ("lognormal", Shape::Lognormal, 0.0),
    ("bimodal", Shape::Bimodal, 0.0),
    ("lognormal, drift", Shape::Lognormal, DRIFT),
];

/// The study's tables.
pub(crate) fn run() -> Tables {
    let mut tables = Tables::default();
    let results: Vec<Vec<Shares>> = CASES
        .iter()
        .map(|case| COLUMNS.iter().map(|(_, shape, drift)| shares(case, *shape, *drift)).collect())
        .collect();
    tables.line("### In blocks\n");
    table(&mut tables, &results, ComparisonMethod::Blocks);
    tables.line("\n### The same runs, judged unpaired\n");
    table(&mut tables, &results, ComparisonMethod::Unpaired);
    tables.line("\n### Runs taken apart: the baseline first, then the candidate; unpaired\n");
    apart(&mut tables);
    tables
}

fn table(tables: &mut Tables, results: &[Vec<Shares>], method: ComparisonMethod) {
    let names = COLUMNS.map(|(name, ..)| name).join(" | ");
    tables.line(&format!("| true change | blocks | counted | wanted | {names} | |"));
    tables.line("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (case, columns) in CASES.iter().zip(results) {
        for (counted, wanted) in case.wanted {
            let percent: Vec<f64> =
                columns.iter().map(|shares| shares.percent(method, *counted)).collect();
            let moved = (percent[2] - percent[0]).abs() <= DRIFT_MOVES;
            let met = wanted.met(&percent).map(|met| met && moved).or(Some(moved));
            let mut cells = vec![
                case.name.to_owned(),
                blocks_text(case.blocks),
                counted.text().to_owned(),
                wanted.text(),
            ];
            cells.extend(percent.iter().map(|percent| format!("{percent:.1} %")));
            // Nothing is wanted of unpaired runs: they stand here for comparison.
            tables.row(&cells, met.filter(|_| method == ComparisonMethod::Blocks));
        }
    }
}

fn blocks_text(blocks: &[usize]) -> String {
    match blocks {
        [only] => only.to_string(),
        [first, .., last] => format!("{first} to {last}, {} looks", blocks.len()),
        [] => String::new(),
    }
}

fn apart(tables: &mut Tables) {
    tables.line("| true change | runs of a side | fail | pass | 0 excluded | |");
    tables.line("| --- | --- | --- | --- | --- | --- |");
    for (name, drift) in [("0 %, no drift", 0.0), ("0 %, drift", DRIFT)] {
        let mut runs = Runs::new(Shape::Lognormal, 0.03);
        let truth = Truth { change: 0.0, drift };
        let judged: Vec<Judged> = (0..REPETITIONS)
            .map(|seed| {
                let mut rng = ChaCha8Rng::seed_from_u64(seed);
                let figures = Figures::taken(12, Order::Apart, truth, &mut runs, &mut rng);
                figures.judged(ComparisonMethod::Unpaired, 12, 1)
            })
            .collect();
        let share = |counted: Counted| format!("{:.1} %", percent_of(&judged, counted));
        let counted = [Counted::Fail, Counted::Pass, Counted::ExcludesZero].map(share);
        tables.row(&[&[name.to_owned(), "12".to_owned()], counted.as_slice()].concat(), None);
    }
}

/// How the repetitions of one case ended, by either method.
#[derive(Debug)]
struct Shares {
    blocks: Vec<Judged>,
    unpaired: Vec<Judged>,
}

impl Shares {
    fn percent(&self, method: ComparisonMethod, counted: Counted) -> f64 {
        match method {
            ComparisonMethod::Blocks => percent_of(&self.blocks, counted),
            ComparisonMethod::Unpaired => percent_of(&self.unpaired, counted),
        }
    }
}

fn percent_of(judged: &[Judged], counted: Counted) -> f64 {
    let count = judged.iter().filter(|judged| counted.holds(judged)).count();
    100.0 * count as f64 / judged.len() as f64
}

/// The same seeds in every column, so that drift is all that differs between two of them.
fn shares(case: &Case, shape: Shape, drift: f64) -> Shares {
    let mut runs = Runs::new(shape, case.deviation);
    let truth = Truth { change: case.change, drift };
    let most = case.blocks.iter().copied().max().unwrap_or(0);
    let mut shares = Shares { blocks: Vec::new(), unpaired: Vec::new() };
    for seed in 0..REPETITIONS {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let figures = Figures::taken(most, Order::Blocks, truth, &mut runs, &mut rng);
        shares.blocks.push(at_any_look(&figures, ComparisonMethod::Blocks, case.blocks));
        shares.unpaired.push(at_any_look(&figures, ComparisonMethod::Unpaired, case.blocks));
    }
    shares
}

/// A failure at any look counts, even where an earlier look had passed and nobody looked again.
fn at_any_look(figures: &Figures, method: ComparisonMethod, looks: &[usize]) -> Judged {
    let mut judged = looks.iter().map(|blocks| figures.judged(method, *blocks, looks.len()));
    let first = judged.next().expect("there is a look");
    judged.fold(first, |known, next| {
        let failed = [known.verdict, next.verdict].contains(&GateVerdict::Fail);
        Judged {
            verdict: if failed { GateVerdict::Fail } else { next.verdict },
            excludes_zero: known.excludes_zero || next.excludes_zero,
        }
    })
}

impl Counted {
    fn text(self) -> &'static str {
        match self {
            Self::ExcludesZero => "0 excluded",
            Self::Fail => "fail",
            Self::Pass => "pass",
        }
    }

    fn holds(self, judged: &Judged) -> bool {
        match self {
            Self::ExcludesZero => judged.excludes_zero,
            Self::Fail => judged.verdict == GateVerdict::Fail,
            Self::Pass => judged.verdict == GateVerdict::Pass,
        }
    }
}
