//! The server under measurement: its address, the way in, and the model that answers there.

use std::env::VarError;
use std::time::Duration;

use anyhow::{Context, bail};
use streamgauge_client::{
    Access, Endpoint, Headers, Model, Proxy, Query, Trust, bounded, list_models, wait_ready,
};
use streamgauge_schema::{Condition, Dialect, FailureClass, Replica};

use super::addresses::{Reached, check_alike, check_doubled, weights};
use super::millis;
use crate::args::run::{LimitArgs, ServerArgs};
use crate::console;
use crate::exit::Unreachable;
use crate::provenance::{agreed, told};

/// How the simulated server signs its model.
const SIMULATED_OWNER: &str = "sim";

/// The server under measurement.
#[derive(Debug)]
pub(crate) struct Server {
    /// Of several addresses the first.
    pub(crate) endpoint: Endpoint,
    /// All of them, where there are several.
    pub(crate) replicas: Vec<Replica>,
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
fn access(args: &ServerArgs, endpoints: &[Endpoint]) -> anyhow::Result<Access> {
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
    let proxy = common_proxy(args, endpoints)?;
    let by_proxy = proxy.as_ref().is_some_and(|it| !it.is_loopback());
    let is_open = |it: &&Endpoint| !it.is_tls() && (by_proxy || !it.is_loopback());
    let mut open: Vec<&str> = endpoints.iter().filter(is_open).map(Endpoint::host).collect();
    open.dedup();
    if !headers.is_empty() && !open.is_empty() {
        console::remark(&format!(
            "warning: {} goes over plain http to {}",
            headers.names().join(", "),
            open.join(", ")
        ));
    }
    let trust = trust(args, endpoints)?;
    let query = args.endpoint_path.as_deref().and_then(|path| path_and_query(path).1);
    let query = Query::new(query.unwrap_or_default()).context("--endpoint-path")?;
    if !query.is_empty() && !open.is_empty() {
        console::remark(&format!(
            "warning: the query of --endpoint-path goes over plain http to {}",
            open.join(", ")
        ));
    }
    Ok(Access { headers, query, trust, proxy })
}

/// Whom to trust, where an address needs it.
fn trust(args: &ServerArgs, endpoints: &[Endpoint]) -> anyhow::Result<Option<Trust>> {
    let hosts = endpoints.iter().filter(|endpoint| endpoint.is_tls()).map(Endpoint::host);
    let hosts: Vec<&str> = hosts.collect();
    if hosts.is_empty() {
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
                hosts.join(", ")
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

/// The proxy that was asked for, which is the same for all addresses.
fn common_proxy(args: &ServerArgs, endpoints: &[Endpoint]) -> anyhow::Result<Option<Proxy>> {
    let mut common = None;
    for endpoint in endpoints {
        let found = proxy(args, endpoint)?;
        let said = |proxy: &Option<Proxy>| match proxy {
            Some(proxy) => format!("through the proxy {proxy}"),
            None => "straight".to_owned(),
        };
        let (first, known) = common.get_or_insert_with(|| (endpoint, found.clone()));
        if said(known) != said(&found) {
            bail!(
                "--proxy-from-env: {first} is reached {}, and {endpoint} {}: several addresses are \
                 reached alike",
                said(known),
                said(&found)
            );
        }
    }
    Ok(common.and_then(|(_, proxy)| proxy))
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
    base_urls: &[String],
) -> anyhow::Result<Server> {
    meet_reached(args, limits, reach(args, base_urls)?).await
}

/// The same of addresses to which the way is known; every one of them is asked.
pub(crate) async fn meet_reached(
    args: &ServerArgs,
    limits: &LimitArgs,
    reached: Reached,
) -> anyhow::Result<Server> {
    let Reached { endpoints, access, .. } = &reached;
    let mut listed = Vec::new();
    for (place, endpoint) in endpoints.iter().enumerate() {
        let called = reached.called(place);
        if let Some(seconds) = args.wait_ready {
            let patience = Duration::from_millis(millis("--wait-ready", seconds)?);
            wait_ready(endpoint, access, args.api, patience)
                .await
                .map_err(|error| Unreachable(format!("{called}: {error}")))?;
        }
        listed.push(list_at(args, limits, &called, (endpoint, access)).await?);
    }
    if endpoints.len() > 1 {
        check_alike(args, &reached, &listed)?;
    }
    let mut told_by = Vec::new();
    let mut met = None::<Server>;
    for (place, (endpoint, listed)) in endpoints.iter().zip(listed).enumerate() {
        let found = match &met {
            Some(first) => found_as(first, &reached, place, listed)?,
            None => found(args, endpoint.clone(), access.clone(), listed)?,
        };
        told_by.push(told(&found, args.api).await?);
        met.get_or_insert(found);
    }
    let mut server = met.context("there is an address")?;
    server.replicas = reached.replicas();
    server.told = agreed(told_by);
    Ok(server)
}

/// The addresses and the way in; nothing is contacted.
pub(crate) fn reach(args: &ServerArgs, base_urls: &[String]) -> anyhow::Result<Reached> {
    let parsed = base_urls.iter().map(|url| Endpoint::parse(address(args, url)));
    let endpoints: Vec<Endpoint> = parsed.collect::<Result<_, _>>()?;
    if args.endpoint_path.is_none() {
        endpoints.iter().try_for_each(|endpoint| without_path(endpoint, args.api))?;
    }
    check_doubled(&endpoints)?;
    let weights = weights(args, endpoints.len())?;
    let access = access(args, &endpoints)?;
    Ok(Reached { endpoints, weights, access })
}

/// Finds out which model answers at an address.
pub(crate) async fn meet_at(
    args: &ServerArgs,
    limits: &LimitArgs,
    endpoint: Endpoint,
    access: Access,
) -> anyhow::Result<Server> {
    let called = endpoint.to_string();
    let listed = list_at(args, limits, &called, (&endpoint, &access)).await?;
    found(args, endpoint, access, listed)
}

/// The models that an address lists; `None` where no list comes, and the model was named.
async fn list_at(
    args: &ServerArgs,
    limits: &LimitArgs,
    called: &str,
    (endpoint, access): (&Endpoint, &Access),
) -> anyhow::Result<Option<Vec<Model>>> {
    let timeout = Duration::from_secs_f64(limits.connect_timeout) + Duration::from_secs(10);
    match list_models(endpoint, access, args.api, timeout).await {
        Ok(listed) => Ok(Some(listed)),
        // Some servers have no such list, or keep it from this key; the model was named anyway.
        Err(error) if args.model.is_some() && answers(error.class) => Ok(None),
        Err(error) => {
            let hint = if answers(error.class) { "; name the model with --model" } else { "" };
            Err(Unreachable(format!("{called}: {error}{hint}")).into())
        }
    }
}

/// The server that lists these.
fn found(
    args: &ServerArgs,
    endpoint: Endpoint,
    access: Access,
    listed: Option<Vec<Model>>,
) -> anyhow::Result<Server> {
    let (model, simulated) = choose(args.model.as_deref(), listed.as_deref())?;
    let (replicas, told) = (Vec::new(), Vec::new());
    Ok(Server { endpoint, replicas, access, model, simulated, listed: sorted(listed), told })
}

/// The same of a further address, which is asked for the same model.
fn found_as(
    first: &Server,
    reached: &Reached,
    place: usize,
    listed: Option<Vec<Model>>,
) -> anyhow::Result<Server> {
    let own = listed.iter().flatten().find(|model| model.id == first.model);
    if own.is_some_and(is_simulated) != first.simulated {
        let word = |is_simulated| if is_simulated { "simulated" } else { "real" };
        bail!(
            "{} is a {} server, and {} is a {} one",
            reached.called(place),
            word(!first.simulated),
            reached.called(0),
            word(first.simulated)
        );
    }
    let (endpoint, access) = (reached.endpoints[place].clone(), first.access.clone());
    let (model, simulated) = (first.model.clone(), first.simulated);
    let (replicas, told) = (Vec::new(), Vec::new());
    Ok(Server { endpoint, replicas, access, model, simulated, listed: sorted(listed), told })
}

fn sorted(listed: Option<Vec<Model>>) -> Option<Vec<String>> {
    listed.map(|models| {
        let mut names: Vec<String> = models.into_iter().map(|model| model.id).collect();
        names.sort_unstable();
        names
    })
}

/// Whether it is the simulated server's.
fn is_simulated(model: &Model) -> bool {
    model.owned_by.as_deref() == Some(SIMULATED_OWNER)
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
    match (asked, listed) {
        (Some(asked), _) => {
            let known = listed.iter().find(|model| model.id == asked);
            if known.is_none() && !listed.is_empty() {
                console::remark(&format!(
                    "note: the server does not list {asked:?}; it lists {}",
                    names(listed)
                ));
            }
            Ok((asked.to_owned(), known.is_some_and(is_simulated)))
        }
        (None, [only]) => Ok((only.id.clone(), is_simulated(only))),
        (None, []) => bail!("the server lists no model; name one with --model"),
        (None, _) => bail!("the server lists {}; choose one with --model", names(listed)),
    }
}

fn names(models: &[Model]) -> String {
    console::listed(models.iter().map(|model| bounded(&model.id)))
}
