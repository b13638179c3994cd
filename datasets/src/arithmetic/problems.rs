//! The problems: one function each, from a draw to a text and its numbers.

use super::Problem;
use crate::draw::Draw;

/// All of them, in the order in which a set takes them.
pub(super) const PROBLEMS: [fn(&mut Draw) -> Problem; 12] =
    [ferry, bakery, train, lighthouse, orchard, library, wall, wages, tide, theatre, stamps, tank];
const PEOPLE: [&str; 8] = ["Mira", "Oskar", "Lena", "Tomasz", "Ada", "Bilal", "Ines", "Ruben"];
const PLACES: [&str; 6] = ["Tidegate", "Port Aldous", "Marlford", "Wexcombe", "Ashlode", "Linnet"];

/// A number for a problem.
fn some(draw: &mut Draw, first: u64, last: u64) -> i64 {
    draw.between(first, last) as i64
}

fn whole(text: String, answer: i64, wrong: [i64; 3]) -> Problem {
    Problem { text, decimals: 0, answer, wrong }
}

fn ferry(draw: &mut Draw) -> Problem {
    let place = draw.pick(&PLACES);
    let (cars, people) = (some(draw, 6, 18), some(draw, 20, 90));
    let (for_car, for_person) = (some(draw, 9, 17), some(draw, 2, 5));
    let (crossings, speed) = (some(draw, 3, 9), some(draw, 8, 14));
    let one_way = cars * for_car + people * for_person;
    whole(
        format!(
            "The ferry at {place} holds {cars} cars and {people} people on foot, and makes {speed} knots. \
             A car pays {for_car} crowns and a person on foot {for_person} crowns for one crossing. On \
             market day it crosses {crossings} times in each direction, always full. How many crowns \
             does it take that day?"
        ),
        2 * crossings * one_way,
        [crossings * one_way, 2 * crossings * cars * for_car, one_way],
    )
}

fn bakery(draw: &mut Draw) -> Problem {
    let baker = draw.pick(&PEOPLE);
    let (trays, rolls) = (some(draw, 8, 20), 2 * some(draw, 9, 16));
    let (burnt, at_noon) = (2 * some(draw, 2, 9), some(draw, 11, 40));
    let good = trays * rolls - burnt;
    whole(
        format!(
            "{baker} bakes {trays} trays of {rolls} rolls each. {burnt} rolls are burnt and go to the \
             ducks. Half of the good rolls are sold before eight o'clock, and {at_noon} more at noon. How \
             many rolls are left in the afternoon?"
        ),
        good / 2 - at_noon,
        [trays * rolls / 2 - at_noon, good / 2, good - at_noon],
    )
}

fn train(draw: &mut Draw) -> Problem {
    const SPEEDS: [i64; 4] = [60, 80, 100, 120];
    let speeds = draw.different(&SPEEDS, 2);
    let quarters = [some(draw, 3, 11), some(draw, 2, 9)];
    let [first, second] = [0, 1].map(|leg| speeds[leg] * quarters[leg] / 4);
    let (stop, coaches) = (some(draw, 4, 26), some(draw, 5, 14));
    let moving = 15 * (quarters[0] + quarters[1]);
    whole(
        format!(
            "A night train of {coaches} coaches runs {first} km at {} km an hour, stands {stop} minutes at \
             a junction, and runs another {second} km at {} km an hour. How many minutes after it left \
             does it arrive?",
            speeds[0], speeds[1]
        ),
        moving + stop,
        [moving, 15 * quarters[0] + stop, moving + 2 * stop],
    )
}

fn lighthouse(draw: &mut Draw) -> Problem {
    /// Millilitres an hour, and hours a night.
    const LAMPS: [(i64, i64); 4] = [(125, 8), (150, 10), (200, 10), (250, 12)];
    let (burns, hours) = LAMPS[draw.below(LAMPS.len())];
    let quarter = 4 * some(draw, 2, 9);
    let keeper = draw.pick(&PEOPLE);
    let nights = |litres: i64| litres * 1_000 / (burns * hours);
    whole(
        format!(
            "The lamp of a lighthouse burns {burns} ml of oil an hour, {hours} hours a night. Its tank holds \
             {} litres, and {keeper} fills it up as soon as it is down to a quarter. How many nights pass \
             from one filling to the next?",
            4 * quarter
        ),
        nights(3 * quarter),
        [nights(4 * quarter), nights(quarter), nights(3 * quarter) * hours],
    )
}

fn orchard(draw: &mut Draw) -> Problem {
    let (rows, trees) = (some(draw, 7, 19), some(draw, 9, 24));
    let (died, hives) = (some(draw, 4, 30), some(draw, 2, 6));
    let (apples, pears) = (some(draw, 22, 48), some(draw, 9, 21));
    let all = rows * trees;
    whole(
        format!(
            "An orchard has {hives} beehives and {rows} rows of {trees} apple trees. After a hard winter \
             {died} of the trees are replaced by young pear trees. An apple tree gives {apples} kg of \
             fruit a year, a young pear tree {pears} kg. How many kilograms does the orchard give?"
        ),
        (all - died) * apples + died * pears,
        [all * apples + died * pears, (all - died) * apples, all * apples],
    )
}

