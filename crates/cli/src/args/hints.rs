//! What to do about a command line that is refused, where the refusal does not say so by itself.

use std::ffi::OsString;

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// A mistake that is often made, and what was probably meant.
struct Hint {
    command: &'static str,
    kind: ErrorKind,
    /// What the refused argument begins with.
    argument: &'static str,
    advice: &'static str,
}

const HINTS: &[Hint] = &[
    Hint {
        command: "compare",
        kind: ErrorKind::WrongNumberOfValues,
        argument: "",
        advice: "name the baseline and then the candidate: `streamgauge compare runs/old-… \
                 runs/new-…`; one run alone is checked by `streamgauge verify`",
    },
    Hint {
        command: "sim",
        kind: ErrorKind::UnknownArgument,
        argument: "--port",
        advice: "the port stands behind the address: `--listen 127.0.0.1:9000`",
    },
    Hint {
        command: "sim",
        kind: ErrorKind::UnknownArgument,
        argument: "--host",
        advice: "the address stands before the port: `--listen 0.0.0.0:8000`",
    },
];

/// The error, with a hint where there is one for it.
pub(super) fn hinted(mut error: Error, line: &[OsString]) -> Error {
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.clone(),
        _ => String::new(),
    };
    let command = line.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    let hint = HINTS.iter().find(|hint| {
        (hint.command, hint.kind) == (command, error.kind()) && argument.starts_with(hint.argument)
    });
    if let Some(hint) = hint {
        let advice = ContextValue::StyledStrs(vec![hint.advice.into()]);
        error.insert(ContextKind::Suggested, advice);
    }
    error
}

#[cfg(test)]
mod tests {
    use crate::args::Cli;

    #[test]
    fn a_frequent_mistake_is_told_with_what_was_meant() {
        for (line, expected) in [
            ("compare runs/only", Some("the baseline and then the candidate")),
            ("sim --port 9000", Some("--listen 127.0.0.1:9000")),
            ("sim --port=9000", Some("--listen 127.0.0.1:9000")),
            ("sim --host ::", Some("--listen 0.0.0.0:8000")),
            ("run --simulate --port 9000", None),
        ] {
            let words = std::iter::once("streamgauge").chain(line.split_whitespace());
            let said = Cli::read(words).unwrap_err().to_string();
            let tip = said.lines().find(|text| text.trim_start().starts_with("tip: "));
            match expected {
                Some(expected) => assert!(said.contains(expected) && tip.is_some(), "{said}"),
                None => assert!(!said.contains("--listen"), "{said}"),
            }
        }
    }
}
