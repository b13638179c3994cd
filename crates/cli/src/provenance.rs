//! With what and where it is measured, and what the server says of itself: conditions of a record.

mod instrument;
mod replicas;
mod server;

use streamgauge_schema::{Condition, PublicText};

pub(crate) use instrument::of_instrument;
pub(crate) use replicas::agreed;
pub(crate) use server::{MAX_ANSWER, PATIENCE, identify, of_server, told};

/// What stands where nobody tells.
const ABSENT: &str = "absent";

/// A condition. A value that may not be published is withheld, and the condition says why.
fn condition(label: &str, value: Option<String>) -> Condition {
    let value = value.unwrap_or_else(|| ABSENT.to_owned());
    let label = PublicText::new(label).expect("a plain short text");
    Condition { label, value: PublicText::or_withheld(&value) }
}
