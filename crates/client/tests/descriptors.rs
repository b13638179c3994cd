//! The limits of open files, which belong to the whole process: this test has one of its own.

#![expect(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

#[path = "it/plan.rs"]
mod plan;

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use streamgauge_client::{Access, RunError};

/// Nothing listens at port 1 of the loopback address.
const NOBODY: &str = "http://127.0.0.1:1";

#[tokio::test]
async fn the_soft_limit_is_raised_and_the_hard_one_refuses_with_the_number_needed() {
    setrlimit(Resource::RLIMIT_NOFILE, 64, 1_000).unwrap();
    let (lines, _) = plan::lines(&plan::plan(NOBODY, 200, 200)).await;
    assert_eq!(lines.len(), 200);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    assert!((200..400).contains(&soft), "soft limit {soft}");
    assert_eq!(hard, 1_000);

    let plan = plan::plan(NOBODY, 2_000, 2_000);
    let (schedule, access) = (plan::schedule(&plan), Access::default());
    let request_of = |stage, index| plan::request(stage, index, "");
    let error = plan::carry_out(&plan, &schedule, &access, request_of).await.unwrap_err();
    let RunError::Descriptors(limits) = &error else { panic!("{error}") };
    assert_eq!((limits.connections, limits.hard), (2_000, 1_000));
    assert!((2_000..2_200).contains(&limits.needed));
    assert!(error.to_string().contains(&format!("--nofile={}", limits.needed)), "{error}");
}
