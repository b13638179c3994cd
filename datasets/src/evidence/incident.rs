//! The report of an incident: a night's log of a plant, with the minutes in which something broke.

use super::{Density, Document, Question, count, text};
use crate::draw::Draw;

/// A plant, and what waits when it stands still.
const PLANTS: [(&str, &str); 8] = [
    ("Funicular \"Old Mary\", Castle Hill", "passengers"),
    ("Letter sorting line 3, Central Post Office", "letters"),
    ("Cold store B, Fish Market", "crates"),
    ("Swing bridge, Northern Lock", "boats"),
    ("Astronomical clock, Town Hall Tower", "visitors"),
    ("Revolving stage, Municipal Theatre", "spectators"),
    ("Baggage belt 5, Island Airfield", "suitcases"),
    ("Tide gate 2, Old Harbor", "barges"),
];
const ENGINEERS: [&str; 9] = [
    "J. Brandt",
    "S. Lindqvist",
    "E. Moreau",
    "K. Adeyemi",
    "V. Novák",
    "D. Pereira",
    "B. Halloran",
    "F. Yamada",
    "O. Kjær",
];
const ROUTINE: [&str; 34] = [
    "Round of the building, all doors shut.",
    "Telephone: somebody asks for the opening hours.",
    "Telemetry normal.",
    "Kettle on.",
    "Round of the building, a window in the stairwell stood open, shut it.",
    "Pump 2 runs for eleven minutes, as it should.",
    "Radio check with the gate, loud and clear.",
    "Alarm A-311 (oil low, pump 1) acknowledged; pump 1 has been out of service since Tuesday.",
    "Cat on camera 4. Same cat as yesterday.",
    "Printer out of paper, refilled.",
    "Alarm A-052 (door of the cabinet) for three seconds; cleaner had leaned on it.",
    "Relief takes over the desk, keys counted.",
    "Temperature of the gearbox steady.",
    "Telephone: wrong number, a bakery was wanted.",
    "Load test of the emergency light, all lamps bright.",
    "Rain on the skylight, no drip in the bucket.",
    "Log of the previous night signed.",
    "Hydraulic pressure as at the beginning of the shift.",
    "Telemetry normal, one value late and then there.",
    "Alarm A-118 (clock not synchronous), gone by itself.",
    "Delivery of grease, two tins, put into the store.",
    "Round of the building, bat in the engine room. Lights out, door open, bat gone.",
    "Radio check with the gate, he is eating.",
    "Emergency stop tested and reset, as on every night.",
    "Vibration of the drive within its limits.",
    "Telephone: office asks whether all is quiet. All is quiet.",
    "Crossword, 14 down still open.",
    "Compressor starts, fills, stops.",
    "Fuse F-12 of the corridor light replaced.",
    "Tea.",
    "Humidity in the cable cellar a little higher than last night.",
    "Night bus passes, building shakes, sensors do not mind.",
    "Battery room aired for ten minutes.",
    "Telemetry normal, 41 values, none out of range.",
];
/// What broke, and what was exchanged before in vain.
const PARTS: [(&str, &str); 8] = [
    ("relay K-38", "its contacts had welded"),
    ("encoder E-2", "its disc had a hairline crack"),
    ("valve V-71", "a splinter of paint held it open"),
    ("limit switch S-14", "its lever was bent"),
    ("cable W-206", "a rat had been at it"),
    ("controller card C-9", "one of its pins was cold soldered"),
    ("brake magnet B-5", "its coil had burnt out"),
    ("proximity sensor N-33", "it looked at a cobweb"),
];
/// Entries of the shortest night.
const FEWEST_ENTRIES: usize = 8;
const DENSITY: Density = Density { frame_tokens: 340, chars_per_100_tokens: 351 };
/// A night begins at six in the evening, and at most so many minutes later it is over.
const BEGIN: usize = 18 * 60;
const MINUTES: usize = 12 * 60;
/// Minutes from one entry to the next, where the night has as many.
const STEP: usize = 7;
/// Characters of a time and what parts it from its entry.
const TIME: usize = 7;

