//! `report`: which page the paths ask for, where pages go, and what they are never written over.

use std::fs;

use crate::process::{measure, only_run, quick, run, server};

#[test]
fn a_page_is_written_anew_each_time_and_over_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(quick());
    let out = folder.path().join("runs");
    assert_eq!(measure(&url, &out, &["--no-length-probes"]).code, Some(0));
    let dir = only_run(&out);
    let dir_text = dir.to_str().unwrap();
    for _ in 0..2 {
        let finished = run(["report", "--html", dir_text]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        assert_eq!(finished.stdout.trim(), dir.join("report.html").to_str().unwrap());
    }
    let page = fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(page.contains("<h1>sim-model, cell c4</h1>"), "{page}");

    let record = dir.join("record.json");
    let beside = folder.path().join("other.json");
    fs::copy(&record, &beside).unwrap();
    assert_eq!(run(["report", "--html", beside.to_str().unwrap()]).code, Some(0));
    assert!(folder.path().join("other.html").exists());
    let printed = run(["report", "--html", "-o", "-", dir_text]);
    assert_eq!(printed.stdout, page);

    let before = fs::read(&record).unwrap();
    let refused = run(["report", "--html", "-o", record.to_str().unwrap(), dir_text]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("the file is there and is no report"), "{}", refused.stderr);
    assert_eq!(fs::read(&record).unwrap(), before);
    let without = run(["report", dir_text]);
    assert_eq!(without.code, Some(2));
    assert!(without.stderr.contains("--html"), "{}", without.stderr);
}

#[test]
fn the_paths_say_which_page_is_meant() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (_server, url) = server(quick());
    for side in ["old", "new"] {
        let out = folder.path().join(side);
        assert_eq!(measure(&url, &out, &["--no-length-probes"]).code, Some(0));
    }
    let (old, new, comparison) = (at("old"), at("new"), at("comparison.json"));
    let compared = ["compare", &old, &new, "--rule", "interval", "--out", &comparison];
    assert_eq!(run(compared).code, Some(3));

    // Its runs lie in folders that have to be named.
    for (more, expected) in [
        (&[][..], "so that no curves are shown"),
        (&[old.as_str(), new.as_str()], "from 2 of 2 runs"),
    ] {
        let finished = run(["report", "--html", &comparison].iter().chain(more));
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        assert_eq!(finished.stdout.trim(), at("comparison.html"));
        let page = fs::read_to_string(at("comparison.html")).unwrap();
        assert!(page.contains("Comparison report") && page.contains(expected), "{page}");
    }

    let several = run(["report", "--html", &old, &new]);
    assert_eq!(several.code, Some(2));
    assert!(several.stderr.contains("name its file with -o"), "{}", several.stderr);
    let several = run(["report", "--html", "-o", &at("sweep.html"), &old, &new]);
    assert_eq!(several.code, Some(0), "{}", several.stderr);
    assert!(fs::read_to_string(at("sweep.html")).unwrap().contains("sim-model, 2 runs"));

    // What does not verify has no page.
    let broken = fs::read_to_string(&comparison).unwrap().replacen("0.95", "0.96", 1);
    fs::write(at("broken.json"), broken).unwrap();
    let refused = run(["report", "--html", &at("broken.json")]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("does not verify"), "{}", refused.stderr);
    let nothing = run(["report", "--html", folder.path().join("none").to_str().unwrap()]);
    assert_eq!(nothing.code, Some(2));
}
