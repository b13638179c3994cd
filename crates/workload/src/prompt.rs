//! A prompt as an API takes it, with or without a nonce.
//!
//! Invariant: a digest is that of the canonical bytes of what is sent, however it was put together.

use std::borrow::Cow;

use streamgauge_schema::{Digest, Json, Stage, digest_bytes};

use crate::body::{BodyFormat, PromptForm, SYSTEM, write, write_member, write_raw};
use crate::dataset::Prompt;
use crate::synthetic::{Spelling, SyntheticPrompts};

/// What stands around the text of an only message, in a body and in canonical bytes.
const MESSAGE: [&str; 2] = [r#"[{"role":"user","content":"#, "}]"];
const CANONICAL_MESSAGE: [&str; 2] =
    ["[\n  {\n    \"content\": ", ",\n    \"role\": \"user\"\n  }\n]\n"];

/// Room for what stands around a text, and for a few characters that are escaped.
const BYTES_AROUND_TEXT: usize = 80;

/// The members of a body that hold a prompt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SentPrompt<'a> {
    name: &'static str,
    content: Content<'a>,
}

#[derive(Clone, Debug, PartialEq)]
enum Content<'a> {
    /// A list, and what a system says where it stands apart.
    Messages {
        system: Option<Json>,
        messages: Cow<'a, Json>,
    },
    /// The text of a list's only message.
    OnlyMessage(Text<'a>),
    Text(Text<'a>),
}

/// A text that is sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Text<'a> {
    Given(Cow<'a, str>),
    Words { prompts: SyntheticPrompts, stage: Stage, index: u64 },
}

impl Text<'_> {
    /// Writes the text as JSON, and gives its canonical bytes.
    fn write<'out>(&self, out: &'out mut Vec<u8>) -> Cow<'out, [u8]> {
        let start = out.len();
        match self {
            Self::Given(text) => {
                write(out, &**text);
                // Only outside ASCII, and of the character DEL, does one escape what the other
                // leaves.
                if !text.bytes().all(|byte| byte < 0x7f) {
                    let mut bytes = digest_bytes(&**text).expect("a text has canonical bytes");
                    bytes.pop();
                    return Cow::Owned(bytes);
                }
            }
            Self::Words { prompts, stage, index } => {
                out.push(b'"');
                prompts.write(out, *stage, *index, Spelling::Json);
                out.push(b'"');
            }
        }
        Cow::Borrowed(&out[start..])
    }

    fn size(&self) -> usize {
        match self {
            Self::Given(text) => text.len(),
            Self::Words { prompts, .. } => prompts.size(),
        }
    }
}

impl<'a> SentPrompt<'a> {
    /// A text as an API of this format is sent it.
    pub(crate) fn text(format: &BodyFormat, text: Text<'a>) -> Self {
        let content = match format.prompt_form {
            PromptForm::Messages | PromptForm::MessagesBesideSystem => Content::OnlyMessage(text),
            PromptForm::Text | PromptForm::TextOrInputs => Content::Text(text),
        };
        Self { name: format.prompt, content }
    }

    /// Messages as an API of this format is sent them, which it [`takes`]. A nonce becomes a line of
    /// its own (ended by its line feed) before the first user message's content; messages without such content
    /// ([`takes_nonce`]) stay as they are.
    pub(crate) fn messages(format: &BodyFormat, messages: &'a Json, nonce: Option<&str>) -> Self {
        let form = format.prompt_form;
        let mut messages = Cow::Borrowed(messages);
        if let Some(nonce) = nonce
            && let Some(content) = first_user_content(messages.to_mut())
        {
            put_before(nonce, content, form);
        }
        let (system, messages) = match form {
            PromptForm::MessagesBesideSystem => system_apart(messages),
            _ => (None, messages),
        };
        Self { name: format.prompt, content: Content::Messages { system, messages } }
    }

    /// Writes the members, and gives the digest of the text or list as it is sent. Where what a
    /// system says stands apart, that of an object with both members, so that prompts which differ
    /// in it alone stay apart.
    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Digest {
        match &self.content {
            Content::Messages { system, messages } => {
                if let Some(system) = system {
                    write_member(out, SYSTEM, system);
                }
                write_member(out, self.name, &**messages);
                self.digest_of_messages(system.as_ref(), messages)
            }
            Content::OnlyMessage(text) => {
                write_raw(out, self.name, MESSAGE[0]);
                let [before, after] = CANONICAL_MESSAGE.map(str::as_bytes);
                let digest = Digest::of_parts([before, &text.write(out), after]);
                out.extend_from_slice(MESSAGE[1].as_bytes());
                digest
            }
            Content::Text(text) => {
                write_raw(out, self.name, "");
                Digest::of_parts([&*text.write(out), b"\n"])
            }
        }
    }

