//! Rules of what a server said of itself.

use streamgauge_schema::{
    EndReason, JournalTrailer, Json, ScrapeLine, ServerFamily, ServerSample, Timestamp,
};

use super::{broken, edited};
use crate::record::RunCollector;
use crate::sample_run::{header, plan, succeeded};

/// A run during which the server said three times how many requests it was at.
fn record() -> Json {
    let mut plan = plan(2, 1);
    plan.instrument.server_metrics = Some("/metrics".to_owned());
    let lines = [succeeded(0, 0, &[100, 200], 5), succeeded(1, 200, &[100, 200], 5)];
    let header = header(&plan);
    let mut run = RunCollector::new(&plan, &header).unwrap();
    lines.iter().for_each(|line| run.add(line).unwrap());
    for (at_us, running) in [(50_000, 1.0), (150_000, 4.0), (250_000, 1.0)] {
        let family = ServerFamily::VllmRequestsRunning;
        let samples = vec![ServerSample { family, series: "0".to_owned(), value: running }];
        let line = ScrapeLine { asked_us: at_us, answered_us: at_us, failure: None, samples };
        run.add_scrape(&line).unwrap();
    }
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(1_790_000_009_000_000),
        lines: 2,
        listed_models: None,
    };
    let record = run.close(Some(&trailer)).unwrap().into_record(Vec::new()).unwrap();
    Json::from_value(&record).unwrap()
}

#[test]
fn a_server_is_never_at_more_on_average_than_at_its_peak() {
    let text = record();
    let at = |id: &str| {
        let Some(Json::Array(metrics)) = text.member("metrics") else { panic!("a list") };
        let name = Json::String(id.to_owned());
        let place = metrics.iter().position(|metric| metric.member("id") == Some(&name));
        format!("metrics[{}].value", place.unwrap())
    };
    let (peak, mean) =
        (at("server_requests_running_peak_count"), at("server_requests_running_mean_count"));
    assert!(broken(&edited(record(), &[])).is_empty());
    for (member, value) in [(&peak, "1.0"), (&mean, "4.5"), (&peak, "null")] {
        let found = broken(&edited(record(), &[(member, value)]));
        assert!(found.contains("server-peaks-are-the-most"), "{member} = {value}: {found:?}");
    }
}
