//! Which flags do nothing, and what is said of them.

use std::collections::BTreeSet;

use super::*;

/// Flags that do something beside all that clap lets through. Those that differ by API or server
/// are refused where these are known.
const ALWAYS: &[&str] = &[
    "allow_cached_prompts",
    "api",
    "ca_file",
    "calibrate",
    "capture",
    "cell",
    "client_cert",
    "client_key",
    "concurrency",
    "config",
    "connect_timeout",
    "dataset",
    "deployment",
    "determinism",
    "dry_run",
    "endpoint_path",
    "expect_model",
    "extra_body",
    "goodput",
    "header",
    "help",
    "idle_timeout",
    "ignore_eos",
    "input_tokens",
    "insecure",
    "intervals",
    "keep_answers",
    "kernel_stamps",
    "max_error_rate",
    "max_failure_ratio",
    "model",
    "name",
    "no_length_probes",
    "no_progress",
    "no_resend",
    "out",
    "output_tokens",
    "prefix_tokens",
    "prompt_seed",
    "request_rate",
    "requests",
    "resume",
    "retries",
    "seed",
    "server_metrics",
    "simulate",
    "temperature",
    "time_basis",
    "timeout",
    #[cfg(feature = "tokenizer")]
    "tokenizer",
    "wait_ready",
    "warmup",
    "workers",
];

#[test]
fn each_flag_is_known_to_act_always_or_beside_others() {
    let mut command = Cli::command();
    command.build();
    let run = command.find_subcommand("run").unwrap();
    let flags: BTreeSet<&str> = run.get_arguments().map(|flag| flag.get_id().as_str()).collect();
    let conditional = EFFECTS.iter().map(|effect| effect.flag);
    assert_eq!(flags, ALWAYS.iter().copied().chain(conditional).collect());
}

/// What is said to a `run` of a simulated server with these flags.
fn said(more: &str) -> Option<String> {
    let line = ["streamgauge", "run", "--simulate"].into_iter().chain(more.split_whitespace());
    Cli::read(line).err().map(|error| error.to_string())
}

#[test]
fn a_flag_without_effect_is_refused_with_the_flag_that_it_needs() {
    for (more, named) in [
        ("--base-url http://h", ["--base-url", "--simulate"]),
        ("--api-key-env KEY", ["--api-key-env", "--simulate"]),
        ("--proxy http://p:1", ["--proxy", "--simulate"]),
        ("--proxy-from-env", ["--proxy-from-env", "--simulate"]),
        ("--nonce", ["--nonce", "--dataset"]),
        ("--retry-pause 5", ["--retry-pause", "--retries"]),
        ("--repeat", ["--repeat", "--dataset"]),
        ("--dataset d --trace --repeat", ["--repeat", "--trace"]),
        ("--dataset d --nonce-seed 1", ["--nonce-seed", "--nonce"]),
        ("--dataset d --prompt-seed 1", ["--prompt-seed", "--dataset"]),
        ("--dataset d --input-tokens 64", ["--input-tokens", "--dataset"]),
        ("--dataset d --prefix-tokens 64", ["--prefix-tokens", "--dataset"]),
        ("--dataset d --allow-cached-prompts", ["--allow-cached-prompts", "--dataset"]),
        ("--allow-cached-prompts --nonce-seed 1", ["--nonce-seed", "--allow-cached-prompts"]),
        ("--prefixes 2", ["--prefixes", "--prefix-tokens"]),
        ("--concurrency 1..4:5s --duration 5", ["--duration", "--concurrency"]),
        ("--request-rate 1:5s --duration 5", ["--duration", "--request-rate"]),
        ("--trace", ["--trace", "--dataset"]),
        ("--arrival constant", ["--arrival", "--request-rate"]),
        ("--concurrency 4 --arrival gamma", ["--arrival", "--request-rate"]),
        ("--dataset d --trace --arrival poisson", ["--arrival", "--request-rate"]),
        ("--search concurrency --goodput e2e:9 --arrival gamma", ["--arrival", "--search rate"]),
        ("--burstiness 2", ["--burstiness", "--arrival gamma"]),
        ("--request-rate 2 --burstiness 2", ["--burstiness", "--arrival gamma"]),
        ("--arrival-seed 2", ["--arrival-seed", "--request-rate"]),
        (
            "--request-rate 2 --arrival constant --arrival-seed 2",
            ["--arrival-seed", "--arrival constant"],
        ),
        ("--max-concurrency 2", ["--max-concurrency", "--request-rate"]),
        ("--concurrency 4 --max-concurrency 2", ["--max-concurrency", "--concurrency"]),
        ("--search rate --goodput e2e:9 --max-concurrency 2", ["--max-concurrency", "--search"]),
        ("--search rate --goodput e2e:9 --calibrate", ["--calibrate", "--search"]),
        ("--search rate", ["--search", "--goodput"]),
        ("--shard 1/2 --nonce-seed 1", ["--shard", "--base-url"]),
        ("--shards 2", ["--shards", "--shard auto"]),
        ("--start-at +5 --search rate --goodput e2e:9", ["--start-at", "--search"]),
        ("--start-at +5 --concurrency 1,2", ["--start-at", "--concurrency"]),
        ("--goodput e2e:9 --attainment 0.9", ["--attainment", "--search"]),
        ("--search-from 2", ["--search-from", "--search"]),
        ("--search-to 2", ["--search-to", "--search"]),
        (
            "--search concurrency --goodput e2e:9 --search-step 0.1",
            ["--search-step", "--search rate"],
        ),
        ("--grace 5", ["--grace", "--duration"]),
        ("--request-rate 5 --requests 9 --grace 5", ["--grace", "--duration"]),
        ("--dry-run --format markdown", ["--format", "--dry-run"]),
        ("--format vllm --dry-run", ["--format vllm", "--dry-run"]),
        ("--format vllm --steady-window", ["--steady-window", "--format json or vllm"]),
        ("--format json --steady-window", ["--steady-window", "--format json"]),
    ] {
        let said = said(more).unwrap_or_else(|| panic!("{more}: taken"));
        for flag in named {
            assert!(said.contains(flag), "{more}: {flag} is not in {said}");
        }
    }
}

