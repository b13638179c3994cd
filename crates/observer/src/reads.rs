//! How many reads brought a response, and how many events came together.
//!
//! Transports hand over what one read brought in pieces (an HTTP body comes chunk by chunk), so
//! pieces that bear the same time are one read.

use std::time::Duration;

/// So many output events in one read are a bundle.
const BUNDLE: u64 = 4;

/// The reads of one response.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    at: Option<Duration>,
    pub(crate) count: u64,
    /// Reads that completed more than one event.
    pub(crate) coalesced: u64,
    /// Events that the current read has completed.
    events: u64,
    /// Output events among them, and the place of the first.
    outputs: u64,
    outputs_offset: u64,
    /// Output events that came in bundles, and the place of the first.
    bundled: u64,
    bundled_offset: u64,
}

/// Output events that came four or more to a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bundled {
    pub(crate) events: u64,
    /// Where the first of them begins.
    pub(crate) offset: u64,
}

impl Reads {
    /// Bytes came at this time.
    pub(crate) fn bytes_came(&mut self, at: Duration) {
        if self.at != Some(at) {
            self.at = Some(at);
            self.count += 1;
            self.events = 0;
            self.outputs = 0;
        }
    }

    /// The current read completed an event.
    pub(crate) fn event(&mut self) {
        self.events += 1;
        self.coalesced += u64::from(self.events == 2);
    }

    /// The event that the current read completed last carried output; it begins at this offset.
    pub(crate) fn output(&mut self, offset: u64) {
        if self.outputs == 0 {
            self.outputs_offset = offset;
        }
        self.outputs += 1;
        if self.outputs < BUNDLE {
            return;
        }
        if self.bundled == 0 {
            self.bundled_offset = self.outputs_offset;
        }
        self.bundled += if self.outputs == BUNDLE { BUNDLE } else { 1 };
    }

    /// The output events that came in bundles, if they were most of so many.
    pub(crate) fn mostly_bundled(&self, output_events: u64) -> Option<Bundled> {
        const FEWEST: u64 = 10;
        let most = output_events >= FEWEST && self.bundled > output_events / 2;
        most.then_some(Bundled { events: self.bundled, offset: self.bundled_offset })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output events in each read, ten bytes an event.
    fn reads(outputs: &[u64]) -> Reads {
        let mut reads = Reads::default();
        let mut offset = 0;
        for (number, outputs) in outputs.iter().enumerate() {
            let at = Duration::from_millis(number as u64);
            reads.bytes_came(at);
            for _ in 0..*outputs {
                reads.bytes_came(at);
                reads.event();
                reads.output(offset);
                offset += 10;
            }
        }
        reads
    }

    #[test]
    fn pieces_of_the_same_time_are_one_read() {
        let reads = reads(&[1, 2, 0, 3]);
        assert_eq!((reads.count, reads.coalesced), (4, 2));
    }

    #[test]
    fn a_stream_is_bundled_when_most_of_it_came_in_few_reads() {
        for (outputs, expected) in [
            (&[1; 40][..], None),
            (&[3; 40], None),
            (&[9], None),
            (&[10], Some((10, 0))),
            (&[4, 4, 4, 4], Some((16, 0))),
            (&[1, 1, 1, 1, 1, 5], None),
            (&[1, 1, 1, 1, 1, 6], Some((6, 50))),
            (&[3, 5, 3, 4], Some((9, 30))),
        ] {
            let bundled = reads(outputs).mostly_bundled(outputs.iter().sum());
            let found = bundled.map(|bundled| (bundled.events, bundled.offset));
            assert_eq!(found, expected, "{outputs:?}");
        }
    }
}
