//! Whether an arm is up, and what it was when it was up before.

use std::time::{Duration, Instant};

use streamgauge_client::{Access, AskError, Endpoint, ask, wait_ready};
use streamgauge_schema::{Dialect, FailureClass, Readiness, ServerIdentity};

use crate::provenance::{MAX_ANSWER, PATIENCE};

/// Between two looks at a server that is starting.
const PAUSE: Duration = Duration::from_millis(250);

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
}
