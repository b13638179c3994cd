//! `--extra-body`: members of every request's body, which the plan keeps.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use streamgauge_schema::{Json, JsonPath};

/// Names of secrets, in small letters and without anything between them.
const SECRETS: [&str; 12] = [
    "accesskey",
    "accesstoken",
    "apikey",
    "authorization",
    "authtoken",
    "bearer",
    "credentials",
    "password",
    "privatekey",
    "secret",
    "secretkey",
    "xapikey",
];

/// Reads the members.
pub(super) fn read(text: Option<&str>) -> anyhow::Result<BTreeMap<String, Json>> {
    let Some(text) = text else { return Ok(BTreeMap::new()) };
    let body: Json = serde_json::from_str(text).context("--extra-body is not JSON")?;
    if let Some(path) = secret(&body, &JsonPath::root()) {
        bail!(
            "--extra-body: {path} is named like a secret, and the plan keeps what the body holds; \
             send it with --header or --api-key-env"
        );
    }
    match body {
        Json::Object(members) => {
            let count = members.len();
            let members: BTreeMap<String, Json> = members.into_iter().collect();
            if members.len() < count {
                bail!("--extra-body has a member twice");
            }
            Ok(members)
        }
        _ => bail!("--extra-body must be a JSON object, such as '{{\"top_p\": 0.9}}'"),
    }
}

/// The first member with a text that is named like a secret.
fn secret(value: &Json, path: &JsonPath) -> Option<JsonPath> {
    match value {
        Json::Array(items) => {
            let item = |(place, item)| secret(item, &path.clone().index(place));
            items.iter().enumerate().find_map(item)
        }
        Json::Object(members) => members.iter().find_map(|(name, value)| {
            let path = path.clone().key(name);
            let is_secret = matches!(value, Json::String(_)) && is_named_like_one(name);
            if is_secret { Some(path) } else { secret(value, &path) }
        }),
        _ => None,
    }
}

fn is_named_like_one(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    SECRETS.contains(&name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_is_named_like_a_secret_is_refused() {
        for (body, path) in [
            (r#"{"api_key": "s"}"#, "api_key"),
            (r#"{"top_p": 1, "litellm": [{"API-Key": "s"}]}"#, "litellm[0].API-Key"),
        ] {
            let said = read(Some(body)).unwrap_err().to_string();
            assert!(said.contains(&format!(": {path} is named like a secret")), "{said}");
        }
        for body in
            [r#"{"stop_token_ids": [2]}"#, r#"{"api_key": null}"#, r#"{"secret_santa": "x"}"#]
        {
            assert!(read(Some(body)).is_ok(), "{body}");
        }
    }
}
