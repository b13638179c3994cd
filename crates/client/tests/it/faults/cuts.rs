//! A short stream, ended at every byte.

use std::io::{Read, Write};
use std::net::TcpStream;

use streamgauge_client::Access;
use streamgauge_schema::{Completion, Ending, FailureClass, Stage};

use super::{brisk, ordering};
use crate::plan::{lines_with, plan};
use crate::sim::server;

/// The whole response, head included, as it comes to a request that orders no cut before its end.
fn whole(url: &str) -> Vec<u8> {
    let body = ordering(Stage::Measured, 0, "close:1000000b").body;
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: sim\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), &body].concat()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn a_stream_that_ends_before_its_end_mark_is_never_a_success() {
    for (order, class) in [("close", FailureClass::PrematureEof), ("reset", FailureClass::Reset)] {
        let (_server, url) = server(brisk());
        let whole = whole(&url);
        let position = |mark: &[u8]| {
            let at = whole.windows(mark.len()).position(|window| window == mark).unwrap();
            at + mark.len()
        };
        let (head, end_mark) = (position(b"\r\n\r\n"), position(b"data: [DONE]\n\n"));
        let plan = plan(&url, whole.len() as u64 + 1, 8);
        let (lines, _) = lines_with(&plan, &Access::default(), |stage, index| {
            ordering(stage, index, &format!("{order}:{index}b"))
        })
        .await;
        assert_eq!(lines.len(), whole.len() + 1);
        let mut outputs = 0;
        for line in lines {
            // Identifiers of responses grow with their number, and with them the streams.
            let bytes = usize::try_from(line.index).unwrap();
            let shown = format!("{order} after {bytes} of {}: {:?}", whole.len(), line.failure);
            let observed = line.observation.as_ref();
            assert_eq!(observed.is_some(), bytes >= head, "{shown}");
            let done = observed.is_some_and(|observed| observed.done_seen);
            assert_eq!(line.completion == Completion::Succeeded, done, "{shown}");
            assert!(!done || bytes >= end_mark, "{shown}");
            if !done {
                assert_eq!(line.failure.as_ref().unwrap().class, class, "{shown}");
                assert!(bytes < end_mark + 100, "{shown}");
            }
            if let Some(observed) = observed {
                let ending = if done { Ending::Complete } else { Ending::Truncated };
                assert_eq!(observed.ending, Some(ending), "{shown}");
                assert!(observed.output_events <= 4, "{shown}");
                outputs = outputs.max(observed.output_events);
            }
        }
        assert_eq!(outputs, 4);
    }
}
