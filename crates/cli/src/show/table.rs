//! The one way in which tables are drawn.

use comfy_table::{CellAlignment, Table, presets};

use crate::args::Format;

/// A table whose columns after the first are aligned to the right.
pub(crate) fn table<const N: usize>(
    format: Format,
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) -> String {
    let mut table = Table::new();
    let preset = match format {
        Format::Markdown => presets::ASCII_MARKDOWN,
        Format::Json | Format::Table => presets::NOTHING,
    };
    table.load_style(preset).set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}
