//! A prompt as an API takes it, with or without a nonce.

use streamgauge_schema::{Digest, Json};

use crate::body::{BodyFormat, PromptForm, SYSTEM};
use crate::dataset::Prompt;

/// The members of a body that hold a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SentPrompt {
    system: Option<Json>,
    name: &'static str,
    prompt: Json,
}

impl SentPrompt {
    /// What an API of this format is sent for `prompt`, which it [`takes`]. A nonce becomes a line
    /// of its own before the text or the first user message's content; messages without such
    /// content ([`takes_nonce`]) stay as they are.
    pub(crate) fn new(format: &BodyFormat, prompt: &Prompt, nonce: Option<&str>) -> Self {
        let form = format.prompt_form;
        let prompt = match prompt {
            Prompt::Text(text) => {
                let text = match nonce {
                    Some(nonce) => Json::from(before(nonce, text).as_str()),
                    None => Json::from(text.as_str()),
                };
                match form {
                    PromptForm::Messages | PromptForm::MessagesBesideSystem => user_message(text),
                    PromptForm::Text | PromptForm::TextOrInputs => text,
                }
            }
            Prompt::Messages(messages) => {
                let mut messages = messages.clone();
                if let (Some(nonce), Some(content)) = (nonce, first_user_content(&mut messages)) {
                    put_before(nonce, content, form);
                }
                messages
            }
        };
        let (system, prompt) = match (form, prompt) {
            (PromptForm::MessagesBesideSystem, Json::Array(messages)) => system_apart(messages),
            (_, prompt) => (None, prompt),
        };
        Self { system, name: format.prompt, prompt }
    }

    /// The members in their order.
    pub(crate) fn members(&self) -> impl Iterator<Item = (&'static str, &Json)> {
        let system = self.system.iter().map(|system| (SYSTEM, system));
        system.chain([(self.name, &self.prompt)])
    }

    /// The digest of the text or list as it is sent. Where what a system says stands apart, that of
    /// an object with both members, so that prompts which differ in it alone stay apart.
    pub(crate) fn digest(&self) -> Digest {
        let digest = if self.system.is_none() {
            Digest::of_value(&self.prompt)
        } else {
            let members = self.members().map(|(name, value)| (name.to_owned(), value.clone()));
            Digest::of_value(&Json::Object(members.collect()))
        };
        digest.expect("what was read from JSON has no NaN")
    }
}

/// Whether an API that takes this can be asked the prompt.
pub(crate) fn takes(form: PromptForm, prompt: &Prompt) -> bool {
    form != PromptForm::Text || matches!(prompt, Prompt::Text(_))
}

/// Whether there is user content that a nonce can be put before.
pub(crate) fn takes_nonce(prompt: &Prompt) -> bool {
    match prompt {
        Prompt::Text(_) => true,
        Prompt::Messages(messages) => first_user_content(&mut messages.clone()).is_some(),
    }
}

fn user_message(content: Json) -> Json {
    Json::Array(vec![Json::Object(vec![
        ("role".to_owned(), Json::from("user")),
        ("content".to_owned(), content),
    ])])
}

fn text_part(kind: &str, text: Json) -> Json {
    Json::Object(vec![("type".to_owned(), Json::from(kind)), ("text".to_owned(), text)])
}

fn before(nonce: &str, text: &str) -> String {
    format!("{nonce}\n{text}")
}

fn put_before(nonce: &str, content: &mut Json, form: PromptForm) {
    let kind = if form == PromptForm::TextOrInputs { "input_text" } else { "text" };
    match content {
        Json::String(text) => *text = before(nonce, text),
        Json::Array(parts) => {
            parts.insert(0, text_part(kind, Json::from(before(nonce, "").as_str())));
        }
        _ => {}
    }
}

fn first_user_content(messages: &mut Json) -> Option<&mut Json> {
    let Json::Array(messages) = messages else { return None };
    messages.iter_mut().find_map(|message| {
        let is_user = has_role(message, "user");
        let Json::Object(members) = message else { return None };
        let content = members.iter_mut().find(|(name, _)| name == "content").map(|(_, v)| v)?;
        (is_user && matches!(content, Json::Array(_) | Json::String(_))).then_some(content)
    })
}

fn has_role(message: &Json, role: &str) -> bool {
    message.member("role").and_then(Json::as_str) == Some(role)
}

/// Takes the system messages at the beginning out of a list. One content stays as it is; those of
/// several messages become one list of parts.
fn system_apart(mut messages: Vec<Json>) -> (Option<Json>, Json) {
    let count = messages.iter().take_while(|message| has_role(message, "system")).count();
    let mut contents: Vec<Json> = messages
        .drain(..count)
        .filter_map(|message| message.member("content").cloned())
        .filter(|content| *content != Json::Null)
        .collect();
    let system = match contents.len() {
        0 | 1 => contents.pop(),
        _ => Some(Json::Array(contents.into_iter().flat_map(parts).collect())),
    };
    (system, Json::Array(messages))
}

fn parts(content: Json) -> Vec<Json> {
    match content {
        Json::Array(parts) => parts,
        text => vec![text_part("text", text)],
    }
}

#[cfg(test)]
mod tests {
    use streamgauge_schema::Dialect;

    use super::*;

