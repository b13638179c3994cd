//! What a name that is not known was meant to be.

/// How alike two names must be for the one to be what the other was meant to be; 1 is the same.
const ALIKE: f64 = 0.85;

/// The known name that is most like this one, if one is like it at all.
pub(crate) fn meant<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known)
}
