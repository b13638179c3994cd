//! What a side served, as its records say.

use streamgauge_schema::{Build, PublicText, RunRecordV2};

use super::{CompareError, IMAGE_LABEL, SERVER_LABEL, Side};

/// The build of a side: what all its runs say.
pub(super) fn of(side: Side, runs: &[&RunRecordV2]) -> Result<Build, CompareError> {
    let all: Vec<Build> = runs.iter().map(|run| declared(run)).collect();
    let first = all.first().ok_or(CompareError::NoRuns { side })?;
    let agree = |member: &'static str, of: fn(&Build) -> Option<&PublicText>| {
        let mut values: Vec<String> = all
            .iter()
            .map(|build| of(build).map_or("unknown", PublicText::as_str).into())
            .collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > 1 {
            return Err(CompareError::SeveralBuilds { side, member, values });
        }
        Ok(())
    };
    agree("image", |build| build.image.as_ref())?;
    agree("model", |build| Some(&build.model))?;
    agree("revision", |build| build.revision.as_ref())?;
    agree("runtime", |build| build.runtime.as_ref())?;
    agree("runtime_version", |build| build.runtime_version.as_ref())?;
    agree("quantization", |build| build.quantization.as_ref())?;
    agree("variant", |build| build.variant.as_ref())?;
    agree("hardware", |build| build.hardware.as_ref())?;
    // Where nobody declares what tells builds apart, what the server says of itself may.
    if is_identified(first) {
        return Ok(first.clone());
    }
    Ok(Build { variant: stated(side, runs)?, ..first.clone() })
}

/// The build that the record of a run declares.
fn declared(run: &RunRecordV2) -> Build {
    let deployment = &run.deployment;
    Build {
        image: condition(run, IMAGE_LABEL),
        model: deployment.model.clone(),
        revision: deployment.revision.clone(),
        runtime: deployment.runtime.clone(),
        runtime_version: deployment.runtime_version.clone(),
        quantization: deployment.quantization.clone(),
        variant: deployment.variant.clone(),
        hardware: deployment.hardware.clone(),
    }
}

/// The build of a run, where a comparison says what it is of: what the run leaves open is as compared.
pub(crate) fn build_as_compared(run: &RunRecordV2, compared: &Build) -> Build {
    let build = declared(run);
    if is_identified(&build) {
        return build;
    }
    let stated = condition(run, SERVER_LABEL).or_else(|| compared.variant.clone());
    Build { variant: stated, ..build }
}

/// What the servers of a side said of themselves; a run that holds nothing of it is none of another build.
fn stated(side: Side, runs: &[&RunRecordV2]) -> Result<Option<PublicText>, CompareError> {
    let mut found: Vec<PublicText> =
        runs.iter().filter_map(|run| condition(run, SERVER_LABEL)).collect();
    found.sort_unstable();
    found.dedup();
    if found.len() > 1 {
        let values = found.iter().map(ToString::to_string).collect();
        return Err(CompareError::SeveralBuilds { side, member: "variant", values });
    }
    Ok(found.pop())
}

/// Whether anything is declared that tells builds apart.
fn is_identified(build: &Build) -> bool {
    [&build.image, &build.revision, &build.runtime_version, &build.variant]
        .iter()
        .any(|member| member.is_some())
}

fn condition(run: &RunRecordV2, label: &str) -> Option<PublicText> {
    let found = run.conditions.iter().find(|condition| condition.label.as_str() == label);
    found.map(|condition| condition.value.clone())
}
