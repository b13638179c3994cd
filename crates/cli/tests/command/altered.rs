//! What commands say of directories and files that were altered, cut off or belong to something else.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};
use streamgauge_sim::SimConfig;

use crate::process::{Finished, finish, only_run, quick, run, server, streamgauge};

const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../schema/tests/records");

/// Calls that are refused. `F` is the folder, `URL` the server, and `OTHER` one of another model.
const CALLS: [&str; 40] = [
    "record F/other-plan",
    "run --resume F/other-plan",
    "run --resume F/unsent",
    "run --resume F/cut --base-url OTHER",
    "run --resume F/cut --base-url http://127.0.0.1:1",
    "run --resume F/cut --base-url URL --endpoint-path /v1/other",
    "run --resume F/cut --dataset F/edited.jsonl",
    "run --resume F/cut --dataset F/ungraded.jsonl",
    "run --resume F/other-engine",
    "run --resume F/tokenizer",
    "run --base-url URL --dataset F/graded.jsonl --no-length-probes --dry-run",
    "run --base-url URL --trace --dataset F/graded.jsonl --dry-run",
    "run --base-url URL --trace --dry-run",
    "run --base-url URL --dataset F/manifested.jsonl --dry-run",
    "run --base-url URL --api-key-env sk-key! --dry-run",
    "run --config F/latin1.toml --dry-run",
    "run --dry-run",
    "sim --fault x=status:503",
    "compare F/broken.json F/broken.json",
    "compare F/determinism.json F/determinism.json",
    "decide F/point.json --retain --by A --reason slow --runs F/point.json",
    "decide F/point.json --retain --by A --reason slow --runs F/run",
    "decide F/point.json --retain --by A --reason slow --ledger /",
    "decide F/point.json --retain --by A --reason slow --ledger F/latin1.toml",
    "determinism F/no-record",
    "determinism F/point-as-record",
    "determinism F/v1",
    "export --vllm F/no-record",
    "observe F/saved.http",
    "qualify F/odd.toml --swap-addresses",
    "qualify F/plan.toml --plan-only --from F/point.json",
    "qualify F/plan.toml --plan-only --from F/begun",
    "qualify F/ask.toml",
    "qualify --resume F/begun",
    "qualify --resume F/begun F/plan.toml",
    "report --html F/begun",
    "report --html F/broken.json",
    "report --html F/determinism.json",
    "report --csv requests F/point.json",
    "report --html F/no-record",
];

fn lines(expected: [Option<&str>; 2]) -> String {
    let line = |(n, expected): (usize, Option<&str>)| {
        let mut line = json!({"id": format!("p{n}"), "prompt": format!("What is {n} + {n}?")});
        if let Some(text) = expected {
            line["expect"] = json!({"exact_text": text});
        }
        format!("{line}\n")
    };
    (1..).zip(expected).map(line).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    let text = fs::read_to_string(path).unwrap();
    let changed = change(text.clone());
    assert_ne!(changed, text, "{}", path.display());
    fs::write(path, changed).unwrap();
}

/// Leaves of a journal its beginning.
fn cut(dir: &Path) {
    edit(&dir.join("observations.jsonl"), |text| {
        text.split_inclusive('\n').take(2).collect::<String>()
    });
    for made in ["record.json", "grades.json"] {
        fs::remove_file(dir.join(made)).unwrap();
    }
}

/// Makes the plan of a directory another one, and the journal that plan's.
fn replan(dir: &Path, change: impl FnOnce(&mut Value)) {
    let path = dir.join("plan.json");
    let old = fs::read(&path).unwrap();
    let mut plan: Value = serde_json::from_slice(&old).unwrap();
    change(&mut plan);
    let digest = |bytes: &[u8]| streamgauge_schema::Digest::of(bytes).to_string();
    let new = streamgauge_schema::digest_bytes(&plan).unwrap();
    fs::write(&path, &new).unwrap();
    let journal = dir.join("observations.jsonl");
    edit(&journal, |text| text.replace(&digest(&old), &digest(&new)));
}

fn write_files(folder: &Path) {
    let graded = lines([Some("2"), Some("4")]);
    for (name, text) in [
        ("graded.jsonl", graded.clone()),
        ("manifested.jsonl", graded.clone()),
        ("manifested.manifest.json", "{}".to_owned()),
        ("edited.jsonl", graded.replace("What", "How much")),
        ("ungraded.jsonl", lines([None, None])),
        ("saved.http", "HTTP/2 200\r\n\r\n".to_owned()),
    ] {
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join("latin1.toml"), b"name = \"caf\xe9\"\n").unwrap();
    for (name, of) in [
        ("point.json", "runtime-profile-comparison-v1.json"),
        ("broken.json", "runtime-profile-comparison-v1.json"),
    ] {
        fs::copy(Path::new(RECORDS).join(of), folder.join(name)).unwrap();
    }
    edit(&folder.join("broken.json"), |text| text.replacen("true", "false", 1));
    fs::create_dir(folder.join("v1")).unwrap();
    let record = Path::new(RECORDS).join("serving-performance-v1.json");
    fs::copy(record, folder.join("v1/record.json")).unwrap();
}

