//! METRICS.md at the root of the repository is what the catalogue says.

use std::path::Path;

use streamgauge_metrics::{catalogue, metrics_markdown};

#[test]
fn metrics_md_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../METRICS.md");
    if std::env::var_os("UPDATE_METRICS").is_some() {
        std::fs::write(&path, metrics_markdown()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(
        written == metrics_markdown(),
        "METRICS.md differs from the catalogue: run this test with UPDATE_METRICS=1"
    );
}

#[test]
fn every_metric_is_on_the_page() {
    let page = metrics_markdown();
    for spec in catalogue() {
        assert!(page.contains(&format!("`{}`", spec.id)), "{}", spec.id);
        assert!(page.contains(spec.absent_when), "{}", spec.id);
    }
}
