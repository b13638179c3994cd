//! `report`: where pages go, and what they are never written over.

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
