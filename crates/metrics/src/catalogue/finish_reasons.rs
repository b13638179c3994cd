//! How answers ended, by their finish reasons: as shares of the requests that succeeded.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{figure, request};
//! let mut cut = request(&[100], 1);
//! cut.observation.as_mut().unwrap().finish_reasons = vec!["length".into()];
//! let lines = [cut, request(&[100], 1)];
//! assert_eq!(figure("length_limited_ratio", &lines), Some(0.5));
//! assert_eq!(figure("refusal_ratio", &lines), Some(0.0));
//! ```

use streamgauge_schema::{Direction, Unit};

use super::{Entry, Family, Population, Presence, Source};
use crate::answer::Finish;
use crate::sent::Sent;

/// When a request says nothing about the reason.
const NO_REASON: &str = "The response has no finish reason; see the share without one.";

pub(crate) const NO_FINISH_REASON: Family = Family {
    name: "Endings without a finish reason",
    meaning: "Share of succeeded requests whose stream ended with its end mark while some choice had \
              no finish reason.",
    formula: "ending = complete_no_reason, of succeeded",
    absent_when: "No request succeeded.",
    example: "200 succeeded requests, 3 of which ended without a reason: 3 / 200 = 0.015.",
    source: Source::Share {
        metric: Entry::of_run("no_finish_reason_ratio"),
        of: |sent| Some(sent.answer.lacks_reason),
    },
    ..SHARE
};

pub(crate) const STOPPED: Family = Family {
    name: "Answers that came to their own end",
    direction: Direction::Neutral,
    meaning: "Share of the succeeded requests with a finish reason of which every choice came to its \
              own end or at a stop sequence.",
    formula: "reasons stop, end_turn, stop_sequence, eos, eos_token, completed; of those with any \
              reason",
    absent_when: NO_REASON,
    example: "Of 100 answers 80 stopped, 15 were cut by length, 5 called tools: 80 / 100 = 0.8.",
    source: Source::Share {
        metric: Entry::of_run("stopped_ratio"),
        of: |sent| finished(sent, Finish::Stop),
    },
    ..SHARE
};

pub(crate) const LENGTH_LIMITED: Family = Family {
    name: "Answers cut by a length limit",
    direction: Direction::Neutral,
    meaning: "Share of the succeeded requests with a finish reason that a limit of length cut, in \
              any choice.",
    formula: "reasons length, max_tokens, max_output_tokens, model_context_window_exceeded; of those \
              with any reason",
    absent_when: NO_REASON,
    example: "Of 100 answers 80 stopped, 15 were cut by length, 5 called tools: 15 / 100 = 0.15.",
    source: Source::Share {
        metric: Entry::of_run("length_limited_ratio"),
        of: |sent| finished(sent, Finish::Length),
    },
    ..SHARE
};

pub(crate) const TOOL_CALLS: Family = Family {
    name: "Answers that call tools",
    direction: Direction::Neutral,
    meaning: "Share of the succeeded requests with a finish reason that says that tools are to be \
              called.",
    formula: "reasons tool_calls, function_call, tool_use; of those with any reason",
    absent_when: NO_REASON,
    example: "Of 100 answers 80 stopped, 15 were cut by length, 5 called tools: 5 / 100 = 0.05.",
    source: Source::Share {
        metric: Entry::of_run("tool_call_ratio"),
        of: |sent| finished(sent, Finish::ToolCall),
    },
    ..SHARE
};

pub(crate) const REFUSALS: Family = Family {
    name: "Refusal rate",
    meaning: "Share of succeeded requests that the model refused or a filter cut: by their finish \
              reason, or by output on the channel of refusals.",
    formula: "reasons refusal, content_filter; or output that is neither reasoning, content nor a \
              tool call; of succeeded",
    absent_when: "No request succeeded. A refusal in plain words looks like any other answer.",
    example: "200 succeeded requests, 1 with output on the channel of refusals, 1 with the reason \
              content_filter: 2 / 200 = 0.01.",
    source: Source::Share {
        metric: Entry::of_run("refusal_ratio"),
        of: |sent| Some(sent.answer.refused),
    },
    ..SHARE
};

/// What these shares have in common.
const SHARE: Family = Family {
    name: "",
    unit: Unit::Ratio,
    direction: Direction::LowerIsBetter,
    population: Population::Succeeded,
    presence: Presence::Always,
    token_source: None,
    meaning: "",
    formula: "",
    absent_when: "",
    example: "",
    source: Source::Share { metric: Entry::of_run(""), of: |_| None },
};

fn finished(sent: &Sent, by: Finish) -> Option<bool> {
    sent.answer.finish.map(|finish| finish == by)
}
