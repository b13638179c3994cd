//! A prompt as the `messages` array of a chat request, with or without a nonce.

use streamgauge_schema::Json;

use crate::dataset::Prompt;

/// The array for `prompt`. A nonce becomes a line of its own before the first user message's
/// content; a prompt without such a message ([`takes_nonce`]) stays as it is.
pub(crate) fn messages(prompt: &Prompt, nonce: Option<&str>) -> Json {
    match (prompt, nonce) {
        (Prompt::Text(text), None) => Json::Array(vec![user_message(text.as_str())]),
        (Prompt::Text(text), Some(nonce)) => Json::Array(vec![user_message(&before(nonce, text))]),
        (Prompt::Messages(messages), None) => messages.clone(),
        (Prompt::Messages(messages), Some(nonce)) => {
            let mut messages = messages.clone();
            if let Some(content) = first_user_content(&mut messages) {
                put_before(nonce, content);
            }
            messages
        }
    }
}

/// Whether there is user content that a nonce can be put before.
pub(crate) fn takes_nonce(prompt: &Prompt) -> bool {
    match prompt {
        Prompt::Text(_) => true,
        Prompt::Messages(messages) => first_user_content(&mut messages.clone()).is_some(),
    }
}

fn user_message(content: &str) -> Json {
    Json::Object(vec![
        ("role".to_owned(), Json::from("user")),
        ("content".to_owned(), Json::from(content)),
    ])
}

fn before(nonce: &str, text: &str) -> String {
    format!("{nonce}\n{text}")
}

fn put_before(nonce: &str, content: &mut Json) {
    match content {
        Json::String(text) => *text = before(nonce, text),
        Json::Array(parts) => parts.insert(
            0,
            Json::Object(vec![
                ("type".to_owned(), Json::from("text")),
                ("text".to_owned(), Json::from(before(nonce, "").as_str())),
            ]),
        ),
        _ => {}
    }
}

fn first_user_content(messages: &mut Json) -> Option<&mut Json> {
    let Json::Array(messages) = messages else { return None };
    messages.iter_mut().find_map(|message| {
        let is_user = message.member("role").and_then(Json::as_str) == Some("user");
        let Json::Object(members) = message else { return None };
        let content = members.iter_mut().find(|(name, _)| name == "content").map(|(_, v)| v)?;
        (is_user && matches!(content, Json::Array(_) | Json::String(_))).then_some(content)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_goes_before_the_first_user_content() {
        let cases = [
            (r#"[{"role":"user","content":"a"}]"#, Some(r#"[{"role":"user","content":"N\na"}]"#)),
            (
                r#"[{"role":"system","content":"s"},{"content":"a","role":"user","name":"x"},{"role":"user","content":"b"}]"#,
                Some(
                    r#"[{"role":"system","content":"s"},{"content":"N\na","role":"user","name":"x"},{"role":"user","content":"b"}]"#,
                ),
            ),
            (
                r#"[{"role":"user","content":[{"type":"image_url"}]}]"#,
                Some(
                    r#"[{"role":"user","content":[{"type":"text","text":"N\n"},{"type":"image_url"}]}]"#,
                ),
            ),
            (r#"[{"role":"user","content":null}]"#, None),
            (r#"[{"role":"assistant","content":"a"}]"#, None),
        ];
        for (given, expected) in cases {
            let prompt = Prompt::Messages(serde_json::from_str(given).unwrap());
            assert_eq!(takes_nonce(&prompt), expected.is_some(), "{given}");
            let text = |nonce| serde_json::to_string(&messages(&prompt, nonce)).unwrap();
            assert_eq!(text(None), given);
            assert_eq!(text(Some("N")), expected.unwrap_or(given));
        }
        let text = Prompt::Text("say \"x\"".to_owned());
        let plain = serde_json::to_string(&messages(&text, None)).unwrap();
        assert_eq!(plain, r#"[{"role":"user","content":"say \"x\""}]"#);
        let marked = serde_json::to_string(&messages(&text, Some("N"))).unwrap();
        assert_eq!(marked, r#"[{"role":"user","content":"N\nsay \"x\""}]"#);
    }
}