    fn sent(dialect: Dialect, prompt: &Prompt, nonce: Option<&str>) -> String {
        let sent = SentPrompt::new(&BodyFormat::of(dialect), prompt, nonce);
        let members: Vec<String> = sent
            .members()
            .map(|(name, value)| format!("{name}={}", serde_json::to_string(value).unwrap()))
            .collect();
        members.join(" ")
    }

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
            let with = |nonce| sent(Dialect::OpenaiChat, &prompt, nonce);
            assert_eq!(with(None), format!("messages={given}"));
            assert_eq!(with(Some("N")), format!("messages={}", expected.unwrap_or(given)));
        }
    }

    #[test]
    fn a_text_becomes_what_an_api_takes() {
        let text = Prompt::Text("say \"x\"".to_owned());
        let message = r#"messages=[{"role":"user","content":"N\nsay \"x\""}]"#;
        let cases = [
            (Dialect::AnthropicMessages, message),
            (Dialect::OllamaChat, message),
            (Dialect::OllamaGenerate, r#"prompt="N\nsay \"x\"""#),
            (Dialect::OpenaiChat, message),
            (Dialect::OpenaiCompletions, r#"prompt="N\nsay \"x\"""#),
            (Dialect::OpenaiResponses, r#"input="N\nsay \"x\"""#),
            (Dialect::SglangGenerate, r#"text="N\nsay \"x\"""#),
            (Dialect::TgiGenerate, r#"inputs="N\nsay \"x\"""#),
        ];
        for (dialect, expected) in cases {
            assert!(takes(BodyFormat::of(dialect).prompt_form, &text), "{dialect}");
            assert_eq!(sent(dialect, &text, Some("N")), expected, "{dialect}");
            assert_eq!(sent(dialect, &text, None), expected.replace("N\\n", ""), "{dialect}");
        }
    }

    #[test]
    fn messages_go_where_an_api_takes_them() {
        let list = r#"[{"role":"user","content":[]}]"#;
        let messages = Prompt::Messages(serde_json::from_str(list).unwrap());
        for dialect in Dialect::ALL {
            let expected = match *dialect {
                Dialect::AnthropicMessages | Dialect::OllamaChat | Dialect::OpenaiChat => {
                    Some(r#"messages=[{"role":"user","content":[{"type":"text","text":"N\n"}]}]"#)
                }
                Dialect::OpenaiResponses => Some(
                    r#"input=[{"role":"user","content":[{"type":"input_text","text":"N\n"}]}]"#,
                ),
                _ => None,
            };
            let taken = takes(BodyFormat::of(*dialect).prompt_form, &messages);
            assert_eq!(taken, expected.is_some(), "{dialect}");
            if let Some(expected) = expected {
                assert_eq!(sent(*dialect, &messages, Some("N")), expected, "{dialect}");
            }
        }
    }

    #[test]
    fn what_a_system_says_stands_apart_where_the_api_wants_it_so() {
        let cases = [
            (
                r#"[{"role":"system","content":"a"},{"role":"user","content":"b"}]"#,
                r#"system="a" messages=[{"role":"user","content":"b"}]"#,
            ),
            (
                r#"[{"role":"system","content":[{"type":"text","text":"a"}]},{"role":"user","content":"b"}]"#,
                r#"system=[{"type":"text","text":"a"}] messages=[{"role":"user","content":"b"}]"#,
            ),
            (
                r#"[{"role":"system","content":"a"},{"role":"system","content":[{"type":"text","text":"b"}]},{"role":"user","content":"c"}]"#,
                r#"system=[{"type":"text","text":"a"},{"type":"text","text":"b"}] messages=[{"role":"user","content":"c"}]"#,
            ),
            (
                r#"[{"role":"system","content":null},{"role":"user","content":"b"}]"#,
                r#"messages=[{"role":"user","content":"b"}]"#,
            ),
            (
                r#"[{"role":"user","content":"b"},{"role":"system","content":"a"}]"#,
                r#"messages=[{"role":"user","content":"b"},{"role":"system","content":"a"}]"#,
            ),
        ];
        for (given, expected) in cases {
            let prompt = Prompt::Messages(serde_json::from_str(given).unwrap());
            assert_eq!(sent(Dialect::AnthropicMessages, &prompt, None), expected);
            assert_eq!(sent(Dialect::OllamaChat, &prompt, None), format!("messages={given}"));
        }
    }

    #[test]
    fn a_digest_is_that_of_what_is_sent() {
        let messages = r#"[{"role":"system","content":"a"},{"role":"user","content":"b"}]"#;
        let messages = Prompt::Messages(serde_json::from_str(messages).unwrap());
        let text = Prompt::Text("b".to_owned());
        let message = "  {\n    \"content\": \"b\",\n    \"role\": \"user\"\n  }\n]\n";
        let cases = [
            (Dialect::OpenaiChat, &text, format!("[\n{message}")),
            (Dialect::AnthropicMessages, &text, format!("[\n{message}")),
            (Dialect::OpenaiCompletions, &text, "\"b\"\n".to_owned()),
            (Dialect::OpenaiResponses, &text, "\"b\"\n".to_owned()),
            (
                Dialect::AnthropicMessages,
                &messages,
                concat!(
                    "{\n  \"messages\": [\n    {\n      \"content\": \"b\",\n",
                    "      \"role\": \"user\"\n    }\n  ],\n  \"system\": \"a\"\n}\n",
                )
                .to_owned(),
            ),
            (
                Dialect::OllamaChat,
                &messages,
                format!(
                    "[\n  {{\n    \"content\": \"a\",\n    \"role\": \"system\"\n  }},\n{message}"
                ),
            ),
        ];
        for (dialect, prompt, canonical) in cases {
            let sent = SentPrompt::new(&BodyFormat::of(dialect), prompt, None);
            assert_eq!(sent.digest(), Digest::of(canonical.as_bytes()), "{dialect}");
        }
    }
}
