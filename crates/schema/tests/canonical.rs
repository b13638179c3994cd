//! Canonical bytes, held against what CPython 3 gives for `json.dumps(value, indent=2,
//! sort_keys=True)`.

use std::collections::{BTreeMap, HashMap};

use streamgauge_schema::Json::{self, Array, Bool, Float, Int, Null, Uint};
use streamgauge_schema::{CanonicalError, Layout, digest_bytes, file_bytes};

fn text(text: &str) -> Json {
    Json::from(text)
}

fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.map(|(key, value)| (key.to_owned(), value)).into())
}

#[test]
fn canonical_texts_are_those_of_json_dumps() {
    let cases = [
        (Float(1e-5), "1e-05"),
        (Float(9.999e-5), "9.999e-05"),
        (Float(1e-4), "0.0001"),
        (Float(0.1), "0.1"),
        (Float(1.0), "1.0"),
        (Float(-1.5), "-1.5"),
        (Float(100.0), "100.0"),
        (Float(123456.789), "123456.789"),
        (Float(14744.056768000519), "14744.056768000519"),
        (Float(15100.452483000481), "15100.452483000481"),
        (Float(14881.152528001621), "14881.152528001621"),
        (Float(1e15), "1000000000000000.0"),
        (Float(9_999_999_999_999_998.0), "9999999999999998.0"),
        (Float(1e16), "1e+16"),
        (Float(123_456_789_012_345_680.0), "1.2345678901234568e+17"),
        (Float(1e22), "1e+22"),
        (Float(1e-100), "1e-100"),
        (Float(5e-324), "5e-324"),
        (Float(2.225_073_858_507_201_4e-308), "2.2250738585072014e-308"),
        (Float(f64::MAX), "1.7976931348623157e+308"),
        (Float(0.0), "0.0"),
        (Float(-0.0), "-0.0"),
        (Float(9_007_199_254_740_991.0), "9007199254740991.0"),
        (Float(9_007_199_254_740_992.0), "9007199254740992.0"),
        (Float(9_007_199_254_740_994.0), "9007199254740994.0"),
        (Uint(0), "0"),
        (Uint(9_007_199_254_740_991), "9007199254740991"),
        (Uint(9_007_199_254_740_992), "9007199254740992"),
        (Uint(9_007_199_254_740_993), "9007199254740993"),
        (Uint(u64::MAX), "18446744073709551615"),
        (Int(-9_007_199_254_740_993), "-9007199254740993"),
        (Int(i64::MIN), "-9223372036854775808"),
        (text(""), r#""""#),
        (text("plain: a/b ~"), r#""plain: a/b ~""#),
        (text("\"quoted\" and \\"), r#""\"quoted\" and \\""#),
        (text("\u{8}\u{c}\n\r\t"), r#""\b\f\n\r\t""#),
        (text("\0\u{1}\u{1f}"), r#""\u0000\u0001\u001f""#),
        (text("\u{7f}"), r#""\u007f""#),
        (text("\u{80}\u{a0}"), r#""\u0080\u00a0""#),
        (text("é→"), r#""\u00e9\u2192""#),
        (text("\u{2028}\u{2029}"), r#""\u2028\u2029""#),
        (text("😀"), r#""\ud83d\ude00""#),
        (text("\u{d7ff}\u{e000}\u{ffff}\u{10ffff}"), r#""\ud7ff\ue000\uffff\udbff\udfff""#),
        (Null, "null"),
        (Bool(true), "true"),
        (Array(vec![]), "[]"),
        (object([]), "{}"),
        (
            Array(vec![Array(vec![]), object([])]),
            "[
  [],
  {}
]",
        ),
        (
            object([
                ("b", Array(vec![Uint(1), Float(1.0)])),
                ("a", object([("é", Null), ("z", Bool(true)), ("Z", Bool(false))])),
            ]),
            r#"{
  "a": {
    "Z": false,
    "z": true,
    "\u00e9": null
  },
  "b": [
    1,
    1.0
  ]
}"#,
        ),
        (
            object([("😀", Uint(1)), ("\u{ffff}", Uint(2)), ("a10", Uint(3)), ("a9", Uint(4))]),
            r#"{
  "a10": 3,
  "a9": 4,
  "\uffff": 2,
  "\ud83d\ude00": 1
}"#,
        ),
    ];
    assert!(cases.len() >= 40);
    for (value, expected) in cases {
        let bytes = digest_bytes(&value).unwrap();
        let written = String::from_utf8(bytes).unwrap();
        assert_eq!(written, format!("{expected}\n"), "{value:?}");
        let read: Json = serde_json::from_str(&written).unwrap();
        assert_eq!(digest_bytes(&read).unwrap(), written.as_bytes(), "{value:?} read back");
    }
}

#[test]
fn members_keep_their_order_as_given() {
    let value = object([("b", Uint(1)), ("a", Null)]);
    let bytes = file_bytes(&value, Layout::AsGiven).unwrap();
    assert_eq!(bytes, b"{\n  \"b\": 1,\n  \"a\": null\n}\n");
}

#[test]
fn numbers_that_json_does_not_know_are_refused() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let refused = |result: Result<Vec<u8>, CanonicalError>| {
            assert!(matches!(result, Err(CanonicalError::NotFinite { .. })), "{value}: {result:?}");
        };
        refused(digest_bytes(&value));
        refused(digest_bytes(&Float(value)));
        refused(digest_bytes(&HashMap::from([("deep", vec![Some(value)])])));
        refused(file_bytes(&[value], Layout::AsGiven));
    }
}

#[test]
fn keys_are_texts_or_whole_numbers() {
    let by_number = BTreeMap::from([(10, "ten"), (9, "nine")]);
    assert_eq!(digest_bytes(&by_number).unwrap(), b"{\n  \"10\": \"ten\",\n  \"9\": \"nine\"\n}\n");
    let by_list = BTreeMap::from([(vec![1], "one")]);
    assert_eq!(digest_bytes(&by_list), Err(CanonicalError::KeyNotText));
}
