//! The server under measurement: its address, the way in, and the model that answers there.

use std::env::VarError;
use std::time::Duration;

use anyhow::{Context, bail};
use streamgauge_client::{
    Access, Endpoint, Headers, Model, Proxy, Query, Trust, bounded, list_models, wait_ready,
};
use streamgauge_schema::{Condition, Dialect, FailureClass};

use super::millis;
use crate::args::run::{LimitArgs, ServerArgs};
use crate::console;
use crate::exit::Unreachable;
use crate::provenance::told;

/// How the simulated server signs its model.
const SIMULATED_OWNER: &str = "sim";

/// The server under measurement.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    pub(crate) access: Access,
    pub(crate) model: String,
    pub(crate) simulated: bool,
    /// The models that it lists, sorted; `None` when no list came.
    pub(crate) listed: Option<Vec<String>>,
    /// What it says of itself, where it was asked.
    pub(crate) told: Vec<Condition>,
}

/// Builds the access to a server from the arguments. Keys come from the environment and headers;
/// they go into no plan.
fn access(args: &ServerArgs, endpoint: &Endpoint) -> anyhow::Result<Access> {
    let mut headers = Headers::default();
    for line in &args.header {
        headers.add(line).context("--header")?;
    }
    let key_variable = key_variable(args);
    if let Some(key) = api_key(args, key_variable)? {
        headers
            .add_api_key(&key, args.api)
            .with_context(|| format!("the key in {key_variable}"))?;
    }
    let proxy = proxy(args, endpoint)?;
    let leaves = !endpoint.is_loopback() || proxy.as_ref().is_some_and(|it| !it.is_loopback());
    let is_open = leaves && !endpoint.is_tls();
    if !headers.is_empty() && is_open {
        console::remark(&format!(
            "warning: {} goes over plain http to {}",
            headers.names().join(", "),
            endpoint.host()
        ));
    }
    let trust = trust(args, endpoint)?;
    let query = args.endpoint_path.as_deref().and_then(|path| path_and_query(path).1);
    let query = Query::new(query.unwrap_or_default()).context("--endpoint-path")?;
    if !query.is_empty() && is_open {
        console::remark(&format!(
            "warning: the query of --endpoint-path goes over plain http to {}",
            endpoint.host()
        ));
    }
    Ok(Access { headers, query, trust, proxy })
}

/// Whom to trust, where the address needs it.
fn trust(args: &ServerArgs, endpoint: &Endpoint) -> anyhow::Result<Option<Trust>> {
    if !endpoint.is_tls() {
        let given = [
            ("--ca-file", args.ca_file.is_some()),
            ("--client-cert", args.client_cert.is_some()),
            ("--insecure", args.insecure),
        ];
        return match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => bail!("{flag} needs an https address"),
            None => Ok(None),
        };
    }
    let trust = match &args.ca_file {
        _ if args.insecure => {
            console::remark(&format!(
                "warning: --insecure: whoever answers as {} is believed, and reads what is sent",
                endpoint.host()
            ));
            Trust::anybody()?
        }
        Some(file) => Trust::file(file).context("--ca-file")?,
        None => Trust::platform()?,
    };
    Ok(Some(match (&args.client_cert, &args.client_key) {
        (Some(certificate), Some(key)) => {
            trust.with_client_certificate(certificate, key).context("--client-cert")?
        }
        _ => trust,
    }))
}

/// The proxy that was asked for.
fn proxy(args: &ServerArgs, endpoint: &Endpoint) -> anyhow::Result<Option<Proxy>> {
    let found = match &args.proxy {
        Some(url) => Some(Proxy::parse(url).context("--proxy")?),
        None if args.proxy_from_env => {
            let variable = |name: &str| std::env::var(name).ok();
            Proxy::from_environment(endpoint, variable).context("--proxy-from-env")?
        }
        None => None,
    };
    if let (Some(proxy), Some(_)) = (&found, endpoint.socket()) {
        bail!("{proxy} leads to no Unix-domain socket: leave the proxy out");
    }
    Ok(found)
}

/// The environment's variable that holds the key.
pub(crate) fn key_variable(args: &ServerArgs) -> &str {
    args.api_key_env.as_deref().unwrap_or(match args.api {
        Dialect::AnthropicMessages => "ANTHROPIC_API_KEY",
        _ => "OPENAI_API_KEY",
    })
}

/// Whoever writes a key where the name of its variable is wanted should not see it again.
pub(super) fn check_key_variable(args: &ServerArgs) -> anyhow::Result<()> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match key_variable(args).bytes().all(allowed) {
        true => Ok(()),
        false => {
            bail!("--api-key-env takes the name of the variable that holds the key, not the key")
        }
    }
}

/// A path and what follows its question mark.
pub(super) fn path_and_query(path: &str) -> (&str, Option<&str>) {
    path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)))
}

