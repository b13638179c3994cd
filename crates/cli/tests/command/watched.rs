//! A run that somebody watches on a terminal.

use std::fs::File;
use std::io::Read;
use std::process::{Output, Stdio};

use nix::pty::{Winsize, openpty};

use crate::process::streamgauge;

/// Runs a short measurement; gives what stdout had, and what the terminal on stderr showed.
fn watched(more: &[&str]) -> (Output, String) {
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(Some(&size), None).unwrap();
    let out = tempfile::tempdir().unwrap();
    let args = ["run", "--simulate", "--requests", "6", "--no-length-probes", "--out"];
    let child = streamgauge()
        .env("TERM", "xterm")
        .args(args)
        .arg(out.path())
        .args(more)
        .stdout(Stdio::piped())
        .stderr(Stdio::from(pty.slave))
        .spawn()
        .unwrap();
    let terminal = std::thread::spawn(move || {
        let mut shown = Vec::new();
        // A terminal whose last user is gone gives an error and no end.
        let _ = File::from(pty.master).read_to_end(&mut shown);
        String::from_utf8_lossy(&shown).into_owned()
    });
    (child.wait_with_output().unwrap(), terminal.join().unwrap())
}

#[test]
fn a_terminal_shows_how_far_it_is_and_results_stay_apart() {
    let (output, shown) = watched(&["--format", "json"]);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains(" of 6 ended, 1 in flight, 0 failed"), "{shown}");
    assert!(shown.contains("so far TTFT p50 "), "{shown}");
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["load"]["succeeded"], 6);
}

#[test]
fn nothing_is_shown_where_nobody_wants_it() {
    let (output, shown) = watched(&["--no-progress"]);
    assert!(output.status.success());
    assert!(!shown.contains(" ended, "), "{shown}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains(" ended, "));
}