#[test]
fn beside_resume_only_the_way_in_and_the_output_are_told() {
    let said = |more: &str| {
        let line = ["streamgauge", "run", "--resume", "d"].into_iter();
        Cli::read(line.chain(more.split_whitespace())).err().map(|error| error.to_string())
    };
    for more in ["", "--header a:b --api-key-env KEY", "--base-url http://h --format json"] {
        assert_eq!(said(more), None, "{more}");
    }
    for (more, flag) in [
        ("--requests 5", "--requests"),
        ("--concurrency 2 --header a:b", "--concurrency"),
        ("--model m", "--model"),
        ("--no-grade --dataset d", "--no-grade"),
        ("--out o", "--out"),
    ] {
        let said = said(more).unwrap_or_else(|| panic!("{more}: taken"));
        assert!(said.contains(&format!("leave {flag} out")), "{more}: {said}");
    }
}

#[test]
fn a_flag_that_acts_is_taken() {
    for more in [
        "--request-rate 5 --arrival gamma --burstiness 2 --arrival-seed 3",
        "--search rate --goodput e2e:9 --arrival gamma --burstiness 2 --search-step 0.1",
        "--dataset d --nonce --nonce-seed 3",
        "--nonce-seed 3 --prefix-tokens 9 --prefixes 2",
        "--dataset d --trace --max-concurrency 3",
        "--duration 5 --grace 1",
        "--concurrency 1..4:5s --grace 1",
        "--request-rate 1:5s --grace 1",
        "--search concurrency --goodput e2e:9 --duration 5 --grace 1 --attainment 0.9",
        "--dry-run --format json",
        "--steady-window --format markdown",
    ] {
        assert_eq!(said(more), None, "{more}");
    }
}

#[test]
fn what_a_shard_cannot_do_is_refused() {
    let said = |more: &str| {
        let line = ["streamgauge", "run", "--base-url", "http://h", "--shard", "1/2"].into_iter();
        Cli::read(line.chain(more.split_whitespace())).err().map(|error| error.to_string())
    };
    for more in [
        "--nonce-seed 7 --start-at +5",
        "--allow-cached-prompts",
        "--dataset d",
        "--dataset d --nonce --nonce-seed 7 --request-rate 5",
    ] {
        assert_eq!(said(more), None, "{more}");
    }
    for (more, named) in [
        ("", "--nonce-seed"),
        ("--dataset d --nonce", "--nonce-seed"),
        ("--nonce-seed 7 --search rate --goodput e2e:9", "--search"),
        ("--nonce-seed 7 --determinism 3", "--determinism"),
        ("--nonce-seed 7 --calibrate", "--calibrate"),
        ("--nonce-seed 7 --concurrency 1,2", "--concurrency"),
        ("--nonce-seed 7 --request-rate 1,2", "--request-rate"),
        ("--nonce-seed 7 --shards 2", "--shard auto"),
    ] {
        let said = said(more).unwrap_or_else(|| panic!("{more}: taken"));
        assert!(said.contains("--shard") && said.contains(named), "{more}: {said}");
    }
}
