//! The one way in which tables are drawn.

use comfy_table::{CellAlignment, Table, presets};

use crate::args::Format;

/// Blanks between two columns.
const GAP: u16 = 2;

/// A table whose columns after the first are aligned to the right. A heading may have two lines.
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
    for row in rows {
        table.add_row(row);
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        if format != Format::Markdown {
            column.set_padding((if place == 0 { 0 } else { GAP }, 0));
        }
        if place > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}
