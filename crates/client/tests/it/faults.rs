//! Sick and hostile servers: every fault once, what the client makes of it and what it keeps; cuts at
//! every byte; a restart; and all of them in one run.

mod cuts;
mod matrix;
mod mixed;
mod restart;
mod table;

use std::time::Duration;

use streamgauge_schema::Request;
use streamgauge_sim::SimConfig;

use crate::plan::request;

/// A server of which nobody has to wait long.
fn brisk() -> SimConfig {
    SimConfig {
        ttft: Duration::from_millis(2),
        interval: Duration::from_millis(1),
        ..SimConfig::default()
    }
}

/// A request that orders a fault for itself.
fn ordering(stage: streamgauge_schema::Stage, index: u64, fault: &str) -> Request {
    request(stage, index, &format!(r#","sim":{{"fault":"{fault}"}}"#))
}
