//! Values that must not get out, and how they are taken out of what is written.

use std::fmt;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// A shorter text may stand anywhere by chance, and is left where it stands.
const SHORTEST: usize = 4;

/// What stands in a text for a secret.
const REDACTED: &str = "[redacted]";
/// What a text ends with that was cut.
const CUT: char = '…';
/// What stands in bytes, whose number is kept, for each byte of one.
const MASK: u8 = b'*';

/// What URLs encode besides, and what they leave as it is (RFC 3986).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The alphabets of Base64.
const ALPHABETS: [alphabet::Alphabet; 2] = [alphabet::STANDARD, alphabet::URL_SAFE];

/// A value that can be sent, and neither printed nor serialised.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The value itself, for those who send it or take it out of a text.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Finds secrets in what others wrote: as they are, as Base64 wherever in it they begin, percent-encoded,
/// and as JSON escapes them.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    find: Option<AhoCorasick>,
    /// What is looked for.
    forms: Arc<[String]>,
}

impl Redactor {
    /// A redactor of these; those that are too short to be told apart from chance are left out.
    pub(crate) fn of(secrets: &[Secret]) -> Self {
        let told_apart = secrets.iter().map(Secret::reveal).filter(|it| it.len() >= SHORTEST);
        let mut forms: Vec<String> = told_apart.flat_map(forms).collect();
        forms.retain(|form| form.len() >= SHORTEST);
        forms.sort_unstable();
        forms.dedup();
        let find = (!forms.is_empty()).then(|| {
            let mut builder = AhoCorasickBuilder::new();
            builder.match_kind(MatchKind::LeftmostLongest).build(&forms)
        });
        // It fails on gigabytes of texts, which no line of a command holds.
        Self { find: find.and_then(Result::ok), forms: forms.into() }
    }

    /// Whether there is nothing to find.
    pub(crate) fn is_idle(&self) -> bool {
        self.find.is_none()
    }

    /// The text without secrets, and without the beginning of one with which a text ends that was cut.
    pub(crate) fn redact(&self, text: &str) -> String {
        let Some(find) = &self.find else { return text.to_owned() };
        let mut redacted = String::with_capacity(text.len());
        find.replace_all_with(text, &mut redacted, |_, _, redacted| {
            redacted.push_str(REDACTED);
            true
        });
        if let Some(length) = self.cut_off(&redacted) {
            let end = redacted.trim_end_matches(CUT).len();
            redacted.replace_range(end - length..end, REDACTED);
        }
        redacted
    }

    /// How long the beginning of a secret is with which a text ends.
    fn cut_off(&self, text: &str) -> Option<usize> {
        let text = text.trim_end_matches(CUT);
        let beginnings = self.forms.iter().flat_map(|form| {
            let lengths =
                (SHORTEST..form.len()).rev().filter(|length| form.is_char_boundary(*length));
            lengths.map(|length| &form[..length])
        });
        beginnings.filter(|beginning| text.ends_with(beginning)).map(str::len).max()
    }

    /// Makes secrets unreadable, and leaves everything in its place.
    pub(crate) fn mask(&self, bytes: &mut [u8]) {
        let Some(find) = &self.find else { return };
        let places: Vec<_> = find.find_iter(&*bytes).map(|found| found.range()).collect();
        for place in places {
            bytes[place].fill(MASK);
        }
    }

