//! What a side served, as its records say.

use streamgauge_schema::{Build, PublicText, RunRecordV2};

use super::{CompareError, IMAGE_LABEL, SERVER_LABEL, Side};

/// The build of a side: what all its runs say.
pub(super) fn of(side: Side, runs: &[&RunRecordV2]) -> Result<Build, CompareError> {
    let all: Vec<Build> = runs.iter().map(|run| build_of(run)).collect();
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
    Ok(first.clone())
}

/// The build that the record of a run names.
pub(crate) fn build_of(run: &RunRecordV2) -> Build {
    let condition = |label: &str| {
        let found = run.conditions.iter().find(|condition| condition.label.as_str() == label);
        found.map(|condition| condition.value.clone())
    };
    let (image, deployment) = (condition(IMAGE_LABEL), &run.deployment);
    let declared = [&image, &deployment.revision, &deployment.runtime_version, &deployment.variant];
    // Where nobody declares what tells builds apart, what the server says of itself may.
    let stated = match declared.iter().any(|it| it.is_some()) {
        true => None,
        false => condition(SERVER_LABEL),
    };
    Build {
        model: deployment.model.clone(),
        revision: deployment.revision.clone(),
        runtime: deployment.runtime.clone(),
        runtime_version: deployment.runtime_version.clone(),
        quantization: deployment.quantization.clone(),
        variant: deployment.variant.clone().or(stated),
        hardware: deployment.hardware.clone(),
        image,
    }
}
