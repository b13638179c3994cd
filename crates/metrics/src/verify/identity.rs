//! Rules of a record's identity: its version, its digest, and when the run was.

use streamgauge_schema::{Identifier, Json, RunRecord, RunRecordV1, RunRecordV2};

use super::leaves::leaves;
use super::{Rules, at};

/// The rule that covers every member of a run record, whatever it says.
pub(super) const DIGEST_RULE: &str = "run-id-is-digest";

/// Digits of the digest that a run id ends with.
const DIGEST_DIGITS: usize = 12;

pub(super) fn check(record: &RunRecord, rules: &mut Rules) {
    let (read, expected) = match record {
        RunRecord::V1(record) => (record.schema_version, 1),
        RunRecord::V2(record) => (record.schema_version, 2),
    };
    rules.check(
        "schema-version",
        read == expected,
        [at("schema_version")],
        format_args!("schema_version ({read}) is the version of this layout, {expected}"),
    );
    check_run_id(record, rules);
    let (started, completed) = (record.started_at(), record.completed_at());
    rules.check(
        "times-in-order",
        started <= completed,
        [at("started_at"), at("completed_at")],
        format_args!("started_at ({started}) is not after completed_at ({completed})"),
    );
}

/// The digest covers the whole document, so every member takes part.
fn check_run_id(record: &RunRecord, rules: &mut Rules) {
    let run_id = record.run_id().as_str();
    let tree = match record {
        RunRecord::V1(record) => Json::from_value::<RunRecordV1>(record),
        RunRecord::V2(record) => Json::from_value::<RunRecordV2>(record),
    };
    let members = tree.map_or_else(|_| vec![at("run_id")], |tree| leaves(&tree));
    let named =
        run_id.rsplit_once('-').and_then(|(name, digits)| Some((Identifier::new(name)?, digits)));
    let (holds, seen) = match named.map(|(name, digits)| (record.digest(&name), digits)) {
        None => (false, "it has no such ending".to_owned()),
        Some((Err(error), _)) => (false, format!("there is no digest: {error}")),
        Some((Ok(digest), digits)) => {
            let expected = digest.prefix(DIGEST_DIGITS);
            (digits == expected, format!("these are {expected}"))
        }
    };
    let statement = format!(
        "run_id ({run_id}) ends with - and the first {DIGEST_DIGITS} digits of the digest of the \
         record with the bare name; {seen}"
    );
    rules.check(DIGEST_RULE, holds, members, statement);
}
