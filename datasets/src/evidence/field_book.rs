//! The field book of a gauging station: visits in order of time, what was read and what was done.

use time::{Date, Duration, Month};

use super::{Density, Document, Question, count, decimal, shown, text};
use crate::draw::Draw;

const STATIONS: [&str; 8] = [
    "Lower Marl, River Eskwater",
    "Otter Weir, River Brannock",
    "Saint Aldous Bridge, River Tarn",
    "Coppergate Mill, River Wend",
    "High Fellbeck, Fell Beck",
    "Quarry Reach, River Ashlode",
    "Monks Ferry, River Thole",
    "Upper Linnet, River Saye",
];
const OBSERVERS: [&str; 10] = [
    "I. Vale",
    "T. Okafor",
    "M. Sørensen",
    "R. Castellanos",
    "H. Abernathy",
    "L. Brückner",
    "A. Petrossian",
    "N. Wakefield",
    "P. Iyer",
    "C. Dubois",
];
const REMARKS: [&str; 32] = [
    "Purged the orifice line, bubbles steady.",
    "Scrubbed the staff plates; the weed grows faster than the budget.",
    "Cut back the willow that leans on the aerial.",
    "A heron has claimed the staff; read it from the bank by glass.",
    "Door lock frozen, opened with tea from the flask.",
    "Wiped spider webs off the solar panel. The spider was moved to the fence.",
    "Float tape had slipped, reset to the staff.",
    "Two anglers asked what the hut is for, and stayed for the explanation.",
    "Desiccant pink, exchanged.",
    "Photographed the control weir, no change since the last visit.",
    "Ice along the left bank, staff clear.",
    "Mouse in the cable duct. Mouse out of the cable duct.",
    "Greased the winch.",
    "Ferry wash shakes the reading; waited until it settled.",
    "A school class on the footbridge. All of them guessed the stage too high.",
    "Painted the handrail, wet paint sign hung out, sign stuck to the rail.",
    "Cable tray dry, no corrosion.",
    "Took a water sample, clear, no smell.",
    "Gate key bent; straightened it on the anvil of the mill.",
    "Low sun on the staff, read twice with the same result.",
    "Removed a shopping trolley from the approach channel.",
    "Wind from the west pushes waves on the staff, mean of five readings.",
    "Logger clock 40 s slow, set by radio.",
    "Benchmark levelled, closes within 1 mm.",
    "The farmer upstream opened his sluice for the ducks; stage falls while I write.",
    "Replaced the fuse of the heater.",
    "Nothing to report but a very good blackberry by the door.",
    "Telemetry called the office from the hut, answered at the third ring.",
    "Outlet pipe of the stilling well rodded, half a bucket of silt.",
    "Staff gauge plate 2 loose, two new screws.",
    "Somebody has left a rubber boot at the weir. Left foot.",
    "Rain gauge beside the hut emptied, funnel free of leaves.",
];
/// Visits of the shortest book: enough for everything that has to happen.
const FEWEST_VISITS: usize = 5;
const DENSITY: Density = Density { frame_tokens: 430, chars_per_100_tokens: 301 };

#[derive(Debug)]
struct Visit {
    day: Date,
    time: String,
    observer: &'static str,
    /// By the staff, in millimetres.
    staff: u64,
    /// By the recorder, in millimetres.
    recorder: u64,
    remarks: Vec<String>,
}

pub(super) fn write(draw: &mut Draw, tokens: usize) -> Document {
    let number = draw.between(1201, 8999);
    let observers = draw.different(&OBSERVERS, 4);
    let heading = format!(
        "FIELD BOOK {number} - Gauging station {}\nObserver in charge: {}. Zero of the staff {} m \
         above sea level. All stages in metres.\n",
        draw.pick(&STATIONS),
        observers[0],
        shown(draw.between(8_000, 240_000), 3),
    );
    let mut visits = visits(draw, &observers, DENSITY.fill_chars(tokens));
    let questions = happen(draw, &mut visits);
    let text = std::iter::once(heading).chain(visits.iter().map(Visit::entry)).collect();
    Document { text, questions }
}

