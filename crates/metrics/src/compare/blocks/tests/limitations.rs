//! What a comparison says of its own weakness.

use streamgauge_schema::{EvidenceMode, LimitationKind, PublicText};

use super::{TTFT, blocks, compared, error, gates, kinds, rules, sound};
use crate::compare::{BlockRules, Pairing};
use crate::sample_blocks::Sides;

#[test]
fn identities_are_said() {
    let of = |change: fn(&mut Sides)| {
        let mut sides = Sides::blocks(TTFT, &blocks(4, 0.0));
        change(&mut sides);
        kinds(&compared(&sides))
    };
    let known = of(|_| ());
    for kind in [LimitationKind::SameIdentity, LimitationKind::UnknownIdentity] {
        assert!(!known.contains(&kind), "{known:?}");
    }
    let same = of(|sides| {
        for run in &mut sides.candidate {
            run.deployment.variant = PublicText::new("old").ok();
        }
    });
    assert!(same.contains(&LimitationKind::SameIdentity), "{same:?}");
    let unknown = of(|sides| {
        for run in &mut sides.candidate {
            run.deployment.variant = None;
        }
    });
    assert!(unknown.contains(&LimitationKind::UnknownIdentity), "{unknown:?}");
    let moved = of(|sides| {
        for run in &mut sides.candidate {
            run.deployment.hardware = PublicText::new("another machine").ok();
        }
    });
    assert!(moved.contains(&LimitationKind::HardwareDiffers), "{moved:?}");

    let mut mixed = Sides::blocks(TTFT, &blocks(4, 0.0));
    mixed.baseline[1].deployment.variant = None;
    assert_eq!(
        error(&mixed, &rules(&gates(&[TTFT]), Pairing::ByTime)),
        "the baseline side names several of variant: old, unknown"
    );
}

#[test]
fn limitations() {
    type Change = fn(&mut Sides);
    let of = |change: fn(&mut Sides)| {
        let mut sides = Sides::blocks(TTFT, &blocks(4, 0.0));
        change(&mut sides);
        kinds(&compared(&sides))
    };
    let usual = [LimitationKind::NotJudgedFirst, LimitationKind::RequestsPooled];
    assert_eq!(of(|_| ()), usual);
    let cases: [(LimitationKind, Change); 4] = [
        (LimitationKind::Simulated, |sides| {
            sides.candidate[3].evidence_mode = EvidenceMode::Simulated;
        }),
        (LimitationKind::BlocksNotAlternating, |sides| {
            // B A B A: the second block begins with the side that the first one began with.
            let (old, new) = (sides.baseline[0].started_at, sides.candidate[0].started_at);
            (sides.baseline[0].started_at, sides.candidate[0].started_at) = (new, old);
            let (old, new) = (sides.baseline[0].completed_at, sides.candidate[0].completed_at);
            (sides.baseline[0].completed_at, sides.candidate[0].completed_at) = (new, old);
        }),
        (LimitationKind::OverlappingRuns, |sides| {
            sides.baseline[0].completed_at = sides.candidate[0].completed_at;
        }),
        (LimitationKind::InstrumentDiffers, |sides| {
            sides.candidate[0].instrument.version = PublicText::new("streamgauge 0.0.9").unwrap();
        }),
    ];
    for (kind, change) in cases {
        let found = of(change);
        let others: Vec<_> = found.iter().copied().filter(|it| *it != kind).collect();
        assert!(found.contains(&kind) && others == usual, "{kind}: {found:?}");
    }
    let stated = [PublicText::new("Build and machine are confounded.").unwrap()];
    let gates = gates(&[TTFT]);
    let rules = BlockRules { limitations: &stated, ..rules(&gates, Pairing::ByTime) };
    let comparison = sound(&Sides::blocks(TTFT, &blocks(4, 0.0)), &rules);
    let last = comparison.limitations.last().unwrap();
    assert_eq!((last.kind, &last.text), (LimitationKind::Stated, &stated[0]));
}
