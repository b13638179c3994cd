//! Any bytes as a capture: refused with an error, or observed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use streamgauge_client::Capture;
use streamgauge_observer::ObserverConfig;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(capture) = Capture::parse(bytes) {
        let _ = capture.observe(ObserverConfig::new(capture.dialect));
    }
});
