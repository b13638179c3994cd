//! A plan of a qualification before its first step.

use super::number::{count, percent};
use super::page::Page;
use super::table::table;
use crate::qualify::{GateOutlook, Outlook, TimeOutlook};

/// The order of the visits, what they take, and what they can decide.
pub(crate) fn outlook(outlook: &Outlook, page: Page) -> String {
    let visits = outlook.visits.iter().map(|visit| {
        [visit.visit.clone(), if visit.activates { "activated" } else { "" }.to_owned()]
    });
    let parts = [
        format!(
            "{}\n{}",
            page.prose(&taken(outlook), ""),
            page.prose(&time(&outlook.time, outlook.activations), "")
        ),
        table(page.format, ["in this order", ""], visits),
        table(
            page.format,
            ["", "limit", "noise", "at most", "detects", "blocks", "at most", "known from"],
            outlook.gates.iter().map(gate),
        ),
        said(outlook, page),
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

/// How long it takes, as far as anything tells.
fn time(time: &TimeOutlook, activations: u64) -> String {
    let known = match (time.measuring_s, time.activating_s) {
        (Some(measuring), Some(activating)) if activations > 0 => format!(
            "It takes about {}, {} of them for activations",
            length(measuring + activating),
            length(activating)
        ),
        (Some(measuring), _) if activations > 0 => {
            format!("It takes about {}, and what the activations take", length(measuring))
        }
        (Some(measuring), _) => format!("It takes about {}", length(measuring)),
        (None, _) => {
            let cells: Vec<&str> = time.unknown_cells.iter().map(|cell| cell.as_str()).collect();
            format!(
                "How long it takes is not known: nothing tells how long a run of {} is (earlier ones, \
                 named with --from, do)",
                cells.join(", ")
            )
        }
    };
    format!("{known}.")
}

/// A time for people.
fn length(seconds: f64) -> String {
    let minutes = seconds / 60.0;
    match seconds {
        _ if seconds < 100.0 => format!("{seconds:.0} s"),
        _ if minutes < 100.0 => format!("{minutes:.0} min"),
        _ if minutes < 6_000.0 => format!("{:.1} h", minutes / 60.0),
        _ => format!("{:.0} days", minutes / 1_440.0),
    }
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
fn said(outlook: &Outlook, page: Page) -> String {
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
    let said: Vec<String> = said.iter().map(|text| page.prose(text, "")).collect();
    said.join("\n")
}
