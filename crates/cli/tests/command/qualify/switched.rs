//! What can go wrong when arms are switched.

use super::bench::{Bench, quick_plan};

/// A plan of two arms with these lines for the candidate.
fn with_candidate(bench: &Bench, candidate: &str) -> String {
    let plan = quick_plan(bench, "1", "1");
    let (before, _) = plan.split_once("[candidate]").unwrap();
    format!("blocks = 3\n{before}[candidate]\nbase-url = \"{}\"\n{candidate}\n", bench.url)
}

#[test]
fn an_arm_that_does_not_come_up_ends_it() {
    let cases = [
        ("activate = [\"./fails\"]", "/fails ended: exit status: 7", 4),
        ("activate = [\"./hangs\"]\nactivate_timeout_s = 0.2", "did not end within 200ms", 4),
        ("activate = [\"./nowhere\"]", "cannot be started", 4),
        ("activate = [\"./dead\"]\nready = { timeout_s = 0.3 }", "was not ready within 300ms", 4),
        (
            "activate = [\"./switch\"]\nready = { path = \"/nothing\", timeout_s = 0.3 }",
            "status 404",
            4,
        ),
        (
            "activate = [\"./switch\", \"--fault\", \"1=status:503\"]",
            "no request succeeded: 24 http_status",
            4,
        ),
    ];
    for (candidate, expected, code) in cases {
        let bench = Bench::new();
        bench.script("fails", "#!/bin/sh\necho secret; exit 7\n");
        bench.script("hangs", "#!/bin/sh\nsleep 100 & echo $! >sleeper; wait\n");
        bench.script("dead", "#!/bin/sh\nkill -9 $(cat pid)\n");
        bench.plan(&with_candidate(&bench, candidate));
        let finished = bench.qualify(&[]);
        assert_eq!(finished.code, Some(code), "{candidate}: {}", finished.stderr);
        assert!(finished.stderr.contains(expected), "{candidate}: {}", finished.stderr);
        assert!(finished.stderr.contains("to go on: streamgauge qualify --resume"), "{candidate}");
        if expected.contains("was not ready") {
            assert!(finished.stderr.contains("/activation.log"), "{}", finished.stderr);
        }
        assert!(!finished.stderr.contains("secret"), "{candidate}: what programs print is private");
        let dir = bench.only_dir();
        assert_eq!(bench.steps(&dir, "ended")[0]["reason"], "stopped", "{candidate}");
        if let Ok(sleeper) = std::fs::read_to_string(bench.path("sleeper")) {
            // A signal takes its time on a busy machine.
            let waited = std::time::Instant::now();
            while is_alive(sleeper.trim()) {
                let killed = waited.elapsed() < std::time::Duration::from_secs(30);
                assert!(killed, "what a program started is killed with it");
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
    }
}

#[test]
fn an_arm_that_becomes_another_ends_it() {
    let bench = Bench::new();
    bench.script(
        "fickle",
        "#!/bin/sh\necho x >>turns\nexec ./switch --model \"m$(wc -l <turns | tr -d ' ')\"\n",
    );
    // Block 1 activates the candidate, block 3 again.
    bench.plan(&with_candidate(&bench, "activate = [\"./fickle\"]\nexpect-model = \"m1\""));
    let finished = bench.qualify(&[]);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    assert!(finished.stderr.contains("its model was \"m1\" and is \"m2\""), "{}", finished.stderr);
}

#[test]
fn nobody_is_asked_without_a_terminal() {
    let bench = Bench::new();
    let plan = with_candidate(&bench, "activate = \"ask\"");
    bench.plan(&plan);
    let finished = bench.qualify(&[]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("standard input is no terminal"), "{}", finished.stderr);
    assert!(!bench.path("qualifications").exists());
    assert_eq!(bench.switches(), 0, "nothing was contacted");
}

/// Whether a process still does anything; one that nobody has waited for yet does not.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().unwrap_or_default();
    !state.is_empty() && !state.starts_with('Z')
}
