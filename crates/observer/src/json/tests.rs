//! Tests of the reader, some of them against `serde_json`.

use proptest::prelude::*;

use super::*;

#[test]
fn texts_lose_their_escapes() {
    for (json, expected) in [
        (r#""plain""#, "plain"),
        (r#""""#, ""),
        (r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r#""a\u0041\u00e9z""#, "aAéz"),
        (r#""\uD83d\ude00!""#, "😀!"),
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ud83dx\u0000""#, "\u{fffd}x\0"),
        (r#""\ud83d\n""#, "\u{fffd}\n"),
        (r#""\ud83dé""#, "\u{fffd}é"),
    ] {
        let text = Value::parse(json).unwrap().text().unwrap();
        assert_eq!(text.decode(), expected, "{json}");
    }
}

#[test]
fn of_a_doubled_key_the_last_counts() {
    let value = Value::parse(r#" {"a": 1, "b": 2, "\u0061" : [3 , 4]} "#).unwrap();
    let elements: Vec<_> = value.member("a").unwrap().elements().map(Value::as_written).collect();
    assert_eq!(elements, ["3", "4"]);
    assert_eq!(value.member("c"), None);
    assert_eq!(value.members().count(), 3);
    assert_eq!(value.elements().count(), 0);
}

#[test]
fn values_are_walked_over_in_place() {
    let list = r#"[ {"a":1,"b":{"c":[2]}}, 3, null , [{"d":4}], {}, {"e":"}","f":[]} ]"#;
    let mut found = String::new();
    for mut cursor in [Cursor::strict(list), Value::parse(list).unwrap().cursor()] {
        found.clear();
        let passed = cursor.walk_elements(|place, element| {
            found += &format!("{place}:");
            element.walk_members(|key, value| {
                found += key;
                value.pass()
            })
        });
        assert!(passed && cursor.is_at_end());
        assert_eq!(found, "0:ab1:2:3:4:5:ef");
    }
    let mut object = Cursor::strict(r#"{"a":{}} "#);
    assert!(object.walk_elements(|place, _| panic!("element {place}")) && object.is_at_end());
    assert!(!Cursor::strict("[1 2]").walk_elements(|_, element| element.pass()));
    assert!(!Cursor::strict("[1").walk_elements(|_, element| element.pass()));
}

#[test]
fn long_strings_end_where_they_end() {
    for length in 0..200 {
        for special in ["\"", "\\n\"", "\u{1f}\"", "\u{7f}\u{20}é\"", ""] {
            let text = format!("\"{}{special}", "é~".repeat(length));
            check_against_serde(&text);
        }
    }
}

#[test]
fn nesting_is_read_up_to_its_limit() {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(Value::parse(&nested(128)).is_some());
    assert!(Value::parse(&nested(129)).is_none());
    let object = format!("{{\"a\":{}}}", nested(127));
    assert!(is_object(&object));
    assert!(!is_object(&format!("{{\"a\":{}}}", nested(128))));
    assert!(Value::parse(&"[{\"a\":".repeat(100_000)).is_none());
}

#[test]
fn nothing_is_told_from_something() {
    for (json, expected) in [
        ("null", true),
        ("false", true),
        (r#""""#, true),
        ("{ }", true),
        ("[ ]", true),
        ("0", false),
        ("true", false),
        (r#"" ""#, false),
        (r#"{"a":null}"#, false),
        ("[0]", false),
    ] {
        assert_eq!(Value::parse(json).unwrap().is_nothing(), expected, "{json}");
    }
}

fn is_object(text: &str) -> bool {
    walk_object(text, |_, value| value.pass())
}

fn check_against_serde(text: &str) {
    let theirs = serde_json::from_str::<serde_json::Value>(text);
    assert_eq!(Value::parse(text).is_some(), theirs.is_ok(), "{text}");
    assert_eq!(is_object(text), theirs.is_ok_and(|value| value.is_object()), "{text}");
}

#[test]
fn strictness_is_that_of_serde_json() {
    for text in [
        "",
        " ",
        "nul",
        "nulll",
        "tru",
        "NaN",
        "-",
        "01",
        "-01",
        "1.",
        ".5",
        "1e",
        "1e+",
        "+1",
        "0x1",
        "1 2",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{",
        "}",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{a:1}",
        "{\"a\" 1}",
        "{,}",
        "[",
        "]",
        "\"",
        "\"\\\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"\\u+123\"",
        "\"a\tb\"",
        "\"a\0b\"",
        "\"a\u{7f}b\"",
        "\u{feff}1",
        "1\u{a0}",
        "-0.0e-0",
        "[1 , {\"a\" : [ ] } ]\n",
        "\"12345678\\n\u{1f}\"",
        "\"1234567\u{1f}\"",
    ] {
        check_against_serde(text);
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|members| serde_json::Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Rebuilds a value from what the reader says.
fn rebuild(value: Value<'_>) -> serde_json::Value {
    if let Some(text) = value.text() {
        text.decode().into()
    } else if value.is_object() {
        let members = value.members().map(|(key, value)| (key.decode().into(), rebuild(value)));
        serde_json::Value::Object(members.collect())
    } else if value.as_written().starts_with('[') {
        value.elements().map(rebuild).collect()
    } else {
        serde_json::from_str(value.as_written()).unwrap()
    }
}

/// A piece of JSON, or nearly: in a row they are an answer to be judged more often than not.
fn token() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", " ", "\n\t", "\"a\"", "\"b\"", "\"\"", "null", "true", "false",
            "0", "-1", "2.50", "1e2", "{\"a\":", "[1,", "{}", "[]", ",\"a\":",
        ])
        .prop_map(str::to_owned),
        1 => number(),
        1 => string(),
    ]
}

/// What looks like a number.
fn number() -> impl Strategy<Value = String> {
    prop_oneof!["-?[0-9]{1,4}", "[-+]?[0-9]{0,3}([.][0-9]{0,3})?([eE][-+]?[0-9]{0,2})?"]
}

/// What looks like a string: plain characters and escapes, whole and broken.
fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[ -~]",
        2 => prop::sample::select(vec![
            "\\n", "\\/", "\\\\", "\\\"", "\\u0041", "\\u00E9", "\\ud83d\\ude00", "é", "🌊", "\u{7f}",
        ])
        .prop_map(str::to_owned),
        1 => prop::sample::select(vec!["\\x", "\\u12", "\\", "\n", "\u{0}"]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// Whether `serde_json` refuses what is read here on purpose: lone surrogates, and numbers that no
/// `f64` holds.
fn differs(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_err_and(|error| {
        let error = error.to_string();
        ["surrogate", "hex escape", "out of range"].iter().any(|what| error.contains(what))
    })
}

proptest! {
    #[test]
    fn what_serde_json_writes_is_read_back(value in json()) {
        let text = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(rebuild(Value::parse(&text).unwrap()), value);
    }

    #[test]
    fn a_damaged_text_is_judged_as_serde_json_judges_it(
        value in json(),
        at in any::<prop::sample::Index>(),
        with in prop_oneof![Just(String::new()), "[\\[\\]{}\",:0-9eE+.\\\\ \n-]", any::<char>().prop_map(String::from)],
    ) {
        let mut text: Vec<char> = value.to_string().chars().collect();
        let at = at.index(text.len());
        text.splice(at..=at, with.chars());
        let text: String = text.into_iter().collect();
        prop_assume!(!differs(&text));
        check_against_serde(&text);
    }

    #[test]
    fn tokens_in_a_row_are_judged_and_read_as_serde_json_does(
        tokens in prop::collection::vec(token(), 0..12),
    ) {
        let text = tokens.concat();
        prop_assume!(!differs(&text));
        check_against_serde(&text);
        if let Ok(theirs) = serde_json::from_str::<serde_json::Value>(&text) {
            // Among them doubled keys, of which both take the last.
            prop_assert_eq!(rebuild(Value::parse(&text).unwrap()), theirs);
        }
    }

    #[test]
    fn strings_are_judged_and_read_as_serde_json_does(text in string()) {
        prop_assume!(!differs(&text));
        check_against_serde(&text);
        if let Ok(theirs) = serde_json::from_str::<String>(&text) {
            prop_assert_eq!(Value::parse(&text).unwrap().text().unwrap().decode(), theirs);
        }
    }

    #[test]
    fn units_of_any_kind_are_read_as_utf_16_is(
        units in prop::collection::vec(
            prop_oneof![any::<u16>(), 0xd800..=0xdfff_u16], 0..6,
        ),
    ) {
        let escapes: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let text = format!("\"{escapes}\"");
        let read = Value::parse(&text).unwrap().text().unwrap();
        prop_assert_eq!(read.decode(), String::from_utf16_lossy(&units));
    }

    #[test]
    fn numbers_are_judged_and_counted_as_serde_json_does(text in number()) {
        prop_assume!(!differs(&text));
        check_against_serde(&text);
        let theirs = serde_json::from_str::<serde_json::Number>(&text);
        if let (Some(ours), Ok(theirs)) = (Value::parse(&text).and_then(Value::number), theirs) {
            // What is small enough for `f64` to hold exactly must be the same to both.
            let whole = theirs.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
            let small = whole.filter(|number| *number < 9e15).map(|number| number as u64);
            let ours = crate::count::count(ours).filter(|count| *count < 9_000_000_000_000_000);
            prop_assert_eq!(ours, small, "{}", text);
        }
    }

    #[test]
    fn nesting_of_any_shape_is_read_up_to_its_limit(shape in prop::collection::vec(any::<bool>(), 1..140)) {
        let open: String = shape.iter().map(|list| if *list { "[" } else { "{\"a\":" }).collect();
        let close: String = shape.iter().rev().map(|list| if *list { "]" } else { "}" }).collect();
        let text = format!("{open}1{close}");
        prop_assert_eq!(Value::parse(&text).is_some(), shape.len() <= 128);
        prop_assert_eq!(is_object(&text), shape.len() <= 128 && !shape[0]);
    }
}