fn visits(draw: &mut Draw, observers: &[&'static str], chars: usize) -> Vec<Visit> {
    let mut visits: Vec<Visit> = Vec::new();
    let mut day = start(draw);
    let mut written = 0;
    while visits.len() < FEWEST_VISITS || written < chars {
        day += Duration::days(draw.between(2, 9) as i64);
        let staff = draw.between(612, 2_390);
        let remarks = remarks(draw, visits.last());
        let visit = Visit {
            day,
            time: format!("{:02}:{:02}", draw.between(7, 17), draw.between(0, 59)),
            observer: observers[draw.below(observers.len())],
            staff,
            recorder: staff + draw.between(1, 6),
            remarks,
        };
        written += visit.entry().len();
        visits.push(visit);
    }
    visits
}

/// One remark or two, and none that the visit before has.
fn remarks(draw: &mut Draw, before: Option<&Visit>) -> Vec<String> {
    let is_new = |it: &&str| before.is_none_or(|visit| visit.remarks.iter().all(|old| old != it));
    let new: Vec<&str> = REMARKS.into_iter().filter(is_new).collect();
    let count = if draw.once_in(3) { 2 } else { 1 };
    draw.different(&new, count).into_iter().map(str::to_owned).collect()
}

fn start(draw: &mut Draw) -> Date {
    let first = Date::from_calendar_date(2031, Month::January, 2).expect("a day of that year");
    first + Duration::days(draw.between(0, 300) as i64)
}

/// Puts into the visits what is asked for.
fn happen(draw: &mut Draw, visits: &mut [Visit]) -> Vec<Question> {
    let count_of_visits = visits.len();
    // The last visit is none of them, as a correction comes after what it corrects.
    let earlier: Vec<usize> = (0..count_of_visits - 1).collect();
    let places = draw.different(&earlier, 4);
    let [asked, corrected, replaced, flooded] = places[..] else { unreachable!("four places") };
    let later = corrected + 1 + draw.below(count_of_visits - corrected - 1);
    vec![
        sensor(draw, &mut visits[replaced]),
        flood(draw, &mut visits[flooded]),
        correction(visits, corrected, later),
        observer(&visits[asked], visits),
        batteries(draw, visits),
    ]
}

fn sensor(draw: &mut Draw, visit: &mut Visit) -> Question {
    let serials = draw.different(&SERIALS, 3);
    let serial = |place: usize| format!("PS-{}", serials[place]);
    let (old, dead, fitted) = (serial(0), serial(1), serial(2));
    visit.remarks.push(format!(
        "Pressure sensor {old} drifts by {} mm. Unpacked {dead}, dead on arrival; fitted {fitted}.",
        draw.between(9, 38)
    ));
    text("fitted_sensor", "serial number of the pressure sensor that was fitted", &fitted, &dead)
}

/// Serial numbers that differ in one digit or two, as those of one delivery do.
const SERIALS: [u32; 10] =
    [20_417, 20_471, 20_933, 20_939, 21_088, 21_098, 21_746, 21_764, 22_305, 22_350];

fn flood(draw: &mut Draw, visit: &mut Visit) -> Question {
    let mark = draw.between(2_610, 4_480);
    let before = mark + draw.between(20, 190);
    visit.remarks.push(format!(
        "Flood mark of this week levelled at {} m on the door of the hut; the brass plate of the great \
         flood sits at {} m.",
        shown(mark, 3),
        shown(before, 3)
    ));
    decimal(
        "flood_mark_m",
        "level of the flood mark of the week in metres, as a number",
        3,
        [mark, before],
    )
}

/// A later visit corrects the staff reading of an earlier one.
fn correction(visits: &mut [Visit], place: usize, later: usize) -> Question {
    let Visit { day, staff, recorder, .. } = visits[place];
    let right = crossed(staff);
    // The recorder had it right.
    visits[place].recorder = right + (recorder - staff);
    visits[later].remarks.push(format!(
        "Correction to the visit of {day}: the staff read {} m, not {} m as written there.",
        shown(right, 3),
        shown(staff, 3)
    ));
    let asks =
        format!("staff reading of the visit of {day} after its correction in metres, as a number");
    decimal("corrected_stage_m", asks, 3, [right, staff])
}

/// The number with two digits crossed, or one centimetre more where they are the same.
fn crossed(number: u64) -> u64 {
    let (tens, hundreds) = (number / 10 % 10, number / 100 % 10);
    if tens == hundreds { number + 10 } else { number + 90 * tens - 90 * hundreds }
}

fn observer(visit: &Visit, visits: &[Visit]) -> Question {
    let other = visits.iter().map(|visit| visit.observer).find(|name| *name != visit.observer);
    let asks = format!("who made the visit of {}, as the book has the name", visit.day);
    text("observer", asks, visit.observer, other.unwrap_or("nobody"))
}

fn batteries(draw: &mut Draw, visits: &mut [Visit]) -> Question {
    let changes = draw.between(1, 3);
    // The one more is only looked at.
    let all: Vec<usize> = (0..visits.len()).collect();
    let mut places = draw.different(&all, changes as usize + 1);
    let checked = places.pop();
    for place in places {
        let volts = shown(draw.between(109, 117), 1);
        visits[place].remarks.push(format!("Battery at {volts} V, changed for a new one."));
    }
    if let Some(checked) = checked {
        let volts = shown(draw.between(124, 129), 1);
        visits[checked].remarks.push(format!("Battery at {volts} V, left in."));
    }
    count(
        "batteries_changed",
        "how often the battery was changed, as a number",
        changes,
        changes + 1,
    )
}

impl Visit {
    fn entry(&self) -> String {
        format!(
            "\n{} {} {}. Staff {}, recorder {}. {}",
            self.day,
            self.time,
            self.observer,
            shown(self.staff, 3),
            shown(self.recorder, 3),
            self.remarks.join(" ")
        )
    }
}
