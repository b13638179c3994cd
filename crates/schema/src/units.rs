//! Numbers that carry their unit.

use serde::{Deserialize, Deserializer, Serialize, de};

/// A duration in milliseconds as records hold it: finite and not negative.
///
/// ```
/// use streamgauge_schema::Millis;
/// assert_eq!(Millis::from_micros(3_923_377).value(), 3923.377);
/// assert_eq!(Millis::new(-1.0), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Millis(f64);

impl Millis {
    /// A duration of so many milliseconds; `None` for NaN, infinite and negative numbers.
    #[must_use]
    pub fn new(ms: f64) -> Option<Self> {
        (ms.is_finite() && ms >= 0.0).then_some(Self(ms))
    }

    /// Whole microseconds as milliseconds, `us / 1000`.
    #[must_use]
    pub fn from_micros(us: u64) -> Self {
        Self(us as f64 / 1000.0)
    }

    /// The number of milliseconds.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }

    /// The whole microseconds that this duration stands for; `None` when it is not exactly
    /// `us / 1000` for any of them.
    #[must_use]
    pub fn to_micros(self) -> Option<u64> {
        let us = (self.0 * 1000.0).round() as u64;
        (Self::from_micros(us) == self).then_some(us)
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ms = f64::deserialize(deserializer)?;
        Self::new(ms).ok_or_else(|| {
            de::Error::custom(format_args!("{ms} is not a duration in milliseconds from 0 up"))
        })
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Millis {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Millis".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "number",
            "description": "A duration in milliseconds.",
            "minimum": 0,
        })
    }
}
