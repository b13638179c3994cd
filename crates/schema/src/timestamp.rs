//! Wall-clock labels: UTC with microseconds, written `2026-09-20T14:32:32.769010+00:00`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use time::format_description::BorrowedFormatItem;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;
use time::{OffsetDateTime, PrimitiveDateTime};

const FORMAT: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]+00:00");
const COMPACT: &[BorrowedFormatItem<'_>] =
    format_description!("[year][month][day]T[hour][minute][second]Z");

/// The last microsecond of the year 9999, the last instant with four digits of year.
const MAX_UNIX_MICROS: i64 = 253_402_300_799_999_999;

/// An instant in UTC to the microsecond. It labels a run and is no measure of time: durations come
/// from a monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    unix_micros: i64,
}

impl Timestamp {
    /// The instant so many microseconds after 1970; instants outside the years 1970 to 9999 are
    /// moved to the nearer end.
    ///
    /// ```
    /// use streamgauge_schema::Timestamp;
    /// let instant = Timestamp::from_unix_micros(1_000_000);
    /// assert_eq!(instant.to_string(), "1970-01-01T00:00:01.000000+00:00");
    /// assert_eq!(instant.compact(), "19700101T000001Z");
    /// ```
    #[must_use]
    pub fn from_unix_micros(micros: i64) -> Self {
        Self { unix_micros: micros.clamp(0, MAX_UNIX_MICROS) }
    }

    /// Reads an instant as people and programs write it (RFC 3339), in UTC or with an offset; what is
    /// finer than a microsecond is left out. `None` for what is none, and for instants outside the years
    /// 1970 to 9999.
    ///
    /// ```
    /// use streamgauge_schema::Timestamp;
    /// let read = |text| Timestamp::from_rfc3339(text).map(|instant| instant.to_string());
    /// assert_eq!(read("2026-12-01T02:00:00+02:00").unwrap(), "2026-12-01T00:00:00.000000+00:00");
    /// assert_eq!(read("2026-12-01T00:00:00.5Z").unwrap(), "2026-12-01T00:00:00.500000+00:00");
    /// assert_eq!(read("2026-12-01 00:00"), None);
    /// ```
    #[must_use]
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        let nanos = OffsetDateTime::parse(text, &Rfc3339).ok()?.unix_timestamp_nanos();
        let micros = i64::try_from(nanos.div_euclid(1000)).ok()?;
        (0..=MAX_UNIX_MICROS).contains(&micros).then_some(Self { unix_micros: micros })
    }

    /// Microseconds since 1970.
    #[must_use]
    pub fn unix_micros(self) -> i64 {
        self.unix_micros
    }

    /// The form that names a run directory, to the second: `20261130T021339Z`.
    #[must_use]
    pub fn compact(self) -> String {
        self.format(COMPACT)
    }

    fn format(self, items: &[BorrowedFormatItem<'_>]) -> String {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.unix_micros) * 1000)
            .expect("the constructor keeps instants within the years 1970 to 9999")
            .format(&items)
            .expect("the formats hold only components that every instant has")
    }

    fn parse(text: &str) -> Option<Self> {
        let instant = PrimitiveDateTime::parse(text, &FORMAT).ok()?.assume_utc();
        let micros = i64::try_from(instant.unix_timestamp_nanos() / 1000).ok()?;
        let parsed = Self::from_unix_micros(micros);
        (parsed.to_string() == text).then_some(parsed)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.format(FORMAT))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            de::Error::custom(format_args!(
                "{text:?} is not an instant like 2026-09-20T14:32:32.769010+00:00 \
                 (UTC, six digits of microseconds, from 1970 on)"
            ))
        })
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Timestamp {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "An instant in UTC with microseconds.",
            "pattern": r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}\+00:00$",
        })
    }
}