    /// The digest alone.
    pub(crate) fn digest(&self) -> Digest {
        match &self.content {
            Content::Messages { system, messages } => {
                self.digest_of_messages(system.as_ref(), messages)
            }
            // The digest is that of the escaped text, so there is no shorter way to it.
            Content::OnlyMessage(_) | Content::Text(_) => {
                self.write(&mut Vec::with_capacity(self.size()))
            }
        }
    }

    /// About how many bytes the members have; 0 where that is not known.
    pub(crate) fn size(&self) -> usize {
        match &self.content {
            Content::Messages { .. } => 0,
            Content::OnlyMessage(text) | Content::Text(text) => text.size() + BYTES_AROUND_TEXT,
        }
    }

    fn digest_of_messages(&self, system: Option<&Json>, messages: &Json) -> Digest {
        let digest = match system {
            None => Digest::of_value(messages),
            Some(system) => {
                let members = [(SYSTEM, system), (self.name, messages)];
                let members = members.map(|(name, value)| (name.to_owned(), value.clone()));
                Digest::of_value(&Json::Object(members.into()))
            }
        };
        digest.expect("what was read from JSON has no NaN")
    }
}

/// Whether an API that takes this can be asked the prompt.
pub(crate) fn takes(form: PromptForm, prompt: &Prompt) -> bool {
    form != PromptForm::Text || !matches!(prompt, Prompt::Messages(_))
}

/// Whether there is user content that a nonce can be put before.
pub(crate) fn takes_nonce(prompt: &Prompt) -> bool {
    match prompt {
        Prompt::Messages(messages) => first_user_content(&mut messages.clone()).is_some(),
        Prompt::Synthetic { .. } | Prompt::Text(_) => true,
    }
}

fn text_part(kind: &str, text: Json) -> Json {
    Json::Object(vec![("type".to_owned(), Json::from(kind)), ("text".to_owned(), text)])
}

