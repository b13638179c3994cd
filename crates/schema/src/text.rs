//! Texts that may be published: what a record may say, and what it must not let out.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::error::TextFault;

/// Longest published text, in characters.
const MAX_CHARS: usize = 240;
/// Longest identifier, in bytes.
const MAX_IDENTIFIER: usize = 120;
/// Hosts whose pages may be named as the source of a model.
const SOURCE_HOSTS: [&str; 6] = [
    "codeberg.org",
    "github.com",
    "gitlab.com",
    "huggingface.co",
    "modelscope.cn",
    "www.modelscope.cn",
];
/// Beginnings that services give their keys.
const KEY_PREFIXES: [&str; 8] =
    ["AKIA", "eyJ", "ghp_", "github_pat_", "gsk_", "hf_", "nvapi-", "sk-"];

/// A text that a published record may hold: 1 to 240 characters without control characters (those of
/// the direction of writing included), URLs, file paths or credentials.
///
/// ```
/// use streamgauge_schema::{PublicText, TextFault};
/// assert!(PublicText::new("TP4, four hosts; launch 5 steps/6 draft tokens").is_ok());
/// assert_eq!(PublicText::new("read from ~/models"), Err(TextFault::Path));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct PublicText(String);

/// A name made of letters, digits, `.`, `_` and `-`, beginning with a letter or digit; at most 120
/// bytes. Cells, cases, metrics and runs are named so.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Identifier(String);

/// The public page of a model: `https` on one of a few known hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct SourceUrl(String);

impl PublicText {
    /// Checks a text against the publication rules.
    ///
    /// # Errors
    /// Names the first rule that the text breaks.
    pub fn new(text: impl Into<String>) -> Result<Self, TextFault> {
        let text = text.into();
        check_public(&text)?;
        Ok(Self(text))
    }

    /// A text that others wrote, or, where it may not be published, that it is withheld and why: names
    /// of models are often paths.
    ///
    /// ```
    /// use streamgauge_schema::PublicText;
    /// assert_eq!(PublicText::or_withheld("acme-chat-8b").as_str(), "acme-chat-8b");
    /// assert!(PublicText::or_withheld("/srv/models/acme").as_str().starts_with("Withheld: "));
    /// ```
    #[must_use]
    pub fn or_withheld(text: &str) -> Self {
        // Faults are plain short texts, as a test of theirs finds.
        Self::new(text).unwrap_or_else(|fault| Self(format!("Withheld: {fault}")))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Identifier {
    /// Checks a name; `None` when it is not an identifier.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Option<Self> {
        let name = name.into();
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let fits = name.len() <= MAX_IDENTIFIER
            && name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
            && name.bytes().all(allowed);
        fits.then_some(Self(name))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl SourceUrl {
    /// Checks an address; `None` when it is not `https` on a known public host.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Option<Self> {
        let url = url.into();
        let (host, path) = url.strip_prefix("https://")?.split_once('/')?;
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'_' | b'-');
        let fits = SOURCE_HOSTS.contains(&host)
            && !path.is_empty()
            && url.len() <= MAX_CHARS
            && path.bytes().all(plain);
        fits.then_some(Self(url))
    }

    /// The address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a character steers whatever shows it, instead of being seen: a control character, or a mark
/// that turns the direction of writing (Unicode's `Bidi_Control`), by which one text looks like another.
///
/// ```
/// use streamgauge_schema::is_steering;
/// assert!(is_steering('\u{1b}') && is_steering('\u{202e}'));
/// assert!(!is_steering('é'));
/// ```
#[must_use]
pub fn is_steering(character: char) -> bool {
    let turns = matches!(
        character,
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
    );
    turns || character.is_control()
}

fn check_public(text: &str) -> Result<(), TextFault> {
    if text.is_empty() || text.chars().count() > MAX_CHARS {
        return Err(TextFault::Length);
    }
    if text.chars().any(is_steering) {
        return Err(TextFault::Control);
    }
    if has_url(text) {
        return Err(TextFault::Url);
    }
    if words(text).any(is_path) {
        return Err(TextFault::Path);
    }
    if text.split_whitespace().any(is_address) {
        return Err(TextFault::Address);
    }
    if has_credential(text) {
        return Err(TextFault::Credential);
    }
    Ok(())
}

/// The words of a text: what stands between blanks, quotation marks, brackets and the like.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "\"'`()[]{}<>,;=|".contains(c))
        .flat_map(|word| {
            // `key:/path` holds a path, while `C:/path` is one.
            let after_colon = word.split_once(':').filter(|(key, _)| key.len() > 1).map(|(_, v)| v);
            [Some(word), after_colon].into_iter().flatten()
        })
        .filter(|word| !word.is_empty())
}

fn has_url(text: &str) -> bool {
    text.match_indices("://")
        .any(|(at, _)| text[..at].bytes().next_back().is_some_and(|b| b.is_ascii_alphanumeric()))
        || words(text).any(|word| {
            let lower = word.to_ascii_lowercase();
            lower.starts_with("www.") || lower.starts_with("mailto:") || lower.starts_with("data:")
        })
}

fn is_path(word: &str) -> bool {
    let bytes = word.as_bytes();
    let drive = bytes.len() > 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'/' | b'\\');
    let rooted = ["/", "~/", "./", "../"]
        .iter()
        .any(|prefix| word.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()));
    drive || rooted || word.starts_with("\\\\")
}

/// An IPv4 address with a port. Without one it could be a version number.
fn is_address(word: &str) -> bool {
    word.trim_matches(|c: char| !c.is_ascii_alphanumeric())
        .parse::<std::net::SocketAddrV4>()
        .is_ok()
}

