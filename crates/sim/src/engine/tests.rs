//! The timing model, on invented requests.

use super::*;
use crate::answer::{Limits, Prompt};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn request(stream: bool, usage: StreamUsage) -> ChatRequest {
    ChatRequest {
        limits: Limits { ignore_eos: false, max_tokens: None },
        model: "sim-model".to_owned(),
        order: None,
        prompt: Prompt { answer: None, instruction: String::new(), text: String::new() },
        prompt_words: 3,
        cached_words: None,
        stream,
        usage,
    }
}

fn answer(reasoning: &[&str], content: &[&str]) -> Answer {
    let joined = |texts: &[&str]| {
        let mut tokens = Tokens::default();
        texts.iter().for_each(|text| tokens.push("", text));
        tokens
    };
    Answer { content: joined(content), finish: FinishReason::Stop, reasoning: joined(reasoning) }
}

fn streamed(config: &SimConfig) -> Plan {
    Plan::new(
        config,
        &request(true, StreamUsage::AtEnd),
        answer(&["r", " s", " t"], &["a", " b"]),
        "key",
    )
}

/// A plan as text: head, then each step as due milliseconds and kind, then the end.
fn outline(plan: &Plan) -> String {
    let mut text =
        plan.head.map_or_else(|| "no head".to_owned(), |due| format!("{}", due.as_millis()));
    for step in &plan.steps {
        let kind = match &step.event {
            Event::Done => "done",
            Event::Finish(_) => "finish",
            Event::Output { channel, places } => {
                plan.answer.tokens(*channel).slice(places.clone()).trim_start()
            }
            Event::Role => "role",
            Event::Usage => "usage",
            Event::Whole => "whole",
        };
        text.push_str(&format!(" {}:{kind}", step.due.as_millis()));
    }
    let end = match plan.end {
        End::Body { by_fault: false } => "end",
        End::Body { by_fault: true } => "early end",
        End::Close => "close",
        End::Hang => "hang",
        End::Reset => "reset",
    };
    format!("{text} | {end}")
}

const FAULTLESS: &str = "0 50:role 50:r 60:s 70:t 80:a 90:b 90:finish 90:usage 90:done | end";

#[test]
fn events_are_due_at_absolute_times() {
    let base = SimConfig::default;
    let at_once = SimConfig { role_chunk: RoleChunk::AtOnce, ..base() };
    let prefill = SimConfig { prefill_per_word: MS(4), interval: MS(1), ..base() };
    let pairs = SimConfig { tokens_per_event: 2, ..base() };
    let cases = [
        (base(), FAULTLESS),
        (at_once, "0 0:role 50:r 60:s 70:t 80:a 90:b 90:finish 90:usage 90:done | end"),
        (prefill, "0 62:role 62:r 63:s 64:t 65:a 66:b 66:finish 66:usage 66:done | end"),
        (pairs, "0 50:role 50:r s 60:t 70:a b 70:finish 70:usage 70:done | end"),
    ];
    for (config, expected) in cases {
        assert_eq!(outline(&streamed(&config)), expected);
    }
}

#[test]
fn usage_comes_only_when_asked_for_and_a_whole_answer_with_its_head() {
    let plan = |stream, usage| {
        outline(&Plan::new(
            &SimConfig::default(),
            &request(stream, usage),
            answer(&[], &["a", " b"]),
            "key",
        ))
    };
    assert_eq!(plan(true, StreamUsage::Never), "0 50:role 50:a 60:b 60:finish 60:done | end");
    assert_eq!(plan(false, StreamUsage::Never), "60 60:whole | end");
}

#[test]
fn an_answer_without_tokens_still_has_its_frame() {
    let plan = Plan::new(
        &SimConfig::default(),
        &request(true, StreamUsage::Never),
        answer(&[], &[]),
        "key",
    );
    assert_eq!(outline(&plan), "0 50:role 50:finish 50:done | end");
}

#[test]
fn faults_cut_or_delay_the_plan() {
    let cases = [
        ("close:head", "no head | close"),
        ("close:0", "0 50:role | close"),
        ("close:2", "0 50:role 50:r 60:s | close"),
        ("reset:99", "0 50:role 50:r 60:s 70:t 80:a 90:b | reset"),
        ("end:1", "0 50:role 50:r | early end"),
        ("stall:1", "0 50:role 50:r | hang"),
        ("stall:head", "no head | hang"),
        (
            "stall:4:1000",
            "0 50:role 50:r 60:s 70:t 80:a 1090:b 1090:finish 1090:usage 1090:done | end",
        ),
        ("stall:head:7", "7 57:role 57:r 67:s 77:t 87:a 97:b 97:finish 97:usage 97:done | end"),
        ("status:500", FAULTLESS),
    ];
    for (fault, expected) in cases {
        let plan = streamed(&SimConfig::default()).with_fault(fault.parse().unwrap());
        assert_eq!(outline(&plan), expected, "{fault}");
    }
}

#[test]
fn without_streaming_a_fault_after_outputs_comes_before_the_body() {
    let cases = [
        ("close:1", "60 | close"),
        ("end:1", "60 | close"),
        ("reset:head", "no head | reset"),
        ("stall:0:5", "60 65:whole | end"),
        ("stall:head:5", "65 65:whole | end"),
    ];
    for (fault, expected) in cases {
        let plan = Plan::new(
            &SimConfig::default(),
            &request(false, StreamUsage::Never),
            answer(&[], &["a", " b"]),
            "key",
        );
        assert_eq!(outline(&plan.with_fault(fault.parse().unwrap())), expected, "{fault}");
    }
}

#[test]
fn jitter_depends_on_seed_and_key_and_keeps_the_order() {
    let words: Vec<&str> = vec![" w"; 400];
    for jitter in [Jitter::LogNormal { sigma: 0.5 }, Jitter::Uniform { ratio: 1.0 }] {
        let dues = |seed, key: &str| -> Vec<Duration> {
            let config = SimConfig { jitter, seed, ..SimConfig::default() };
            let plan =
                Plan::new(&config, &request(true, StreamUsage::Never), answer(&[], &words), key);
            plan.steps.iter().map(|step| step.due).collect()
        };
        let base = dues(1, "a");
        assert_eq!(base, dues(1, "a"));
        assert_ne!(base, dues(2, "a"));
        assert_ne!(base, dues(1, "b"));
        assert!(base.is_sorted());

        let mut intervals: Vec<Duration> =
            base[1..=400].windows(2).map(|pair| pair[1] - pair[0]).collect();
        intervals.sort();
        let median = intervals[intervals.len() / 2];
        assert!((MS(8)..MS(12)).contains(&median), "{jitter:?}: median interval {median:?}");
    }
}

#[test]
fn the_widest_settings_do_not_overflow() {
    let hour = Duration::from_secs(3600);
    let config = SimConfig {
        interval: hour,
        jitter: Jitter::LogNormal { sigma: 2.0 },
        prefill_per_word: Duration::from_secs(1),
        ttft: hour,
        ..SimConfig::default()
    };
    let mut request = request(true, StreamUsage::Never);
    request.prompt_words = u64::MAX;
    let plan = Plan::new(&config, &request, answer(&[], &["w"; 10_000]), "key");
    assert_eq!(plan.steps.len(), 10_003);
}
