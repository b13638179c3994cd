//! Times as other tools write them, as microseconds and labels.

use streamgauge_schema::{Timestamp, Unit};

use crate::error::ImportError;

/// Microseconds of a second.
const MICROS: f64 = 1e6;
/// A decimal fraction that has no binary form lies a hair below the microsecond that it names.
const HAIR: f64 = 1e-3;

/// A time that is no less than 0.
///
/// # Errors
/// When it is less, or no number.
pub(crate) fn no_less_than_0(
    value: f64,
    place: &str,
    member: impl FnOnce() -> String,
) -> Result<f64, ImportError> {
    if (0.0..=f64::MAX).contains(&value) {
        return Ok(value);
    }
    Err(ImportError::Value {
        place: place.to_owned(),
        member: member(),
        value: format!("{value:?}"),
        rule: "it is a finite number no less than 0",
    })
}

/// Whole microseconds of seconds that are no less than 0, rounded down.
pub(crate) fn micros(seconds: f64) -> u64 {
    (seconds * MICROS + HAIR).floor() as u64
}

/// The label of a time in seconds since 1970.
pub(crate) fn label(unix_seconds: f64) -> Timestamp {
    Timestamp::from_unix_micros((unix_seconds * MICROS).floor() as i64)
}

/// The label of `20261130-101500`, read as UTC.
pub(crate) fn date_label(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_once('-')?;
    let is_plain = |digits: &str, count| {
        digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_plain(date, 8) || !is_plain(time, 6) {
        return None;
    }
    let (year, month, day) = (&date[..4], &date[4..6], &date[6..]);
    let (hour, minute, second) = (&time[..2], &time[2..4], &time[4..]);
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}.000000+00:00");
    serde_json::from_value(serde_json::Value::String(text)).ok()
}

/// The label of `2026-11-30T10:15:00.25` with or without digits after the second and a zone, which
/// is read as UTC where there is none.
pub(crate) fn iso_label(text: &str) -> Option<Timestamp> {
    let (text, zone_s) = zone(text)?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: String = fraction.chars().chain("000000".chars()).take(6).collect();
    let text = format!("{}.{digits}+00:00", whole.replacen(' ', "T", 1));
    let label: Timestamp = serde_json::from_value(serde_json::Value::String(text)).ok()?;
    Some(Timestamp::from_unix_micros(label.unix_micros() - zone_s * 1_000_000))
}

/// The text before its zone, and how many seconds that is east of UTC.
fn zone(text: &str) -> Option<(&str, i64)> {
    if let Some(text) = text.strip_suffix('Z') {
        return Some((text, 0));
    }
    let Some(at) = text.len().checked_sub(6).filter(|at| text.is_char_boundary(*at)) else {
        return Some((text, 0));
    };
    let (before, zone) = text.split_at(at);
    let sign = match zone.as_bytes()[0] {
        b'+' => 1,
        b'-' if zone.as_bytes()[3] == b':' => -1,
        _ => return Some((text, 0)),
    };
    let (hours, minutes) = zone[1..].split_once(':')?;
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    Some((before, sign * (hours * 3600 + minutes * 60)))
}

/// A value in a unit of records.
///
/// # Errors
/// When the file's unit is not known.
pub(crate) fn in_unit(
    value: f64,
    named: &str,
    unit: Unit,
    place: &str,
    member: impl FnOnce() -> String,
) -> Result<f64, ImportError> {
    let seconds = match named {
        "ns" | "nanoseconds" => Some(1e-9),
        "us" | "microseconds" => Some(1e-6),
        "ms" | "milliseconds" => Some(1e-3),
        "s" | "sec" | "seconds" => Some(1.0),
        _ => None,
    };
    match (unit, seconds) {
        (Unit::Milliseconds, Some(1e-3)) | (Unit::Seconds, Some(1.0)) => Ok(value),
        (Unit::Milliseconds, Some(seconds)) => Ok(value * (seconds * 1e3)),
        (Unit::Seconds, Some(seconds)) => Ok(value * seconds),
        (Unit::Milliseconds | Unit::Seconds, None) => Err(ImportError::Value {
            place: place.to_owned(),
            member: member(),
            value: format!("{named:?}"),
            rule: "it is a unit of time: ns, us, ms or sec",
        }),
        // Tokens and rates have one unit each.
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_rounded_down() {
        let cases = [(0.0029, 2_900), (0.2140009, 214_000), (1.5, 1_500_000), (0.0, 0)];
        for (seconds, expected) in cases {
            assert_eq!(micros(seconds), expected, "{seconds}");
        }
    }

    #[test]
    fn dates_of_result_files() {
        let label = date_label("20261130-101500").unwrap();
        assert_eq!(label.to_string(), "2026-11-30T10:15:00.000000+00:00");
        for text in ["", "20261130", "20261340-101500", "2026113a-101500", "20261130-1015"] {
            assert_eq!(date_label(text), None, "{text}");
        }
    }

    #[test]
    fn instants_with_and_without_a_zone() {
        let expected = "2026-11-30T10:15:00.250000+00:00";
        for text in [
            "2026-11-30T10:15:00.25",
            "2026-11-30 10:15:00.250000",
            "2026-11-30T10:15:00.250000123Z",
            "2026-11-30T12:45:00.25+02:30",
            "2026-11-30T09:15:00.25-01:00",
        ] {
            assert_eq!(iso_label(text).unwrap().to_string(), expected, "{text}");
        }
        for text in ["", "yesterday", "2026-11-30", "2026-11-30T10:15:00.x", "é-11-30T10:15:0é"] {
            assert_eq!(iso_label(text), None, "{text}");
        }
    }

    #[test]
    fn units_of_time() {
        let value = |named, unit| in_unit(2.0, named, unit, "the file", String::new);
        assert_eq!(value("ms", Unit::Milliseconds), Ok(2.0));
        assert_eq!(value("sec", Unit::Milliseconds), Ok(2_000.0));
        assert_eq!(value("sec", Unit::Seconds), Ok(2.0));
        assert_eq!(value("tokens", Unit::Tokens), Ok(2.0));
        assert!(value("furlongs", Unit::Seconds).is_err());
    }
}
