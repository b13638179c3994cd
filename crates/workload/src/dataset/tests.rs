//! Tables of good and bad dataset files.

use super::*;

fn error_of(bytes: &[u8]) -> String {
    Dataset::parse(bytes, "d.jsonl").unwrap_err().to_string()
}

#[test]
fn good_lines_are_kept_as_written() {
    let file = concat!(
        "\u{feff}{\"id\": \"a\", \"prompt\": \"Hi \\u00e9\"}\r\n",
        "\n",
        " \t\r\n",
        "{\"expect\": {\"z\": 1.0, \"a\": null}, \"max_tokens\": 7, \"id\": \"b\", \"messages\": ",
        "[{\"role\": \"system\", \"content\": null}, {\"content\": [], \"name\": \"n\", \"role\": \"user\"}]}",
    );
    let dataset = Dataset::parse(file.as_bytes(), "dir/d.jsonl").unwrap();
    assert_eq!(dataset.file_name(), "dir/d.jsonl");
    assert_eq!(dataset.digest(), Digest::of(file.as_bytes()));
    let [first, second] = dataset.lines() else { panic!("two lines hold a request") };
    assert_eq!(
        first,
        &DatasetLine {
            id: "a".to_owned(),
            line: 1,
            prompt: Prompt::Text("Hi é".to_owned()),
            max_tokens: None,
            expect: None,
        }
    );
    assert_eq!((second.id.as_str(), second.line, second.max_tokens), ("b", 4, Some(7)));
    let text = |value: &Json| serde_json::to_string(value).unwrap();
    let Prompt::Messages(messages) = &second.prompt else { panic!("the line has messages") };
    assert_eq!(
        text(messages),
        r#"[{"role":"system","content":null},{"content":[],"name":"n","role":"user"}]"#
    );
    assert_eq!(text(second.expect.as_ref().unwrap()), r#"{"z":1.0,"a":null}"#);
}

#[test]
fn errors_name_place_member_value_and_rule() {
    let cases: [(&str, &str); 35] = [
        ("", "d.jsonl: no line holds a request"),
        ("\n \r\n", "d.jsonl: no line holds a request"),
        (r#"{"id": "a""#, "d.jsonl: line 1 column 10: not JSON: EOF while parsing an object"),
        (
            "{\"id\":\"a\",\"prompt\":\"b\"}\n{'id': 1}",
            "d.jsonl: line 2 column 2: not JSON: key must be a string",
        ),
        (
            r#"{"id":"a","prompt":"b"} {}"#,
            "d.jsonl: line 1 column 25: not JSON: trailing characters",
        ),
        (
            r#"{"id":"a","prompt":"\ud800"}"#,
            "d.jsonl: line 1 column 27: not JSON: unexpected end of hex escape",
        ),
        (r#"  ["id", "a"]"#, r#"d.jsonl: line 1 column 3: ["id","a"] is not an object"#),
        (r#"{}"#, "d.jsonl: line 1 column 1: id: missing; every line has an id"),
        (r#" {"prompt": "b"}"#, "d.jsonl: line 1 column 2: id: missing; every line has an id"),
        (r#"{"id": 7, "prompt": "b"}"#, "d.jsonl: line 1 column 8: id: 7 is not a non-empty text"),
        (
            r#"{"id": "", "prompt": "b"}"#,
            r#"d.jsonl: line 1 column 8: id: "" is not a non-empty text"#,
        ),
        (
            r#"{"id": "a"}"#,
            "d.jsonl: line 1 column 1: prompt: missing; every line has a prompt or messages",
        ),
        (
            r#"{"id": "a", "prompt": ""}"#,
            r#"d.jsonl: line 1 column 23: prompt: "" is not a non-empty text"#,
        ),
        (
            r#"{"id": "a", "prompt": ["b"]}"#,
            r#"d.jsonl: line 1 column 23: prompt: ["b"] is not a non-empty text"#,
        ),
        (
            r#"{"id": "a", "prompt": "b", "messages": []}"#,
            "d.jsonl: line 1 column 40: messages: stands beside \"prompt\"; a line has one of the two",
        ),
        (
            r#"{"id": "a", "messages": []}"#,
            "d.jsonl: line 1 column 25: messages: [] is not a list with at least one message",
        ),
        (
            r#"{"id": "a", "messages": "b"}"#,
            "d.jsonl: line 1 column 25: messages: \"b\" is not a list with at least one message",
        ),
        (
            r#"{"id": "a", "messages": ["b"]}"#,
            "d.jsonl: line 1 column 26: messages[0]: \"b\" is not an object",
        ),
        (
            r#"{"id": "a", "messages": [{"content": "b"}]}"#,
            "d.jsonl: line 1 column 1: messages[0].role: missing; every message has a role",
        ),
        (
            r#"{"id": "a", "messages": [{"role": "user", "content": "b"}, {"role": 1, "content": "b"}]}"#,
            "d.jsonl: line 1 column 69: messages[1].role: 1 is not a non-empty text",
        ),
        (
            r#"{"id": "a", "messages": [{"role": "user"}]}"#,
            "d.jsonl: line 1 column 1: messages[0].content: missing; every message has content",
        ),
        (
            r#"{"id": "a", "messages": [{"role": "user", "content": {}}]}"#,
            "d.jsonl: line 1 column 54: messages[0].content: {} is not a text, a list or null",
        ),
        (
            r#"{"id":"a","prompt":"b","max_tokens":0}"#,
            "d.jsonl: line 1 column 37: max_tokens: 0 is not a whole number of at least 1",
        ),
        (
            r#"{"id":"a","prompt":"b","max_tokens":-1}"#,
            "d.jsonl: line 1 column 37: max_tokens: -1 is not a whole number of at least 1",
        ),
        (
            r#"{"id":"a","prompt":"b","max_tokens":1.0}"#,
            "d.jsonl: line 1 column 37: max_tokens: 1.0 is not a whole number of at least 1",
        ),
        (
            r#"{"id":"a","prompt":"b","max_tokens":null}"#,
            "d.jsonl: line 1 column 37: max_tokens: null is not a whole number of at least 1",
        ),
        (
            r#"{"id":"a","promt":"b"}"#,
            r#"d.jsonl: line 1 column 19: promt: unknown member; did you mean "prompt"?"#,
        ),
        (
            r#"{"ID":"a","prompt":"b"}"#,
            r#"d.jsonl: line 1 column 7: ID: unknown member; did you mean "id"?"#,
        ),
        (
            r#"{"id":"a","maxtokens":1}"#,
            r#"d.jsonl: line 1 column 23: maxtokens: unknown member; did you mean "max_tokens"?"#,
        ),
        (
            r#"{"id":"a","prompt":"b","temperature":0}"#,
            "d.jsonl: line 1 column 38: temperature: unknown member; a line has id, prompt, messages, max_tokens, expect",
        ),
        (
            r#"{"id":"a","prompt":"b","a b":0}"#,
            "d.jsonl: line 1 column 30: [\"a b\"]: unknown member; a line has id, prompt, messages, max_tokens, expect",
        ),
        (
            r#"{"id":"a","prompt":"b","prompt":"c"}"#,
            "d.jsonl: line 1 column 33: prompt: stands twice in one object",
        ),
        (
            r#"{"id":"a","messages":[{"role":"user","role":"system","content":"b"}]}"#,
            "d.jsonl: line 1 column 45: messages[0].role: stands twice in one object",
        ),
        (
            "{\"id\":\"a\",\"prompt\":\"b\"}\n\n{\"id\":\"a\",\"prompt\":\"c\"}",
            "d.jsonl: line 3 column 7: id: \"a\" is the id of line 1 already",
        ),
        (
            r#"{"id":"a","prompt":{"é":"0123456789012345678901234567890123456789012345678901234567890"}}"#,
            "d.jsonl: line 1 column 20: prompt: {\"é\":\"012345678901234567890123456789012345678901234567890123… is not a non-empty text",
        ),
    ];
    for (file, expected) in cases {
        assert_eq!(error_of(file.as_bytes()), expected, "{file}");
    }
}

#[test]
fn what_is_not_utf8_is_placed_by_its_byte() {
    assert_eq!(
        error_of(b"{\"id\":\"a\",\"prompt\":\"b\"}\n{\"id\":\"\xff\"}"),
        "d.jsonl: line 2 column 8: not UTF-8"
    );
}
