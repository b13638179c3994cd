//! Values of single requests, with what people found wrong elsewhere as tables.

use streamgauge_schema::{Anomaly, Completion, Usage};

use super::*;
use crate::sample_run::{observation, refused, succeeded};

/// A line whose observation was changed.
fn with(outputs_ms: &[u64], tokens: u64, change: impl FnOnce(&mut Observation)) -> RequestLine {
    let mut line = succeeded(0, 0, outputs_ms, tokens);
    change(line.observation.as_mut().unwrap());
    line
}

#[test]
fn chunks_are_not_tokens() {
    // Ten chunks 100 ms apart that hold forty tokens.
    let outputs: Vec<u64> = (1..=10).map(|n| 100 * n).collect();
    let line = succeeded(0, 0, &outputs, 40);
    let seen = line.observation.as_ref().unwrap();
    assert_eq!(chunk_intervals_ms(seen).collect::<Vec<_>>(), [100.0; 9]);
    assert_eq!(tpot_ms(&line), Ok(900.0 / 39.0));
}

#[test]
fn tokens_are_what_was_generated_and_not_what_was_allowed() {
    // 512 tokens allowed, stopped at 100, 0.99 s after the first.
    let line = succeeded(0, 0, &[200, 1190], 100);
    assert_eq!(tpot_ms(&line), Ok(10.0));
    assert_eq!(decode_rate_tok_per_s(&line), Ok(100.0));
}

#[test]
fn first_times() {
    let role_first = with(&[214], 1, |seen| seen.first_event_us = Some(5_000));
    assert_eq!(ttft_ms(&role_first), Some(214.0));

    let reasoning_first = with(&[100, 4_100], 2, |seen| {
        seen.first_reasoning_us = Some(100_000);
        seen.first_content_us = Some(4_100_000);
    });
    assert_eq!(ttft_ms(&reasoning_first), Some(100.0));
    assert_eq!(ttfc_ms(&reasoning_first), Some(4_100.0));

    let reasoning_only = with(&[100, 200], 2, |seen| seen.first_content_us = None);
    assert_eq!(ttft_ms(&reasoning_only), Some(100.0));
    assert_eq!(ttfc_ms(&reasoning_only), None);

    let think_tag = with(&[100, 200], 2, |seen| seen.think_tag_in_content = true);
    assert_eq!(ttft_ms(&think_tag), Some(100.0));
    assert_eq!(ttfc_ms(&think_tag), None);

    let tool_call_only = with(&[150], 9, |seen| {
        (seen.first_generated_us, seen.first_content_us) = (None, None);
        seen.first_tool_call_us = Some(150_000);
    });
    assert_eq!(ttft_ms(&tool_call_only), Some(150.0));
    assert_eq!(first_generated_ms(&tool_call_only), None);
}

#[test]
fn what_did_not_happen_is_absent_and_not_zero() {
    let no_output = succeeded(0, 0, &[], 7);
    assert_eq!(ttft_ms(&no_output), None);
    assert_eq!(ttfc_ms(&no_output), None);
    let no_response = refused(0, 0, 3);
    assert_eq!(ttft_ms(&no_response), None);
    assert_eq!(e2e_ms(&no_response), 3.0);
    assert_eq!(chunk_intervals_ms(&observation(&[80_000], 1)).count(), 0);
}

#[test]
fn a_body_that_was_not_streamed_has_a_duration_and_no_first_output() {
    let mut line = with(&[], 40, |seen| seen.whole_body_output = true);
    line.elapsed_us = 30_000_000;
    assert_eq!(ttft_ms(&line), None);
    assert_eq!(tpot_ms(&line), Err(RateAbsence::SingleInstant));
    assert_eq!(e2e_ms(&line), 30_000.0);
}

#[test]
fn rates_name_why_they_are_absent() {
    let hidden = Anomaly { kind: AnomalyKind::HiddenReasoning, count: 1, first_offset: 0 };
    let cases = [
        (with(&[80, 120], 0, |_| ()), RateAbsence::NoTokens),
        (with(&[80, 120], 1, |_| ()), RateAbsence::SingleToken),
        (with(&[80, 80], 40, |_| ()), RateAbsence::SingleInstant),
        (with(&[80], 40, |_| ()), RateAbsence::SingleInstant),
        (with(&[], 40, |_| ()), RateAbsence::SingleInstant),
        (with(&[80, 120], 40, |seen| seen.usage = None), RateAbsence::NoUsage),
        (with(&[80, 120], 40, |seen| seen.usage = Some(Usage::default())), RateAbsence::NoUsage),
        (with(&[80, 120], 40, |seen| seen.usage_ambiguous = true), RateAbsence::AmbiguousUsage),
        (with(&[80, 120], 40, |seen| seen.choices = 2), RateAbsence::SeveralChoices),
        (with(&[80, 120], 40, |seen| seen.anomalies = vec![hidden]), RateAbsence::HiddenReasoning),
        (refused(0, 0, 3), RateAbsence::NotSucceeded),
        (
            RequestLine { completion: Completion::TimedOut, ..succeeded(0, 0, &[80, 120], 40) },
            RateAbsence::NotSucceeded,
        ),
    ];
    for (line, reason) in cases {
        assert_eq!(tpot_ms(&line), Err(reason));
        assert_eq!(decode_rate_tok_per_s(&line), Err(reason));
    }
    let ended_early = RequestLine { elapsed_us: 80_000, ..succeeded(0, 0, &[80, 120], 40) };
    assert_eq!(decode_rate_tok_per_s(&ended_early), Err(RateAbsence::SingleInstant));
}

#[test]
fn generated_intervals_pass_over_other_output() {
    let cases: [(&[u64], &[u32], &[f64]); 7] = [
        (&[], &[], &[]),
        (&[10], &[], &[]),
        (&[10, 20, 40], &[], &[10.0, 20.0]),
        (&[10, 20, 40], &[1], &[30.0]),
        (&[10, 20, 40], &[0], &[20.0]),
        (&[10, 20, 40, 50], &[0, 1, 3], &[]),
        (&[10, 10, 40, 50, 90], &[2, 3], &[0.0, 80.0]),
    ];
    for (outputs_ms, not_generated, expected) in cases {
        let outputs: Vec<u64> = outputs_ms.iter().map(|ms| ms * 1000).collect();
        let mut seen = observation(&outputs, 9);
        seen.not_generated = not_generated.to_vec();
        let found: Vec<f64> = generated_intervals_ms(&seen).collect();
        assert_eq!(found, expected, "{outputs_ms:?} without {not_generated:?}");
    }
}
