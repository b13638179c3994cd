//! What the server says of its speculative decoding.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{request, server_figure};
//! // Counters count from the answer before the requests to the one after them.
//! let told = ["drafts 100 accepted 80", "drafts 300 accepted 230"];
//! let requests = [request(&[9_000], 4)];
//! assert_eq!(server_figure("server_draft_acceptance_ratio", &requests, &told), Some(0.75));
//!
//! let told = ["", "length 2.5", "length 3.5", ""];
//! assert_eq!(server_figure("server_accepted_length_mean_count", &requests, &told), Some(3.0));
//! ```

use streamgauge_schema::{ServerQuantity, Unit};

use super::server_requests::{ENDS_MISSING, OF_STATE, mean_of, without};
use super::{Entry, Family, RunFigure, Source};
use crate::measured::Part;
use crate::server::Untold;

pub(crate) const DRAFT_ACCEPTANCE: Family = Family {
    name: "Draft acceptance by the server",
    unit: Unit::Ratio,
    meaning: "Share of the draft tokens of speculative decoding that were accepted while the measured \
              requests were under way, by the server's own counters.",
    formula: "rise of accepted draft tokens / rise of draft tokens",
    absent_when: ENDS_MISSING,
    example: "100 drafted and 80 accepted before, 300 and 230 after: 150 / 200 = 0.75.",
    source: Source::Run {
        metric: Entry::of_run("server_draft_acceptance_ratio"),
        figure: acceptance,
    },
    ..OF_STATE
};

pub(crate) const ACCEPTED_LENGTH: Family = Family {
    name: "Mean accepted length by the server",
    meaning: "Tokens that a step of speculative decoding gave by the server's own metrics, which hold an \
              average of late, averaged over the answers.",
    formula: "mean of the answers; of several engines their mean",
    example: "2.5, then 3.5: 3.",
    source: Source::Run {
        metric: Entry::of_run("server_accepted_length_mean_count"),
        figure: |part| mean_of(part, ServerQuantity::AcceptedLength),
    },
    ..OF_STATE
};

/// A counter of accepted tokens that passes the one of drafts counts something else.
fn acceptance(part: Part<'_>) -> RunFigure {
    let Some(server) = &part.run.server else { return without(Untold::NoEnds) };
    let (accepted, drafted) = match (
        server.counted(ServerQuantity::DraftAccepted),
        server.counted(ServerQuantity::DraftTokens),
    ) {
        (Ok(accepted), Ok(drafted)) => (accepted, drafted),
        (Err(untold), _) | (_, Err(untold)) => return without(untold),
    };
    let is_share = drafted > 0.0 && accepted <= drafted;
    let remark = (!is_share).then(|| "None: no draft was counted.".to_owned());
    let value = is_share.then(|| accepted / drafted);
    RunFigure { remark, ..RunFigure::of(value, 2) }
}
