//! Tables of good and bad dataset files.

use proptest::prelude::*;

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
        "{\"expect\": {\"exact_text\": \"yes\"}, \"max_tokens\": 7, \"id\": \"b\", \"messages\": ",
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
    assert_eq!(second.expect, Some(Expectation::ExactText("yes".to_owned())));
}

#[test]
fn what_cannot_be_expected_is_named_by_its_own_member() {
    let cases = [
        ("7", "column 38: expect: 7 is not an object with one member, the grader's"),
        ("{}", "column 38: expect: {} is not an object with one member"),
        (r#"{"numerics": {"value": 7}}"#, "expect: unknown variant `numerics`, expected one of"),
        (r#"{"numeric": {"value": "7"}}"#, "column 60: expect.numeric.value: "),
        (r#"{"numeric": {}}"#, "column 50: expect.numeric: missing field `value`"),
        (
            r#"{"fields": [{"pointer": "/a", "is": {"equals": 1}}, {"pointer": "/b", "like": 2}]}"#,
            "expect.fields[1].like: unknown field `like`, expected `pointer` or `is`",
        ),
        (r#"{"numeric": {"value": 1}, "exact_text": "b"}"#, "is not an object with one member"),
    ];
    for (expect, expected) in cases {
        let file = format!(r#"{{"id": "a", "prompt": "b", "expect": {expect}}}"#);
        let error = error_of(file.as_bytes());
        assert!(error.starts_with("d.jsonl: line 1 column "), "{error}");
        assert!(error.contains(expected), "{expect}: {error}");
    }
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
        (r#"  "id""#, r#"d.jsonl: line 1 column 3: "id" is not an object"#),
        (r#"{}"#, "d.jsonl: line 1 column 1: id: missing; every line has an id"),
        (r#" {"prompt": "b"}"#, "d.jsonl: line 1 column 2: id: missing; every line has an id"),
        (r#"{"id": 7, "prompt": "b"}"#, "d.jsonl: line 1 column 8: id: 7 is not a non-empty text"),
        (
            r#"{"id": "", "prompt": "b"}"#,
            r#"d.jsonl: line 1 column 8: id: "" is not a non-empty text"#,
        ),
        (
            r#"{"id": "a"}"#,
            "d.jsonl: line 1 column 1: prompt: missing; every line has a prompt, messages or input_tokens",
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
            "d.jsonl: line 1 column 38: temperature: unknown member; a line has id, prompt, messages, input_tokens, max_tokens, expect, at_ms",
        ),
        (
            r#"{"id":"a","prompt":"b","a b":0}"#,
            "d.jsonl: line 1 column 30: [\"a b\"]: unknown member; a line has id, prompt, messages, input_tokens, max_tokens, expect, at_ms",
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

/// Id, place and text of each line.
fn texts(dataset: &Dataset) -> Vec<(&str, usize, &str)> {
    dataset
        .lines()
        .iter()
        .map(|line| match &line.prompt {
            Prompt::Text(text) => (line.id.as_str(), line.line, text.as_str()),
            other => panic!("{other:?} is no text"),
        })
        .collect()
}

#[test]
fn a_trace_has_times_and_may_have_lengths() {
    let file = concat!(
        "{\"id\":\"a\",\"at_ms\":0,\"input_tokens\":200,\"max_tokens\":5}\n",
        "\n",
        "{\"id\":\"b\",\"at_ms\":1.2345,\"prompt\":\"x\"}\n",
        "{\"id\":\"c\",\"at_ms\":1.2345,\"input_tokens\":1}\n",
        "{\"id\":\"d\",\"at_ms\":31536000000,\"messages\":[{\"role\":\"user\",\"content\":\"y\"}]}\n",
    );
    let dataset = Dataset::parse(file.as_bytes(), "t.jsonl").unwrap();
    assert_eq!(dataset.due_us().unwrap()[..], [0, 1235, 1235, 31_536_000_000_000]);
    let first = &dataset.lines()[0];
    assert_eq!(
        (&first.prompt, first.max_tokens),
        (&Prompt::Synthetic { input_tokens: 200 }, Some(5))
    );
    let without = Dataset::parse(b"{\"id\":\"a\",\"input_tokens\":200}", "d.jsonl").unwrap();
    assert_eq!(without.due_us(), None);
}

#[test]
fn errors_of_a_trace_name_both_lines() {
    let line = |id: &str, at_ms: &str| match at_ms {
        "" => format!("{{\"id\":\"{id}\",\"prompt\":\"x\"}}\n"),
        at_ms => format!("{{\"id\":\"{id}\",\"prompt\":\"x\",\"at_ms\":{at_ms}}}\n"),
    };
    let rule = "is not a number of milliseconds from 0, where the run begins, to 31536000000";
    let cases = [
        (
            ["5", "7", "6.5"],
            "line 3 column 32: at_ms: 6.5 lies before the at_ms of line 2; a trace is in the order of time".to_owned(),
        ),
        (
            ["5", "", "6"],
            "line 2 column 1: at_ms: missing, and line 1 has one; of a trace every line has one".to_owned(),
        ),
        (
            ["", "", "6"],
            "line 3 column 32: at_ms: line 1 has none; of a trace every line has one".to_owned(),
        ),
        (["-1", "", ""], format!("line 1 column 32: at_ms: -1 {rule}")),
        (["1e300", "", ""], format!("line 1 column 32: at_ms: 1e+300 {rule}")),
        // Seconds of the calendar are no times of a run.
        (["1700000000000", "", ""], format!("line 1 column 32: at_ms: 1700000000000 {rule}")),
        (["\"5\"", "", ""], format!("line 1 column 32: at_ms: \"5\" {rule}")),
        (["null", "", ""], format!("line 1 column 32: at_ms: null {rule}")),
    ];
    for (times, expected) in cases {
        let file: String =
            ["a", "b", "c"].into_iter().zip(times).map(|(id, at)| line(id, at)).collect();
        assert_eq!(error_of(file.as_bytes()), format!("d.jsonl: {expected}"), "{times:?}");
    }
    let cases = [
        (
            r#"{"id":"a","messages":[],"input_tokens":5}"#,
            "line 1 column 40: input_tokens: stands beside \"messages\"; a line has one of the two",
        ),
        (
            r#"{"id":"a","input_tokens":0}"#,
            "line 1 column 26: input_tokens: 0 is not a whole number of at least 1",
        ),
    ];
    for (file, expected) in cases {
        assert_eq!(error_of(file.as_bytes()), format!("d.jsonl: {expected}"), "{file}");
    }
}

#[test]
fn of_a_conversation_the_first_human_turn_is_taken() {
    let turns = [
        r#"{"id":"a_0","model":"x","conversations":[{"from":"system","value":"s"},{"from":"human","value":"one","lang":"en"},{"from":"gpt","value":"g"},{"from":"human","value":"later"}]}"#,
        r#"{"id":"b","conversations":[]}"#,
        r#"{"id":"c","conversations":[{"from":"gpt","value":"g"}]}"#,
        r#"{"id":"a_0","conversations":[{"from":"user","value":"two"}]}"#,
        r#"{"id":"d","conversations":[{"from":"human","value":""},{"from":"human","value":"later"}]}"#,
        r#"{"id":7,"conversations":[{"from":"gpt","value":""},{"from":"human","value":"thr\u00e9e"}]}"#,
        r#"{"conversations":[{"from":"human","value":"four"}]}"#,
    ];
    let array = format!("\u{feff} [\n{}]\n", turns.join(",\n"));
    let lines = turns.join("\n\n");
    for (file, places) in [(array, [1, 4, 6, 7]), (lines, [1, 7, 11, 13])] {
        let dataset = Dataset::parse(file.as_bytes(), "share.json").unwrap();
        let [twin, nameless] = [places[1], places[3]].map(|place| format!("#{place}"));
        let twin = format!("a_0{twin}");
        let expected = [
            ("a_0", places[0], "one"),
            (twin.as_str(), places[1], "two"),
            ("7", places[2], "thrée"),
            (nameless.as_str(), places[3], "four"),
        ];
        assert_eq!(texts(&dataset), expected);
        assert_eq!(dataset.skipped(), 3);
        assert_eq!(dataset.digest(), Digest::of(file.as_bytes()));
        assert_eq!(dataset.due_us(), None);
    }
}

#[test]
fn errors_of_conversations_name_element_and_turn() {
    let good = r#"{"id":"a","conversations":[{"from":"human","value":"x"}]}"#;
    let cases = [
        ("[]", "d.jsonl: no line holds a request"),
        (r#"[{"conversations":[]}]"#, "d.jsonl: no line holds a request"),
        ("[{]", "d.jsonl: line 1 column 3: not JSON: key must be a string"),
        ("[\n{},\n", "d.jsonl: line 3 column 0: not JSON: EOF while parsing a value"),
        ("[] []", "d.jsonl: line 1 column 4: not JSON: trailing characters"),
        ("[\n \"x\"]", "d.jsonl: line 2 column 2: [0]: \"x\" is not an object"),
        (
            r#"[{"id":"a","prompt":"x"}]"#,
            "d.jsonl: line 1 column 2: [0].conversations: missing; every conversation has conversations",
        ),
        (
            "[GOOD,\n  {\"conversations\": 5}]",
            "d.jsonl: line 2 column 21: [1].conversations: 5 is not a list",
        ),
        (
            "[GOOD,\n{\"conversations\": [1]}]",
            "d.jsonl: line 2 column 20: [1].conversations[0]: 1 is not an object",
        ),
        (
            r#"[{"conversations": [{"value": "x"}]}]"#,
            "d.jsonl: line 1 column 2: [0].conversations[0].from: missing; every turn has from",
        ),
        (
            r#"[{"conversations": [{"from": "gpt", "value": ["x"]}]}]"#,
            r#"d.jsonl: line 1 column 46: [0].conversations[0].value: ["x"] is not a text"#,
        ),
        (
            r#"[{"conversations": [{"from": "human", "value": "\ud800"}]}]"#,
            "d.jsonl: line 1 column 2: not JSON: unexpected end of hex escape",
        ),
        // Lines are conversations, or they are not.
        (
            "GOOD\n{\"id\":\"b\",\"prompt\":\"x\"}",
            "d.jsonl: line 2 column 1: conversations: missing; every conversation has conversations",
        ),
        ("GOOD\n[]", "d.jsonl: line 2 column 1: [] is not an object"),
        (
            "{\"id\":\"b\",\"prompt\":\"x\"}\nGOOD",
            "d.jsonl: line 2 column 27: conversations: unknown member; a line has id, prompt, messages, input_tokens, max_tokens, expect, at_ms",
        ),
    ];
    for (file, expected) in cases {
        let file = file.replace("GOOD", good);
        assert_eq!(error_of(file.as_bytes()), expected, "{file}");
    }
    assert_eq!(error_of(b"[\n\"\xff\"]"), "d.jsonl: line 2 column 2: not UTF-8");
}

proptest! {
    #[test]
    fn whatever_a_file_holds_it_is_read_or_its_place_is_named(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "[", "]", "{", "}", ",", ":", "\n", " ", "1", "-1.5e300", "null", "\"\"", "\"a\"",
                "\"\\ud800\"", "\"id\"", "\"prompt\"", "\"at_ms\"", "\"conversations\"", "\"from\"",
                "\"human\"", "\"value\"", "{\"id\":\"a\",\"prompt\":\"x\"}",
                "{\"conversations\":[{\"from\":\"human\",\"value\":\"x\"}]}", "\u{feff}", "é",
            ]),
            0..24,
        ),
        cut in 0_usize..4,
    ) {
        let file = parts.concat().into_bytes();
        // A cut may fall into a character.
        let file = &file[..file.len().saturating_sub(cut)];
        match Dataset::parse(file, "d.jsonl") {
            Ok(dataset) => prop_assert!(!dataset.lines().is_empty()),
            Err(error) => prop_assert!(error.to_string().starts_with("d.jsonl: ")),
        }
    }
}
