//! What a server says it is: the model, the models it lists, and what it tells of its version.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use streamgauge_client::{Access, AskError, Endpoint, ask, bounded, list_models, wait_ready};
use streamgauge_metrics::SERVER_LABEL;
use streamgauge_schema::{
    Condition, Dialect, Digest, FailureClass, PublicText, Readiness, ServerIdentity,
};

use crate::args::run::RunArgs;
use crate::planning::Server;

/// Longest wait for one of these answers.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks at a server that is starting.
const PAUSE: Duration = Duration::from_millis(250);
/// Longest answer that is read.
const MAX_ANSWER: usize = 1 << 20;
/// Where servers tell what they are, and in which members: vLLM, Ollama, llama.cpp, TGI, SGLang. A
/// server that does not know a path says so, and nothing is learnt from it.
const TOLD_AT: [(&str, &[&str]); 5] = [
    ("/version", &["version"]),
    ("/api/version", &["version"]),
    ("/props", &["build_info", "model_path"]),
    ("/info", &["model_id", "model_sha", "sha", "version"]),
    ("/get_server_info", &["model_path", "version"]),
];

/// Waits until an arm is up.
pub(super) async fn wait_until_ready(
    endpoint: &Endpoint,
    access: &Access,
    api: Dialect,
    ready: &Readiness,
) -> Result<(), AskError> {
    let timeout = Duration::from_millis(ready.timeout_ms);
    let Some(path) = &ready.path else {
        return wait_ready(endpoint, access, api, timeout).await;
    };
    let end = Instant::now() + timeout;
    loop {
        let left = end.saturating_duration_since(Instant::now()).clamp(PAUSE, PATIENCE);
        let Err(error) = ask(endpoint, access, api, path, MAX_ANSWER, left).await else {
            return Ok(());
        };
        // A long answer is an answer.
        if error.class == FailureClass::OversizedEvent {
            return Ok(());
        }
        if error.class == FailureClass::Tls || Instant::now() + PAUSE >= end {
            return Err(error);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Asks a server what it is.
pub(super) async fn identify(server: &Server, args: &RunArgs) -> ServerIdentity {
    let (endpoint, access, api) = (&server.endpoint, &server.access, args.server.api);
    let listed = list_models(endpoint, access, api, PATIENCE).await;
    let models = listed.ok().map(|models| {
        let mut names: Vec<String> = models.into_iter().map(|model| model.id).collect();
        names.sort_unstable();
        names
    });
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
    ServerIdentity { model: server.model.clone(), models, stated, simulated: server.simulated }
}

/// What an arm says of itself as a record may hold it: the digest of its versions, and of the names of
/// the files that it serves. `None` where it says nothing.
pub(super) fn published(identity: &ServerIdentity) -> anyhow::Result<Option<Condition>> {
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
    Ok(Some(Condition {
        label: PublicText::new(SERVER_LABEL)?,
        value: PublicText::new(format!("stated by the server, SHA-256 {digest}"))?,
    }))
}

/// How an arm is not what it was; `None` where nothing says so. What only one of both answers tells
/// is not held against the other: a server may have been too busy to tell it.
pub(super) fn change(before: &ServerIdentity, now: &ServerIdentity) -> Option<String> {
    let lists = |it: &ServerIdentity| it.models.as_ref().map(|models| models.contains(&it.model));
    if before.model != now.model {
        return Some(format!("its model was {:?} and is {:?}", before.model, now.model));
    }
    if let (Some(true), Some(false)) = (lists(before), lists(now)) {
        return Some(format!("it no longer lists the model {:?}", now.model));
    }
    if before.simulated != now.simulated {
        return Some("a simulated server and a real one took turns".to_owned());
    }
    before.stated.iter().find_map(|(place, was)| {
        let is = now.stated.get(place).filter(|is| *is != was)?;
        Some(format!("{place} was {was:?} and is {is:?}"))
    })
}

/// Whether two arms say the same of themselves, and something that tells builds apart.
pub(super) fn are_alike(one: &ServerIdentity, other: &ServerIdentity) -> bool {
    !one.stated.is_empty() && one.model == other.model && one.stated == other.stated
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(model: &str, models: &[&str], stated: &[(&str, &str)]) -> ServerIdentity {
        ServerIdentity {
            model: model.to_owned(),
            models: (!models.is_empty()).then(|| models.iter().map(ToString::to_string).collect()),
            stated: stated
                .iter()
                .map(|(at, text)| ((*at).to_owned(), (*text).to_owned()))
                .collect(),
            simulated: false,
        }
    }

    #[test]
    fn what_counts_as_a_change() {
        let before = identity("m", &["m"], &[("/version version", "1")]);
        let cases = [
            (identity("m", &["m", "adapter"], &[("/version version", "1")]), None),
            (identity("m", &[], &[]), None),
            (identity("m", &["m"], &[("/props build_info", "b9")]), None),
            (identity("n", &["n"], &[("/version version", "1")]), Some("its model was")),
            (identity("m", &["n"], &[]), Some("no longer lists")),
            (identity("m", &["m"], &[("/version version", "2")]), Some("was \"1\" and is \"2\"")),
        ];
        for (now, expected) in cases {
            let found = change(&before, &now);
            match expected {
                None => assert_eq!(found, None),
                Some(text) => {
                    assert!(found.as_ref().is_some_and(|it| it.contains(text)), "{found:?}")
                }
            }
        }
        assert!(are_alike(&before, &before.clone()));
        assert!(!are_alike(&identity("m", &["m"], &[]), &identity("m", &["m"], &[])));
    }

    #[test]
    fn what_is_published_tells_builds_apart_and_no_path() {
        let of = |stated: &[(&str, &str)]| published(&identity("m", &["m"], stated)).unwrap();
        let weights = |path| of(&[("/props build_info", "b9"), ("/props model_path", path)]);
        let [four, eight, moved] =
            ["/srv/a/q4.gguf", "/srv/a/q8.gguf", "/other/q4.gguf"].map(weights);
        assert_ne!(four, eight);
        assert_eq!(four, moved);
        assert_ne!(of(&[("/version version", "1")]), of(&[("/version version", "2")]));
        assert_eq!(of(&[]), None);
    }
}
