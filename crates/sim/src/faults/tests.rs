//! Texts of faults, and which rule strikes.

use super::*;

#[test]
fn every_fault_has_a_text_that_reads_back() {
    let pause = Some(Duration::from_millis(250));
    let cases = [
        ("change:4", FaultKind::ChangeWord { place: 4 }),
        ("close:head", FaultKind::Close(FaultPoint::BeforeHead)),
        ("close:0", FaultKind::Close(FaultPoint::AfterOutputs(0))),
        ("cross", FaultKind::Cross),
        ("drop:3", FaultKind::DropWords { count: 3 }),
        ("end:2", FaultKind::EndEarly { after_outputs: 2 }),
        ("length:5", FaultKind::LengthLimited { after_words: 5 }),
        ("model", FaultKind::OtherModel),
        ("think", FaultKind::ThinkTags),
        ("reset:head", FaultKind::Reset(FaultPoint::BeforeHead)),
        ("reset:7", FaultKind::Reset(FaultPoint::AfterOutputs(7))),
        ("stall:1", FaultKind::Stall { at: FaultPoint::AfterOutputs(1), resume_after: None }),
        ("stall:head:250", FaultKind::Stall { at: FaultPoint::BeforeHead, resume_after: pause }),
        ("restart:40", FaultKind::Restart { pause: Duration::from_millis(40) }),
        ("close:17b", FaultKind::Wire(WireFault::Close { after_bytes: 17 })),
        ("reset:0b", FaultKind::Wire(WireFault::Reset { after_bytes: 0 })),
        ("stall:1b", FaultKind::Wire(WireFault::Stall { after_bytes: 1 })),
        ("chunk:length", FaultKind::Wire(WireFault::ChunkLength)),
        ("chunk:size", FaultKind::Wire(WireFault::ChunkSize)),
        ("continue", FaultKind::Wire(WireFault::Continue)),
        ("drip:20", FaultKind::Wire(WireFault::Drip { pause: Duration::from_millis(20) })),
        ("endless:continue", FaultKind::Wire(WireFault::EndlessContinue)),
        ("endless:head", FaultKind::Wire(WireFault::EndlessHead)),
        ("endless:line", FaultKind::Wire(WireFault::EndlessLine)),
        ("endless:stream", FaultKind::Wire(WireFault::EndlessStream)),
        ("escapes:400", FaultKind::Wire(WireFault::Escapes { code: 400 })),
        ("garbage:body", FaultKind::Wire(WireFault::GarbageBody)),
        ("garbage:head", FaultKind::Wire(WireFault::GarbageHead)),
        ("gzip", FaultKind::Wire(WireFault::Gzip)),
        ("html:200", FaultKind::Wire(WireFault::Html { code: 200 })),
        ("http10", FaultKind::Wire(WireFault::Http10)),
        ("large:500", FaultKind::Wire(WireFault::Large { code: 500 })),
        ("redirect:307", FaultKind::Wire(WireFault::Redirect { code: 307 })),
        ("status:503", FaultKind::Status { code: 503, retry_after_s: None }),
        ("status:429:2", FaultKind::Status { code: 429, retry_after_s: Some(2) }),
    ];
    for (text, fault) in cases {
        assert_eq!(parse_order(text), Ok(Some(fault)));
        assert_eq!(fault.to_string(), text);
    }
    assert_eq!(parse_order("none"), Ok(None));
}

#[test]
fn other_texts_are_refused() {
    for text in [
        "",
        "reset",
        "reset:-1",
        "end:head",
        "cross:1",
        "drop",
        "drop:0",
        "length:-1",
        "model:",
        "think:1",
        "status:200",
        "status:600",
        "stall:1:2:3",
        "close:1:2",
        "close:b",
        "close:-1b",
        "drip",
        "endless",
        "escapes:200",
        "html:199",
        "large:399",
        "redirect:400",
        "restart:head",
    ] {
        assert_eq!(parse_order(text), Err(FaultSyntaxError { text: text.to_owned() }));
    }
}

#[test]
fn the_first_rule_that_divides_the_ordinal_wins() {
    let reset = FaultKind::Reset(FaultPoint::BeforeHead);
    let status = FaultKind::Status { code: 500, retry_after_s: None };
    let rules = [FaultRule { every: 4, kind: reset }, FaultRule { every: 2, kind: status }];
    let expected = [None, Some(status), None, Some(reset), None, Some(status)];
    for (ordinal, fault) in (1..).zip(expected) {
        assert_eq!(by_rule(&rules, ordinal), fault, "request {ordinal}");
    }
}
