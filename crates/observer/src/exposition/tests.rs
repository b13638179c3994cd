use streamgauge_schema::ServerQuantity;

use super::*;

/// What three servers tell, in the layout of their own documentation; names are theirs, figures invented.
const VLLM: &str = r#"# HELP vllm:num_requests_running Requests in execution.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="/srv/models/m"} 3.0
vllm:num_requests_running{engine="1",model_name="/srv/models/m"} 5.0
vllm:num_requests_waiting{engine="0",model_name="/srv/models/m"} 0.0
vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 7.0
vllm:kv_cache_usage_perc{engine="0",model_name="/srv/models/m"} 0.125
vllm:gpu_cache_usage_perc{engine="0",model_name="/srv/models/m"} 0.125
vllm:prompt_tokens_total{engine="0",model_name="/srv/models/m"} 8.192e+06
vllm:generation_tokens_total{engine="0",model_name="/srv/models/m"} 4096.0
vllm:generation_tokens_created{engine="0",model_name="/srv/models/m"} 1.7e+09
vllm:num_preemptions_total{engine="0",model_name="/srv/models/m"} 0.0
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="/srv/models/m"} 300.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="/srv/models/m"} 210.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",position="0"} 110.0
vllm:time_to_first_token_seconds_bucket{le="+Inf",model_name="/srv/models/m"} 12.0
"#;
const SGLANG: &str = r#"# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="0"} 6.0
sglang:num_running_reqs{engine_type="unified",model_name="m",pp_rank="0",tp_rank="1"} 6.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",priority="",tp_rank="0"} 4.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",priority="1",tp_rank="0"} 3.0
sglang:num_queue_reqs{engine_type="unified",model_name="m",priority="2",tp_rank="0"} 1.0
sglang:token_usage{model_name="m"} 0.28
sglang:spec_accept_length{model_name="m"} 2.75
sglang:prompt_tokens_total{model_name="m"} 8128.0
sglang:generation_tokens_total{model_name="m"} 7557.0
sglang:num_retracted_requests_total{model_name="m"} 2.0
"#;
const LLAMACPP: &str = "# TYPE llamacpp:prompt_tokens_total counter
llamacpp:prompt_tokens_total 120
llamacpp:tokens_predicted_total 340
llamacpp:predicted_tokens_seconds 31.4159
llamacpp:requests_processing 2
llamacpp:requests_deferred 1
llamacpp:kv_cache_usage_ratio 0.5
llamacpp:spec_decode_num_draft_tokens_total 0
llamacpp:spec_decode_num_accepted_tokens_total 0
";

/// The samples of whole lines.
fn read(text: &str) -> Vec<ServerSample> {
    read_server_metrics(format!("{text}\n").as_bytes()).unwrap()
}

/// The values that tell of a quantity, sorted.
fn values(text: &str, quantity: ServerQuantity) -> Vec<f64> {
    let told = read(text).into_iter().filter(|sample| sample.family.quantity() == quantity);
    let mut values: Vec<f64> = told.map(|sample| sample.value).collect();
    values.sort_by(f64::total_cmp);
    values
}

#[test]
fn three_servers_are_understood() {
    use ServerQuantity::*;
    for (text, quantity, expected) in [
        (VLLM, RequestsRunning, &[3.0, 5.0] as &[f64]),
        (VLLM, RequestsWaiting, &[0.0]),
        (VLLM, KvCacheUsage, &[0.125, 0.125]),
        (VLLM, PromptTokens, &[8_192_000.0]),
        (VLLM, OutputTokens, &[4096.0]),
        (VLLM, Preemptions, &[0.0]),
        (VLLM, DraftTokens, &[300.0]),
        (VLLM, DraftAccepted, &[210.0]),
        (VLLM, AcceptedLength, &[]),
        // Ranks that report the same count once, and a total holds its parts.
        (SGLANG, RequestsRunning, &[6.0]),
        (SGLANG, RequestsWaiting, &[4.0]),
        (SGLANG, KvCacheUsage, &[0.28]),
        (SGLANG, AcceptedLength, &[2.75]),
        (SGLANG, PromptTokens, &[8128.0]),
        (SGLANG, OutputTokens, &[7557.0]),
        (SGLANG, Preemptions, &[2.0]),
        (LLAMACPP, RequestsRunning, &[2.0]),
        (LLAMACPP, RequestsWaiting, &[1.0]),
        (LLAMACPP, KvCacheUsage, &[0.5]),
        (LLAMACPP, PromptTokens, &[120.0]),
        (LLAMACPP, OutputTokens, &[340.0]),
        (LLAMACPP, DraftTokens, &[0.0]),
        (LLAMACPP, DraftAccepted, &[0.0]),
    ] {
        assert_eq!(values(text, quantity), expected, "{quantity:?}");
    }
}