fn has_credential(text: &str) -> bool {
    let is_token = |word: &str| {
        word.len() >= 20 || word.len() >= 8 && word.bytes().any(|b| b.is_ascii_digit())
    };
    let mut after_scheme = false;
    for word in words(text) {
        if after_scheme && is_token(word) {
            return true;
        }
        after_scheme = word.eq_ignore_ascii_case("bearer") || word.eq_ignore_ascii_case("basic");
        let is_key = KEY_PREFIXES
            .iter()
            .any(|prefix| word.strip_prefix(prefix).is_some_and(|rest| rest.len() >= 16));
        if is_key && is_token(word) {
            return true;
        }
    }
    false
}

impl<'de> Deserialize<'de> for PublicText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match check_public(&text) {
            Ok(()) => Ok(Self(text)),
            // The error would show it.
            Err(TextFault::Credential) => Err(de::Error::custom(TextFault::Credential)),
            Err(fault) => Err(de::Error::custom(format_args!("{text:?}: {fault}"))),
        }
    }
}

impl<'de> Deserialize<'de> for Identifier {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::new(name.clone()).ok_or_else(|| {
            de::Error::custom(format_args!(
                "{name:?} is not an identifier (a letter or digit, then letters, digits, '.', '_' \
                 or '-'; at most {MAX_IDENTIFIER} bytes)"
            ))
        })
    }
}

impl<'de> Deserialize<'de> for SourceUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let url = String::deserialize(deserializer)?;
        Self::new(url.clone()).ok_or_else(|| {
            de::Error::custom(format_args!(
                "{url:?} is not a public https address on one of {}",
                SOURCE_HOSTS.join(", ")
            ))
        })
    }
}

impl fmt::Display for PublicText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(feature = "schemars")]
mod schemas {
    use std::borrow::Cow;

    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    use super::{Identifier, PublicText, SourceUrl};

    impl JsonSchema for PublicText {
        fn schema_name() -> Cow<'static, str> {
            "PublicText".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "type": "string",
                "description": "A text without control characters (those of the direction of writing \
                    included), URLs, file paths or credentials.",
                "minLength": 1,
                "maxLength": super::MAX_CHARS,
            })
        }
    }

    impl JsonSchema for Identifier {
        fn schema_name() -> Cow<'static, str> {
            "Identifier".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({
                "type": "string",
                "maxLength": super::MAX_IDENTIFIER,
                "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$",
            })
        }
    }

    impl JsonSchema for SourceUrl {
        fn schema_name() -> Cow<'static, str> {
            "SourceUrl".into()
        }

        fn json_schema(_: &mut SchemaGenerator) -> Schema {
            json_schema!({ "type": "string", "format": "uri", "pattern": "^https://" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publication_rules() {
        let cases = [
            ("Warm-engine unique-prefix pilot; about 4K input, client C1", None),
            ("ghcr.io/org/image@sha256:0c0637959c3931829f05154087bbefd2c50003fb", None),
            ("the bearer of good news", None),
            ("ratio 3 / 4, and/or both", None),
            ("Adaptive NEXTN: launch 5 steps/6 draft tokens", None),
            ("", Some(TextFault::Length)),
            ("a\nb", Some(TextFault::Control)),
            ("a\u{7f}b", Some(TextFault::Control)),
            ("a\u{202e}b", Some(TextFault::Control)),
            ("a\u{61c}b\u{200f}", Some(TextFault::Control)),
            ("שלום, 平和", None),
            ("see https://example.org/x", Some(TextFault::Url)),
            ("see HTTP://example.org", Some(TextFault::Url)),
            ("at unix:///run/x.sock", Some(TextFault::Url)),
            ("www.example.org", Some(TextFault::Url)),
            ("loaded /srv/models/a", Some(TextFault::Path)),
            ("loaded '/srv/models/a'", Some(TextFault::Path)),
            ("model=/srv/models/a", Some(TextFault::Path)),
            ("model:/srv/models/a", Some(TextFault::Path)),
            ("from ~/models", Some(TextFault::Path)),
            ("from ./models", Some(TextFault::Path)),
            ("from ../models", Some(TextFault::Path)),
            (r"from C:\models", Some(TextFault::Path)),
            ("from d:/models", Some(TextFault::Path)),
            ("at 10.1.2.3:8000", Some(TextFault::Address)),
            ("driver 550.54.15.1", None),
            ("Authorization: Bearer abcdef0123456789", Some(TextFault::Credential)),
            ("key sk-abcdefghijklmnop1234", Some(TextFault::Credential)),
        ];
        for (text, expected) in cases {
            assert_eq!(PublicText::new(text).err(), expected, "{text:?}");
            let shown = PublicText::or_withheld(text);
            assert_eq!(PublicText::new(shown.as_str()), Ok(shown), "what withholds it is public");
        }
        assert!(PublicText::new("é".repeat(240)).is_ok());
        assert_eq!(PublicText::new("é".repeat(241)), Err(TextFault::Length));
    }

    #[test]
    fn identifiers_and_sources() {
        for name in ["request-01", "c8", "GLM-5.3_x", "0"] {
            assert!(Identifier::new(name).is_some(), "{name:?}");
        }
        for name in ["", "-a", "a b", "a/b", "é", &"a".repeat(121)] {
            assert!(Identifier::new(name).is_none(), "{name:?}");
        }
        assert!(SourceUrl::new("https://huggingface.co/zai-org/GLM-5.3-Flash").is_some());
        for url in
            ["http://huggingface.co/a/b", "https://huggingface.co/", "https://10.0.0.1/a", "a"]
        {
            assert!(SourceUrl::new(url).is_none(), "{url:?}");
        }
    }
}
