//! Failures that a server reports in the bytes of its answer, and their messages.

use streamgauge_schema::{FailureClass, StreamError, is_steering};

use crate::json::Value;

/// Where a message is looked for, in this order.
const MESSAGE_MEMBERS: [&str; 6] =
    ["error", "message", "detail", "error_message", "base_resp", "status_msg"];

/// Characters of a message or code that an observation carries.
const MAX_MESSAGE_CHARACTERS: usize = 1000;

/// A request-level failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) class: FailureClass,
    /// The server's message as sent.
    pub(crate) message: Option<String>,
    /// The server's code as sent.
    pub(crate) code: Option<String>,
    /// The event in which it was found.
    pub(crate) event: Option<u64>,
}

impl Failure {
    /// A failure about which the server said nothing.
    pub(crate) fn of(class: FailureClass) -> Self {
        Self { class, message: None, code: None, event: None }
    }

    /// A failure with what `text` says about it, if it is JSON.
    pub(crate) fn told_by(class: FailureClass, text: &str) -> Self {
        let Some(value) = Value::parse(text) else { return Self::of(class) };
        // Where the event is about an answer, the answer may hold the message.
        let inner = value.member("response").filter(|response| response.is_object());
        let told = |by: fn(Value<'_>) -> Option<String>| by(value).or_else(|| by(inner?));
        Self { message: told(message), code: told(code), ..Self::of(class) }
    }

    /// A failure reported by the server within the stream. A text that is no JSON is the message
    /// itself.
    pub(crate) fn reported(text: &[u8], event: Option<u64>) -> Self {
        let text = String::from_utf8_lossy(text);
        let class = FailureClass::ErrorEvent;
        let told = match Value::parse(&text) {
            Some(_) => Self::told_by(class, &text),
            None => {
                let message = Some(text.into_owned()).filter(|text| !text.trim().is_empty());
                Self { message, ..Self::of(class) }
            }
        };
        Self { event, ..told }
    }

    /// As an observation carries it: bounded, control characters escaped.
    pub(crate) fn to_stream_error(&self) -> StreamError {
        let presentable = |text: &String| {
            let mut shown = String::new();
            for character in text.chars().take(MAX_MESSAGE_CHARACTERS) {
                if is_steering(character) {
                    shown.extend(character.escape_default());
                } else {
                    shown.push(character);
                }
            }
            shown
        };
        StreamError {
            class: self.class,
            message: self.message.as_ref().map(presentable),
            code: self.code.as_ref().map(presentable),
            event: self.event,
        }
    }
}

/// Members by which an event or a body says that it is a failure, whatever the dialect.
#[derive(Debug, Default)]
pub(crate) struct FailureMembers<'a> {
    error: Option<Value<'a>>,
    object: Option<Value<'a>>,
    kind: Option<Value<'a>>,
    error_message: Option<Value<'a>>,
    base_resp: Option<Value<'a>>,
}

impl<'a> FailureMembers<'a> {
    /// Looks at one member of the event.
    #[inline]
    pub(crate) fn take(&mut self, key: &str, value: Value<'a>) {
        match key {
            "error" => self.error = Some(value),
            "object" => self.object = Some(value),
            "type" => self.kind = Some(value),
            "error_message" => self.error_message = Some(value),
            "base_resp" => self.base_resp = Some(value),
            _ => {}
        }
    }

    /// Whether the members report a failure.
    pub(crate) fn report_failure(&self) -> bool {
        let is_error = |value: Value<'_>| value.text().is_some_and(|text| text.decode() == "error");
        self.error.is_some_and(|error| !error.is_nothing())
            || self.object.is_some_and(is_error)
            || self.kind.is_some_and(is_error)
            || self.error_message.is_some_and(|message| message.some_text().is_some())
            || self.base_resp.and_then(status_code).is_some()
    }
}

/// Whether a line that event streams do not know is a JSON object that reports a failure.
pub(crate) fn is_json_failure(line: &str) -> bool {
    let mut failure = FailureMembers::default();
    let Some(value) = Value::parse(line) else { return false };
    value.members().for_each(|(key, value)| failure.take(&key.decode(), value));
    failure.report_failure()
}

/// The first text under the members that carry messages.
fn message(value: Value<'_>) -> Option<String> {
    if let Some(text) = value.text() {
        return Some(text.decode().into_owned()).filter(|text| !text.is_empty());
    }
    if let Some(first) = value.elements().next() {
        return message(first);
    }
    MESSAGE_MEMBERS.iter().find_map(|name| message(value.member(name)?))
}

