//! The `streamgauge` command.
fn main() {}
