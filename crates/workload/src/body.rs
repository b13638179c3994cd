//! Request bodies: what stands around a prompt, written once, and the prompt put into it.

use serde::Serialize;
use streamgauge_schema::{Dialect, Json, RequestSettings};

use crate::error::WorkloadError;

/// Members that have a setting of their own, or that streaming with usage needs.
const RESERVED: [&str; 8] = [
    "ignore_eos",
    "max_tokens",
    "messages",
    "model",
    "seed",
    "stream",
    "stream_options",
    "temperature",
];

/// The body of a request without its prompt and its token limit.
#[derive(Clone, Debug)]
pub(crate) struct BodyTemplate {
    before_messages: Vec<u8>,
    before_max_tokens: Vec<u8>,
    rest: Vec<u8>,
    max_tokens: u64,
}

impl BodyTemplate {
    pub(crate) fn new(
        dialect: Dialect,
        model: &str,
        settings: &RequestSettings,
    ) -> Result<Self, WorkloadError> {
        check(settings)?;
        match dialect {
            Dialect::OpenaiChat => Ok(Self::openai_chat(model, settings)),
            Dialect::AnthropicMessages
            | Dialect::OllamaChat
            | Dialect::OllamaGenerate
            | Dialect::OpenaiCompletions
            | Dialect::OpenaiResponses
            | Dialect::SglangGenerate
            | Dialect::TgiGenerate => Err(WorkloadError::ObservedOnly { dialect }),
        }
    }

    fn openai_chat(model: &str, settings: &RequestSettings) -> Self {
        let mut before_messages = b"{\"model\":".to_vec();
        write(&mut before_messages, model);
        before_messages.extend_from_slice(b",\"messages\":");
        let mut rest = Vec::new();
        if let Some(temperature) = settings.temperature {
            write_member(&mut rest, "temperature", &temperature);
        }
        if let Some(seed) = settings.seed {
            write_member(&mut rest, "seed", &seed);
        }
        if settings.ignore_eos {
            write_member(&mut rest, "ignore_eos", &true);
        }
        for (name, value) in &settings.extra_body {
            write_member(&mut rest, name, value);
        }
        rest.push(b'}');
        Self {
            before_messages,
            before_max_tokens:
                b",\"stream\":true,\"stream_options\":{\"include_usage\":true},\"max_tokens\":"
                    .to_vec(),
            rest,
            max_tokens: settings.max_tokens,
        }
    }

    /// The whole body. Without a limit of its own the prompt gets the plan's.
    pub(crate) fn body(&self, messages: &Json, max_tokens: Option<u64>) -> Vec<u8> {
        let mut body = self.before_messages.clone();
        write(&mut body, messages);
        body.extend_from_slice(&self.before_max_tokens);
        write(&mut body, &max_tokens.unwrap_or(self.max_tokens));
        body.extend_from_slice(&self.rest);
        body
    }
}

fn check(settings: &RequestSettings) -> Result<(), WorkloadError> {
    if settings.max_tokens == 0 {
        return Err(WorkloadError::NoTokens);
    }
    if let Some(value) = settings.temperature.filter(|value| !(0.0..=f64::MAX).contains(value)) {
        return Err(WorkloadError::Temperature { value });
    }
    for (name, value) in &settings.extra_body {
        if RESERVED.contains(&name.as_str()) {
            return Err(WorkloadError::ReservedMember { name: name.clone() });
        }
        // serde_json would write NaN as `null`.
        Json::from_value(value)
            .map_err(|source| WorkloadError::ExtraBody { name: name.clone(), source })?;
    }
    Ok(())
}

fn write_member<T: Serialize>(out: &mut Vec<u8>, name: &str, value: &T) {
    out.push(b',');
    write(out, name);
    out.push(b':');
    write(out, value);
}

fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("texts, numbers and trees are written to memory");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn settings(extra_body: &str) -> RequestSettings {
        RequestSettings {
            max_tokens: 128,
            ignore_eos: false,
            temperature: None,
            seed: None,
            header_names: Vec::new(),
            extra_body: serde_json::from_str(extra_body).unwrap(),
        }
    }

    #[test]
    fn requests_are_written_in_one_dialect() {
        for dialect in Dialect::ALL {
            let template = BodyTemplate::new(*dialect, "m", &settings("{}"));
            assert_eq!(template.is_ok(), *dialect == Dialect::OpenaiChat, "{dialect}");
        }
    }

    #[test]
    fn bodies_are_these_bytes() {
        let bare = settings("{}");
        let full = RequestSettings {
            ignore_eos: true,
            temperature: Some(0.0),
            seed: Some(u64::MAX),
            ..settings(r#"{"top_p":0.5,"cache_prompt":false,"nested":{"b":1,"a":[2]}}"#)
        };
        let cases = [
            (
                &bare,
                None,
                r#"{"model":"a \"b\"","messages":[{"role":"user","content":"h\u0007é"}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":128}"#,
            ),
            (
                &full,
                Some(5),
                r#"{"model":"a \"b\"","messages":[{"role":"user","content":"h\u0007é"}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"temperature":0.0,"seed":18446744073709551615,"ignore_eos":true,"cache_prompt":false,"nested":{"b":1,"a":[2]},"top_p":0.5}"#,
            ),
        ];
        let messages = serde_json::from_str(r#"[{"role":"user","content":"h\u0007é"}]"#).unwrap();
        for (settings, max_tokens, expected) in cases {
            let template = BodyTemplate::new(Dialect::OpenaiChat, "a \"b\"", settings).unwrap();
            let body = String::from_utf8(template.body(&messages, max_tokens)).unwrap();
            assert_eq!(body, expected);
        }
    }

    #[test]
    fn impossible_settings_are_refused() {
        let nan = BTreeMap::from([("x".to_owned(), Json::Array(vec![Json::Float(f64::NAN)]))]);
        let cases = [
            (
                RequestSettings { max_tokens: 0, ..settings("{}") },
                "max_tokens 0 is not a whole number of at least 1",
            ),
            (
                RequestSettings { temperature: Some(-0.5), ..settings("{}") },
                "temperature -0.5 is not a number of at least 0",
            ),
            (
                RequestSettings { temperature: Some(f64::NAN), ..settings("{}") },
                "temperature NaN is not a number of at least 0",
            ),
            (
                RequestSettings { temperature: Some(f64::INFINITY), ..settings("{}") },
                "temperature inf is not a number of at least 0",
            ),
            (
                settings(r#"{"top_p":1,"stream":false}"#),
                "extra body member \"stream\" is set by the request itself; leave it out",
            ),
            (
                RequestSettings { extra_body: nan, ..settings("{}") },
                "extra body member \"x\" cannot be written",
            ),
        ];
        for (settings, expected) in cases {
            let error = BodyTemplate::new(Dialect::OpenaiChat, "m", &settings).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn every_member_of_a_body_is_reserved() {
        let all = RequestSettings {
            ignore_eos: true,
            temperature: Some(1.0),
            seed: Some(1),
            ..settings("{}")
        };
        let template = BodyTemplate::new(Dialect::OpenaiChat, "m", &all).unwrap();
        let body: BTreeMap<String, Json> =
            serde_json::from_slice(&template.body(&Json::Array(Vec::new()), None)).unwrap();
        assert!(body.keys().eq(RESERVED.iter()));
    }
}
