//! Members that may be `null` but must be there.

use serde::{Deserialize, Deserializer};

/// Reads an optional member that must be present: serde takes a missing `Option` for `None`, and a
/// closed record does not.
pub(crate) fn nullable<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer)
}
