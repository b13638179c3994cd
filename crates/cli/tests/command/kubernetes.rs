//! The example for Kubernetes: its files as the API reads them, and its arguments as the command does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use k8s_openapi::api::batch::v1::{Job, JobSpec};
use k8s_openapi::api::core::v1::{Container, PersistentVolumeClaim, PodSpec};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::process::{quick, run, server, streamgauge};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/kubernetes")
}

/// A file as the API's object. Nothing in it may be unknown to the API, which would pass over it.
fn object<T: DeserializeOwned + Serialize>(file: &str) -> T {
    let text = fs::read_to_string(folder().join(file)).unwrap();
    let written: Value = serde_saphyr::from_str(&text).unwrap();
    let object: T = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&object).unwrap(), written, "{file}");
    object
}

/// A job's specification, its pod's, and its only container.
fn parts(job: &Job) -> (&JobSpec, &PodSpec, &Container) {
    let job = job.spec.as_ref().unwrap();
    let pod = job.template.spec.as_ref().unwrap();
    let [container] = pod.containers.as_slice() else { panic!("one container") };
    (job, pod, container)
}

fn args(container: &Container) -> &[String] {
    container.args.as_deref().unwrap()
}

/// What an argument of the form `--flag=value` says.
fn value<'a>(args: &'a [String], flag: &str) -> Option<&'a str> {
    args.iter().find_map(|arg| arg.strip_prefix(flag)?.strip_prefix('='))
}

#[test]
fn shards_are_as_many_as_pods_and_each_pod_knows_its_own() {
    let job: Job = object("load.yaml");
    let (job, pod, container) = parts(&job);
    assert_eq!(job.completion_mode.as_deref(), Some("Indexed"));
    let shards = job.completions.unwrap();
    assert_eq!(job.parallelism, Some(shards), "shards begin together");
    let args = args(container);
    assert_eq!(value(args, "--shards"), Some(shards.to_string().as_str()));
    assert_eq!(value(args, "--shard"), Some("auto"));
    assert!(value(args, "--nonce-seed").is_some(), "prompts are the same in every shard");
    // A replaced pod goes on; one that ended with what it has to say does not begin anew.
    assert!(job.backoff_limit_per_index.unwrap() > 0);
    assert_eq!(pod.restart_policy.as_deref(), Some("Never"));
    let rules = &job.pod_failure_policy.as_ref().unwrap().rules;
    let codes = rules[0].on_exit_codes.as_ref().unwrap();
    assert_eq!((rules[0].action.as_str(), codes.values.as_slice()), ("FailIndex", &[3, 4][..]));
    assert_eq!(codes.container_name.as_deref(), Some(container.name.as_str()));
}

#[test]
fn results_go_to_the_volume_that_is_claimed_and_nowhere_else() {
    let claim: PersistentVolumeClaim = object("results.yaml");
    let modes = claim.spec.unwrap().access_modes.unwrap();
    assert_eq!(modes, ["ReadWriteMany"]);
    let mut folders = BTreeMap::new();
    for file in ["load.yaml", "merge.yaml"] {
        let job: Job = object(file);
        let (_, pod, container) = parts(&job);
        let [volume] = pod.volumes.as_deref().unwrap() else { panic!("one volume") };
        let claimed = volume.persistent_volume_claim.as_ref().unwrap();
        assert_eq!(Some(&claimed.claim_name), claim.metadata.name.as_ref(), "{file}");
        let [mount] = container.volume_mounts.as_deref().unwrap() else { panic!("one mount") };
        assert_eq!(mount.name, volume.name, "{file}");
        let out = value(args(container), "--out").unwrap();
        assert!(Path::new(out).starts_with(&mount.mount_path), "{file}: {out}");
        folders.insert(file, out.to_owned());
    }
    let merge: Job = object("merge.yaml");
    let merged = args(parts(&merge).2);
    assert_eq!(merged[..2], ["merge", folders["load.yaml"].as_str()], "what the shards wrote");
}

