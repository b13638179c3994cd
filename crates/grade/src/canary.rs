//! `canary-v1`: an answer carries its own request's marker and nobody else's, so that answers which
//! cross in a batch are found.

use aho_corasick::AhoCorasick;
use streamgauge_schema::CheckFault;

use crate::error::GraderError;

pub(crate) const RULES: &str = "The answer begins with the marker of its request and one space. No \
    marker of another request stands anywhere in it.";

/// Name of the check.
pub(crate) const CHECK: &str = "canary";

/// The markers of all requests that run beside each other.
#[derive(Debug)]
pub struct Canaries {
    markers: Vec<String>,
    /// `None` without markers.
    finder: Option<AhoCorasick>,
}

impl Canaries {
    /// No markers: an own one is still looked for.
    #[must_use]
    pub fn none() -> Self {
        Self { markers: Vec::new(), finder: None }
    }

    /// The markers of a run.
    ///
    /// # Errors
    /// When a marker is empty, has white space, or is part of another one: an answer with the longer
    /// one would be taken for one with both.
    pub fn new(markers: impl IntoIterator<Item = String>) -> Result<Self, GraderError> {
        let markers: Vec<String> = markers.into_iter().collect();
        for marker in &markers {
            validate(marker)?;
        }
        // Of one marker given twice, both occurrences are found in each other.
        let finder = AhoCorasick::new(&markers).map_err(|_| GraderError::Marker {
            marker: markers.first().cloned().unwrap_or_default(),
            fault: "and its neighbours are too many to be searched for",
        })?;
        for (at, marker) in markers.iter().enumerate() {
            let within = |found: aho_corasick::Match| found.pattern().as_usize() != at;
            if finder.find_overlapping_iter(marker).any(within) {
                let marker = marker.clone();
                return Err(GraderError::Marker { marker, fault: "holds another marker" });
            }
        }
        Ok(Self { markers, finder: Some(finder) })
    }

    /// What follows the marker in an answer that begins with `own` and holds no other marker.
    pub(crate) fn check<'a>(&self, own: &str, text: &'a str) -> Result<&'a str, CheckFault> {
        if self.holds_foreign(own, text) {
            return Err(CheckFault::ForeignMarker);
        }
        let rest = text.strip_prefix(own).and_then(|rest| rest.strip_prefix(' '));
        rest.ok_or(CheckFault::Missing)
    }

    fn holds_foreign(&self, own: &str, text: &str) -> bool {
        let Some(finder) = &self.finder else { return false };
        finder
            .find_overlapping_iter(text)
            .any(|found| self.markers[found.pattern().as_usize()] != own)
    }
}

/// Checks one marker by itself.
pub(crate) fn validate(marker: &str) -> Result<(), GraderError> {
    let fault = match marker {
        "" => "is empty",
        marker if marker.contains(char::is_whitespace) => "has white space",
        _ => return Ok(()),
    };
    Err(GraderError::Marker { marker: marker.to_owned(), fault })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canaries() -> Canaries {
        Canaries::new(["K1A", "K2B", "K3C"].map(str::to_owned)).unwrap()
    }

    #[test]
    fn an_answer_has_its_own_marker_and_no_other() {
        let cases = [
            ("K1A yes", Ok("yes")),
            ("K1A ", Ok("")),
            ("K1A yes K1A", Ok("yes K1A")),
            ("K1A", Err(CheckFault::Missing)),
            ("K1A\nyes", Err(CheckFault::Missing)),
            (" K1A yes", Err(CheckFault::Missing)),
            ("yes", Err(CheckFault::Missing)),
            ("", Err(CheckFault::Missing)),
            ("K2B yes", Err(CheckFault::ForeignMarker)),
            ("K1A yes and K3C", Err(CheckFault::ForeignMarker)),
            ("K1A yesK2Bno", Err(CheckFault::ForeignMarker)),
            ("K1AK2B", Err(CheckFault::ForeignMarker)),
        ];
        for (text, expected) in cases {
            assert_eq!(canaries().check("K1A", text), expected, "{text:?}");
        }
        assert_eq!(Canaries::none().check("K1A", "K1A yes K2B"), Ok("yes K2B"));
    }

    #[test]
    fn markers_that_would_accuse_each_other_are_refused() {
        let cases: [(&[&str], &str); 4] = [
            (&["K1", "K12"], "\"K12\" holds another marker"),
            (&["K1", "K1"], "\"K1\" holds another marker"),
            (&["K1", ""], "\"\" is empty"),
            (&["K 1"], "\"K 1\" has white space"),
        ];
        for (markers, text) in cases {
            let markers = markers.iter().map(|&marker| marker.to_owned());
            let error = Canaries::new(markers).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
