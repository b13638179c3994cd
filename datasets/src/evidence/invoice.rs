//! A collective invoice: deliveries of several weeks, line by line, with what was sent back.

use std::collections::BTreeSet;

use streamgauge_schema::{FieldRule, Json};
use time::{Date, Duration, Month};

use super::{Density, Document, Question, decimal, shown, text};
use crate::draw::Draw;

const FIRMS: [&str; 6] = [
    "Harrow & Daughters, Instrument Makers, Port Aldous",
    "Castellan Boatyard Supplies, Tidegate",
    "Pemberton's Bell and Clock Works, Wexcombe",
    "Nordhavn Rope and Tackle, Saint Brannock",
    "The Glass Eel, Laboratory Ware, Marlford",
    "Ashlode Brass Foundry, Ashlode",
];
const CUSTOMERS: [&str; 6] = [
    "Municipal Waterworks of Saint Brannock",
    "River Conservancy of the Eskwater",
    "Harbor Office, Port Aldous",
    "Meteorological Society of Marlford",
    "School of Navigation, Tidegate",
    "Canal and Lock Company, Wexcombe",
];
const GOODS: [(&str, [u64; 2]); 32] = [
    ("Tipping-bucket rain gauge", [14_000, 29_000]),
    ("Staff plate, enamelled", [1_200, 4_900]),
    ("Hand lead, 3 kg", [900, 2_600]),
    ("Current meter, propeller type", [38_000, 92_000]),
    ("Stilling well bracket", [700, 2_100]),
    ("Float tape, per metre", [150, 480]),
    ("Ship's bell, small", [4_200, 9_800]),
    ("Barograph paper, one year", [800, 1_900]),
    ("Rope, hemp, per metre", [120, 390]),
    ("Shackle, galvanised", [210, 640]),
    ("Sounding line, marked", [1_900, 4_400]),
    ("Lamp glass, green", [600, 1_700]),
    ("Hydrometer in its box", [1_100, 3_800]),
    ("Pocket level", [1_500, 5_200]),
    ("Sluice key, forged", [2_300, 6_100]),
    ("Thermometer, protected", [1_400, 4_600]),
    ("Bearing, bronze", [900, 3_300]),
    ("Chart table lamp", [3_100, 7_700]),
    ("Gear wheel, 48 teeth", [1_800, 5_900]),
    ("Padlock, weatherproof", [1_100, 2_700]),
    ("Battery, 12 V", [3_900, 8_800]),
    ("Solar panel, 20 W", [5_200, 11_900]),
    ("Mooring ring", [700, 2_400]),
    ("Field book, waterproof", [450, 1_350]),
    ("Boat hook, ash", [1_600, 3_900]),
    ("Wire brush", [180, 590]),
    ("Cable gland", [90, 340]),
    ("Tin of signal red", [900, 2_200]),
    ("Winch handle", [1_300, 4_100]),
    ("Sight glass", [400, 1_600]),
    ("Life ring with line", [3_300, 6_900]),
    ("Anemometer cup", [800, 2_900]),
];
const LETTERS: [&str; 8] = ["BR", "CK", "GL", "HM", "PW", "RT", "SV", "TM"];
/// Lines of the shortest invoice.
const FEWEST_LINES: usize = 7;
/// Value-added tax, in percent.
const TAX: u64 = 20;
const DENSITY: Density = Density { frame_tokens: 335, chars_per_100_tokens: 187 };

#[derive(Debug)]
struct Item {
    article: String,
    goods: &'static str,
    pieces: u64,
    /// In cents.
    price: u64,
    /// Place of its delivery.
    delivery: usize,
}

#[derive(Debug)]
struct Delivery {
    note: String,
    day: Date,
}

pub(super) fn write(draw: &mut Draw, tokens: usize) -> Document {
    let number = format!("{}-{:04}", draw.between(2031, 2034), draw.between(1, 9_999));
    let order = format!("{}-{:04}", draw.pick(&LETTERS), draw.between(1, 9_999));
    let heading = format!(
        "INVOICE {number}\n{}\nTo: {}. Your order: {order}.\n",
        draw.pick(&FIRMS),
        draw.pick(&CUSTOMERS)
    );
    let (items, deliveries) = items(draw, DENSITY.fill_chars(tokens));
    let last = deliveries.last().expect("there is a delivery").day;
    let (issued, payable) = (last + Duration::days(3), last + Duration::days(33));
    let returned = returned(draw, &items);
    let [net, total] = totals(&items, &returned);
    let mut questions = vec![
        text("invoice_number", "number of the invoice", &number, &order),
        text(
            "payable_by",
            "last day on which it can be paid, as YYYY-MM-DD",
            &payable.to_string(),
            &issued.to_string(),
        ),
        decimal("total", "amount to be paid, tax included, as a number", 2, [total, net]),
    ];
    questions.extend(of_items(draw, &items, &deliveries, &returned));
    let text = [
        heading,
        table(&items, &deliveries),
        footer(&items, &returned, [net, total], [issued, payable]),
    ];
    Document { text: text.concat(), questions }
}

