//! The words of records, and the two macros that define them.
//!
//! A *closed* vocabulary refuses other words. An *open* one reads any lower-case identifier into
//! `Other` and writes it back, so that a record of a newer instrument is not lost.

/// Defines an enum whose texts are fixed and complete.
macro_rules! closed_vocabulary {
    ($(#[$meta:meta])* $name:ident { $($(#[$word_meta:meta])* $word:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
        )]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        pub enum $name {
            $($(#[$word_meta])* #[serde(rename = $text)] $word,)+
        }

        impl $name {
            /// Every word, in alphabetical order of the variants.
            pub const ALL: &'static [Self] = &[$(Self::$word),+];

            /// The word as records write it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = crate::vocabulary::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::ALL.iter().copied().find(|word| word.as_str() == text).ok_or_else(|| {
                    crate::vocabulary::UnknownWord {
                        word: text.to_owned(),
                        known: vec![$($text),+],
                    }
                })
            }
        }
    };
}

/// Defines an enum that keeps words it does not know.
macro_rules! open_vocabulary {
    ($(#[$meta:meta])* $name:ident { $($(#[$word_meta:meta])* $word:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$word_meta])* $word,)+
            /// A word that this version does not know: a lower-case identifier.
            Other(String),
        }

        impl $name {
            /// The word as records write it.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$word => $text,)+
                    Self::Other(word) => word,
                }
            }

            /// Whether this version does not know the word.
            #[must_use]
            pub fn is_other(&self) -> bool {
                matches!(self, Self::Other(_))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let word = <String as serde::Deserialize>::deserialize(deserializer)?;
                match word.as_str() {
                    $($text => Ok(Self::$word),)+
                    other if crate::vocabulary::is_lower_case_identifier(other) => {
                        Ok(Self::Other(word))
                    }
                    other => Err(serde::de::Error::custom(format_args!(
                        "{other:?} is not a lower-case identifier (known here: {})",
                        [$($text),+].join(", ")
                    ))),
                }
            }
        }

        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string",
                    "description": concat!("Known words:", $(" ", $text,)+ "."),
                    "pattern": "^[a-z][a-z0-9_-]*$",
                })
            }
        }
    };
}

pub(crate) use {closed_vocabulary, open_vocabulary};

/// A word outside a closed vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is none of {}", .known.join(", "))]
pub struct UnknownWord {
    /// The word.
    pub word: String,
    /// The words that are known.
    pub known: Vec<&'static str>,
}

pub(crate) fn is_lower_case_identifier(word: &str) -> bool {
    word.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
        && word.len() <= 80
        && word
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-')
}
