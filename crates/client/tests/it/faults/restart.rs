//! A server that restarts in the middle of a run.

use streamgauge_client::Access;
use streamgauge_schema::{Arrivals, Completion, EndReason, FailureClass, LoadShape, RateStage};

use super::{brisk, ordering};
use crate::plan::{lines_with, plan};
use crate::sim::server;

#[tokio::test]
async fn requests_fail_while_the_server_is_away_and_succeed_afterwards() {
    let (_server, url) = server(brisk());
    let mut plan = plan(&url, 150, 1);
    let stage = RateStage { from_per_s: 100.0, to_per_s: 100.0, duration_ms: None, requests: 150 };
    plan.load.shape = LoadShape::OpenLoop {
        arrivals: Arrivals::Constant {},
        max_concurrency: None,
        stages: vec![stage],
    };
    let (lines, trailer) = lines_with(&plan, &Access::default(), |stage, index| {
        ordering(stage, index, if index == 30 { "restart:300" } else { "none" })
    })
    .await;
    assert_eq!((trailer.reason, lines.len()), (EndReason::Finished, 150));
    for line in &lines {
        let class = line.failure.as_ref().map(|failure| failure.class);
        let expected = match line.index {
            0..20 | 120..150 => class.is_none(),
            30 => class == Some(FailureClass::PrematureEof) || line.attempts == 2,
            _ => matches!(
                class,
                None | Some(
                    FailureClass::Connect | FailureClass::PrematureEof | FailureClass::Reset
                )
            ),
        };
        assert!(expected, "request {}: {:?}", line.index, line.failure);
        assert_eq!(line.completion == Completion::Succeeded, class.is_none());
    }
    let refused = |line: &&streamgauge_schema::RequestLine| {
        line.failure.as_ref().is_some_and(|failure| failure.class == FailureClass::Connect)
    };
    assert!(lines.iter().filter(refused).count() >= 5, "nobody listened for 30 of them");
}
