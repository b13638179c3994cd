//! The leaves of a JSON tree: what has no members of its own.

use streamgauge_schema::{Json, JsonPath, Segment};

/// The paths of all leaves in document order. Empty lists and objects are leaves too: they say
/// that there is nothing.
pub(super) fn leaves(tree: &Json) -> Vec<JsonPath> {
    let mut found = Vec::new();
    collect(tree, JsonPath::root(), &mut found);
    found
}

fn collect(value: &Json, path: JsonPath, found: &mut Vec<JsonPath>) {
    match value {
        Json::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                collect(item, path.clone().index(index), found);
            }
        }
        Json::Object(members) if !members.is_empty() => {
            for (key, member) in members {
                collect(member, path.clone().key(key), found);
            }
        }
        _ => found.push(path),
    }
}

/// The value at a path; `None` where the path leads nowhere.
pub(super) fn value_at<'a>(tree: &'a mut Json, path: &JsonPath) -> Option<&'a mut Json> {
    path.segments().iter().try_fold(tree, |value, segment| match (value, segment) {
        (Json::Array(items), Segment::Index(index)) => items.get_mut(*index),
        (Json::Object(members), Segment::Key(key)) => {
            members.iter_mut().find(|(known, _)| known == key).map(|(_, member)| member)
        }
        _ => None,
    })
}
