//! Every command with secrets in all places where it can be given some: none may be seen anywhere after.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::json;

use crate::process::{run, streamgauge};

/// What each secret has in it, and nothing else here: no encoding of URLs changes it.
const MARK: &str = "quokka";
/// The Base64 of the mark, wherever in the bytes it begins; at the edges neighbours have a say.
const MARK_IN_BASE64: [&str; 3] = ["cXVva2th", "F1b2trY", "xdW9ra2"];

const KEY: &str = "quokka-Key+1/2=";
const HEADER: &str = "quokka Header~3/4";
const QUERY: &str = "quokka%2FQuery%205";
const PROXY_USER: &str = "quokkaUser:quokka%2FPass";
/// The values as they are meant; those of the proxy's user last, which only a proxy is told.
const MEANT: [&str; 5] = [KEY, HEADER, "quokka/Query 5", "quokkaUser", "quokka/Pass"];

/// How the names of published files begin, and those of private ones end.
const PUBLISHED: [&str; 5] = ["comparison", "decision", "record.json", "report", "turnover"];
const PRIVATE: [&str; 7] = [
    ".capture",
    "answers.jsonl",
    "grades.json",
    "log.jsonl",
    "observations.jsonl",
    "plan.json",
    "server-metrics.jsonl",
];

/// A server that gives back all that it is sent, in every form, as an answer or in refusing.
struct Echo {
    addr: SocketAddr,
    heads: Arc<Mutex<String>>,
}

impl Echo {
    fn start(refuses: bool) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let addr = listener.local_addr().unwrap();
        let heads = Arc::<Mutex<String>>::default();
        let noted = Arc::clone(&heads);
        thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                let noted = Arc::clone(&noted);
                thread::spawn(move || serve(socket, refuses, &noted));
            }
        });
        Self { addr, heads }
    }
}

fn serve(mut socket: TcpStream, refuses: bool, noted: &Mutex<String>) -> std::io::Result<()> {
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            socket.read_exact(&mut byte)?;
            head.push(byte[0]);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        noted.lock().unwrap().push_str(&head);
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
        });
        socket.read_exact(&mut vec![0; length.unwrap_or(0)])?;
        socket.write_all(answer(&head, refuses).as_bytes())?;
    }
}

/// All secrets, in every form.
fn echo(head: &str) -> String {
    let mut text = head.to_owned();
    let told = if head.contains("proxy-authorization") { &MEANT[..] } else { &MEANT[..3] };
    for secret in told {
        let encoded: String = secret
            .bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
                other => format!("%{other:02X}"),
            })
            .collect();
        let padded = format!("x{secret}, xx{secret}");
        for form in [encoded, STANDARD.encode(secret), URL_SAFE_NO_PAD.encode(&padded)] {
            text.push_str(&format!(" {secret} {form}"));
        }
    }
    text
}

fn answer(head: &str, refuses: bool) -> String {
    let whole = |status: &str, kind: &str, body: String| {
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ndate: {KEY}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let said = echo(head);
    let is_post = head.starts_with("POST ");
    if head.contains("/v1/models") && head.starts_with("GET ") {
        let models = json!({ "data": [{ "id": "m", "owned_by": said }] });
        return whole("200 OK", "application/json", models.to_string());
    }
    if head.contains("/version") {
        let version = json!({ "version": format!("1 {KEY}") });
        return whole("200 OK", "application/json", version.to_string());
    }
    if !is_post || refuses {
        let error = json!({ "error": { "message": said, "code": KEY, "type": HEADER } });
        return whole("401 Unauthorized", "application/json", error.to_string());
    }
    let event = |delta: serde_json::Value, reason: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        format!("data: {}\n\n", json!({ "model": "m", "choices": [choice] }))
    };
    let usage = json!({ "prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12 });
    let body = [
        event(json!({ "reasoning": said }), None),
        event(json!({ "content": said }), None),
        event(json!({ "content": "." }), Some("stop")),
        format!("data: {}\n\n", json!({ "model": "m", "choices": [], "usage": usage })),
        "data: [DONE]\n\n".to_owned(),
    ];
    whole("200 OK", "text/event-stream", body.concat())
}

/// Where commands write, and what they are given.
struct Bench {
    given: tempfile::TempDir,
    left: tempfile::TempDir,
    ran: BTreeSet<String>,
    children: String,
}

impl Bench {
    fn left(&self, name: &str) -> String {
        self.left.path().join(name).display().to_string()
    }

    fn given(&self, name: &str, text: &str) -> String {
        let path = self.given.path().join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Runs a command to its end; what it printed is left in a file. Its code.
    fn run<S: AsRef<str>>(&mut self, args: &[S]) -> Option<i32> {
        let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
        let printed = self.left.path().join(format!("{}-{}.txt", self.ran.len(), args[0]));
        let file = File::options().create(true).append(true).open(&printed).unwrap();
        let mut process = streamgauge()
            .args(&args)
            .current_dir(self.left.path())
            .env("OPENAI_API_KEY", KEY)
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        self.ran.insert(args[0].to_owned());
        loop {
            note_children(process.id(), &mut self.children);
            if let Some(status) = process.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Arguments and environment of the processes that one has started.
fn note_children(process: u32, seen: &mut String) {
    let Ok(tasks) = fs::read_dir(format!("/proc/{process}/task")) else { return };
    for task in tasks.flatten() {
        let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|id| id.parse().ok()) {
            // Between fork and exec a child still is its parent.
            let program = fs::read_link(format!("/proc/{child}/exe")).unwrap_or_default();
            let parent = fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
            let arguments = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            let own = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
            if program == parent && arguments == own {
                continue;
            }
            let environment = fs::read(format!("/proc/{child}/environ")).unwrap_or_default();
            for bytes in [arguments, environment] {
                seen.push_str(&String::from_utf8_lossy(&bytes));
                seen.push('\n');
            }
            note_children(child, seen);
        }
    }
}

/// The commands that there are.
fn commands() -> BTreeSet<String> {
    let help = run(["--help"]).stdout;
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").map(str::to_owned).collect()
}

/// The run directories in a folder, in the order of their names.
fn runs(folder: &str) -> Vec<String> {
    let mut found: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().display().to_string())
        .collect();
    found.sort();
    found
}

/// Every file below a folder, with its content.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => {
                let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
                found.push((path, text));
            }
        }
    }
    found
}