fn library(draw: &mut Draw) -> Problem {
    let people = draw.different(&PEOPLE, 3);
    let (books, days) = (some(draw, 2, 6), some(draw, 3, 12));
    let (later, last) = (days + some(draw, 1, 9), some(draw, 5, 30));
    let fine = 2 * some(draw, 3, 12);
    let first_two = fine * (books * days + 2 * books * later);
    whole(
        format!(
            "The library takes {fine} cents for each book and each day that it is late. {} brings back \
             {books} books {days} days late. {} has twice as many books and is {later} days late. {} is \
             {last} days late with a single book, but had the flu and pays only half. How many cents do \
             the three pay together?",
            people[0], people[1], people[2]
        ),
        first_two + fine * last / 2,
        [
            first_two + fine * last,
            first_two,
            fine * (books * days + books * later) + fine * last / 2,
        ],
    )
}

fn wall(draw: &mut Draw) -> Problem {
    let (length, height) = (some(draw, 8, 30), some(draw, 2, 4));
    let (gates, masons) = (some(draw, 2, 4), some(draw, 2, 5));
    let bricks = 20 * some(draw, 2, 4);
    let area = length * height - 2 * gates;
    whole(
        format!(
            "{masons} masons build a wall {length} m long and {height} m high. It has {gates} openings of \
             2 square metres each, where no bricks are laid. A square metre takes {bricks} bricks, and \
             5 percent more are ordered because some break. How many bricks are ordered?"
        ),
        area * bricks * 105 / 100,
        [area * bricks, length * height * bricks * 105 / 100, area * bricks * 95 / 100],
    )
}

fn wages(draw: &mut Draw) -> Problem {
    let name = draw.pick(&PEOPLE);
    let (wage, overtime) = (2 * some(draw, 8, 17), some(draw, 2, 13));
    let (coat, years) = (some(draw, 12, 75), some(draw, 2, 19));
    let hours = 40 + overtime;
    let earned = 40 * wage + overtime * wage * 3 / 2;
    whole(
        format!(
            "{name}, who has been with the lock company for {years} years, earns {wage} crowns an hour, and \
             half as much again for every hour beyond 40 in a week. This week has {hours} hours, and \
             {coat} crowns are kept back for a new oilskin coat. How many crowns are paid out?"
        ),
        earned - coat,
        [hours * wage - coat, earned, 40 * wage - coat],
    )
}

fn tide(draw: &mut Draw) -> Problem {
    let place = draw.pick(&PLACES);
    let (level, rise, fall) = (some(draw, 90, 260), some(draw, 12, 45), some(draw, 8, 30));
    let hours = some(draw, 5, 8);
    let high = level + 5 * rise;
    whole(
        format!(
            "At {place} the water stands at {level} cm. In the first hour it rises by {rise} cm, in each of \
             the next two hours by twice as much. Then it falls by {fall} cm every hour. How many \
             centimetres does the gauge show {hours} hours after the beginning?"
        ),
        high - fall * (hours - 3),
        [high, level + 3 * rise - fall * (hours - 3), high - fall * hours],
    )
}

fn theatre(draw: &mut Draw) -> Problem {
    let (dear, cheap) = (some(draw, 60, 190), some(draw, 30, 120));
    let prices = [25 * some(draw, 46, 78), 25 * some(draw, 21, 39)];
    let (rent, acts) = (50 * some(draw, 400, 900), some(draw, 2, 5));
    let taken = dear * prices[0] + cheap * prices[1];
    let shown = |cents: i64| format!("{}.{:02}", cents / 100, cents % 100);
    Problem {
        text: format!(
            "A play in {acts} acts sells {dear} seats at {} crowns and {cheap} seats for students at {} \
             crowns. The hall costs {} crowns for the evening. How many crowns are left, with two \
             decimals?",
            shown(prices[0]),
            shown(prices[1]),
            shown(rent)
        ),
        decimals: 2,
        answer: taken - rent,
        wrong: [taken, dear * prices[0] - rent, (dear + cheap) * prices[0] - rent],
    }
}

fn stamps(draw: &mut Draw) -> Problem {
    let people = draw.different(&PEOPLE, 2);
    let times = if draw.once_in(2) { 3 } else { 5 };
    let given = 2 * some(draw, 6, 48);
    let few = 2 * given / (times - 1);
    whole(
        format!(
            "{} has {times} times as many stamps as {}. After giving away {given} of them to {}, both have \
             the same number. How many stamps did {} have at the beginning?",
            people[0], people[1], people[1], people[0]
        ),
        times * few,
        [few, times * few - given, times * given + given],
    )
}

fn tank(draw: &mut Draw) -> Problem {
    let (first, second) = (some(draw, 30, 60), some(draw, 15, 45));
    let (leak, alone, both) = (some(draw, 2, 9), some(draw, 5, 20), some(draw, 6, 40));
    let litres = (first - leak) * alone + (first + second - leak) * both;
    whole(
        format!(
            "An empty tank of {litres} litres has a leak that loses {leak} litres a minute all the time. One \
             pump brings {first} litres a minute. {alone} minutes later a second pump is switched on and \
             brings another {second} litres a minute. How many minutes after the first pump was \
             switched on is the tank full?"
        ),
        alone + both,
        [both, alone, alone + both + leak],
    )
}
