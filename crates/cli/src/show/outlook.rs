//! A plan of a qualification before its first step.

use super::number::{count, percent};
use super::table::table;
use crate::args::Format;
use crate::qualify::{GateOutlook, Outlook};

/// The order of the visits, what they take, and what they can decide.
pub(crate) fn outlook(outlook: &Outlook, format: Format) -> String {
    let visits = outlook.visits.iter().map(|visit| {
        [visit.visit.clone(), if visit.activates { "activated" } else { "" }.to_owned()]
    });
    let parts = [
        taken(outlook),
        table(format, ["in this order", ""], visits),
        table(
            format,
            ["", "limit", "noise", "at most", "detects", "blocks", "at most", "known from"],
            outlook.gates.iter().map(gate),
        ),
        said(outlook),
    ];
    parts.join("\n\n")
}

fn taken(outlook: &Outlook) -> String {
    let blocks: Vec<String> = outlook.planned_blocks.iter().map(ToString::to_string).collect();
    let looks = match &blocks[..] {
        [only] => format!("{only} blocks"),
        looks => format!("looks after {} blocks", looks.join(", ")),
    };
    format!(
        "{}: {looks}; {} runs of {}{} requests in all, {} activations",
        outlook.name,
        count(outlook.runs),
        if outlook.requests_at_most { "at most " } else { "" },
        count(outlook.requests),
        count(outlook.activations),
    )
}

fn gate(gate: &GateOutlook) -> [String; 8] {
    let unknown = || "–".to_owned();
    let name = format!("{} {}", gate.cell, gate.metric);
    let limit = format!("{} %", gate.limit_percent);
    let Some(noise) = &gate.noise else {
        return [name, limit, unknown(), unknown(), unknown(), unknown(), unknown(), unknown()];
    };
    let unsigned = |value| percent(value).replace('+', "");
    let blocks = |blocks: Option<u64>| blocks.map_or_else(|| "> 10,000".to_owned(), count);
    [
        name,
        limit,
        unsigned(Some(noise.percent)),
        unsigned(noise.upper_percent),
        percent(noise.detectable_percent),
        blocks(noise.blocks_needed),
        blocks(noise.blocks_needed_at_most),
        noise.source.clone(),
    ]
}

/// What the columns mean.
fn said(outlook: &Outlook) -> String {
    let unknown = outlook.gates.iter().any(|gate| gate.noise.is_none());
    let most = outlook.planned_blocks.last().copied().unwrap_or(0);
    let mut said = vec![format!(
        "noise: of a block, with the most that it is in four of five such cases. detects: the \
         smallest change that {most} blocks tell from none. blocks: how many pass a candidate that \
         has not changed. Both with a chance of {} at alpha {}; a fail among several gates takes \
         more.",
        outlook.power, outlook.alpha
    )];
    if unknown {
        said.push(
            "The noise is not known where nothing stands: an A/A (`aa = 3` in the plan), or earlier \
             runs named with --from, tell it."
                .to_owned(),
        );
    }
    said.join("\n")
}
