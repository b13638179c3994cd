//! What may not be published: whoever would write it writes nothing, and says why.

use std::fs;

use crate::process::{measure, only_run, quick, run, server};

/// A text of each kind that no published text may be, and how it is refused.
const KINDS: [(&str, &str); 6] = [
    ("seen at 10.1.2.3:8000", "holds no network addresses"),
    ("key sk-abcdefghijklmnop1234", "holds no credentials"),
    ("a\\u0007b", "has no control characters"),
    ("", "has 1 to 240 characters"),
    ("from /srv/models/a", "holds no file paths"),
    ("see https://example.org/x", "holds no URLs"),
];

/// That it was refused for this reason, and that no key was shown.
fn assert_refused(finished: &crate::process::Finished, reason: &str) {
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{}", finished.stderr);
    assert!(finished.stderr.contains(reason), "{reason}: {}", finished.stderr);
    assert!(!finished.stderr.contains("sk-abc"), "{}", finished.stderr);
}

#[test]
fn a_deployment_that_says_too_much_is_refused_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("runs");
    for (text, reason) in KINDS {
        for (name, file) in [
            ("a.toml", format!("runtime = \"{text}\"\n")),
            ("a.json", format!("{{\"runtime\": \"{text}\"}}")),
        ] {
            let deployment = folder.path().join(name);
            fs::write(&deployment, file).unwrap();
            let args = ["run", "--simulate", "--requests", "1", "--out", out.to_str().unwrap()];
            let more = ["--deployment", deployment.to_str().unwrap()];
            assert_refused(&run(args.iter().chain(&more)), reason);
        }
    }
    assert!(!out.exists());
}

#[test]
fn no_record_is_made_of_a_plan_that_says_too_much() {
    let (_sim, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(measure(&url, folder.path(), &[]).code, Some(0));
    let dir = only_run(folder.path());
    let [plan, record] = ["plan.json", "record.json"].map(|name| dir.join(name));
    let sound = fs::read_to_string(&plan).unwrap();
    fs::remove_file(&record).unwrap();
    let conditions = "\"conditions\": []";
    assert!(sound.contains(conditions));
    for (text, reason) in KINDS {
        let said =
            format!("\"conditions\": [{{\"label\": \"Runtime build\", \"value\": \"{text}\"}}]");
        fs::write(&plan, sound.replace(conditions, &said)).unwrap();
        assert_refused(&run(["record", dir.to_str().unwrap()]), reason);
        assert!(!record.exists(), "{text}");
    }
}

#[test]
fn no_decision_is_written_for_a_reason_that_says_too_much() {
    let (_sim, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let [old, new] = ["old", "new"].map(|name| {
        let out = folder.path().join(name);
        assert_eq!(measure(&url, &out, &["--no-length-probes"]).code, Some(0));
        only_run(&out).to_str().unwrap().to_owned()
    });
    let comparison = folder.path().join("comparison.json");
    let comparison = comparison.to_str().unwrap();
    run(["compare", &old, &new, "--allow-differing", "dataset", "--out", comparison]);
    let before = fs::read_dir(folder.path()).unwrap().count();
    for (text, reason) in KINDS {
        let text = text.replace("\\u0007", "\u{7}");
        let refused =
            run(["decide", comparison, "--retain", "--by", "tester", "--reason", text.as_str()]);
        assert_refused(&refused, reason);
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), before);
}
