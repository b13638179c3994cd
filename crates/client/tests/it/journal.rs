//! Journals on disk: whole lines, and what a cut or a forged file comes to.

use std::fs::File;
use std::path::Path;

use streamgauge_client::{
    Journal, JournalError, JournalWriter, RunDir, RunDirError, TakenUp, lock_to_read,
};
use streamgauge_schema::{
    Completion, Digest, EndReason, JournalHeader, JournalLine, JournalResumed, JournalTrailer,
    RequestLine, Shard, Timestamp,
};

use crate::plan::{lines, plan};

async fn some_lines() -> Vec<JournalLine> {
    // Nothing listens at port 1 of the loopback address: failed requests are lines, too.
    let (requests, _): (Vec<RequestLine>, _) = lines(&plan("http://127.0.0.1:1", 2, 1)).await;
    let header = JournalHeader {
        journal_version: 1,
        plan_sha256: Digest::of(b"plan"),
        started_at: Timestamp::from_unix_micros(0),
        started_monotonic_ns: None,
        listed_models: None,
        conditions: Vec::new(),
        shard: None,
    };
    let trailer = JournalTrailer {
        reason: EndReason::Finished,
        completed_at: Timestamp::from_unix_micros(1),
        lines: 2,
        listed_models: None,
    };
    let mut lines = vec![JournalLine::Header(header)];
    lines.extend(requests.into_iter().map(|request| JournalLine::Request(Box::new(request))));
    lines.push(JournalLine::Trailer(trailer));
    lines
}

fn resumed(dropped: u64) -> JournalLine {
    JournalLine::Resumed(JournalResumed {
        resumed_at: Timestamp::from_unix_micros(9_000_000),
        at_us: 9_000_000,
        dropped,
        listed_models: None,
        conditions: Vec::new(),
    })
}

/// What was cancelled counts as long as nobody asks it again.
#[tokio::test]
async fn a_journal_that_goes_on_passes_over_what_was_asked_again() {
    let lines = some_lines().await;
    let [header, first, second, _] = &lines[..] else { panic!("four lines") };
    let cancelled = |line: &JournalLine| {
        let JournalLine::Request(line) = line else { panic!("a request") };
        let completion = Completion::Cancelled;
        JournalLine::Request(Box::new(RequestLine {
            completion,
            failure: None,
            ..(**line).clone()
        }))
    };
    let trailer = |reason, lines| {
        let completed_at = Timestamp::from_unix_micros(1);
        JournalLine::Trailer(JournalTrailer { reason, completed_at, lines, listed_models: None })
    };
    let cut = cancelled(second);
    let stopped = trailer(EndReason::Interrupted, 2);
    let read = |lines: &[&JournalLine]| {
        let lines: Vec<JournalLine> = lines.iter().copied().cloned().collect();
        Journal::parse(text_of(&lines).as_bytes(), Path::new("j")).unwrap()
    };
    let places = |journal: &Journal| -> Vec<(u64, Completion)> {
        journal.requests.iter().map(|line| (line.index, line.completion)).collect()
    };
    let (failed, cancelled) = (Completion::Failed, Completion::Cancelled);
    let one = match first {
        JournalLine::Request(line) => line.index,
        _ => panic!("a request"),
    };

    let aborted = read(&[header, &cut, first, &stopped]);
    assert_eq!(places(&aborted), [(one, failed), (1 - one, cancelled)]);
    let whole = [header, &cut, first, &stopped, &resumed(1), second];
    let finished = trailer(EndReason::Finished, 3);
    let journal = read(&[&whole[..], &[&finished]].concat());
    assert_eq!(places(&journal), [(one, failed), (1 - one, failed)]);
    assert_eq!(journal.resumptions.len(), 1);
    assert_eq!(journal.trailer.map(|trailer| trailer.lines), Some(3));
    // Killed once more, it has no end.
    assert_eq!(read(&whole).trailer, None);
}

fn text_of(lines: &[JournalLine]) -> String {
    lines.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect()
}

#[tokio::test]
async fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("observations.jsonl");
    let lines = some_lines().await;
    let mut writer = JournalWriter::create(&path).unwrap();
    for line in &lines {
        writer.append(line).unwrap();
    }
    drop(writer.finish().unwrap());
    let bytes = std::fs::read(&path).unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), text_of(&lines));
    let journal = Journal::parse(&bytes, &path).unwrap();
    assert_eq!((journal.requests.len(), journal.torn_bytes), (2, 0));
    assert!(journal.trailer.is_some());
    assert!(matches!(JournalWriter::create(&path), Err(JournalError::Io { .. })));
}

#[tokio::test]
async fn a_journal_is_begun_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("observations.jsonl");
    let lines = some_lines().await;
    let whole = text_of(&lines[..1]);
    // Nothing, an empty file, and a first line that was cut off.
    for before in [None, Some(""), Some(&whole[..20])] {
        if let Some(before) = before {
            std::fs::write(&path, before).unwrap();
        }
        let mut writer = JournalWriter::begin(&path).unwrap().expect("there was no line");
        assert!(matches!(JournalWriter::begin(&path), Err(JournalError::InUse { .. })));
        writer.append(&lines[0]).unwrap();
        drop(writer.finish().unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
    }
    assert!(JournalWriter::begin(&path).unwrap().is_none());
    // It is given back at once, to be taken up.
    assert!(JournalWriter::begin(&path).unwrap().is_none());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), whole, "what is there stays");
}