    /// The same of a text.
    pub(crate) fn mask_text(&self, text: &mut String) {
        let Some(find) = &self.find else { return };
        if find.is_match(text.as_str()) {
            let mut bytes = std::mem::take(text).into_bytes();
            self.mask(&mut bytes);
            // What is found begins and ends where characters do.
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor")
    }
}

/// Every form of a secret that is looked for.
fn forms(secret: &str) -> Vec<String> {
    let mut forms = vec![secret.to_owned()];
    for set in [NON_ALPHANUMERIC, RESERVED] {
        let encoded = utf8_percent_encode(secret, set).to_string();
        forms.push(encoded.replace("%20", "+"));
        forms.push(with_small_digits(&encoded));
        forms.push(encoded);
    }
    let escaped = serde_json::Value::from(secret).to_string();
    let escaped = escaped.trim_start_matches('"');
    let escaped = escaped.strip_suffix('"').unwrap_or(escaped).to_owned();
    forms.push(escaped.replace('/', "\\/"));
    forms.push(escaped);
    for alphabet in &ALPHABETS {
        let engine = GeneralPurpose::new(alphabet, NO_PAD);
        forms.extend((0..3).map(|before| within_base64(&engine, secret, before)));
    }
    forms
}

/// `%2f` for `%2F`.
fn with_small_digits(encoded: &str) -> String {
    let mut small = String::with_capacity(encoded.len());
    let mut digits = 0_u32;
    for character in encoded.chars() {
        digits = if character == '%' { 3 } else { digits };
        small.push(if digits > 0 { character.to_ascii_lowercase() } else { character });
        digits = digits.saturating_sub(1);
    }
    small
}

/// The part of a Base64 text that a secret alone decides, when so many other bytes, by threes, stand
/// before it.
fn within_base64(engine: &GeneralPurpose, secret: &str, before: usize) -> String {
    let bytes = [&[0; 3][..before], secret.as_bytes()].concat();
    let encoded = engine.encode(&bytes);
    // Each character holds six bits.
    let (begin, end) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
    encoded.get(begin..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use proptest::prelude::*;

    use super::*;

    fn redactor(secret: &str) -> Redactor {
        Redactor::of(&[Secret::new(secret)])
    }

    #[test]
    fn a_secret_is_taken_out_in_each_of_its_forms() {
        let secret = "s3?>/~ \"é+cret";
        let redactor = redactor(secret);
        for (text, expected) in [
            (format!("key {secret}."), "key [redacted]."),
            ("key s3%3F%3E%2F~%20%22%C3%A9%2Bcret.".to_owned(), "key [redacted]."),
            ("key s3%3f%3e%2f%7e%20%22%c3%a9%2bcret.".to_owned(), "key [redacted]."),
            ("key s3%3F%3E%2F~+%22%C3%A9%2Bcret.".to_owned(), "key [redacted]."),
            (r#"key s3?>/~ \"é+cret."#.to_owned(), "key [redacted]."),
            (r#"key s3?>\/~ \"é+cret."#.to_owned(), "key [redacted]."),
            ("other".to_owned(), "other"),
        ] {
            assert_eq!(redactor.redact(&text), expected);
        }
    }

    #[test]
    fn the_beginning_of_a_secret_is_taken_out_where_a_text_was_cut() {
        let redactor = redactor("s3cret-token");
        for (text, expected) in [
            ("key s3cret-tok", "key [redacted]"),
            ("key s3cret-tok…", "key [redacted]…"),
            ("key czNjcm", "key [redacted]"),
            ("key s3cret-tok and more", "key s3cret-tok and more"),
            ("key s3c", "key s3c"),
        ] {
            assert_eq!(redactor.redact(text), expected);
        }
    }

    #[test]
    fn what_is_too_short_to_be_a_secret_stays() {
        assert!(redactor("abc").is_idle());
        assert_eq!(redactor("abc").redact("abc"), "abc");
    }

    #[test]
    fn what_prints_a_secret_does_not_show_it() {
        let secret = Secret::new("s3cret");
        let redactor = Redactor::of(std::slice::from_ref(&secret));
        assert_eq!(format!("{secret:?} {redactor:?}"), "Secret Redactor");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Of Base64 at most the characters at the edges stay, which hold bits of neighbours.
        #[test]
        fn base64_hides_nothing(before in ".{0,9}", secret in "[ -~]{8,40}", after in ".{0,9}") {
            let whole = format!("{before}{secret}{after}");
            for encoded in [STANDARD.encode(&whole), URL_SAFE_NO_PAD.encode(&whole)] {
                let left = redactor(&secret).redact(&encoded);
                prop_assert!(left.contains(REDACTED), "{left}");
                let kept = left.len() - REDACTED.len();
                let others = (before.len() + after.len()) * 8 / 6 + 8;
                prop_assert!(kept <= others, "{left}");
            }
        }

        #[test]
        fn masked_texts_keep_their_length(before in ".{0,9}", secret in ".{4,20}", after in ".{0,9}") {
            let text = format!("{before}{secret}{after}");
            let mut masked = text.clone();
            redactor(&secret).mask_text(&mut masked);
            prop_assert_eq!(masked.len(), text.len());
            let is_short = secret.len() < SHORTEST;
            prop_assert!(is_short || !masked.contains(&secret) || secret.contains('*'), "{}", masked);
        }
    }
}
