//! Whatever writes a file says last where it stands: on standard output, and beside a document of JSON
//! on standard error.

use std::path::Path;

use serde_json::json;

use crate::process::{only_run, quick, run, server};

const VLLM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/tests/samples/vllm.json");
const MEASURED: &str = "run --base-url URL --output-tokens 4 --requests 4 --out";

/// Calls, the exit codes that they may have, and the file that each names last: `*` is any name.
const CALLS: [(&str, &[i32], &str); 22] = [
    ("MEASURED F/old", &[0], "old/*/record.json"),
    ("MEASURED F/new --format json", &[0], "new/*/record.json"),
    ("MEASURED F/block --format vllm", &[0], "block/*/record.json"),
    ("MEASURED F/pull --format markdown", &[0], "pull/*/record.json"),
    ("MEASURED F/cells --concurrency 1,2", &[0], "cells/*/record.json"),
    (
        "MEASURED F/found --search concurrency --search-to 2 --goodput e2e:60000",
        &[0],
        "found/*search*",
    ),
    (
        "MEASURED F/kept --dataset F/prompts.jsonl --no-grade --keep-answers",
        &[0],
        "kept/*/record.json",
    ),
    (
        "MEASURED F/twice --dataset F/prompts.jsonl --determinism 2",
        &[0],
        "twice/*/determinism.json",
    ),
    (
        "turnover --base-url URL --count 4 --concurrency 2 --out F/turned",
        &[0],
        "turned/*/record.json",
    ),
    (
        "turnover --base-url URL --count 4 --concurrency 2 --out F/turned --format json",
        &[0],
        "turned/*/record.json",
    ),
    ("determinism F/twice/* --out F/report.json", &[0], "report.json"),
    ("grade F/kept/* --dataset F/prompts.jsonl", &[0], "kept/*-graded-*/record.json"),
    ("compare F/old/* F/new/* --out F/comparison.json", &[0, 1, 3], "comparison.json"),
    ("compare F/old/* F/new/* --out F/second.json --format json", &[0, 1, 3], "second.json"),
    (
        "decide F/comparison.json --retain --by A --reason slow --runs F/old F/new --out F/decided.json",
        &[0],
        "decided.json",
    ),
    ("report --html F/old/*", &[0], "old/*/report.html"),
    ("report --csv requests F/old/* -o F/rows.csv", &[0], "rows.csv"),
    ("export --vllm F/old/* -o F/flat.json", &[0], "flat.json"),
    ("import vllm VLLM --out F/imported", &[0], "imported/*/record.json"),
    ("import vllm VLLM --out F/again --format json", &[0], "again/*/record.json"),
    ("init -o F/init.toml", &[0], "init.toml"),
    (
        "qualify F/plan.toml --out F/qualified --no-progress",
        &[0, 1, 3],
        "qualified/*/comparison.json",
    ),
];

/// A call with what its words stand for.
fn words(call: &str, folder: &Path, url: &str) -> Vec<String> {
    let call = call.replace("MEASURED", MEASURED);
    let word = |word: &str| match (word, word.strip_prefix("F/")) {
        ("URL", _) => url.to_owned(),
        ("VLLM", _) => VLLM.to_owned(),
        (_, Some(inner)) => match inner.strip_suffix("/*") {
            Some(name) => only_run(&folder.join(name)).to_str().unwrap().to_owned(),
            None => folder.join(inner).to_str().unwrap().to_owned(),
        },
        (plain, None) => plain.to_owned(),
    };
    call.split_whitespace().map(word).collect()
}

/// Whether a path is of such a form, part by part.
fn is_like(path: &Path, form: &str) -> bool {
    let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
    let forms: Vec<&str> = form.split('/').collect();
    let part_is = |(part, form): (&&str, &&str)| {
        let mut rest = Some(*part);
        let pieces: Vec<&str> = form.split('*').collect();
        for piece in &pieces {
            rest = rest.and_then(|rest| rest.split_once(piece)).map(|(_, rest)| rest);
        }
        rest.is_some() && part.starts_with(pieces[0])
    };
    parts.len() == forms.len() && parts.iter().zip(&forms).all(part_is)
}

#[test]
fn the_path_of_what_was_written_is_said_last() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let prompts = (1..=4).map(|n| {
        let prompt = format!("Begin with the marker M{n}. Repeat the word go 3 times.");
        let expect = json!({"canary": {"marker": format!("M{n}")}});
        format!("{}\n", json!({"id": format!("p{n}"), "prompt": prompt, "expect": expect}))
    });
    std::fs::write(folder.join("prompts.jsonl"), prompts.collect::<String>()).unwrap();
    let arm = |name: &str| format!("[{name}]\nbase-url = \"{url}\"\n");
    let plan = format!(
        "version = 1\nname = \"same\"\nblocks = 3\n[run]\nrequests = 4\noutput-tokens = 4\n{}{}",
        arm("baseline"),
        arm("candidate")
    );
    std::fs::write(folder.join("plan.toml"), plan).unwrap();
    for (call, codes, form) in CALLS {
        let finished = run(words(call, folder, &url));
        let told = format!("{call}: {}{}", finished.stdout, finished.stderr);
        assert!(finished.code.is_some_and(|code| codes.contains(&code)), "{told}");
        let is_json = call.ends_with("json") && call.contains("--format");
        let said = if is_json { &finished.stderr } else { &finished.stdout };
        let last = Path::new(said.trim_end().lines().last().unwrap_or_default());
        let inner = last.strip_prefix(folder).unwrap_or(last);
        assert!(last.is_file() && is_like(inner, form), "{told}");
    }
    // A record that is built anew is named where it is written.
    let dir = only_run(&folder.join("old"));
    let record = dir.join("record.json");
    std::fs::remove_file(&record).unwrap();
    let finished = run(["record", dir.to_str().unwrap()]);
    assert_eq!(finished.stdout.trim_end(), record.to_str().unwrap());
}
