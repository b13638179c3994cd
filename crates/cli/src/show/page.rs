//! What results are laid out for: the format, and how wide prose may become.
//!
//! Invariants: only what a terminal shows is wrapped; whoever shows Markdown wraps it anew, and reads no
//! markup in what a server said.

use textwrap::{Options, WordSplitter, fill};

use crate::args::Format;
use crate::console;
use crate::show::markdown;

/// A format, and the columns that its prose may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub(super) format: Format,
    pub(super) columns: usize,
}

impl Page {
    /// For where results go to.
    pub(crate) fn of(format: Format) -> Self {
        Self { format, columns: console::columns() }
    }

    /// Prose; its further lines begin with `indent`.
    pub(super) fn prose(self, text: &str, indent: &str) -> String {
        self.wrapped("", text, indent)
    }

    /// Prose behind a label, below which nothing stands.
    pub(super) fn labelled(self, label: &str, text: &str) -> String {
        self.wrapped(label, text, &" ".repeat(label.chars().count()))
    }

    /// The line above a result.
    pub(super) fn heading(self, text: &str) -> String {
        match self.format {
            Format::Markdown => format!("### {}", markdown::prose(text)),
            _ => text.to_owned(),
        }
    }

    /// A list under its heading.
    pub(super) fn list<T: AsRef<str>>(
        self,
        heading: &str,
        items: impl IntoIterator<Item = T>,
    ) -> String {
        let items = items.into_iter().map(|item| self.labelled("- ", item.as_ref()));
        std::iter::once(heading.to_owned()).chain(items).collect::<Vec<_>>().join("\n")
    }

    fn wrapped(self, label: &str, text: &str, indent: &str) -> String {
        if self.format == Format::Markdown {
            return format!("{label}{}", markdown::prose(text));
        }
        // Names of metrics and paths are read, and copied, as a whole.
        let options = Options::new(self.columns)
            .initial_indent(label)
            .subsequent_indent(indent)
            .break_words(false)
            .word_splitter(WordSplitter::NoHyphenation);
        fill(text, options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_keeps_within_its_columns_and_words_stay_whole() {
        let text = "ttft_p50_ms from 1 to 2, see /a/path-that-is/longer-than-the/line";
        let page = |format| Page { format, columns: 24 };
        let expected = "\
- ttft_p50_ms from 1 to
  2, see
  /a/path-that-is/longer-than-the/line";
        assert_eq!(page(Format::Table).list("", [text]), format!("\n{expected}"));
        assert_eq!(page(Format::Markdown).list("", [text]), format!("\n- {text}"));
        assert_eq!(page(Format::Table).prose("", "    "), "");
        let hostile = "a <b>![x](y)` model";
        assert_eq!(page(Format::Table).heading(hostile), hostile);
        let said = page(Format::Markdown).heading(hostile);
        assert!(said.starts_with("### a ") && !said.contains(['<', '!', '[', '`']), "{said}");
        let name = "registry.example/a-name@that-is-longer";
        assert_eq!(page(Format::Table).labelled("image  ", name), format!("image  {name}"));
        assert_eq!(
            page(Format::Table).labelled("at ", "one place, another"),
            "at one place, another"
        );
    }
}
