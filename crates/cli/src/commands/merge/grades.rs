//! The receipts of all shards, as one.

use anyhow::bail;
use streamgauge_client::RunDir;
use streamgauge_schema::{Grades, Plan, digest_bytes};

use crate::grading::grades_so_far;
use crate::rebuild::read_grades;

/// The bytes of the receipts of all shards, by their prompts; `None` where nothing graded them.
pub(super) fn of_all<'a>(
    shards: impl Iterator<Item = &'a RunDir>,
    plan: &Plan,
) -> anyhow::Result<Option<Vec<u8>>> {
    let (mut all, mut ungraded): (Option<(Grades, &RunDir)>, Option<&RunDir>) = (None, None);
    for dir in shards {
        let found = match read_grades(dir)? {
            Some(found) => Some(found),
            None => grades_so_far(dir, plan)?,
        };
        match (found, &mut all) {
            (None, _) => ungraded = Some(dir),
            (Some(found), Some((grades, first))) => {
                let [this, that] = [dir, first].map(|dir| dir.path().display());
                if found.grading != grades.grading {
                    bail!("{this} and {that} were not graded by the same graders and expectations");
                }
                grades.receipts.extend(found.receipts);
            }
            (Some(found), none) => *none = Some((found, dir)),
        }
    }
    let Some((mut grades, graded)) = all else { return Ok(None) };
    // Of a shard that was to be graded and was not, the answers stay ungraded.
    if let Some(ungraded) = ungraded.filter(|_| plan.grading.is_none()) {
        let [graded, ungraded] = [graded, ungraded].map(|dir| dir.path().display());
        bail!("{graded} was graded and {ungraded} was not: grade all shards, or none");
    }
    grades.receipts.sort_unstable_by_key(|receipt| receipt.prompt_sha256);
    Ok(Some(digest_bytes(&grades)?))
}
