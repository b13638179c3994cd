//! What an operator says of the deployment under measurement: `--deployment FILE`.

use std::path::Path;

use anyhow::{Context, bail};
use serde::Deserialize;
use streamgauge_schema::{
    CacheState, Condition, Deployment, Identifier, PublicText, SourceUrl, TokenAccounting,
    read_typed,
};

use crate::flags::Source;
use crate::input::read_text;

/// The file: TOML, or JSON where its name ends in `.json`. Everything in it is optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DeploymentFile {
    cache_state: Option<CacheState>,
    concurrency: Option<u64>,
    conditions: Vec<Condition>,
    context_limit: Option<u64>,
    hardware: Option<PublicText>,
    id: Option<Identifier>,
    image: Option<PublicText>,
    model: Option<PublicText>,
    node_count: Option<u64>,
    profile: Option<PublicText>,
    quantization: Option<PublicText>,
    revision: Option<PublicText>,
    runtime: Option<PublicText>,
    runtime_version: Option<PublicText>,
    source_url: Option<SourceUrl>,
    token_accounting: Option<TokenAccounting>,
    variant: Option<PublicText>,
    weights_verified: Option<bool>,
}

/// What a plan says of the deployment.
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub(crate) deployment: Deployment,
    pub(crate) image: Option<PublicText>,
    pub(crate) cache_state: CacheState,
    pub(crate) token_accounting: TokenAccounting,
    pub(crate) conditions: Vec<Condition>,
}

impl DeploymentFile {
    /// The machine, where it is declared.
    pub(crate) fn hardware(&self) -> Option<&PublicText> {
        self.hardware.as_ref()
    }

    /// Reads the file.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = read_text(path)?;
        if path.extension().is_some_and(|extension| extension == "json") {
            // serde would take a list for the members in their order.
            if !text.trim_start().starts_with('{') {
                bail!("{}: a deployment is a JSON object", path.display());
            }
            read_typed(text.as_bytes()).with_context(|| path.display().to_string())
        } else {
            Source::new(path, text).read("deployment")
        }
    }

    /// What a server's caches know when a cell begins.
    pub(crate) fn cache_state(&self) -> CacheState {
        self.cache_state.clone().unwrap_or(CacheState::Unknown)
    }

    /// Fills what the file leaves open for a run of `model` in `cell`.
    pub(crate) fn declare(self, model: &str, cell: &Identifier) -> anyhow::Result<Declared> {
        let cache_state = self.cache_state();
        let model = match self.model {
            Some(name) => name,
            None => PublicText::new(model).with_context(|| {
                format!(
                    "the model is called {model:?}, which cannot be published; give it a public \
                     name with `model = \"…\"` in a --deployment file"
                )
            })?,
        };
        let id = match self.id {
            Some(id) => id,
            None => identifier_like(model.as_str()),
        };
        let profile = match self.profile {
            Some(profile) => profile,
            None => PublicText::new(cell.as_str()).context("name of the cell")?,
        };
        let deployment = Deployment {
            id,
            model,
            profile,
            concurrency: self.concurrency,
            context_limit: self.context_limit,
            hardware: self.hardware,
            node_count: self.node_count,
            quantization: self.quantization,
            revision: self.revision,
            runtime: self.runtime,
            runtime_version: self.runtime_version,
            source_url: self.source_url,
            variant: self.variant,
            weights_verified: self.weights_verified,
        };
        Ok(Declared {
            deployment,
            image: self.image,
            cache_state,
            token_accounting: self.token_accounting.unwrap_or(TokenAccounting::Unknown),
            conditions: self.conditions,
        })
    }
}

/// A text as an identifier: what identifiers do not have becomes `-`.
pub(crate) fn identifier_like(text: &str) -> Identifier {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name: String = text.chars().map(|c| if allowed(c) { c } else { '-' }).take(80).collect();
    let name = name.trim_matches(['-', '.', '_']);
    Identifier::new(name).or_else(|| Identifier::new("run")).expect("\"run\" is an identifier")
}
