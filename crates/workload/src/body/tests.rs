//! Bodies of every API, byte for byte, and settings that cannot be sent.

use std::collections::BTreeMap;

use super::*;
use crate::prompt::Text;

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

/// Every setting that the API has.
fn all_settings(dialect: Dialect) -> RequestSettings {
    let format = BodyFormat::of(dialect);
    RequestSettings {
        ignore_eos: format.ignore_eos.is_some(),
        temperature: Some(0.5),
        seed: format.seed.map(|_| u64::MAX),
        ..settings("{}")
    }
}

fn body(dialect: Dialect, settings: &RequestSettings, max_tokens: Option<u64>) -> String {
    let template = BodyTemplate::new(dialect, "a \"b\"", settings).unwrap();
    let prompt = SentPrompt::text(&BodyFormat::of(dialect), Text::Given("h\u{7}é".into()));
    let (body, digest) = template.body(&prompt, max_tokens);
    assert_eq!(digest, prompt.digest());
    String::from_utf8(body).unwrap()
}

fn error(dialect: Dialect, settings: &RequestSettings) -> String {
    BodyTemplate::new(dialect, "m", settings).unwrap_err().to_string()
}

#[test]
fn bare_bodies_are_these_bytes() {
    let cases = [
        (
            Dialect::AnthropicMessages,
            r#"{"model":"a \"b\"","messages":[{"role":"user","content":"h\u0007é"}],"stream":true,"max_tokens":128}"#,
        ),
        (
            Dialect::OllamaChat,
            r#"{"model":"a \"b\"","messages":[{"role":"user","content":"h\u0007é"}],"stream":true,"options":{"num_predict":128}}"#,
        ),
        (
            Dialect::OllamaGenerate,
            r#"{"model":"a \"b\"","prompt":"h\u0007é","stream":true,"options":{"num_predict":128}}"#,
        ),
        (
            Dialect::OpenaiChat,
            r#"{"model":"a \"b\"","messages":[{"role":"user","content":"h\u0007é"}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":128}"#,
        ),
        (
            Dialect::OpenaiCompletions,
            r#"{"model":"a \"b\"","prompt":"h\u0007é","stream":true,"stream_options":{"include_usage":true},"max_tokens":128}"#,
        ),
        (
            Dialect::OpenaiResponses,
            r#"{"model":"a \"b\"","input":"h\u0007é","stream":true,"max_output_tokens":128}"#,
        ),
        (
            Dialect::SglangGenerate,
            r#"{"text":"h\u0007é","stream":true,"sampling_params":{"max_new_tokens":128}}"#,
        ),
        (
            Dialect::TgiGenerate,
            r#"{"inputs":"h\u0007é","parameters":{"max_new_tokens":128,"details":true}}"#,
        ),
    ];
    assert_eq!(cases.map(|(dialect, _)| dialect), *Dialect::ALL);
    for (dialect, expected) in cases {
        assert_eq!(body(dialect, &settings("{}"), None), expected, "{dialect}");
    }
}

#[test]
fn full_bodies_are_these_bytes() {
    let cases = [
        (
            Dialect::AnthropicMessages,
            r#"{"top_k":2,"seed":{"b":1,"a":[2]}}"#,
            r#""max_tokens":5,"temperature":0.5,"seed":{"b":1,"a":[2]},"top_k":2}"#,
        ),
        (
            Dialect::OllamaChat,
            r#"{"think":false,"options":{"num_ctx":4096,"min_p":0.1}}"#,
            r#""options":{"num_predict":5,"temperature":0.5,"seed":18446744073709551615,"num_ctx":4096,"min_p":0.1},"think":false}"#,
        ),
        (
            Dialect::OllamaGenerate,
            r#"{"raw":true,"options":{}}"#,
            r#""options":{"num_predict":5,"temperature":0.5,"seed":18446744073709551615},"raw":true}"#,
        ),
        (
            Dialect::OpenaiChat,
            r#"{"top_p":0.5,"cache_prompt":false,"nested":{"b":1,"a":[2]}}"#,
            r#""max_tokens":5,"temperature":0.5,"seed":18446744073709551615,"ignore_eos":true,"cache_prompt":false,"nested":{"b":1,"a":[2]},"top_p":0.5}"#,
        ),
        (
            Dialect::OpenaiCompletions,
            "{}",
            r#""max_tokens":5,"temperature":0.5,"seed":18446744073709551615,"ignore_eos":true}"#,
        ),
        (
            Dialect::OpenaiResponses,
            r#"{"ignore_eos":true,"store":false}"#,
            r#""max_output_tokens":5,"temperature":0.5,"ignore_eos":true,"store":false}"#,
        ),
        (
            Dialect::SglangGenerate,
            r#"{"sampling_params":{"top_k":2}}"#,
            r#""sampling_params":{"max_new_tokens":5,"temperature":0.5,"sampling_seed":18446744073709551615,"ignore_eos":true,"top_k":2}}"#,
        ),
        (
            Dialect::TgiGenerate,
            r#"{"parameters":{"watermark":true}}"#,
            r#""parameters":{"max_new_tokens":5,"details":true,"do_sample":true,"temperature":0.5,"seed":18446744073709551615,"watermark":true}}"#,
        ),
    ];
    assert_eq!(cases.map(|(dialect, ..)| dialect), *Dialect::ALL);
    for (dialect, extra_body, expected) in cases {
        let full = RequestSettings {
            extra_body: settings(extra_body).extra_body,
            ..all_settings(dialect)
        };
        let body = body(dialect, &full, Some(5));
        assert!(body.ends_with(expected), "{dialect}: {body}");
        serde_json::from_str::<Json>(&body).unwrap();
    }
}

