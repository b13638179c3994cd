//! What a server says it is: the model, the models it lists, and what it tells of its version.

use std::collections::BTreeMap;
use std::time::Duration;

use streamgauge_client::{ask, bounded};
use streamgauge_metrics::{MODELS_LISTED_LABEL, SERVER_LABEL, VERSION_LABEL};
use streamgauge_schema::{Condition, Dialect, Digest, ServerIdentity};

use super::condition;
use crate::planning::Server;

/// Longest wait for one answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer that is read.
pub(crate) const MAX_ANSWER: usize = 1 << 20;
/// Longest wait for all answers of a server that is not to be told apart from another.
const PATIENCE_IN_ALL: Duration = Duration::from_secs(5);
/// Where servers tell what they are, and in which members: vLLM, Ollama, llama.cpp, TGI, SGLang. A
/// server that does not know a path says so, and nothing is learnt from it.
const TOLD_AT: [(&str, &[&str]); 5] = [
    ("/version", &["version"]),
    ("/api/version", &["version"]),
    ("/props", &["build_info", "model_path"]),
    ("/info", &["model_id", "model_sha", "sha", "version"]),
    ("/get_server_info", &["model_path", "version"]),
];

/// Members in which servers tell a version of their own.
const VERSIONS: [&str; 2] = ["version", "build_info"];

/// Asks a server what it is.
pub(crate) async fn identify(server: &Server, api: Dialect) -> ServerIdentity {
    let (endpoint, access) = (&server.endpoint, &server.access);
    let mut stated = BTreeMap::new();
    for (path, members) in TOLD_AT {
        let Ok(answer) = ask(endpoint, access, api, path, MAX_ANSWER, PATIENCE).await else {
            continue;
        };
        let Ok(answer) = serde_json::from_slice::<serde_json::Value>(&answer) else { continue };
        for member in members {
            if let Some(text) = answer.get(member).and_then(serde_json::Value::as_str) {
                let text = bounded(&access.redact(text));
                stated.insert(format!("{path} {member}"), text);
            }
        }
    }
    let (model, models) = (server.model.clone(), server.listed.clone());
    ServerIdentity { model, models, stated, simulated: server.simulated }
}

/// What a server tells of itself, as conditions; it is asked for a few seconds at most.
pub(crate) async fn told(server: &Server, api: Dialect) -> anyhow::Result<Vec<Condition>> {
    let asked = tokio::time::timeout(PATIENCE_IN_ALL, identify(server, api)).await;
    asked.map_or_else(|_| Ok(Vec::new()), |identity| of_server(&identity))
}

/// What a server said of itself as a record may hold it: how many models it lists, its version, and a
/// digest of its versions and of the names of the files that it serves.
pub(crate) fn of_server(identity: &ServerIdentity) -> anyhow::Result<Vec<Condition>> {
    let listed = identity.models.as_ref().map(|models| models.len().to_string());
    let version = identity.stated.iter().find_map(|(place, text)| {
        let member = place.rsplit(' ').next()?;
        VERSIONS.contains(&member).then(|| text.clone())
    });
    let mut told = vec![condition(MODELS_LISTED_LABEL, listed), condition(VERSION_LABEL, version)];
    told.extend(digest(identity)?);
    Ok(told)
}

/// Tells builds apart. `None` where a server says nothing.
fn digest(identity: &ServerIdentity) -> anyhow::Result<Option<Condition>> {
    /// Digits that tell builds apart, and are read by people.
    const DIGITS: usize = 16;
    if identity.stated.is_empty() {
        return Ok(None);
    }
    // Paths stand in no record, nor does a digest by which one could be guessed.
    let name = |text: &String| text.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    let told: BTreeMap<&String, String> =
        identity.stated.iter().map(|(place, text)| (place, name(text))).collect();
    let digest = Digest::of_value(&told)?.prefix(DIGITS);
    Ok(Some(condition(SERVER_LABEL, Some(format!("stated by the server, SHA-256 {digest}")))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(models: Option<&[&str]>, stated: &[(&str, &str)]) -> ServerIdentity {
        let owned = |text: &&str| (*text).to_owned();
        ServerIdentity {
            model: "m".to_owned(),
            models: models.map(|models| models.iter().map(owned).collect()),
            stated: stated.iter().map(|(at, text)| (owned(at), owned(text))).collect(),
            simulated: false,
        }
    }

    #[test]
    fn what_is_published_tells_builds_apart_and_no_path() {
        let of = |stated: &[(&str, &str)]| digest(&identity(None, stated)).unwrap();
        let weights = |path| of(&[("/props build_info", "b9"), ("/props model_path", path)]);
        let [four, eight, moved] =
            ["/srv/a/q4.gguf", "/srv/a/q8.gguf", "/other/q4.gguf"].map(weights);
        assert_ne!(four, eight);
        assert_eq!(four, moved);
        assert_ne!(of(&[("/version version", "1")]), of(&[("/version version", "2")]));
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn what_is_not_told_is_absent_and_what_may_not_be_told_is_withheld() {
        let values = |identity: &ServerIdentity| -> Vec<String> {
            let told = of_server(identity).unwrap();
            told.into_iter().take(2).map(|it| it.value.to_string()).collect()
        };
        assert_eq!(values(&identity(None, &[])), ["absent", "absent"]);
        let stated = [("/info model_id", "/srv/m"), ("/version version", "0.32.0")];
        assert_eq!(values(&identity(Some(&["m", "lora"]), &stated)), ["2", "0.32.0"]);
        let withheld = values(&identity(None, &[("/version version", "/srv/build")]));
        assert!(withheld[1].starts_with("Withheld: "), "{withheld:?}");
    }
}
