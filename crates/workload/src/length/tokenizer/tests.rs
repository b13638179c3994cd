//! Lengths by two small tokenizers: one of whole words, one of letters and a few pairs of them.

use streamgauge_schema::SharedPrefix;

use super::*;

/// Every word is a token, and every run of other marks.
const WORDS: &str = r#"{
  "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
  "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "vocab": {"?": 0, "house": 1}, "unk_token": "?"}
}"#;

/// The same, cut after 16 tokens and filled up to 600.
fn cut_and_filled() -> String {
    let cut = r#""truncation": {"direction": "Right", "max_length": 16, "strategy": "LongestFirst", "stride": 0}"#;
    let filled = r#""padding": {"strategy": {"Fixed": 600}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0, "pad_type_id": 0, "pad_token": "?"}"#;
    WORDS.replace(r#""truncation": null"#, cut).replace(r#""padding": null"#, filled)
}

/// Letters, and pairs of them that English has often.
fn pairs() -> String {
    let pairs = ["re", "in", "er", "th", "an", "Ġs", "Ġb", "Ġc", "Ġa"];
    let letters = ('!'..='~').chain(['Ġ', 'Ċ']).map(String::from);
    let tokens = letters.chain(pairs.map(str::to_owned)).zip(0..);
    let vocab: Vec<String> = tokens
        .map(|(token, id)| format!("{}: {id}", serde_json::to_string(&token).unwrap()))
        .collect();
    let merges = pairs.map(|pair| {
        let (first, second) = pair.split_at(pair.chars().next().unwrap().len_utf8());
        format!("[\"{first}\", \"{second}\"]")
    });
    let model = format!(
        r#""model": {{"type": "BPE", "vocab": {{{}}}, "merges": [{}]}}"#,
        vocab.join(", "),
        merges.join(", "),
    );
    let by_bytes = r#"{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}"#;
    let (before, _) = WORDS.split_once(r#""model""#).unwrap();
    format!("{}{model}}}", before.replace(r#"{"type": "Whitespace"}"#, by_bytes))
}

fn prompts(words: u64) -> SyntheticPrompts {
    SyntheticPrompts::new(words, 4).unwrap()
}

#[test]
fn words_are_counted_with_what_stands_around_them() {
    let prefix = SharedPrefix { words: 50, count: 4 };
    let with_prefix = prompts(400).with_prefix(prefix).unwrap();
    // Each paragraph ends with a mark, and a nonce is one mark, digits, and another mark.
    let cases = [
        (prompts(400), 2),
        (prompts(20), 2),
        (prompts(400).with_nonce(1), 2 + 3),
        (with_prefix, 3),
        (with_prefix.with_nonce(1), 3 + 6),
    ];
    for json in [WORDS.to_owned(), cut_and_filled()] {
        for (prompts, besides) in cases {
            let lengths = Lengths::from_tokenizer(json.as_bytes(), &prompts).unwrap();
            assert_eq!(lengths.words(1000), 1000 - besides, "{prompts:?}");
            let sha256 = Digest::of(json.as_bytes());
            assert_eq!(*lengths.basis(), LengthBasis::Tokenizer { sha256 });
        }
    }
}

#[test]
fn prompts_have_the_wanted_tokens_on_average() {
    let json = pairs();
    let tokenizer = Tokenizer::from_bytes(&json).unwrap();
    for wanted in [500, 2_000] {
        let like = prompts(Lengths::assumed().words(wanted));
        let words = Lengths::from_tokenizer(json.as_bytes(), &like).unwrap().words(wanted);
        let tokens = |index| {
            let text = prompts(words).prompt(Stage::Measured, index);
            tokenizer.encode_fast(text, false).unwrap().len() as f64
        };
        // Words of five letters on average are no even measure; their mean is.
        let mean = (0..40).map(tokens).sum::<f64>() / 40.0;
        assert!((mean / wanted as f64 - 1.0).abs() < 0.02, "{mean} for {wanted}");
    }
}

#[test]
fn what_is_no_tokenizer_is_refused() {
    let error = |json: &str| {
        Lengths::from_tokenizer(json.as_bytes(), &prompts(100)).unwrap_err().to_string()
    };
    assert!(error("{}").starts_with("no usable tokenizer: "), "{}", error("{}"));
    assert!(error("").starts_with("no usable tokenizer: EOF while parsing"), "{}", error(""));
}