/// The key in an environment variable. One that was named must be there; a simulated server gets
/// none.
fn api_key(args: &ServerArgs, variable: &str) -> anyhow::Result<Option<String>> {
    if args.simulate {
        return Ok(None);
    }
    match std::env::var(variable) {
        Ok(key) if !key.is_empty() => Ok(Some(key)),
        Err(VarError::NotUnicode(_)) => bail!("the key in {variable} is not UTF-8"),
        _ if args.api_key_env.is_some() => bail!("--api-key-env: {variable} is not set"),
        _ => Ok(None),
    }
}

/// Finds out which model answers, whether it is a simulated one, and what the server says of itself.
pub(crate) async fn meet(
    args: &ServerArgs,
    limits: &LimitArgs,
    base_url: &str,
) -> anyhow::Result<Server> {
    meet_reached(args, limits, reach(args, base_url)?).await
}

/// The same of a server to which the way is known.
pub(crate) async fn meet_reached(
    args: &ServerArgs,
    limits: &LimitArgs,
    (endpoint, access): (Endpoint, Access),
) -> anyhow::Result<Server> {
    if let Some(seconds) = args.wait_ready {
        let patience = Duration::from_millis(millis("--wait-ready", seconds)?);
        wait_ready(&endpoint, &access, args.api, patience)
            .await
            .map_err(|error| Unreachable(format!("{endpoint}: {error}")))?;
    }
    let mut server = meet_at(args, limits, endpoint, access).await?;
    server.told = told(&server, args.api).await?;
    Ok(server)
}

/// The address and the way in; nothing is contacted.
pub(crate) fn reach(args: &ServerArgs, base_url: &str) -> anyhow::Result<(Endpoint, Access)> {
    let endpoint = Endpoint::parse(address(args, base_url))?;
    if args.endpoint_path.is_none() {
        without_path(&endpoint, args.api)?;
    }
    let access = access(args, &endpoint)?;
    Ok((endpoint, access))
}

/// Finds out which model answers at an address.
pub(crate) async fn meet_at(
    args: &ServerArgs,
    limits: &LimitArgs,
    endpoint: Endpoint,
    access: Access,
) -> anyhow::Result<Server> {
    let timeout = Duration::from_secs_f64(limits.connect_timeout) + Duration::from_secs(10);
    let listed = match list_models(&endpoint, &access, args.api, timeout).await {
        Ok(listed) => Some(listed),
        // Some servers have no such list, or keep it from this key; the model was named anyway.
        Err(error) if args.model.is_some() && answers(error.class) => None,
        Err(error) => {
            let hint = if answers(error.class) { "; name the model with --model" } else { "" };
            return Err(Unreachable(format!("{endpoint}: {error}{hint}")).into());
        }
    };
    let (model, simulated) = choose(args.model.as_deref(), listed.as_deref())?;
    let listed = listed.map(|models| {
        let mut names: Vec<String> = models.into_iter().map(|model| model.id).collect();
        names.sort_unstable();
        names
    });
    Ok(Server { endpoint, access, model, simulated, listed, told: Vec::new() })
}

/// The address below which the API's path lies. One that was written for OpenAI's APIs ends in
/// `/v1`, beside which the others stand.
fn address<'a>(args: &ServerArgs, base_url: &'a str) -> &'a str {
    if args.endpoint_path.is_some() || args.api.default_path().starts_with("/v1/") {
        return base_url;
    }
    base_url.trim_end_matches('/').strip_suffix("/v1").unwrap_or(base_url)
}

/// Whoever copies a whole URL gives an address to which the API's path would be added again.
fn without_path(endpoint: &Endpoint, api: Dialect) -> anyhow::Result<()> {
    let path = api.default_path();
    if endpoint.to_string().ends_with(path.strip_prefix("/v1").unwrap_or(path)) {
        bail!(
            "--base-url {endpoint}: an address ends before {path}, which is added to it; another \
             path is given by --endpoint-path"
        );
    }
    Ok(())
}

/// Whether a server that failed in this way is there and answers.
fn answers(class: FailureClass) -> bool {
    matches!(class, FailureClass::HttpStatus | FailureClass::NotEventStream)
}

fn choose(asked: Option<&str>, listed: Option<&[Model]>) -> anyhow::Result<(String, bool)> {
    let listed = listed.unwrap_or_default();
    let simulated = |model: &Model| model.owned_by.as_deref() == Some(SIMULATED_OWNER);
    match (asked, listed) {
        (Some(asked), _) => {
            let known = listed.iter().find(|model| model.id == asked);
            if known.is_none() && !listed.is_empty() {
                console::remark(&format!(
                    "note: the server does not list {asked:?}; it lists {}",
                    names(listed)
                ));
            }
            Ok((asked.to_owned(), known.is_some_and(simulated)))
        }
        (None, [only]) => Ok((only.id.clone(), simulated(only))),
        (None, []) => bail!("the server lists no model; name one with --model"),
        (None, _) => bail!("the server lists {}; choose one with --model", names(listed)),
    }
}

fn names(models: &[Model]) -> String {
    console::listed(models.iter().map(|model| bounded(&model.id)))
}