#[test]
fn pods_have_no_rights_that_they_do_not_need() {
    for file in ["load.yaml", "merge.yaml"] {
        let job: Job = object(file);
        let (_, pod, container) = parts(&job);
        assert_eq!(pod.automount_service_account_token, Some(false), "{file}");
        let security = pod.security_context.as_ref().unwrap();
        assert_eq!(security.run_as_non_root, Some(true), "{file}");
        assert!(security.run_as_user.unwrap() > 0 && security.fs_group.is_some(), "{file}");
        assert_eq!(security.seccomp_profile.as_ref().unwrap().type_, "RuntimeDefault", "{file}");
        let security = container.security_context.as_ref().unwrap();
        assert_eq!(security.read_only_root_filesystem, Some(true), "{file}");
        assert_eq!(security.allow_privilege_escalation, Some(false), "{file}");
        let dropped = security.capabilities.as_ref().unwrap().drop.as_deref();
        assert_eq!(dropped, Some(&["ALL".to_owned()][..]), "{file}");
        let resources = container.resources.as_ref().unwrap();
        let (limits, requests) = (resources.limits.as_ref(), resources.requests.as_ref());
        assert_eq!(limits.unwrap()["cpu"], requests.unwrap()["cpu"], "{file}: not throttled");
        assert!(limits.unwrap().contains_key("memory"), "{file}");
    }
}

#[test]
fn the_key_comes_from_a_secret() {
    let job: Job = object("load.yaml");
    let (_, _, container) = parts(&job);
    let [variable] = container.env.as_deref().unwrap() else { panic!("one variable") };
    assert_eq!((variable.name.as_str(), &variable.value), ("OPENAI_API_KEY", &None));
    let source = variable.value_from.as_ref().unwrap().secret_key_ref.as_ref().unwrap();
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    let made = format!("secret generic {} --from-literal={}=", source.name, source.key);
    assert!(readme.contains(&made), "the README makes it: {made}");
}

#[test]
fn names_are_those_that_the_readme_waits_for() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    for file in ["load.yaml", "merge.yaml"] {
        let job: Job = object(file);
        let name = job.metadata.name.unwrap();
        assert!(readme.contains(&format!("job/{name}")), "{name}");
        assert!(readme.contains(&format!("kubectl apply -f {file}")), "{file}");
    }
    let dockerfile = fs::read_to_string(folder().join("Dockerfile")).unwrap();
    assert!(dockerfile.contains("ENTRYPOINT [\"streamgauge\"]\n"), "arguments follow the command");
}

/// An argument of the example, with a smaller load and the test's own server and folder.
fn smaller(arg: &str, url: &str, results: &Path) -> String {
    let Some((flag, value)) = arg.split_once('=') else {
        return arg.replace("/results", results.to_str().unwrap());
    };
    let value = match flag {
        "--base-url" => url.to_owned(),
        "--model" => "sim-model".to_owned(),
        "--concurrency" => "8".to_owned(),
        "--requests" => "40".to_owned(),
        "--output-tokens" => "4".to_owned(),
        "--start-at" => "+1".to_owned(),
        _ => value.replace("/results", results.to_str().unwrap()),
    };
    format!("{flag}={value}")
}

#[test]
fn the_arguments_of_all_pods_make_one_run() {
    let (_server, url) = server(quick());
    let folder = tempfile::tempdir().unwrap();
    let job: Job = object("load.yaml");
    let (job, _, container) = parts(&job);
    let pods = (0..job.completions.unwrap()).map(|index| {
        let args = args(container).iter().map(|arg| smaller(arg, &url, folder.path()));
        let mut command = streamgauge();
        command.args(args).env("JOB_COMPLETION_INDEX", index.to_string());
        command.env("OPENAI_API_KEY", "a-key").stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    });
    for pod in pods.collect::<Vec<_>>() {
        let ended = pod.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let merge: Job = object("merge.yaml");
    let merged = run(args(parts(&merge).2).iter().map(|arg| smaller(arg, &url, folder.path())));
    assert_eq!(merged.code, Some(0), "{}{}", merged.stdout, merged.stderr);
    let record = merged.stdout.lines().last().unwrap();
    let record: Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    assert_eq!(record["status"], "completed");
    assert_eq!(
        (&record["load"]["offered"], &record["load"]["succeeded"]),
        (&40.into(), &40.into())
    );
    assert_eq!(record["shards"].as_array().unwrap().len(), 4);
}
