//! Rows of the tables in `data/`: a line of column names, then a line for each row, with tabs between.

/// One row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    columns: &'static str,
    line: &'static str,
}

/// The rows of a table.
pub(super) fn of(table: &'static str) -> impl Iterator<Item = Row> {
    let mut lines = table.lines();
    let columns = lines.next().unwrap_or_default();
    lines.map(move |line| Row { columns, line })
}

impl Row {
    /// The text in a column; empty when there is none.
    pub(super) fn text(&self, column: &str) -> &'static str {
        let mut cells = self.columns.split('\t').zip(self.line.split('\t'));
        cells
            .find(|(name, _)| *name == column)
            .map_or("", |(_, text)| text)
    }

    /// The text in a column, unless it is empty.
    pub(super) fn optional(&self, column: &str) -> Option<&'static str> {
        Some(self.text(column)).filter(|text| !text.is_empty())
    }

    /// The whole number in a column.
    pub(super) fn integer(&self, column: &str) -> Option<u64> {
        self.text(column).parse().ok()
    }

    /// The decimal number in a column, to the nearest float: both parts of the division are exact below 2^53.
    ///
    /// Not `str::parse`, whose tables for any float there is are ten times the size of ours.
    pub(super) fn decimal(&self, column: &str) -> Option<f64> {
        let text = self.text(column);
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let mantissa: u64 = format!("{whole}{fraction}").parse().ok()?;
        let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
        Some(mantissa as f64 / scale as f64)
    }
}