#[test]
fn temperature_0_is_said_in_every_api() {
    let cold = RequestSettings { temperature: Some(0.0), ..settings("{}") };
    for dialect in Dialect::ALL {
        let expected = match dialect {
            // It refuses temperature 0.
            Dialect::TgiGenerate => r#""do_sample":false"#,
            _ => r#""temperature":0.0"#,
        };
        let body = body(*dialect, &cold, None);
        assert!(body.contains(expected), "{body}");
        assert_eq!(body.contains("temperature"), *dialect != Dialect::TgiGenerate);
    }
}

#[test]
fn what_an_api_cannot_say_is_refused() {
    let seed = RequestSettings { seed: Some(1), ..settings("{}") };
    let ignore_eos = RequestSettings { ignore_eos: true, ..settings("{}") };
    let said = |settings: &RequestSettings| -> Vec<String> {
        Dialect::ALL
            .iter()
            .filter_map(|dialect| BodyTemplate::new(*dialect, "m", settings).err())
            .map(|error| error.to_string())
            .collect()
    };
    let refused = |dialect, setting| {
        format!(
            "a request of {dialect} has no {setting}; leave it out, or put the server's own name \
             for it into the extra body"
        )
    };
    assert_eq!(
        said(&seed),
        [refused("anthropic-messages", "seed"), refused("openai-responses", "seed")]
    );
    let without = [
        "anthropic-messages",
        "ollama-chat",
        "ollama-generate",
        "openai-responses",
        "tgi-generate",
    ];
    assert_eq!(said(&ignore_eos), without.map(|dialect| refused(dialect, "ignore_eos")));
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
            RequestSettings { extra_body: nan, ..settings("{}") },
            "extra body member \"x\" cannot be written",
        ),
    ];
    for (settings, expected) in cases {
        for dialect in Dialect::ALL {
            assert_eq!(error(*dialect, &settings), expected, "{dialect}");
        }
    }
}

#[test]
fn members_that_requests_set_are_reserved() {
    let cases = [
        (Dialect::AnthropicMessages, r#"{"system":"x"}"#, "system"),
        (Dialect::OllamaChat, r#"{"options":7}"#, "options"),
        (Dialect::OllamaChat, r#"{"options":{"num_ctx":1,"seed":2}}"#, "options.seed"),
        (Dialect::OpenaiChat, r#"{"top_p":1,"stream":false}"#, "stream"),
        (Dialect::OpenaiCompletions, r#"{"prompt":"x"}"#, "prompt"),
        (
            Dialect::SglangGenerate,
            r#"{"sampling_params":{"n":2,"temperature":1}}"#,
            "sampling_params.temperature",
        ),
        (Dialect::TgiGenerate, r#"{"parameters":{"details":false}}"#, "parameters.details"),
    ];
    for (dialect, extra_body, member) in cases {
        assert_eq!(
            error(dialect, &settings(extra_body)),
            format!("extra body member {member:?} is set by the request itself; leave it out")
        );
    }
    for dialect in Dialect::ALL {
        let format = BodyFormat::of(*dialect);
        let body: Json =
            serde_json::from_str(&body(*dialect, &all_settings(*dialect), None)).unwrap();
        let Json::Object(members) = body else { panic!("a body is an object") };
        for (name, value) in members {
            match value {
                Json::Object(settings) if format.settings_in == Some(&name) => {
                    assert!(
                        settings.iter().all(|(name, _)| format.sets_setting(name)),
                        "{dialect}"
                    );
                }
                _ => assert!(format.sets(&name), "{dialect}: {name}"),
            }
        }
    }
}