fn assert_clean(what: &str, text: &str) {
    for mark in std::iter::once(MARK).chain(MARK_IN_BASE64) {
        if let Some(at) = text.find(mark) {
            let from = text[..at].char_indices().rev().nth(60).map_or(0, |(at, _)| at);
            let shown: String = text[from..].chars().take(160).collect();
            panic!("{what} holds {mark}: … {shown} …");
        }
    }
}

#[test]
fn no_command_lets_a_secret_out() {
    let (answering, refusing) = (Echo::start(false), Echo::start(true));
    let folder = || tempfile::tempdir().unwrap();
    let (ran, children) = (BTreeSet::new(), String::new());
    let mut bench = Bench { given: folder(), left: folder(), ran, children };

    // To be measured through a proxy, which is the server itself: it is told all there is.
    let proxy = format!("http://{PROXY_USER}@{}", answering.addr);
    let config = format!(
        "base-url = \"http://model.invalid\"\nmodel = \"m\"\nproxy = \"{proxy}\"\n\
         header = [\"X-Secret: {HEADER}\", \"Cookie: a={HEADER}\"]\n\
         endpoint-path = \"/v1/chat/completions?api-key={QUERY}\"\n\
         no-progress = false\n"
    );
    let config = bench.given("run.toml", &config);
    let dataset = "{\"id\": \"one\", \"prompt\": \"Say one.\", \"expect\": {\"exact_text\": \"1\"}}\n\
                   {\"id\": \"two\", \"prompt\": \"Say two.\", \"expect\": {\"exact_text\": \"2\"}}\n";
    let dataset = bench.given("prompts.jsonl", dataset);
    let [runs_at, stable_at] = ["runs", "stable"].map(|name| bench.left(name));
    let measure = ["run", "--config", &config, "--dataset", &dataset, "--requests", "2"];
    let kept = [&measure[..], &["--keep-answers", "--capture", "--out", &runs_at]].concat();
    for name in ["a", "b"] {
        let code = bench.run(&[&kept[..], &["--name", name]].concat());
        assert_eq!(code, Some(0), "it answers, so that there is something to keep");
    }
    let stable = [&measure[..], &["--determinism", "2", "--out", &stable_at]].concat();
    bench.run(&stable);
    for more in [
        &["--dry-run"][..],
        &["--server-metrics"],
        &["--retries", "1"],
        &["--base-url", "http://model.invalid", "--base-url", "http://model-2.invalid"],
        &["--format", "json", "--calibrate"],
        &["--format", "vllm"],
    ] {
        bench.run(&[&measure[..], &["--out", &runs_at], more].concat());
    }
    bench.run(&["turnover", "--config", &config, "--concurrency", "1", "--out", &runs_at]);

    // To be refused by a server, or by the command itself.
    let url = format!("http://{}", refusing.addr);
    let header = format!("X-Secret: {HEADER}");
    let path = format!("/v1/chat/completions?api-key={QUERY}");
    let refused = ["run", "--base-url", &url, "--header", &header, "--endpoint-path", &path];
    for more in [&["--model", "m"][..], &["--model", "m", "--no-length-probes", "--capture"], &[]] {
        let code =
            bench.run(&[&refused[..], &["--requests", "2", "--out", &runs_at], more].concat());
        assert_eq!(code, Some(4));
    }
    let torn = bench.given("torn.toml", &format!("header = [\"X-Secret: {HEADER}\n"));
    let alien = bench.given("alien.toml", &format!("headers = [\"X-Secret: {HEADER}\"]\n"));
    let user = format!("http://{PROXY_USER}@model.invalid");
    let socks = format!("socks5://{PROXY_USER}@model.invalid");
    for args in [
        ["run", "--config", &torn],
        ["run", "--config", &alien],
        ["turnover", "--config", &torn],
        ["qualify", "--plan-only", &torn],
        ["run", "--base-url", &user],
        ["run", "--simulate", &format!("--api-key-env={KEY}")],
        ["run", "--simulate", &format!("--header={HEADER}")],
        ["run", "--simulate", &format!("--header=X-Secret: {HEADER}\u{1}")],
        ["run", "--base-url=http://model.invalid", &format!("--proxy={socks}")],
        ["run", "--base-url=http://model.invalid", &format!("--proxy={user}/path")],
    ] {
        assert_eq!(bench.run(&args), Some(2), "{args:?}");
    }

    // Programs that a plan starts write down what they are told.
    let switch = bench.given("switch", "#!/bin/sh\nenv >>\"$1\"\ntr '\\0' ' ' </proc/$$/cmdline\n");
    fs::set_permissions(&switch, fs::Permissions::from_mode(0o755)).unwrap();
    let environment = bench.left("environment.txt");
    let arm = format!(
        "base-url = \"http://model.invalid\"\nmodel = \"m\"\nproxy = \"{proxy}\"\n\
         header = \"X-Secret: {HEADER}\"\nendpoint-path = \"/v1/chat/completions?api-key={QUERY}\"\n\
         activate = [\"{switch}\", \"{environment}\"]\nready = {{ path = \"/v1/models\" }}\n"
    );
    let plan = format!(
        "version = 1\nname = \"change\"\nblocks = 3\n[run]\nrequests = 2\nno-length-probes = true\n\
         [baseline]\n{arm}[candidate]\n{arm}"
    );
    let plan = bench.given("plan.toml", &plan);
    bench.run(&["qualify", "--plan-only", &plan]);
    bench.run(&["qualify", &plan]);
    assert!(Path::new(&environment).exists(), "the program ran");

    // What is made of what was kept.
    let [a, b] = ["a", "b"].map(|name| {
        let found = runs(&runs_at).into_iter().find(|path| path.contains(&format!("/{name}-")));
        found.unwrap()
    });
    let comparison = bench.left("comparison.json");
    bench.run(&["compare", &a, &b, "--out", &comparison, "--allow-differing", "dataset"]);
    bench.run(&["decide", &comparison, "--retain", "--by", "tester", "--reason", "noise"]);
    bench.run(&["verify", &a, &comparison]);
    bench.run(&["record", &a]);
    bench.run(&["merge", &a, &b, "--out", &runs_at]);
    for more in [&["--html"][..], &["--csv", "requests"], &["--csv", "metrics"]] {
        bench.run(&[&["report", &a], more].concat());
    }
    bench.run(&["grade", &a, "--dataset", &dataset]);
    let repeated = runs(&stable_at).remove(0);
    bench.run(&["determinism", &repeated]);
    bench.run(&["observe", "--extraction", &format!("{a}/capture/measured-0.capture")]);
    bench.run(&["export", "--vllm", &a]);
    bench.run(&["import", "vllm", &config]);

    // What needs no server, with a key in the environment.
    bench.run(&["calibrate", "--streams", "1"]);
    bench.run(&["demo", "--no-progress"]);
    bench.run(&["sim", "--listen", "127.0.0.1:0", "--end-with-stdin"]);
    bench.run(&["schema", "run-record"]);
    bench.run(&["completions", "bash"]);
    bench.run(&["init"]);

    assert_eq!(bench.ran, commands(), "each command has its place above");
    let heads = answering.heads.lock().unwrap();
    for sent in [KEY, HEADER, QUERY, &STANDARD.encode("quokkaUser:quokka/Pass")] {
        assert!(heads.contains(sent), "{sent} was sent: {heads}");
    }
    assert!(bench.children.contains("--end-with-stdin"), "a simulated server was started");
    assert_clean("a child", &bench.children);
    let left = files(bench.left.path());
    let answers = left.iter().find(|(path, _)| path.ends_with("answers.jsonl")).unwrap();
    assert!(answers.1.contains("*****"), "{}", answers.1);
    for (path, text) in left {
        assert_clean(&path.display().to_string(), &text);
        let name = path.file_name().unwrap().to_str().unwrap();
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        if PUBLISHED.iter().any(|published| name.starts_with(published)) {
            let given = bench.given.path().to_str().unwrap();
            for private in
                ["model.invalid", "model-2.invalid", "chat/completions", "Say one", given]
            {
                assert!(!text.contains(private), "{private} in {}", path.display());
            }
        } else if PRIVATE.iter().any(|private| name.ends_with(private)) {
            assert_eq!(mode, 0o600, "{}", path.display());
        }
    }
}