fn write_plans(folder: &Path, url: &str) {
    let plan = format!(
        "version = 1\nname = \"two\"\nblocks = 4\n[run]\nrequests = 2\n[[cell]]\nconcurrency = 1\n\
         [baseline]\nbase-url = \"{url}\"\n[candidate]\nbase-url = \"{url}\"\n"
    );
    fs::write(folder.join("plan.toml"), &plan).unwrap();
    let asking = plan.replace("[candidate]\n", "[candidate]\nactivate = \"ask\"\n");
    fs::write(folder.join("ask.toml"), asking).unwrap();
    let (baseline, _) = plan.rsplit_once(url).unwrap();
    let ready = "ready = { path = \"/v1/models\", timeout_s = 1 }\n";
    let gone = format!("{baseline}http://127.0.0.1:1\"\n{ready}");
    fs::write(folder.join("odd.toml"), plan.replace("blocks = 4", "blocks = 3")).unwrap();
    fs::write(folder.join("gone.toml"), gone).unwrap();
    let finished = run([
        "qualify",
        folder.join("gone.toml").to_str().unwrap(),
        "--out",
        folder.join("begun").to_str().unwrap(),
    ]);
    assert_eq!(finished.code, Some(4), "{}", finished.stderr);
}

/// Writes what the calls are about.
fn prepare(folder: &Path, url: &str) {
    write_files(folder);
    write_plans(folder, url);
    let at = |name: &str| folder.join(name);
    let dataset = at("graded.jsonl");
    let finished = run([
        "run",
        "--base-url",
        url,
        "--requests",
        "2",
        "--output-tokens",
        "4",
        "--keep-answers",
        "--dataset",
        dataset.to_str().unwrap(),
        "--out",
        at("runs").to_str().unwrap(),
    ]);
    assert!(finished.stderr.is_empty(), "{}", finished.stderr);
    copy(&only_run(&at("runs")), &at("run"));
    for copied in
        ["other-plan", "unsent", "cut", "other-engine", "tokenizer", "no-record", "point-as-record"]
    {
        copy(&at("run"), &at(copied));
    }
    edit(&at("other-plan/plan.json"), |text| {
        text.replace("\"max_tokens\": 4", "\"max_tokens\": 5")
    });
    fs::remove_file(at("unsent/observations.jsonl")).unwrap();
    for name in ["cut", "other-engine", "tokenizer"] {
        cut(&at(name));
    }
    edit(&at("other-engine/observations.jsonl"), |text| {
        text.replace("by the server\",\"value\":\"1\"", "by the server\",\"value\":\"2\"")
    });
    replan(&at("tokenizer"), |plan| {
        plan["workload"]["length_basis"] = json!({"tokenizer": {"sha256": "0".repeat(64)}});
    });
    fs::remove_file(at("no-record/record.json")).unwrap();
    fs::copy(at("point.json"), at("point-as-record/record.json")).unwrap();
    let twice = at("twice");
    let finished = run([
        "run",
        "--base-url",
        url,
        "--determinism",
        "2",
        "--requests",
        "2",
        "--output-tokens",
        "4",
        "--out",
        twice.to_str().unwrap(),
    ]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    fs::copy(only_run(&twice).join("determinism.json"), at("determinism.json")).unwrap();
}

/// What of a directory's documents is another thing each time.
fn digests(dir: &Path) -> [String; 2] {
    let record: Value =
        serde_json::from_slice(&fs::read(dir.join("record.json")).unwrap()).unwrap();
    let id = record["run_id"].as_str().unwrap().rsplit_once('-').unwrap().1.to_owned();
    let plan = streamgauge_schema::Digest::of(&fs::read(dir.join("plan.json")).unwrap());
    [id, plan.prefix(12).to_owned()]
}

fn call(words: &str, folder: &Path, url: &str, other: &str) -> Finished {
    let words = words.split_whitespace().map(|word| match word {
        "URL" => url.to_owned(),
        "OTHER" => other.to_owned(),
        "F/begun" => only_run(&folder.join("begun")).to_str().unwrap().to_owned(),
        word => word.replace("F/", &format!("{}/", folder.display())),
    });
    finish(streamgauge().args(words).stdin(Stdio::null()))
}

#[test]
fn what_was_altered_is_named_with_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, url) = server(quick());
    let (_other, other) = server(SimConfig { model: "other".to_owned(), ..quick() });
    prepare(folder.path(), &url);
    let begun = only_run(&folder.path().join("begun"));
    let begun = begun.file_name().unwrap().to_str().unwrap().to_owned();
    let known = digests(&folder.path().join("run"));
    let mut said = String::new();
    for words in CALLS {
        let finished = call(words, folder.path(), &url, &other);
        let code = finished.code.unwrap();
        assert!((1..=4).contains(&code), "{words}: {}{}", finished.stdout, finished.stderr);
        let told = finished.stderr.replace(folder.path().to_str().unwrap(), "F");
        let told = told.replace(&url, "URL").replace(&other, "OTHER").replace(&begun, "*");
        let told = known.iter().fold(told, |told, known| told.replace(known, "…"));
        said += &format!("$ streamgauge {words}\n{told}exit {code}\n\n");
    }
    insta::assert_snapshot!("altered", said);
}
