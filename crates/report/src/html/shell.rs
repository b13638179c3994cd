//! What every page has: its head, its style, and the policy that keeps everything else out.

use std::sync::LazyLock;

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use streamgauge_schema::is_steering;

use crate::error::PageError;

const STYLE: &str = include_str!("../../templates/style.css");
/// How a page begins, so that one can be told from a file of somebody else's.
const BEGINNING: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
                         <meta name=\"generator\" content=\"streamgauge\">";

/// Only the style that stands in the page itself is let in, by its digest.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let digest = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!("default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'")
});

/// The head of a page.
#[derive(Debug)]
pub(super) struct Shell {
    pub(super) beginning: &'static str,
    pub(super) title: String,
    pub(super) policy: &'static str,
    pub(super) style: &'static str,
}

impl Shell {
    pub(super) fn titled(title: String) -> Self {
        Self { beginning: BEGINNING, title, policy: &POLICY, style: STYLE }
    }
}

/// Whether bytes begin as a page of ours does, so that writing a new one over them loses nothing.
#[must_use]
pub fn is_page(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGINNING.as_bytes())
}

/// Fills a template. Characters that steer a terminal or turn the direction of text around are
/// spelt out, wherever they come from.
pub(super) fn fill(template: &impl Template) -> Result<String, PageError> {
    let page = template.render()?;
    let mut out = String::with_capacity(page.len());
    for character in page.chars() {
        if is_steering(character) && character != '\n' {
            out.extend(character.escape_default());
        } else {
            out.push(character);
        }
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Template)]
    #[template(source = "<p>{{ text }}</p>\n", ext = "html")]
    struct Line<'a> {
        text: &'a str,
    }

    #[test]
    fn hostile_text_is_escaped_and_spelt_out() {
        for (text, expected) in [
            ("<script>alert(1)</script>", "&#60;script&#62;alert(1)&#60;/script&#62;"),
            ("\" onload='x' &amp;", "&#34; onload=&#39;x&#39; &#38;amp;"),
            ("red \u{1b}[31m", "red \\u{1b}[31m"),
            ("\u{202e}evil\u{2066}", "\\u{202e}evil\\u{2066}"),
            ("a\tb\r", "a\\tb\\r"),
            ("plain — ünï", "plain — ünï"),
        ] {
            assert_eq!(fill(&Line { text }).unwrap(), format!("<p>{expected}</p>\n"));
        }
    }

    #[test]
    fn the_policy_names_the_style_by_its_digest() {
        let policy = Shell::titled(String::new()).policy;
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"), "nothing is fetched");
    }
}