fn items(draw: &mut Draw, chars: usize) -> (Vec<Item>, Vec<Delivery>) {
    let (mut items, mut deliveries): (Vec<Item>, Vec<Delivery>) = (Vec::new(), Vec::new());
    let mut articles = BTreeSet::new();
    let mut day = Date::from_calendar_date(2031, Month::March, 1).expect("a day of that year");
    let (mut left, mut written) = (0, 0);
    while items.len() < FEWEST_LINES || written < chars {
        if left == 0 {
            left = draw.between(3, 9);
            day += Duration::days(draw.between(1, 6) as i64);
            let note = match deliveries.last() {
                Some(before) => number_of(&before.note) + draw.between(1, 40),
                None => draw.between(41_000, 77_000),
            };
            deliveries.push(Delivery { note: format!("D{note}"), day });
        }
        let article = format!("{}-{}", draw.pick(&LETTERS), draw.between(1_000, 9_999));
        if !articles.insert(article.clone()) {
            continue;
        }
        let (goods, [least, most]) = GOODS[draw.below(GOODS.len())];
        let price = draw.between(least, most);
        let pieces = draw.between(2, 14);
        let item = Item { article, goods, pieces, price, delivery: deliveries.len() - 1 };
        written += item.row().len();
        left -= 1;
        items.push(item);
    }
    (items, deliveries)
}

fn number_of(note: &str) -> u64 {
    note.trim_start_matches('D').parse().expect("a letter and a number")
}

/// Places of the items of which one piece was sent back.
fn returned(draw: &mut Draw, items: &[Item]) -> Vec<usize> {
    let count = draw.between(2, 3) as usize;
    draw.places(items.len(), count)
}

/// Net and with tax, in cents; tax is rounded to the nearest cent.
fn totals(items: &[Item], returned: &[usize]) -> [u64; 2] {
    let goods: u64 = items.iter().map(Item::amount).sum();
    let credit: u64 = returned.iter().map(|place| items[*place].price).sum();
    let net = goods - credit;
    [net, net + (net * TAX + 50) / 100]
}

fn of_items(
    draw: &mut Draw,
    items: &[Item],
    deliveries: &[Delivery],
    returned: &[usize],
) -> [Question; 3] {
    let asked = draw.different(&(0..items.len()).collect::<Vec<_>>(), 2);
    let (priced, delivered) = (&items[asked[0]], &items[asked[1]]);
    let other = deliveries.iter().enumerate().rfind(|(place, _)| *place != delivered.delivery);
    let wrong = other.map_or(delivered.article.as_str(), |(_, delivery)| &delivery.note);
    [
        decimal(
            "price",
            format!("price of one piece of article {}, as a number", priced.article),
            2,
            [priced.price, priced.amount()],
        ),
        text(
            "delivery_note",
            format!("number of the delivery note with article {}", delivered.article),
            &deliveries[delivered.delivery].note,
            wrong,
        ),
        sent_back(items, returned),
    ]
}

fn sent_back(items: &[Item], returned: &[usize]) -> Question {
    let article = |place: &usize| Json::from(items[*place].article.as_str());
    let articles: Vec<Json> = returned.iter().map(article).collect();
    Question {
        member: "sent_back",
        asks: "list of the numbers of the articles of which a piece was sent back".to_owned(),
        is: FieldRule::Set(articles.clone()),
        wrong: Json::Array(articles[1..].to_vec()),
        // In any order.
        right: Json::Array(articles.into_iter().rev().collect()),
    }
}

fn table(items: &[Item], deliveries: &[Delivery]) -> String {
    let mut table = String::new();
    for (place, delivery) in deliveries.iter().enumerate() {
        table.push_str(&format!("\nDelivery note {} of {}\n", delivery.note, delivery.day));
        for item in items.iter().filter(|item| item.delivery == place) {
            table.push_str(&item.row());
        }
    }
    table
}

fn footer(
    items: &[Item],
    returned: &[usize],
    [net, total]: [u64; 2],
    [issued, payable]: [Date; 2],
) -> String {
    let credit = |place: &usize| {
        let item = &items[*place];
        format!("Sent back: 1 x {} {}, less {}\n", item.article, item.goods, shown(item.price, 2))
    };
    let credits: String = returned.iter().map(credit).collect();
    format!(
        "\n{credits}Net {}, tax of {TAX} % {}, to be paid {}\nIssued on {issued}, payable by {payable} \
         without deduction. With thanks for your trust.\n",
        shown(net, 2),
        shown(total - net, 2),
        shown(total, 2),
    )
}

impl Item {
    fn amount(&self) -> u64 {
        self.pieces * self.price
    }

    fn row(&self) -> String {
        let Self { article, goods, pieces, price, .. } = self;
        let amount = shown(self.amount(), 2);
        format!("{article}  {goods}  {pieces} x {} = {amount}\n", shown(*price, 2))
    }
}
