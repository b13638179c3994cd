//! Where the server's own account and the client's do not agree, and where there is none to hold the
//! client's against.

use streamgauge_schema::ServerQuantity;

use crate::record::CollectedRun;
use crate::server::{Engines, ServerFigures, Untold};

/// Share of the tokens by usage from which a difference is worth a word.
const NOTABLE_SHARE: f64 = 0.01;
/// Classes of failure that are named.
const NAMED: usize = 3;

/// What is known of the output tokens.
struct Counts {
    by_server: f64,
    by_usage: f64,
    /// Requests that did not succeed, or have no usable count, or were sent twice.
    uncertain: u64,
}

/// The server's counter is far from the responses' own counts. Where these do not tell of everything that
/// the server may have done, it can only be too low.
pub(super) fn counts_differ(run: &CollectedRun<'_>) -> Option<String> {
    let counts = counts(run)?;
    let [by_server, by_usage] = counts.shown();
    counts.differ().then(|| {
        format!(
            "Output tokens by the server's own counter: {by_server}; by the usage of the measured requests: \
             {by_usage}, more than 1 percent off. Others used the server meanwhile, or one of them counts \
             wrong."
        )
    })
}

/// Nothing can be said of the counts.
pub(super) fn counts_not_held(run: &CollectedRun<'_>) -> Option<String> {
    let counts = counts(run)?;
    let ([by_server, by_usage], uncertain) = (counts.shown(), counts.uncertain);
    (uncertain > 0 && !counts.differ()).then(|| {
        format!(
            "The server's own count of output tokens ({by_server}) cannot be held against usage ({by_usage}). \
             Requests that failed, have no usage or were sent again, on which the server may have worked: \
             {uncertain}."
        )
    })
}

pub(super) fn counters_fell(run: &CollectedRun<'_>) -> Option<String> {
    let fell = asked(run)?.counted(ServerQuantity::OutputTokens) == Err(Untold::Fell);
    fell.then(|| {
        "The server's own counters fell while the run lasted: it was started anew, or several servers \
         answer at its address."
            .to_owned()
    })
}

pub(super) fn says_nothing_known(run: &CollectedRun<'_>) -> Option<String> {
    asked(run)?.is_unknown().then(|| {
        "The server's own metrics hold no figure that is known here: those of vLLM, SGLang and llama.cpp \
         are."
            .to_owned()
    })
}

/// Figures of one address under the names of two kinds of server may be of the same requests.
pub(super) fn under_several_names(run: &CollectedRun<'_>) -> Option<String> {
    let Engines { read, left_out } = &asked(run)?.engines;
    let (read, others) = (read.as_ref()?, left_out.iter().copied().collect::<Vec<_>>());
    (!others.is_empty()).then(|| {
        format!(
            "The server's own metrics stand under the names of several kinds of server. Only those of {read} were \
             read, and those of {} were not: they may count the same.",
            others.join(" and ")
        )
    })
}

pub(super) fn did_not_answer(run: &CollectedRun<'_>) -> Option<String> {
    let ServerFigures { asked, failed, .. } = asked(run)?;
    let unanswered: u64 = failed.values().sum();
    let mut classes: Vec<_> = failed.iter().collect();
    classes.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let named: Vec<String> =
        classes.iter().take(NAMED).map(|(class, count)| format!("{class} {count}")).collect();
    (unanswered > 0).then(|| {
        format!(
            "Questions for the server's own metrics without an answer: {unanswered} of {asked} ({}).",
            named.join(", ")
        )
    })
}

fn asked<'a>(run: &'a CollectedRun<'_>) -> Option<&'a ServerFigures> {
    run.measured.server.as_ref()
}

fn counts(run: &CollectedRun<'_>) -> Option<Counts> {
    let by_server = asked(run)?.counted(ServerQuantity::OutputTokens).ok()?;
    let is_told =
        |sent: &crate::sent::Sent| sent.succeeded() && sent.output_tokens().counted().is_some();
    let untold = run.measured.sent.iter().filter(|sent| !is_told(sent)).count() as u64;
    Some(Counts {
        by_server,
        by_usage: run.measured.counted_tokens() as f64,
        uncertain: untold.saturating_add(run.instrument.resends),
    })
}

impl Counts {
    /// Both counts, never in more characters than a sentence has room for.
    fn shown(&self) -> [String; 2] {
        [self.by_server, self.by_usage].map(|count| match count < 1e15 {
            true => count.to_string(),
            false => format!("{count:?}"),
        })
    }

    fn differ(&self) -> bool {
        let Self { by_server, by_usage, uncertain } = self;
        let tolerated = NOTABLE_SHARE * by_usage;
        let most = if *uncertain > 0 { f64::MAX } else { by_usage + tolerated };
        !(by_usage - tolerated..=most).contains(by_server)
    }
}