fn put_before(nonce: &str, content: &mut Json, form: PromptForm) {
    let kind = if form == PromptForm::TextOrInputs { "input_text" } else { "text" };
    match content {
        Json::String(text) => text.insert_str(0, nonce),
        Json::Array(parts) => parts.insert(0, text_part(kind, Json::from(nonce))),
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
fn system_apart(messages: Cow<'_, Json>) -> (Option<Json>, Cow<'_, Json>) {
    let Json::Array(list) = &*messages else { return (None, messages) };
    let count = list.iter().take_while(|message| has_role(message, "system")).count();
    if count == 0 {
        return (None, messages);
    }
    let mut contents: Vec<Json> = list[..count]
        .iter()
        .filter_map(|message| message.member("content").cloned())
        .filter(|content| *content != Json::Null)
        .collect();
    let system = match contents.len() {
        0 | 1 => contents.pop(),
        _ => Some(Json::Array(contents.into_iter().flat_map(parts).collect())),
    };
    let others = Json::Array(list[count..].to_vec());
    (system, Cow::Owned(others))
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

    /// The members as they stand in a body, and their digest.
    fn written(dialect: Dialect, prompt: &Prompt, nonce: Option<&str>) -> (String, Digest) {
        let format = BodyFormat::of(dialect);
        let sent = match prompt {
            Prompt::Messages(messages) => SentPrompt::messages(&format, messages, nonce),
            Prompt::Text(text) => {
                let text = format!("{}{text}", nonce.unwrap_or(""));
                SentPrompt::text(&format, Text::Given(text.into()))
            }
            Prompt::Synthetic { .. } => unreachable!("it has become a text"),
        };
        let mut out = b"{".to_vec();
        let digest = sent.write(&mut out);
        assert_eq!(sent.digest(), digest);
        (String::from_utf8(out[1..].to_vec()).unwrap(), digest)
    }

    fn sent(dialect: Dialect, prompt: &Prompt, nonce: Option<&str>) -> String {
        written(dialect, prompt, nonce).0
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
            assert_eq!(with(None), format!("\"messages\":{given}"));
            assert_eq!(with(Some("N\n")), format!("\"messages\":{}", expected.unwrap_or(given)));
        }
    }

    #[test]
    fn a_text_becomes_what_an_api_takes() {
        let text = Prompt::Text("say \"x\"".to_owned());
        let message = r#""messages":[{"role":"user","content":"N\nsay \"x\""}]"#;
        let cases = [
            (Dialect::AnthropicMessages, message),
            (Dialect::OllamaChat, message),
            (Dialect::OllamaGenerate, r#""prompt":"N\nsay \"x\"""#),
            (Dialect::OpenaiChat, message),
            (Dialect::OpenaiCompletions, r#""prompt":"N\nsay \"x\"""#),
            (Dialect::OpenaiResponses, r#""input":"N\nsay \"x\"""#),
            (Dialect::SglangGenerate, r#""text":"N\nsay \"x\"""#),
            (Dialect::TgiGenerate, r#""inputs":"N\nsay \"x\"""#),
        ];
        for (dialect, expected) in cases {
            assert!(takes(BodyFormat::of(dialect).prompt_form, &text), "{dialect}");
            assert_eq!(sent(dialect, &text, Some("N\n")), expected, "{dialect}");
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
                    Some(r#""messages":[{"role":"user","content":[{"type":"text","text":"N\n"}]}]"#)
                }
                Dialect::OpenaiResponses => Some(
                    r#""input":[{"role":"user","content":[{"type":"input_text","text":"N\n"}]}]"#,
                ),
                _ => None,
            };
            let taken = takes(BodyFormat::of(*dialect).prompt_form, &messages);
            assert_eq!(taken, expected.is_some(), "{dialect}");
            if let Some(expected) = expected {
                assert_eq!(sent(*dialect, &messages, Some("N\n")), expected, "{dialect}");
            }
        }
    }

    #[test]
    fn what_a_system_says_stands_apart_where_the_api_wants_it_so() {
        let cases = [
            (
                r#"[{"role":"system","content":"a"},{"role":"user","content":"b"}]"#,
                r#""system":"a","messages":[{"role":"user","content":"b"}]"#,
            ),
            (
                r#"[{"role":"system","content":[{"type":"text","text":"a"}]},{"role":"user","content":"b"}]"#,
                r#""system":[{"type":"text","text":"a"}],"messages":[{"role":"user","content":"b"}]"#,
            ),
            (
                r#"[{"role":"system","content":"a"},{"role":"system","content":[{"type":"text","text":"b"}]},{"role":"user","content":"c"}]"#,
                r#""system":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"messages":[{"role":"user","content":"c"}]"#,
            ),
            (
                r#"[{"role":"system","content":null},{"role":"user","content":"b"}]"#,
                r#""messages":[{"role":"user","content":"b"}]"#,
            ),
            (
                r#"[{"role":"user","content":"b"},{"role":"system","content":"a"}]"#,
                r#""messages":[{"role":"user","content":"b"},{"role":"system","content":"a"}]"#,
            ),
        ];
        for (given, expected) in cases {
            let prompt = Prompt::Messages(serde_json::from_str(given).unwrap());
            assert_eq!(sent(Dialect::AnthropicMessages, &prompt, None), expected);
            assert_eq!(sent(Dialect::OllamaChat, &prompt, None), format!("\"messages\":{given}"));
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
            let (_, digest) = written(dialect, prompt, None);
            assert_eq!(digest, Digest::of(canonical.as_bytes()), "{dialect}");
        }
    }

    #[test]
    fn a_digest_is_canonical_whatever_the_text_holds() {
        let texts =
            ["", "plain", "a\n\t\"\\/\u{8}\u{1f}", "\u{7f}", "é", "\u{1f600} 漢", "~\u{80}"];
        for text in texts {
            let prompt = Prompt::Text(text.to_owned());
            let (body, digest) = written(Dialect::OpenaiCompletions, &prompt, None);
            assert_eq!(digest, Digest::of_value(text).unwrap(), "{text:?}");
            assert_eq!(body, format!("\"prompt\":{}", serde_json::to_string(text).unwrap()));
            let (body, digest) = written(Dialect::OpenaiChat, &prompt, None);
            let messages: Json = serde_json::from_str(&body["\"messages\":".len()..]).unwrap();
            assert_eq!(digest, Digest::of_value(&messages).unwrap(), "{text:?}");
        }
    }
}
