use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Row, Table, TableStyle, Width};

/// Columns with nothing but space between them. A column in which nothing stands is left out, and
/// the last one takes the width that the others leave.
pub(super) struct Lines {
    header: &'static [&'static str],
    rows: Vec<(Vec<String>, Height)>,
}

/// What a last cell does that is too wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Height {
    /// It is cut.
    One,
    /// It goes on below.
    Any,
}

/// Before the first column, and between two.
const GAP: usize = 2;
/// What the last column has, however narrow the terminal is.
const MIN_LAST: usize = 24;

impl Lines {
    pub(super) fn new(header: &'static [&'static str]) -> Self {
        Self {
            header,
            rows: Vec::new(),
        }
    }

    /// Adds a row of one line: its last cell is cut where it is too wide.
    pub(super) fn one(&mut self, row: impl Into<Vec<String>>) {
        self.rows.push((row.into(), Height::One));
    }

    /// Adds a row whose last cell has as many lines as it needs.
    pub(super) fn any(&mut self, row: impl Into<Vec<String>>) {
        self.rows.push((row.into(), Height::Any));
    }

    /// The lines, each with its end.
    pub(super) fn layout(self, width: usize) -> String {
        let is_used = |&at: &usize| {
            let mut cells = self.rows.iter().filter_map(|(row, _)| row.get(at));
            cells.any(|cell| !cell.is_empty())
        };
        let used: Vec<usize> = (0..self.header.len()).filter(is_used).collect();
        let mut table = Table::new();
        table
            .load_style(TableStyle::new())
            .set_content_arrangement(ContentArrangement::Disabled)
            .set_truncation_indicator("...")
            .set_header(used.iter().filter_map(|&at| self.header.get(at)));
        for (row, height) in self.rows {
            table.add_row(cells(row, height, &used));
        }
        let widths = table.column_max_content_widths();
        let others = widths.iter().rev().skip(1);
        let taken: usize = others.map(|&width| usize::from(width) + GAP).sum();
        let left = width.saturating_sub(GAP + taken).max(MIN_LAST);
        let left = Width::Fixed(u16::try_from(left).unwrap_or(u16::MAX));
        let last = table.column_count().saturating_sub(1);
        for (index, column) in table.column_iter_mut().enumerate() {
            if index == last {
                column.set_padding((0, 0));
                column.set_constraint(ColumnConstraint::UpperBoundary(left));
            } else {
                column.set_padding((0, GAP as u16));
            }
        }
        let indented = table.lines().map(|line| {
            let line = format!("{:GAP$}{line}", "");
            line.trim_end().to_owned() + "\n"
        });
        indented.collect()
    }
}

fn cells(mut row: Vec<String>, height: Height, used: &[usize]) -> Row {
    let cell = |at: &usize| {
        let cell = Cell::new_owned(row.get_mut(*at).map(std::mem::take).unwrap_or_default());
        match height {
            // Cut anywhere, not between words: nothing that is printed has a NUL.
            Height::One => cell.set_delimiter('\0'),
            Height::Any => cell,
        }
    };
    let mut cells = Row::from(used.iter().map(cell));
    if height == Height::One {
        cells.max_height(1);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::Lines;

    fn row(cells: [&str; 4]) -> Vec<String> {
        cells.map(str::to_owned).to_vec()
    }

    #[test]
    fn the_last_column_takes_what_is_left_and_an_empty_one_is_not_there() {
        let mut lines = Lines::new(&["A", "B", "C", "D"]);
        lines.one(row(["1", "", "한국", "0123456789 0123456789 0123456789"]));
        lines.any(row(["22", "", "c", "one two three four five six seven"]));
        lines.one(row(["3", "", "", ""]));
        let expected = "  A   C     D\n  1   한국  0123456789 0123456789...\n  \
                        22  c     one two three four five\n            six seven\n  3\n";
        assert_eq!(lines.layout(36), expected);
    }

    #[test]
    fn the_last_column_has_room_on_any_terminal() {
        let mut lines = Lines::new(&["A", "B"]);
        let wide = "x".repeat(40);
        lines.one([wide.clone(), wide]);
        let laid = lines.layout(10);
        assert!(
            laid.ends_with(&format!("  {}...\n", "x".repeat(21))),
            "{laid}"
        );
    }
}
