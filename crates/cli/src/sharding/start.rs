//! When the measured requests of a run begin, where that is asked for.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, bail};
use streamgauge_client::{RunClock, RunDirError, read_file, write_new};
use streamgauge_schema::{Digest, Plan, Shard, Timestamp};

use crate::args::run::RunArgs;
use crate::args::shard::StartAt;
use crate::console;

/// The moment that was asked for; `None` where none was. Seconds count from `begun`, when the command began;
/// those of shards from the moment at which the first of them comes here, which says so in a file that the
/// others read.
///
/// # Errors
/// When the file can be neither written nor read, or holds no moment.
pub(crate) fn start_of(
    args: &RunArgs,
    plan: &Plan,
    shard: Option<Shard>,
    begun: Timestamp,
) -> anyhow::Result<Option<Timestamp>> {
    let Some(asked) = args.shard.start_at else { return Ok(None) };
    let wait = match asked {
        StartAt::At(moment) => return Ok(Some(moment)),
        StartAt::After(wait) => i64::try_from(wait.as_micros()).unwrap_or(i64::MAX),
    };
    let after =
        |from: Timestamp| Timestamp::from_unix_micros(from.unix_micros().saturating_add(wait));
    if shard.is_none() {
        return Ok(Some(after(begun)));
    }
    let out = &args.output.out;
    fs::create_dir_all(out).with_context(|| format!("cannot make {}", out.display()))?;
    let name = format!("{}-{}-start", plan.name, Digest::of_value(plan)?.prefix(12));
    agreed(&out.join(name), after(RunClock::start().started_at())).map(Some)
}

/// The moment that shards agree on: that of whoever was first.
fn agreed(file: &Path, own: Timestamp) -> anyhow::Result<Timestamp> {
    match write_new(file, format!("{own}\n").as_bytes(), 0o644) {
        Ok(()) => return Ok(own),
        Err(RunDirError::Io { source, .. }) if source.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.into()),
    }
    let bytes = read_file(file)?;
    let text = String::from_utf8_lossy(&bytes);
    match Timestamp::from_rfc3339(text.trim_end()) {
        Some(moment) => {
            if moment < RunClock::start().started_at() {
                console::remark(&format!(
                    "note: {} says when shards begin, and the moment has passed; remove it before they are \
                     started if an earlier run left it",
                    file.display()
                ));
            }
            Ok(moment)
        }
        None => bail!(
            "{} holds no moment at which shards begin: remove it before they are started",
            file.display()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_first_says_when() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("build-7-0123456789ab-start");
        let [first, later] = [7, 8_000_000].map(Timestamp::from_unix_micros);
        assert_eq!(agreed(&file, first).unwrap(), first);
        assert_eq!(agreed(&file, later).unwrap(), first);
        fs::write(&file, "soon").unwrap();
        let error = agreed(&file, later).unwrap_err().to_string();
        assert!(error.contains("build-7-0123456789ab-start holds no moment"), "{error}");
    }
}