#[test]
fn every_family_is_known_by_its_name() {
    for family in ServerFamily::ALL {
        let found = read(&format!("{family} 1\n"));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].family, *family);
    }
}

#[test]
fn nothing_of_the_servers_text_is_kept() {
    let kept = serde_json::to_string(&read(VLLM)).unwrap();
    assert!(!kept.contains("srv") && !kept.contains("model"), "{kept}");
}

#[test]
fn series_are_told_apart_by_their_labels_in_any_order() {
    let running = |labels: &str| read(&format!("vllm:num_requests_running{labels} 1"))[0].clone();
    let one = running(r#"{a="1",b="2"}"#);
    assert_eq!(one, running(r#"{ b = "2" , a = "1", }"#));
    assert_eq!(one, running(r#"{a="1",b="2",tp_rank="3"}"#));
    for other in ["", "{}", r#"{a="1"}"#, r#"{a="1",b="3"}"#, r#"{a="1\"",b="2"}"#] {
        assert_ne!(one.series, running(other).series, "{other}");
    }
}

#[test]
fn what_the_format_allows_is_read() {
    for (line, expected) in [
        ("llamacpp:requests_processing 4", Some(4.0)),
        ("  llamacpp:requests_processing\t4.5e0 1700000000000\r", Some(4.5)),
        ("llamacpp:requests_processing{} +4", Some(4.0)),
        (r#"llamacpp:requests_processing{a="} 9",b="\\\n"}4"#, Some(4.0)),
        (r#"llamacpp:requests_processing 4 # {trace_id="a"} 1.0 1700000000.5"#, Some(4.0)),
        // Not a figure to be counted with.
        ("llamacpp:requests_processing NaN", None),
        ("llamacpp:requests_processing +Inf", None),
        ("llamacpp:requests_processing -1", None),
        ("llamacpp:requests_processing 1e16", None),
        // Others go on to have what they want.
        ("other{a=b} many", None),
        (r#"{"with.dots",a="1"} 1"#, None),
        ("# EOF", None),
        ("", None),
    ] {
        let found: Vec<f64> = read(line).into_iter().map(|sample| sample.value).collect();
        assert_eq!(found, Vec::from_iter(expected), "{line}");
    }
}

#[test]
fn what_is_no_exposition_is_told_with_its_line() {
    let name = "llamacpp:requests_processing";
    for (text, expected) in [
        ("<html><body>".to_owned(), "line 1 of the metrics is neither a comment nor a sample"),
        ("{}".to_owned(), "line 1 of the metrics is neither a comment nor a sample"),
        ("\n{\"object\": 1}".to_owned(), "line 2 of the metrics is neither a comment nor a sample"),
        (format!("a 1\n{name} \n"), "line 2 of the metrics is neither a comment nor a sample"),
        (format!("{name} four"), "line 1 of the metrics has a value that is no number"),
        (format!("{name} 4 5 6"), "line 1 of the metrics has more behind its value than a time"),
        (format!("{name}{{a}} 4"), "line 1 of the metrics has a label without a value"),
        (format!("{name}{{a=1}} 4"), "line 1 of the metrics has a label without quotes"),
        (format!("{name}{{a=\"1"), "line 1 of the metrics has a label without its end"),
        (
            format!("{name}{{a=\"\\t\"}} 4"),
            "line 1 of the metrics has an unknown escape in a label",
        ),
        (
            format!("{name}{{a=\"\"b=\"\"}} 4"),
            "line 1 of the metrics has labels without a comma between them",
        ),
        (format!("{name}{{a=\"\",a=\"\"}} 4"), "line 1 of the metrics has a label twice"),
        (format!("{name}{{=\"\"}} 4"), "line 1 of the metrics has a label whose name is none"),
        (format!("{name}{{a=\"\"}}"), "line 1 of the metrics has no value"),
        (format!("{name} 4\n{name} 12"), "line 2 of the metrics was cut off: it has no line feed"),
    ] {
        let fault = read_server_metrics(text.as_bytes()).unwrap_err();
        assert_eq!(fault.to_string(), expected, "{text}");
    }
    let torn = b"llamacpp:requests_processing{a=\"\xff\"} 4";
    assert!(read_server_metrics(torn).is_err());
}

#[test]
fn more_series_than_any_server_has_are_refused() {
    let of = |count: usize| -> String {
        (0..count).map(|n| format!("vllm:num_requests_running{{engine=\"{n}\"}} 1\n")).collect()
    };
    assert_eq!(read(&of(MAX_SAMPLES)).len(), MAX_SAMPLES);
    let fault = read_server_metrics(of(MAX_SAMPLES + 1).as_bytes()).unwrap_err();
    assert_eq!(fault.line, MAX_SAMPLES + 1);
}
