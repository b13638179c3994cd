//! The addresses that share the requests of a run: how they are called, and that they serve the same.

use anyhow::{Context, bail};
use streamgauge_client::{Access, Endpoint, Model, bounded};
use streamgauge_schema::{Replica, ReplicaTurns};

use crate::args::run::ServerArgs;
use crate::console;

/// Where requests are to go, and the way in. Nothing was asked there yet.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    /// At least one, in the order in which they were given.
    pub(crate) endpoints: Vec<Endpoint>,
    /// One for each.
    pub(super) weights: Vec<u64>,
    pub(crate) access: Access,
}

impl Reached {
    /// The first, and the way in.
    pub(crate) fn first(self) -> anyhow::Result<(Endpoint, Access)> {
        let first = self.endpoints.into_iter().next().context("there is an address")?;
        Ok((first, self.access))
    }

    /// As a plan holds them: none where there is only one.
    pub(crate) fn replicas(&self) -> Vec<Replica> {
        if self.endpoints.len() < 2 {
            return Vec::new();
        }
        let replica = |(endpoint, weight): (&Endpoint, &u64)| Replica {
            base_url: endpoint.to_string(),
            weight: *weight,
        };
        self.endpoints.iter().zip(&self.weights).map(replica).collect()
    }

    /// What an address is called: by its place too, where there are several.
    pub(super) fn called(&self, place: usize) -> String {
        let endpoint = &self.endpoints[place];
        match self.endpoints.len() {
            1 => endpoint.to_string(),
            _ => format!("{} ({endpoint})", Replica::name(place)),
        }
    }
}

/// The weights of so many addresses.
pub(super) fn weights(args: &ServerArgs, addresses: usize) -> anyhow::Result<Vec<u64>> {
    const MOST: usize = ReplicaTurns::MOST_ADDRESSES;
    if addresses > MOST {
        bail!("--base-url is given {addresses} times; a run has at most {MOST} addresses");
    }
    let Some(given) = &args.weights else { return Ok(vec![1; addresses]) };
    let given = &given.0;
    let shown = given.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    if given.len() != addresses {
        bail!(
            "--weights {shown}: that is {} for {addresses} addresses (--base-url); give one for each, in their \
             order",
            given.len()
        );
    }
    if ReplicaTurns::new(given).is_none() {
        bail!("--weights {shown}: together they come to more than {}", ReplicaTurns::MOST);
    }
    Ok(given.clone())
}

/// Refuses an address that stands twice. With and without `/v1` it is the same server.
pub(super) fn check_doubled(endpoints: &[Endpoint]) -> anyhow::Result<()> {
    // The path at a socket stands behind a colon.
    let bare =
        |url: String| url.strip_suffix("/v1").unwrap_or(&url).trim_end_matches(':').to_owned();
    let servers: Vec<String> = endpoints.iter().map(|it| bare(it.to_string())).collect();
    let doubled = (1..servers.len()).find(|at| servers[..*at].contains(&servers[*at]));
    match doubled {
        Some(at) => bail!(
            "--base-url {} is given twice; --weights gives an address a larger share",
            endpoints[at]
        ),
        None => Ok(()),
    }
}

/// Refuses addresses of which one serves something else than the others, or not what is asked for. One
/// that lists nothing may serve anything.
pub(super) fn check_alike(
    args: &ServerArgs,
    reached: &Reached,
    listed: &[Option<Vec<Model>>],
) -> anyhow::Result<()> {
    let wanted: Vec<&String> = args.model.iter().chain(&args.expect_model).collect();
    let lists = listed.iter().enumerate().filter_map(|(place, list)| Some((place, list.as_ref()?)));
    let mut first = None;
    for (place, list) in lists.filter(|(_, list)| !list.is_empty()) {
        let called = reached.called(place);
        let names = |list: &[Model]| {
            let mut names: Vec<String> = list.iter().map(|model| bounded(&model.id)).collect();
            names.sort_unstable();
            names
        };
        let own = names(list);
        if args.model.is_some() && !list.iter().any(|model| wanted.contains(&&model.id)) {
            let model = wanted.last().map_or("", |model| model.as_str());
            let shown = console::listed(own.into_iter());
            bail!("{called} does not list {model:?}; it lists {shown}");
        }
        let (known, known_names) = first.get_or_insert_with(|| (place, own.clone()));
        if own != *known_names {
            bail!(
                "{called} lists {}, and {} lists {}: several addresses are to serve the same models",
                console::listed(own.into_iter()),
                reached.called(*known),
                console::listed(known_names.clone().into_iter())
            );
        }
    }
    Ok(())
}
