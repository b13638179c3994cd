//! How full the server says that its KV cache was.
//!
//! ```
//! # mod example { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/example/mod.rs")); }
//! # use example::{request, server_figure};
//! let told = ["", "cache 0.25", "cache 0.875", ""];
//! let figure = server_figure("server_kv_cache_usage_peak_ratio", &[request(&[9_000], 4)], &told);
//! assert_eq!(figure, Some(0.875));
//! ```

use streamgauge_schema::{ServerQuantity, Unit};

use super::server_requests::{OF_STATE, peak_of};
use super::{Entry, Family, Source};

pub(crate) const KV_CACHE_PEAK: Family = Family {
    name: "Peak KV cache use by the server",
    unit: Unit::Ratio,
    meaning: "The greatest share of the KV cache in use by the server's own metrics, asked once a second; of \
              several engines the fullest one's.",
    formula: "greatest of the answers",
    example: "0.25, then 0.875: 0.875.",
    source: Source::Run {
        metric: Entry::of_run("server_kv_cache_usage_peak_ratio"),
        figure: |part| peak_of(part, ServerQuantity::KvCacheUsage),
    },
    ..OF_STATE
};