/// The server's code, wherever servers put it.
fn code(value: Value<'_>) -> Option<String> {
    let value = value.elements().next().unwrap_or(value);
    let plain = |value: Value<'_>| {
        let text = value.some_text().map(|text| text.decode().into_owned());
        text.or_else(|| value.number().map(str::to_owned))
    };
    let nested = value.member("error").and_then(|error| error.member("code"));
    nested
        .and_then(plain)
        .or_else(|| value.member("code").and_then(plain))
        .or_else(|| value.member("base_resp").and_then(status_code).map(str::to_owned))
}

/// `base_resp.status_code`, if it is not 0.
fn status_code(base_resp: Value<'_>) -> Option<&str> {
    let code = base_resp.member("status_code")?.number()?;
    code.parse::<f64>().is_ok_and(|code| code != 0.0).then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_text_on_the_way_down_is_the_message() {
        for (json, expected) in [
            (r#"{"error":{"message":"a"},"message":"b"}"#, Some("a")),
            (r#"{"message":"b","error":{"code":1}}"#, Some("b")),
            (r#"{"error":"a"}"#, Some("a")),
            (r#"{"error":"","detail":[{"message":"c"},{"message":"d"}]}"#, Some("c")),
            (r#"[{"error":{"message":"e"}}]"#, Some("e")),
            (r#"{"base_resp":{"status_code":1,"status_msg":"f"}}"#, Some("f")),
            (r#"{"error_message":"g","status_msg":"h"}"#, Some("g")),
            (r#"{"error":{"error":{"detail":"deep"}}}"#, Some("deep")),
            (r#"{"msg":"none"}"#, None),
            (r#"{"type":"x","response":{"error":{"message":"i"}}}"#, Some("i")),
            (r#"{"response":{"message":"i"},"error":"a"}"#, Some("a")),
            (r#"{"response":"a text"}"#, None),
            (r#""bare""#, Some("bare")),
            ("17", None),
        ] {
            let failure = Failure::told_by(FailureClass::ErrorEvent, json);
            assert_eq!(failure.message.as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn codes_are_kept_as_text() {
        for (json, expected) in [
            (r#"{"error":{"code":504,"message":"a"}}"#, Some("504")),
            (r#"{"error":{"code":"slow"},"code":1}"#, Some("slow")),
            (r#"{"error":{"code":null},"code":1}"#, Some("1")),
            (r#"[{"error":{"code":429}}]"#, Some("429")),
            (r#"{"base_resp":{"status_code":1002}}"#, Some("1002")),
            (r#"{"response":{"error":{"code":"server_error"}}}"#, Some("server_error")),
            (r#"{"error":"a"}"#, None),
        ] {
            let failure = Failure::told_by(FailureClass::ErrorEvent, json);
            assert_eq!(failure.code.as_deref(), expected, "{json}");
        }
    }

    #[test]
    fn members_report_a_failure_or_not() {
        for (json, expected) in [
            (r#"{"error":"a"}"#, true),
            (r#"{"error":{"x":null}}"#, true),
            (r#"{"error":true}"#, true),
            (r#"{"error":null}"#, false),
            (r#"{"error":false}"#, false),
            (r#"{"error":""}"#, false),
            (r#"{"error":{}}"#, false),
            (r#"{"error":[]}"#, false),
            (r#"{"error":"a","error":null}"#, false),
            (r#"{"object":"error"}"#, true),
            (r#"{"type":"err\u006fr"}"#, true),
            (r#"{"type":"errors"}"#, false),
            (r#"{"error_message":"a"}"#, true),
            (r#"{"error_message":""}"#, false),
            (r#"{"base_resp":{"status_code":0}}"#, false),
            (r#"{"base_resp":{"status_code":0.0}}"#, false),
            (r#"{"base_resp":{"status_code":-1}}"#, true),
            (r#"{"base_resp":null}"#, false),
            (r#"[{"error":"a"}]"#, false),
        ] {
            assert_eq!(is_json_failure(json), expected, "{json}");
        }
    }

    #[test]
    fn messages_are_bounded_and_show_control_characters() {
        let text = format!("a\n\u{1b}[31mé{}", "x".repeat(5000));
        let error = Failure::reported(text.as_bytes(), Some(3)).to_stream_error();
        let message = error.message.unwrap();
        assert!(message.starts_with("a\\n\\u{1b}[31méxxx"));
        assert_eq!(message.chars().filter(|character| *character == 'x').count(), 992);
        assert_eq!(error.event, Some(3));
    }
}
