//! How each API spells a request: a table with one arm an API.

use streamgauge_schema::Dialect;

/// The members of an API's request bodies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyFormat {
    /// Whether the body names the model; where it does not, the server has only one.
    pub(crate) names_model: bool,
    /// Member that holds the prompt.
    pub(crate) prompt: &'static str,
    pub(crate) prompt_form: PromptForm,
    /// Members that are the same in every request, with their JSON.
    pub(crate) fixed: Members,
    /// Member whose object holds the settings; without one they stand beside the prompt.
    pub(crate) settings_in: Option<&'static str>,
    /// Settings that are the same in every request, with their JSON.
    pub(crate) fixed_settings: Members,
    /// Setting for the longest answer.
    pub(crate) max_tokens: &'static str,
    /// Setting that turns sampling on, of an API that refuses temperature 0.
    pub(crate) sampling_switch: Option<&'static str>,
    /// Setting for the sampling seed.
    pub(crate) seed: Option<&'static str>,
    /// Setting by which an answer goes on after an end token.
    pub(crate) ignore_eos: Option<&'static str>,
}

type Members = &'static [(&'static str, &'static str)];

/// What an API takes for a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PromptForm {
    /// A list of messages.
    Messages,
    /// A list of messages; what a system says at its beginning stands in [`SYSTEM`].
    MessagesBesideSystem,
    /// A text.
    Text,
    /// A text, or a list of messages whose parts are called inputs.
    TextOrInputs,
}

/// Member that holds what a system says, where it stands apart from the messages.
pub(crate) const SYSTEM: &str = "system";
/// Setting that every API calls by this name.
pub(crate) const TEMPERATURE: &str = "temperature";

const STREAM: Members = &[("stream", "true")];

const OPENAI_CHAT: BodyFormat = BodyFormat {
    names_model: true,
    prompt: "messages",
    prompt_form: PromptForm::Messages,
    fixed: &[("stream", "true"), ("stream_options", r#"{"include_usage":true}"#)],
    settings_in: None,
    fixed_settings: &[],
    max_tokens: "max_tokens",
    sampling_switch: None,
    seed: Some("seed"),
    ignore_eos: Some("ignore_eos"),
};

const OLLAMA_CHAT: BodyFormat = BodyFormat {
    fixed: STREAM,
    settings_in: Some("options"),
    max_tokens: "num_predict",
    ignore_eos: None,
    ..OPENAI_CHAT
};

impl BodyFormat {
    pub(crate) fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::AnthropicMessages => Self {
                prompt_form: PromptForm::MessagesBesideSystem,
                fixed: STREAM,
                seed: None,
                ignore_eos: None,
                ..OPENAI_CHAT
            },
            Dialect::OllamaChat => OLLAMA_CHAT,
            Dialect::OllamaGenerate => {
                Self { prompt: "prompt", prompt_form: PromptForm::Text, ..OLLAMA_CHAT }
            }
            Dialect::OpenaiChat => OPENAI_CHAT,
            Dialect::OpenaiCompletions => {
                Self { prompt: "prompt", prompt_form: PromptForm::Text, ..OPENAI_CHAT }
            }
            Dialect::OpenaiResponses => Self {
                prompt: "input",
                prompt_form: PromptForm::TextOrInputs,
                fixed: STREAM,
                max_tokens: "max_output_tokens",
                seed: None,
                ignore_eos: None,
                ..OPENAI_CHAT
            },
            Dialect::SglangGenerate => Self {
                names_model: false,
                prompt: "text",
                prompt_form: PromptForm::Text,
                fixed: STREAM,
                settings_in: Some("sampling_params"),
                max_tokens: "max_new_tokens",
                seed: Some("sampling_seed"),
                ..OPENAI_CHAT
            },
            Dialect::TgiGenerate => Self {
                names_model: false,
                prompt: "inputs",
                prompt_form: PromptForm::Text,
                fixed: &[],
                settings_in: Some("parameters"),
                // Without the details there is no count of tokens.
                fixed_settings: &[("details", "true")],
                max_tokens: "max_new_tokens",
                sampling_switch: Some("do_sample"),
                ignore_eos: None,
                ..OPENAI_CHAT
            },
        }
    }

    /// Whether requests set this member of the body, the settings' own object apart.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.names_model && name == "model"
            || name == self.prompt
            || self.prompt_form == PromptForm::MessagesBesideSystem && name == SYSTEM
            || holds(self.fixed, name)
            || self.settings_in.is_none() && self.sets_setting(name)
    }

    /// Whether requests set this setting.
    pub(crate) fn sets_setting(&self, name: &str) -> bool {
        let by_need = [self.sampling_switch, self.seed, self.ignore_eos];
        name == self.max_tokens
            || name == TEMPERATURE
            || by_need.contains(&Some(name))
            || holds(self.fixed_settings, name)
    }
}

fn holds(members: Members, name: &str) -> bool {
    members.iter().any(|(member, _)| *member == name)
}
