//! The tools whose files are read, and what people call them.

use std::fmt;
use std::str::FromStr;

/// A tool whose result files can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Tool {
    /// AIPerf: `profile_export.jsonl` or `profile_export_aiperf.json`.
    Aiperf,
    /// GuideLLM: `benchmarks.json`.
    Guidellm,
    /// SGLang's `bench_serving`: `--output-file`, with or without `--output-details`.
    Sglang,
    /// `vllm bench serve`: `--save-result`, with or without `--save-detailed`.
    Vllm,
}

impl Tool {
    /// Every tool, in alphabetical order.
    pub const ALL: [Self; 4] = [Self::Aiperf, Self::Guidellm, Self::Sglang, Self::Vllm];

    /// Its word: the argument of `import`, and the beginning of its metrics' names.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Aiperf => "aiperf",
            Self::Guidellm => "guidellm",
            Self::Sglang => "sglang",
            Self::Vllm => "vllm",
        }
    }

    /// Its name for people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Aiperf => "AIPerf",
            Self::Guidellm => "GuideLLM",
            Self::Sglang => "SGLang bench_serving",
            Self::Vllm => "vLLM bench serve",
        }
    }

    /// Which of its files are meant.
    #[must_use]
    pub fn files(self) -> &'static str {
        match self {
            Self::Aiperf => "profile_export.jsonl or profile_export_aiperf.json",
            Self::Guidellm => "benchmarks.json",
            Self::Sglang => "what --output-file names, one JSON object a line",
            Self::Vllm => "what --save-result writes",
        }
    }
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.label())
    }
}

/// A word that stands for no tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is none of {}", Tool::ALL.map(Tool::as_str).join(", "))]
pub struct UnknownTool {
    /// The word.
    pub name: String,
}

impl FromStr for Tool {
    type Err = UnknownTool;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|tool| tool.as_str() == name);
        found.ok_or_else(|| UnknownTool { name: name.to_owned() })
    }
}