#[tokio::test]
async fn a_shard_is_taken_up_without_what_others_have() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("observations.jsonl");
    let plan = plan("http://127.0.0.1:1", 2, 2);
    let mut lines = some_lines().await;
    let JournalLine::Header(header) = &mut lines[0] else { panic!("a header") };
    header.shard = Shard::new(1, 2);
    for (kept, problem) in [(1, None), (2, Some("request 1 is none of this run's"))] {
        std::fs::write(&path, text_of(&lines[..=kept])).unwrap();
        let taken_up = TakenUp::read(&path, &plan);
        match problem {
            None => assert_eq!(taken_up.unwrap().so_far().done(), 1),
            Some(problem) => {
                let error = taken_up.unwrap_err().to_string();
                assert!(error.contains(problem), "{error}");
            }
        }
    }
}

#[test]
fn the_directory_of_a_shard_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let parent = folder.path().join("runs");
    let plan = plan("http://127.0.0.1:1", 2, 2);
    let shard = Shard::new(2, 2).unwrap();
    let dir = RunDir::of_shard(&parent, &plan, shard).unwrap();
    let name = RunDir::name_of_shard(&plan, shard).unwrap();
    assert_eq!(dir.path(), parent.join(&name));
    assert!(name.ends_with("-shard-2-of-2"), "{name}");
    assert_eq!(RunDir::of_shard(&parent, &plan, shard).unwrap(), dir);
    // Whoever made it was killed before it had a plan.
    std::fs::remove_file(dir.plan()).unwrap();
    RunDir::of_shard(&parent, &plan, shard).unwrap();
    assert!(dir.plan().exists());
    std::fs::write(dir.plan(), "{}").unwrap();
    let error = RunDir::of_shard(&parent, &plan, shard).unwrap_err();
    assert!(matches!(error, RunDirError::OtherPlan { .. }), "{error}");
}

/// The directory is held from the first line on, and until whoever wrote it is done with the rest.
#[test]
fn a_journal_that_is_written_is_not_taken_for_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("observations.jsonl");
    let read = || lock_to_read(&File::open(&path).unwrap(), &path);
    let writer = JournalWriter::create(&path).unwrap();
    let said = read().unwrap_err().to_string();
    assert!(said.starts_with(&folder.path().display().to_string()), "{said}");
    assert!(matches!(read(), Err(JournalError::InUse { .. })));
    let held = writer.finish().unwrap();
    assert!(matches!(read(), Err(JournalError::InUse { .. })));
    drop(held);
    read().unwrap();
}

#[tokio::test]
async fn a_journal_that_was_removed_is_not_finished() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("observations.jsonl");
    let mut writer = JournalWriter::create(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    // The system still takes the line.
    writer.append(&some_lines().await[0]).unwrap();
    let error = writer.finish().unwrap_err();
    let JournalError::Io { source, .. } = error else { panic!("{error}") };
    assert_eq!(source.to_string(), "the file was removed while it was written");
}

#[tokio::test]
async fn a_cut_journal_keeps_every_whole_line() {
    let text = text_of(&some_lines().await);
    let header_end = text.find('\n').unwrap() + 1;
    for length in header_end..text.len() {
        let journal = Journal::parse(&text.as_bytes()[..length], Path::new("j")).unwrap();
        let whole = text[..length].matches('\n').count();
        assert_eq!(journal.requests.len(), whole - 1);
        assert_eq!(journal.trailer, None);
        assert_eq!(journal.torn_bytes, length - text[..length].rfind('\n').unwrap() - 1);
    }
}

#[tokio::test]
async fn forged_journals_are_refused_with_their_line() {
    let lines = some_lines().await;
    let [header, first, second, trailer] = &lines[..] else { panic!("four lines") };
    let [resumed, dropping] = &[0, 1].map(resumed);
    for (forged, expected) in [
        (vec![first], "j, line 1: the header is missing"),
        (vec![], "j, line 1: the header is missing"),
        (vec![header, header], "j, line 2: a second header"),
        (vec![header, first, first], "j, line 3: measured request 0 stands here twice"),
        (vec![header, first, trailer], "j, line 3: 1 request lines, the trailer says 2"),
        (vec![header, first, second, trailer, first], "j, line 5: a line after the trailer"),
        (
            vec![header, first, second, trailer, resumed],
            "j, line 5: a run that had finished is taken up again",
        ),
        (
            vec![header, first, dropping, second],
            "j, line 3: 0 requests were cancelled, dropped is 1",
        ),
    ] {
        let text: String =
            forged.iter().map(|line| serde_json::to_string(line).unwrap() + "\n").collect();
        let error = Journal::parse(text.as_bytes(), Path::new("j")).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let broken = Journal::parse(b"{\"header\": 1}\n", Path::new("j")).unwrap_err();
    assert!(broken.to_string().starts_with("j, line 1"), "{broken}");
}
