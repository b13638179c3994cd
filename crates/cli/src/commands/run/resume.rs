//! `run --resume`: a run that broke off is taken up, and asks what is missing by its own plan.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use streamgauge_client::{AnswerWriter, ReceiptWriter, RunDir, SoFar, TakenUp};
use streamgauge_schema::{Condition, Plan, PromptSource};
use streamgauge_sim::{SimConfig, ThreadedSim, spawn_thread};
use tokio::sync::watch;

use super::show_result;
use crate::args::run::{RunArgs, RunFormat, ServerArgs};
use crate::args::values::Weights;
use crate::commands::turnover;
use crate::console;
use crate::exit::Exit;
use crate::grading::{Receipts, kept_receipts};
use crate::measure::{Files, Graded, Measured, Measuring, carry_out, exit_of};
use crate::planning::{Cell, cell_of_plan, check_way, meet_reached, reach};
use crate::rebuild::{read_plan, rebuild_held, remove_all_leftovers};
use crate::signals::{SAVING, stop_on_signal, stopped};

/// Labels of conditions that say what measures begin so; the others say what the server is.
const OF_INSTRUMENT: &str = "Instrument ";

/// Takes up the run of a directory.
pub(super) async fn resume(args: &RunArgs, dir: &Path) -> anyhow::Result<Exit> {
    let dir = RunDir::at(dir);
    let plan = read_plan(&dir)?;
    let taken_up = read(&dir, &plan)?;
    if taken_up.has_finished() {
        return finished(&dir, &plan);
    }
    let (_simulated, base_urls) = server_of(args, &plan)?;
    let server_args = server_args(&args.server, &plan, base_urls.len())?;
    let reached = reach(&server_args, &base_urls)?;
    check_way(&plan, &server_args, &reached)?;
    let stop = stop_on_signal(SAVING)?;
    let server = tokio::select! {
        () = stopped(stop.clone()) => return Ok(Exit::Interrupted),
        server = meet_reached(&server_args, &args.limits, reached) => server?,
    };
    let mut cell = cell_of_plan(plan, &server, args.prompts.dataset.as_deref())
        .with_context(|| format!("{} cannot be taken up", dir.path().display()))?;
    if let Some(shard) = taken_up.header().shard {
        cell = cell.of_shard(shard)?;
    }
    cell.keep_answers = dir.answers().exists();
    cell.capture = dir.captures().exists();
    check_conditions(&dir, taken_up.conditions(), &cell.conditions)?;
    cell.check_room()?;
    let result = go_on(&dir, taken_up, &cell, (args, &server.access), &stop).await?;
    let is_turnover = matches!(cell.plan.workload.source, PromptSource::Turnover { .. });
    match is_turnover {
        true => turnover::show_result(&result, args.output.page_format())?,
        false => show_result(args, &result, cell.plan.workload.repetitions.is_some())?,
    }
    let exit = if is_turnover { turnover::exit_of(&result) } else { result.exit() };
    if args.output.format == RunFormat::Json {
        console::result(&super::as_json(&[result])?)?;
    }
    Ok(exit)
}

/// Reads and holds what there is of a run.
pub(super) fn read(dir: &RunDir, plan: &Plan) -> anyhow::Result<TakenUp> {
    let path = dir.journal();
    if !path.exists() || fs::metadata(&path)?.len() == 0 {
        bail!("{}: the run broke off before it sent anything; begin it anew", dir.path().display());
    }
    let taken_up = TakenUp::read(&path, plan)?;
    if streamgauge_schema::Digest::of_value(plan)? != taken_up.header().plan_sha256 {
        bail!("{}: the journal was written for another plan", dir.plan().display());
    }
    Ok(taken_up)
}

/// A run that had come to its end has at most its record missing.
pub(super) fn finished(dir: &RunDir, plan: &Plan) -> anyhow::Result<Exit> {
    remove_all_leftovers(dir)?;
    console::remark(&format!(
        "{}: the run has finished, and nothing is missing",
        dir.path().display()
    ));
    let mut rebuilt = rebuild_held(dir)?;
    if !dir.record().exists() {
        rebuilt.write(dir)?;
    }
    console::result(&dir.record().display().to_string())?;
    Ok(match plan.workload.source {
        PromptSource::Turnover { .. } => turnover::exit_of_record(&rebuilt.record),
        PromptSource::Dataset { .. } | PromptSource::Synthetic { .. } => exit_of(&rebuilt.record),
    })
}

/// The addresses that the plan names, which may be given again in their order; and the simulated server
/// that was started there again.
fn server_of(args: &RunArgs, plan: &Plan) -> anyhow::Result<(Option<ThreadedSim>, Vec<String>)> {
    let known = &plan.target.base_url;
    if args.server.simulate {
        let address: Option<SocketAddr> =
            known.strip_prefix("http://").and_then(|address| address.parse().ok());
        let address = address.filter(|address| address.ip().is_loopback());
        let address = address.with_context(|| {
            format!("--simulate: the run asked {known}, which is another server")
        })?;
        return Ok((Some(spawn_thread(SimConfig::default(), address)?), vec![known.clone()]));
    }
    let known = plan.target.base_urls().into_iter().map(str::to_owned);
    let given = &args.server.base_url;
    Ok((None, if given.is_empty() { known.collect() } else { given.clone() }))
}

