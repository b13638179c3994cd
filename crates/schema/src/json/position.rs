//! Where in a text a member stands: line and column of the value behind a path.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::path::{JsonPath, Segment};

/// A place in a text, both counted from 1; the column counts bytes, as serde_json does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Byte column, from 1.
    pub column: usize,
}

impl Position {
    /// Finds where the value at `path` begins; of doubled keys the last counts. `None` where the
    /// path does not lead to a value of `text`.
    ///
    /// ```
    /// use streamgauge_schema::{JsonPath, Position};
    /// let path = JsonPath::root().key("cases").index(1).key("id");
    /// let position = Position::of("{\"cases\": [{\"id\": 1},\n {\"id\": 2}]}", &path);
    /// assert_eq!(position, Some(Position { line: 2, column: 9 }));
    /// ```
    #[must_use]
    pub fn of(text: &str, path: &JsonPath) -> Option<Self> {
        let mut value: &RawValue = serde_json::from_str(text).ok()?;
        for segment in path.segments() {
            value = match segment {
                Segment::Index(index) => {
                    *serde_json::from_str::<Vec<&RawValue>>(value.get()).ok()?.get(*index)?
                }
                Segment::Key(key) => {
                    let members: RawMembers<'_> = serde_json::from_str(value.get()).ok()?;
                    members.0.into_iter().rev().find(|(k, _)| k == key)?.1
                }
            };
        }
        // The raw value borrows from `text`, so the difference of the addresses is its offset.
        let offset = value.get().as_ptr() as usize - text.as_ptr() as usize;
        Some(Self::at(text, offset))
    }

    fn at(text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset];
        let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        Self {
            line: before.iter().filter(|&&b| b == b'\n').count() + 1,
            column: offset - line_start + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} column {}", self.line, self.column)
    }
}

struct RawMembers<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for RawMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = RawMembers<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(RawMembers(members))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
