//! What the head of a response says about its body.

use streamgauge_schema::Head;

/// What the head declares the body to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Declared {
    /// Something compressed: its bytes cannot be read here.
    Compressed,
    /// An event stream; also a saved stream without a head.
    EventStream,
    /// An HTML page.
    Html,
    /// JSON.
    Json,
    /// JSON, one object a line.
    Lines,
    /// Anything else, or nothing.
    Other,
}

/// Reads `Content-Type` and `Content-Encoding`.
pub(crate) fn declared(head: Option<&Head>) -> Declared {
    let Some(head) = head else { return Declared::EventStream };
    if is_encoded(head) {
        return Declared::Compressed;
    }
    let declared = head.content_type.as_deref().unwrap_or_default();
    let media_type = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match media_type.as_str() {
        "text/event-stream" => Declared::EventStream,
        "text/html" | "application/xhtml+xml" => Declared::Html,
        "application/json" => Declared::Json,
        "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Declared::Lines,
        other if other.ends_with("+json") => Declared::Json,
        _ => Declared::Other,
    }
}

/// Whether the body is encoded in any way.
pub(crate) fn is_encoded(head: &Head) -> bool {
    let encoding = head.content_encoding.as_deref().unwrap_or_default().trim();
    !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity")
}

/// `Retry-After` in seconds. A date counts from the `Date` header, and without one it is unknown:
/// there is no clock here.
pub(crate) fn retry_after_s(head: &Head) -> Option<f64> {
    let value = head.retry_after.as_deref()?.trim();
    if value.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return value.parse().ok().filter(|seconds: &f64| seconds.is_finite());
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let from = httpdate::parse_http_date(head.date.as_deref()?.trim()).ok()?;
    Some(until.duration_since(from).unwrap_or_default().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_are_read_without_parameters_and_case() {
        for (content_type, expected) in [
            ("text/event-stream", Declared::EventStream),
            (" Text/Event-Stream ; charset=utf-8", Declared::EventStream),
            ("application/json; charset=utf-8", Declared::Json),
            ("application/problem+json", Declared::Json),
            ("Application/X-NDJSON", Declared::Lines),
            ("application/jsonl; charset=utf-8", Declared::Lines),
            ("text/html", Declared::Html),
            ("text/plain", Declared::Other),
            ("", Declared::Other),
        ] {
            let head = Head { content_type: Some(content_type.to_owned()), ..Head::default() };
            assert_eq!(declared(Some(&head)), expected, "{content_type:?}");
        }
        assert_eq!(declared(Some(&Head::default())), Declared::Other);
        assert_eq!(declared(None), Declared::EventStream);
        let gzip = Head { content_encoding: Some("gzip".to_owned()), ..Head::default() };
        assert_eq!(declared(Some(&gzip)), Declared::Compressed);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
        for (retry_after, date, expected) in [
            ("7", None, Some(7.0)),
            ("0.5", None, Some(0.5)),
            ("1e999", None, None),
            ("-3", None, None),
            ("soon", Some(DATE), None),
            ("Sun, 06 Nov 1994 08:50:07 GMT", Some(DATE), Some(30.0)),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(DATE), Some(0.0)),
            ("Sun, 06 Nov 1994 08:50:07 GMT", None, None),
        ] {
            let head = Head {
                retry_after: Some(retry_after.to_owned()),
                date: date.map(str::to_owned),
                ..Head::default()
            };
            assert_eq!(retry_after_s(&head), expected, "{retry_after} {date:?}");
        }
    }
}