pub(super) fn write(draw: &mut Draw, tokens: usize) -> Document {
    let engineers = draw.different(&ENGINEERS, 3);
    let (plant, waiting) = PLANTS[draw.below(PLANTS.len())];
    let heading = format!(
        "INCIDENT REPORT {}-{:04} - {}\nNight of 2031-{:02}-{:02}. At the desk: {}.\n",
        draw.between(10, 99),
        draw.between(1, 9_999),
        plant,
        draw.between(1, 12),
        draw.between(1, 28),
        engineers[0],
    );
    let routine = routine(draw, DENSITY.fill_chars(tokens));
    let (events, asked) = incident(draw, &engineers, waiting);
    let places = draw.places(routine.len(), events.len());
    let entries = merged(routine, &places, events);
    let times = times(draw, entries.len());
    // Each event pushes those after it back by one.
    let time_of = |event: usize| clock(times[places[event] + event]);
    let closed = text(
        "closed_at",
        "time at which the incident was closed, as HH:MM",
        &time_of(CLOSED),
        &time_of(BEGUN),
    );
    let questions = asked.into_iter().chain([closed]).collect();
    let entries = times.iter().zip(entries);
    let entries = entries.map(|(time, entry)| format!("\n{}  {entry}", clock(*time)));
    Document { text: std::iter::once(heading).chain(entries).collect(), questions }
}

fn routine(draw: &mut Draw, chars: usize) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    let mut written = 0;
    while entries.len() < FEWEST_ENTRIES || written < chars {
        let entry = draw.pick(&ROUTINE);
        // Nobody writes the same twice running.
        if entries.last().is_none_or(|last| last != entry) {
            written += TIME + entry.len();
            entries.push(entry.to_owned());
        }
    }
    entries
}

/// Places of the first and the last event among the events.
const BEGUN: usize = 0;
const CLOSED: usize = 4;

/// What happens, in this order, and what is asked of it.
fn incident(
    draw: &mut Draw,
    engineers: &[&'static str],
    waiting: &str,
) -> ([String; 5], Vec<Question>) {
    let parts = draw.different(&PARTS, 2);
    let [(suspect, _), (broken, why)] = parts[..] else { unreachable!("two parts") };
    let [alarm, second] = codes(draw);
    let (absent, came) = (engineers[1], engineers[2]);
    let affected = draw.between(12, 1_900);
    let others = affected + draw.between(5, 400);
    let events = [
        format!(
            "Alarm {alarm}, seconds later {second}: plant stops by itself. Beginning of the incident."
        ),
        format!("Called {absent}, who does not answer; called {came}, who comes at once."),
        format!("First suspicion: {suspect}. Exchanged it, no change; the old one goes back in."),
        format!("Cause found: {broken}, {why}. Spare part from the store fitted."),
        format!(
            "Plant runs by hand, then by itself. Incident closed. {affected} {waiting} were late; \
             {others} had been expected in all."
        ),
    ];
    let asked = vec![
        text("first_alarm", "code of the alarm with which the incident began", &alarm, &second),
        text("engineer", "the engineer who came, as the report has the name", came, absent),
        text(
            "broken_part",
            "the part that was the cause, with its kind and code as in the report",
            broken,
            suspect,
        ),
        count("late", format!("how many {waiting} were late, as a number"), affected, others),
    ];
    (events, asked)
}

/// Two codes of alarms that no routine entry has, and which differ in one digit.
fn codes(draw: &mut Draw) -> [String; 2] {
    let number = draw.between(410, 980);
    let other = if number.is_multiple_of(10) { number + 1 } else { number - 1 };
    [number, other].map(|number| format!("F-{number}"))
}

/// The events, each before the routine entry that has its place.
fn merged(routine: Vec<String>, places: &[usize], events: [String; 5]) -> Vec<String> {
    let mut events = places.iter().copied().zip(events).peekable();
    let mut entries = Vec::new();
    for (place, entry) in routine.into_iter().enumerate() {
        if let Some((_, event)) = events.next_if(|(at, _)| *at == place) {
            entries.push(event);
        }
        entries.push(entry);
    }
    entries
}

/// Minutes since midnight of each entry, never falling, and all different as long as the night has a
/// minute for each.
fn times(draw: &mut Draw, entries: usize) -> Vec<usize> {
    let log = (entries * STEP).min(MINUTES);
    let begin = BEGIN + draw.below(MINUTES - log + 1);
    let step = (log / entries).max(1);
    (0..entries).map(|place| begin + place * log / entries + draw.below(step)).collect()
}

fn clock(minutes: usize) -> String {
    format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60)
}
