//! The numbers among the members of an object, by their names. Everything else is passed over without
//! being kept: a detailed result has millions of values in its lists.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The members of an object that are numbers.
pub(crate) type Scalars = BTreeMap<String, Scalar>;

/// A number; `None` of anything else.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scalar(pub(crate) Option<f64>);

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar(Some(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar(Some(value as f64)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar(Some(value as f64)))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Scalar, E> {
        Ok(Scalar(None))
    }

    fn visit_str<E>(self, _: &str) -> Result<Scalar, E> {
        Ok(Scalar(None))
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Scalar, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Scalar, A::Error> {
        while members.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar(None))
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_kept() {
        let text = r#"{"a": 1.5, "b": 2, "c": -3, "d": [1, [2]], "e": {"x": 1}, "f": "4", "g": null,
                       "h": true}"#;
        let scalars: Scalars = serde_json::from_str(text).unwrap();
        let numbers: Vec<f64> = scalars.values().filter_map(|scalar| scalar.0).collect();
        assert_eq!((scalars.len(), numbers), (8, vec![1.5, 2.0, -3.0]));
    }
}
