//! What goes into an observer: the API spoken, the head of a response, and how its body ended.

use crate::vocabulary::closed_vocabulary;

closed_vocabulary! {
    /// The API that a client asked for; it decides how the events of a stream are read.
    Dialect {
        /// Anthropic messages, `/v1/messages`.
        AnthropicMessages = "anthropic-messages",
        /// Ollama chat, `/api/chat`: one JSON object a line.
        OllamaChat = "ollama-chat",
        /// Ollama generate, `/api/generate`: one JSON object a line.
        OllamaGenerate = "ollama-generate",
        /// OpenAI chat completions, `/v1/chat/completions`.
        OpenaiChat = "openai-chat",
        /// OpenAI completions, the older `/v1/completions`.
        OpenaiCompletions = "openai-completions",
        /// OpenAI responses, `/v1/responses`.
        OpenaiResponses = "openai-responses",
        /// SGLang's own `/generate`: every event repeats the whole text.
        SglangGenerate = "sglang-generate",
        /// TGI's own `/generate_stream`: one token an event.
        TgiGenerate = "tgi-generate",
    }
}

impl Dialect {
    /// The path below a server's address at which the API is usually found.
    ///
    /// ```
    /// use streamgauge_schema::Dialect;
    /// assert_eq!(Dialect::OpenaiChat.default_path(), "/v1/chat/completions");
    /// ```
    #[must_use]
    pub fn default_path(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "/v1/messages",
            Self::OllamaChat => "/api/chat",
            Self::OllamaGenerate => "/api/generate",
            Self::OpenaiChat => "/v1/chat/completions",
            Self::OpenaiCompletions => "/v1/completions",
            Self::OpenaiResponses => "/v1/responses",
            Self::SglangGenerate => "/generate",
            Self::TgiGenerate => "/generate_stream",
        }
    }

    /// Whether its responses name the model that gave them.
    #[must_use]
    pub fn names_model(self) -> bool {
        match self {
            Self::SglangGenerate | Self::TgiGenerate => false,
            Self::AnthropicMessages
            | Self::OllamaChat
            | Self::OllamaGenerate
            | Self::OpenaiChat
            | Self::OpenaiCompletions
            | Self::OpenaiResponses => true,
        }
    }
}

/// The head of an HTTP response, as far as it matters for reading the body.
///
/// The default is what a bare saved stream is taken for: status 200 and an unknown type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The final status; interim responses (1xx) do not count.
    pub status: u16,
    /// `Content-Type`.
    pub content_type: Option<String>,
    /// `Content-Encoding`.
    pub content_encoding: Option<String>,
    /// `Retry-After`, in seconds or as a date.
    pub retry_after: Option<String>,
    /// `Date`, from which a dated `Retry-After` counts.
    pub date: Option<String>,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            status: 200,
            content_type: None,
            content_encoding: None,
            retry_after: None,
            date: None,
        }
    }
}

/// How the body of a response ended, seen from the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The body ended as its framing promised.
    Clean,
    /// The connection closed before the body was whole.
    Incomplete,
    /// The connection was reset.
    Reset,
    /// A time limit cut the reading.
    Timeout,
}
