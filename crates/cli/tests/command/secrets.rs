//! Keys that a user writes into an address: they are sent, and stand nowhere.

use std::fs;
use std::path::Path;

use streamgauge_sim::{RawServer, RawStep};
use tokio::runtime::Runtime;

use crate::process::{only_run, run};

/// Every file of a folder, as text.
fn written(folder: &Path) -> String {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: std::path::PathBuf| match path.is_dir() {
        true => written(&path),
        false => String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned(),
    };
    entries.map(text).collect()
}

#[test]
fn a_key_in_a_query_is_sent_and_kept_nowhere() {
    // The server gives back what it was sent.
    let body = r#"{"error": {"message": "no such key: s3cret", "code": "s3cret"}}"#;
    let head = format!(
        "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    let runtime = Runtime::new().unwrap();
    let script = vec![RawStep::Write((head + body).into_bytes())];
    let server = runtime.block_on(RawServer::start(script)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}", server.addr());
    let out = folder.path().to_str().unwrap();
    let path = "/v1/chat/completions?api-version=2024&api-key=s3cret";
    let args = ["run", "--base-url", &url, "--out", out, "--endpoint-path", path];
    // Nothing begins where each prompt that was to be counted is refused.
    let refused = run(args.iter().chain(&["--model", "m", "--requests", "1"]));
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(4), ""));
    assert!(refused.stderr.contains("--api-key-env"), "{}", refused.stderr);
    let more = ["--model", "m", "--requests", "1", "--no-length-probes"];
    let finished = run(args.iter().chain(&more));
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);

    let requests = server.requests();
    let lines: Vec<String> = requests
        .iter()
        .map(|bytes| String::from_utf8_lossy(bytes).lines().next().unwrap().to_owned())
        .collect();
    assert_eq!(lines[0], "GET /v1/models?api-version=2024&api-key=s3cret HTTP/1.1");
    assert_eq!(lines.last().unwrap(), &format!("POST {path} HTTP/1.1"));

    let plan = fs::read_to_string(only_run(folder.path()).join("plan.json")).unwrap();
    assert!(plan.contains("/v1/chat/completions?api-version=redacted&api-key=redacted"), "{plan}");
    for text in [refused.stderr, finished.stdout, finished.stderr, written(folder.path())] {
        assert!(!text.contains("s3cret"), "{text}");
    }
}

#[test]
fn a_key_in_an_address_that_is_refused_is_not_shown() {
    for (flag, value) in [
        ("--base-url", "http://me:s3cret@127.0.0.1:1"),
        ("--base-url", "http://me:?s3cret@127.0.0.1:1"),
        ("--base-url", "http://127.0.0.1:1/v1?key=s3cret"),
        ("--endpoint-path", "v1/chat?key=s3cret"),
        ("--endpoint-path", "/v1/chat?key=s3cret\u{1}"),
        ("--endpoint-path", "/v1/chat#s3cret"),
        ("--extra-body", r#"{"api_key": "s3cret"}"#),
    ] {
        let more = if flag == "--base-url" { vec![] } else { vec!["--simulate"] };
        let finished = run([&["run", "--dry-run", flag, value][..], &more].concat());
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert!(!finished.stderr.contains("s3cret"), "{}", finished.stderr);
    }
}