/// The way to the server, of which the plan holds no secret.
fn server_args(given: &ServerArgs, plan: &Plan, addresses: usize) -> anyhow::Result<ServerArgs> {
    let target = &plan.target;
    let weights: Vec<u64> = target.replicas.iter().map(|replica| replica.weight).collect();
    let mut args = ServerArgs {
        // Of other addresses than the plan's it is said that they are others.
        weights: (weights.len() == addresses).then_some(Weights(weights)),
        api: target.dialect,
        model: Some(target.model.clone()),
        expect_model: Some(target.expect_model.clone()),
        ..given.clone()
    };
    if args.endpoint_path.is_none() && target.endpoint_path != target.dialect.default_path() {
        if target.endpoint_path.contains('?') {
            bail!(
                "the run's path was {}, and the values of its query stand nowhere: give \
                 --endpoint-path as it was",
                target.endpoint_path
            );
        }
        args.endpoint_path = Some(target.endpoint_path.clone());
    }
    Ok(args)
}

/// Refuses to go on with another server; what changed of the machine that measures is said, and stands in
/// the record.
pub(super) fn check_conditions(
    dir: &RunDir,
    before: &[Condition],
    now: &[Condition],
) -> anyhow::Result<()> {
    let value = |of: &[Condition], label: &str| {
        let found = of.iter().find(|it| it.label.as_str() == label);
        found.map_or_else(|| "absent".to_owned(), |it| it.value.to_string())
    };
    let mut labels: Vec<&str> =
        before.iter().chain(now).map(|condition| condition.label.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    let changed = labels.into_iter().filter_map(|label| {
        let (was, is) = (value(before, label), value(now, label));
        (was != is).then(|| (label, format!("{label} was {was}, and is {is}")))
    });
    let (own, servers): (Vec<_>, Vec<_>) =
        changed.partition(|(label, _)| label.starts_with(OF_INSTRUMENT));
    let shown = |changed: Vec<(&str, String)>| {
        changed.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("; ")
    };
    if !servers.is_empty() {
        bail!(
            "{} cannot be taken up, as the server is another one: {}. Begin a run of its own",
            dir.path().display(),
            shown(servers)
        );
    }
    if !own.is_empty() {
        console::remark(&format!("note: {}; the record says so", shown(own)));
    }
    Ok(())
}

/// Asks what is missing.
pub(super) async fn go_on(
    dir: &RunDir,
    taken_up: TakenUp,
    cell: &Cell,
    (args, access): (&RunArgs, &streamgauge_client::Access),
    stop: &watch::Receiver<bool>,
) -> anyhow::Result<Measured> {
    let so_far = taken_up.so_far().clone();
    if taken_up.torn_bytes() > 0 {
        console::remark(&format!(
            "note: the journal's last line was cut off after {} bytes and is left out",
            taken_up.torn_bytes()
        ));
    }
    let answers = cell.keep_answers.then(|| AnswerWriter::add_to(&dir.answers())).transpose()?;
    let graded = match cell.expected.clone() {
        None => None,
        Some(expected) => {
            let mut receipts = Receipts::new(expected);
            for (answered, grade) in kept_receipts(dir)? {
                receipts.keep(&answered, grade);
            }
            Some(Graded { receipts, written: ReceiptWriter::add_to(&dir.receipts())? })
        }
    };
    if cell.capture {
        remove_captures(dir, &so_far)?;
    }
    set_aside(dir)?;
    let journal = taken_up.go_on()?;
    let files = Files { journal, answers, graded, so_far: Some(so_far) };
    let measuring = Measuring { access, view: args.output.view(), stop };
    carry_out(dir.clone(), files, cell, &cell.title(), &measuring).await
}

/// Captures of requests that are asked again make room.
fn remove_captures(dir: &RunDir, so_far: &SoFar) -> anyhow::Result<()> {
    let folder = dir.captures();
    let shown = || format!("cannot make room in {}", folder.display());
    for entry in fs::read_dir(&folder).with_context(shown)? {
        let path = entry.with_context(shown)?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let measured = name.and_then(|name| name.strip_prefix("measured-"));
        let is_kept =
            measured.is_some_and(|index| index.parse().is_ok_and(|index| so_far.has(index)));
        if !is_kept && path.extension().is_some_and(|end| end == "capture") {
            fs::remove_file(&path).with_context(shown)?;
        }
    }
    Ok(())
}

/// What was made of the journal as it was keeps its content under another name: `record-1.json`.
fn set_aside(dir: &RunDir) -> anyhow::Result<()> {
    let made = [
        dir.record(),
        dir.cases(),
        dir.grades(),
        dir.path().join(crate::commands::determinism::REPORT),
    ];
    remove_all_leftovers(dir)?;
    let aside = |path: &Path, number: u32| -> PathBuf {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let end = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        path.with_file_name(format!("{stem}-{number}.{end}"))
    };
    let is_free = |number: &u32| made.iter().all(|path| !aside(path, *number).exists());
    let number = (1..).find(is_free).context("no name is free")?;
    for path in made.iter().filter(|path| path.exists()) {
        let aside = aside(path, number);
        fs::rename(path, &aside)
            .with_context(|| format!("cannot rename {} to {}", path.display(), aside.display()))?;
    }
    Ok(())
}
