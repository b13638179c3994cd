//! What a figure must be, and whether it is.

/// A bound on a share, in percent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    AtLeast(f64),
    AtMost(f64),
    /// It is only stated.
    Any,
}

impl Wanted {
    pub(crate) fn text(self) -> String {
        match self {
            Self::AtLeast(bound) => format!("≥ {bound} %"),
            Self::AtMost(bound) => format!("≤ {bound} %"),
            Self::Any => "stated".to_owned(),
        }
    }

    /// Whether all figures keep it; `None` where nothing is wanted.
    pub(crate) fn met(self, percent: &[f64]) -> Option<bool> {
        match self {
            Self::AtLeast(bound) => Some(percent.iter().all(|it| *it >= bound)),
            Self::AtMost(bound) => Some(percent.iter().all(|it| *it <= bound)),
            Self::Any => None,
        }
    }
}

/// How a row ends.
pub(crate) fn word(met: Option<bool>) -> &'static str {
    match met {
        None => "",
        Some(true) => "met",
        Some(false) => "**missed**",
    }
}

/// Tables, and how many of their figures are not what is wanted.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    pub(crate) text: String,
    pub(crate) missed: usize,
}

impl Tables {
    pub(crate) fn line(&mut self, line: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
    }

    pub(crate) fn row(&mut self, cells: &[String], met: Option<bool>) {
        self.missed += usize::from(met == Some(false));
        self.line(&format!("| {} | {} |", cells.join(" | "), word(met)));
    }
}
