//! The one way in which tables are drawn.

use comfy_table::{CellAlignment, Table, presets};

use crate::args::Format;
use crate::show::markdown;

/// Blanks between two columns.
const GAP: u16 = 2;

/// A table. Columns of words are aligned to the left, others to the right. A heading may have two lines.
pub(crate) fn table<const N: usize>(
    format: Format,
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    if format == Format::Markdown {
        table.load_style(presets::ASCII_MARKDOWN);
        table.set_header(header.map(|heading| heading.replace('\n', " ")));
    } else {
        table.load_style(presets::NOTHING).set_header(header);
    }
    let mut of_words = [false; N];
    for row in rows {
        for (cell, of_words) in row.iter().zip(&mut of_words) {
            *of_words |= cell.starts_with(char::is_alphabetic);
        }
        table.add_row(match format {
            Format::Markdown => row.map(|cell| markdown::prose(&cell)),
            _ => row,
        });
    }
    for ((place, column), of_words) in table.column_iter_mut().enumerate().zip(of_words) {
        if format != Format::Markdown {
            column.set_padding((if place == 0 { 0 } else { GAP }, 0));
        }
        if place > 0 && !of_words {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}
