//! Paths to members of a JSON document, written as `cases[3].duration_ms`.

use std::fmt;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A place in a list, from 0.
    Index(usize),
    /// A member of an object.
    Key(String),
}

/// The way from the root of a JSON document to one of its values.
///
/// ```
/// use streamgauge_schema::JsonPath;
/// let path = JsonPath::root().key("cells").key("4k.c8").key("metrics").index(0);
/// assert_eq!(path.to_string(), r#"cells["4k.c8"].metrics[0]"#);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JsonPath(Vec<Segment>);

impl JsonPath {
    /// The document itself.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// The path to member `key` of this value.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.push(Segment::Key(key.into()));
        self
    }

    /// The path to item `index` of this list.
    #[must_use]
    pub fn index(mut self, index: usize) -> Self {
        self.0.push(Segment::Index(index));
        self
    }

    /// The steps from the root.
    #[must_use]
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    pub(crate) fn from_tracked(path: &serde_path_to_error::Path) -> Self {
        use serde_path_to_error::Segment as Tracked;
        Self(
            path.iter()
                .filter_map(|segment| match segment {
                    Tracked::Seq { index } => Some(Segment::Index(*index)),
                    Tracked::Map { key } | Tracked::Enum { variant: key } => {
                        Some(Segment::Key(key.clone()))
                    }
                    Tracked::Unknown => None,
                })
                .collect(),
        )
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("(document)");
        }
        for (place, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if is_plain(key) => {
                    write!(f, "{}{key}", if place == 0 { "" } else { "." })?;
                }
                Segment::Key(key) => write!(f, "[{key:?}]")?,
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}
