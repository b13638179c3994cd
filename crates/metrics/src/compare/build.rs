//! What a side served, as its records say.

use streamgauge_schema::{Build, PublicText, RunRecordV2};

use super::{CompareError, IMAGE_LABEL, Side};

/// The build of a side: what all its runs say.
pub(super) fn of(side: Side, runs: &[&RunRecordV2]) -> Result<Build, CompareError> {
    let all: Vec<Build> = runs.iter().map(|run| one(run)).collect();
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

fn one(run: &RunRecordV2) -> Build {
    let image = run.conditions.iter().find(|condition| condition.label.as_str() == IMAGE_LABEL);
    let deployment = &run.deployment;
    Build {
        image: image.map(|condition| condition.value.clone()),
        model: deployment.model.clone(),
        revision: deployment.revision.clone(),
        runtime: deployment.runtime.clone(),
        runtime_version: deployment.runtime_version.clone(),
        quantization: deployment.quantization.clone(),
        variant: deployment.variant.clone(),
        hardware: deployment.hardware.clone(),
    }
}
