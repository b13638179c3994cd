//! Why a page cannot be made.

/// A page that cannot be made: a fault of this crate, as every record that reads has one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PageError {
    /// A plot could not be drawn.
    #[error("cannot draw the plot of {plot}: {message}")]
    Plot {
        /// What it shows.
        plot: &'static str,
        /// What the library says.
        message: String,
    },
    /// The page's template could not be filled.
    #[error("cannot fill the page: {message}")]
    Template {
        /// What the library says.
        message: String,
    },
}

impl From<askama::Error> for PageError {
    fn from(error: askama::Error) -> Self {
        Self::Template { message: error.to_string() }
    }
}
