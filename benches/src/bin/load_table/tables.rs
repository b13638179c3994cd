//! The report: three Markdown tables, one of errors, one of costs, one of what was wanted.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};

use crate::figures::{Figure, short};
use crate::stamps::{Errors, Spread};
use crate::trial::Trial;
use crate::wanted::{Goal, Runs, Verdict, error_figure, figure};

/// What was measured, as lines of tables.
#[derive(Debug, Default)]
pub(crate) struct Report {
    costs: Vec<[String; 8]>,
    errors: Vec<[String; 6]>,
    verdicts: Vec<[String; 4]>,
}

impl Report {
    /// Adds a row in which clients were measured side by side.
    pub(crate) fn add(&mut self, work: &str, runs: &Runs, goals: &[Goal]) {
        let matched = runs.matched.as_deref().unwrap_or_default();
        let clients = [
            ("bare", runs.bare.as_slice()),
            ("bare, pausing", matched),
            ("bare, stamps", &runs.stamped),
            (if runs.hyper_pauses { "hyper, pausing" } else { "hyper" }, &runs.hyper),
            ("ours", &runs.ours),
        ];
        for (client, trials) in clients.into_iter().filter(|(_, trials)| !trials.is_empty()) {
            self.add_client(work, client, trials);
        }
        for goal in goals {
            self.judge(work, goal.judge(runs));
        }
    }

    /// Adds what became of one goal.
    pub(crate) fn judge(&mut self, work: &str, verdict: Verdict) {
        let met = match verdict.met {
            None => "not measured",
            Some(false) => "missed",
            Some(true) => "met",
        };
        self.verdicts.push([work.to_owned(), verdict.wanted, verdict.found, met.to_owned()]);
    }

    /// Adds what a client did.
    pub(crate) fn add_client(&mut self, work: &str, client: &str, trials: &[Trial]) {
        let shown = |value: fn(&Trial) -> f64| text(figure(trials, value));
        self.costs.push([
            work.to_owned(),
            client.to_owned(),
            shown(Trial::cpu_us_per_event),
            shown(Trial::events_per_read),
            shown(Trial::events_per_s),
            busy(trials),
            elsewhere(trials),
            shown(Trial::peak_mb),
        ]);
        let error = |part: fn(&Errors) -> Spread| {
            let p50 = error_figure(trials, |errors| part(errors).p50)?;
            let p99 = error_figure(trials, |errors| part(errors).p99)?;
            Some(format!("{} / {p99}", short(p50.median())))
        };
        let errors = [
            error(|errors| errors.ttft),
            error(|errors| errors.send),
            error(|errors| errors.arrival),
            error(|errors| errors.interval),
        ];
        if let [Some(ttft), Some(send), Some(arrival), Some(interval)] = errors {
            let (work, client) = (work.to_owned(), client.to_owned());
            self.errors.push([work, client, ttft, send, arrival, interval]);
        }
    }
}

/// How busy the client's and the server's core were.
fn busy(trials: &[Trial]) -> String {
    let percent = |value: fn(&Trial) -> f64| {
        figure(trials, |trial| 100.0 * value(trial)).map(|figure| short(figure.median()))
    };
    let busy = percent(Trial::client_busy_ratio).zip(percent(Trial::server_busy_ratio));
    busy.map_or_else(String::new, |(client, server)| format!("{client}, {server}"))
}

/// What went to other programs and to the host.
fn elsewhere(trials: &[Trial]) -> String {
    let share = |trial: &Trial| 100.0 * (trial.disturbance.others + trial.disturbance.stolen);
    text(figure(trials, share))
}

fn text(figure: Option<Figure>) -> String {
    figure.map_or_else(String::new, |figure| figure.to_string())
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let errors = ["work", "client", "TTFT", "send", "arrival", "interval"];
        let costs = [
            "work",
            "client",
            "µs an event",
            "events a read",
            "events/s",
            "cores: client, server %",
            "elsewhere %",
            "peak MB",
        ];
        let verdicts = ["work", "wanted", "found", ""];
        for table in [
            table(errors, &self.errors),
            table(costs, &self.costs),
            table(verdicts, &self.verdicts),
        ] {
            f.write_str(&table)?;
        }
        Ok(())
    }
}

fn table<const N: usize>(header: [&str; N], lines: &[[String; N]]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN).set_header(header);
    for line in lines {
        table.add_row(line);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{table}\n\n")
}
