//! What commands say of files that they cannot do anything with: which file it is, and what is wrong.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::process::{only_run, quick, run, server};

const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/tests/records");
const VLLM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../exchange/tests/samples/vllm.json");

/// Runs that are there before: the folder, and what is asked for beside the number of requests.
const MEASURED: [(&str, &str); 3] = [
    ("F/plain", "--capture"),
    ("F/synthetic", "--keep-answers"),
    ("F/kept", "--keep-answers --no-grade --dataset F/prompts.jsonl"),
];

/// Calls that are refused. `F` is the folder, and `*` the only run in a folder of it.
const CALLS: [&str; 38] = [
    "compare F/record.json F/record.json --out F/point.json",
    "compare F/record.json F/record.json --gates F/gates.toml",
    "compare F/point.json F/point.json",
    "compare F/decision.json F/decision.json",
    "compare F/empty F/empty",
    "compare F/record.json F/plain/*",
    "decide F/record.json --retain --by A --reason slow",
    "decide F/point.json --retain --by A --reason slow --override risky",
    "decide F/point.json --retain --by A --reason slow --out F/record.json",
    "decide F/point.json --retain --by A --reason slow --ledger F/empty",
    "determinism F/plain/*",
    "determinism F/plain/* --out F/point.json",
    "determinism F/empty",
    "export --vllm F/record.json",
    "export --vllm F/empty",
    "grade F/plain/* --dataset F/prompts.jsonl",
    "grade F/synthetic/* --dataset F/prompts.jsonl",
    "grade F/kept/* --dataset F/ungraded.jsonl",
    "grade F/kept/* --dataset F/strange.jsonl",
    "grade F/kept/* --dataset F/half.jsonl",
    "import vllm VLLM --out F/imported",
    "import aiperf VLLM --out F/imported",
    "init -o F/gates.toml",
    "observe F/plain/*/capture/measured-0.capture --cuts each-byte",
    "qualify --resume F/plain/*",
    "qualify F/gates.toml",
    "record F/empty",
    "report --html F/plain/* F/kept/*",
    "report --html F/decision.json",
    "report --html F/gates.toml",
    "report --html F/record.json -o F/point.json",
    "report --csv requests F/record.json",
    "run --simulate --deployment F/list.json --dry-run",
    "run --simulate --dataset F/prompts.jsonl --requests 9 --dry-run",
    "run --simulate --dataset F/half.jsonl --dry-run",
    "run --simulate --search concurrency --search-from 0.5 --goodput e2e:5 --requests 2 --out F/found",
    "verify F/record.json --head 0000000000000000000000000000000000000000000000000000000000000000",
    "verify F/empty",
];

/// A word of a call, and what stands for it.
fn word(word: &str, folder: &Path) -> String {
    let Some(inner) = word.strip_prefix("F/") else {
        return if word == "VLLM" { VLLM.to_owned() } else { word.to_owned() };
    };
    let mut path = folder.to_owned();
    for part in inner.split('/') {
        path = if part == "*" { only_run(&path) } else { path.join(part) };
    }
    path.to_str().unwrap().to_owned()
}

fn words(call: &str, folder: &Path) -> Vec<String> {
    call.split_whitespace().map(|it| word(it, folder)).collect()
}

/// Writes what the calls are about; gives the runs.
fn prepare(folder: &Path) -> Vec<PathBuf> {
    let record = |n: u32, prompt: &str, graded: bool| {
        let mut line = json!({"id": format!("p{n}"), "prompt": prompt});
        if graded {
            line["expect"] = json!({"exact_text": "four"});
        }
        format!("{line}\n")
    };
    let (two, other) = (["What is 2 + 2?", "What is 1 + 3?"], "What is 3 + 1?");
    let lines = |graded: [bool; 2]| -> String {
        (0..).zip(two.iter().zip(graded)).map(|(n, (it, graded))| record(n, it, graded)).collect()
    };
    for (name, text) in [
        ("prompts.jsonl", lines([true, true])),
        ("ungraded.jsonl", lines([false, false])),
        ("half.jsonl", lines([true, false])),
        ("strange.jsonl", record(0, other, true)),
        ("gates.toml", "gate = 5\n".to_owned()),
        ("list.json", "[1]".to_owned()),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    for (name, of) in [
        ("record.json", "serving-performance-v1.json"),
        ("point.json", "runtime-profile-comparison-v1.json"),
        ("decision.json", "decision-v1.json"),
    ] {
        fs::copy(Path::new(RECORDS).join(of), folder.join(name)).unwrap();
    }
    fs::create_dir(folder.join("empty")).unwrap();
    let (_server, url) = server(quick());
    let runs = MEASURED.map(|(out, more)| {
        let fixed =
            format!("run --base-url {url} --requests 2 --output-tokens 4 --out {out} {more}");
        let finished = run(words(&fixed, folder));
        assert_eq!(finished.code, Some(0), "{out}: {}", finished.stderr);
        only_run(Path::new(&word(out, folder)))
    });
    let imported = run(words("import vllm VLLM --out F/imported", folder));
    assert_eq!(imported.code, Some(0), "{}", imported.stderr);
    let imported = only_run(&folder.join("imported"));
    runs.into_iter().chain([imported]).collect()
}

#[test]
fn files_that_nothing_can_be_done_with_are_named_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let runs = prepare(folder.path());
    let mut said = String::new();
    for call in CALLS {
        let finished = run(words(call, folder.path()));
        let code = finished.code.unwrap();
        assert!(code == 1 || code == 2, "{call}: {}{}", finished.stdout, finished.stderr);
        let told = runs.iter().fold(finished.stderr, |told, run| {
            let known = run.parent().unwrap().join("*");
            told.replace(run.to_str().unwrap(), known.to_str().unwrap())
        });
        let told = told.replace(folder.path().to_str().unwrap(), "F").replace(VLLM, "VLLM");
        said += &format!("$ streamgauge {call}\n{told}exit {code}\n\n");
    }
    insta::assert_snapshot!("refused", said);
}
