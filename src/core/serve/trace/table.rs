//! Traces as tables: a header, then a line for each request.

use super::columns::{Column, Kind, column};
use super::{Cell, Collector, Record, TraceProblem, missing};
use crate::core::serve::ServeError;

/// Reads all requests of a text whose header is this line.
pub(super) fn read(text: &str, header: &str, collector: &mut Collector) -> Result<(), ServeError> {
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(separator(header))
        .comment(Some(b'#'))
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut cells = csv::StringRecord::new();
    let mut header: Option<(u64, Vec<(usize, Column)>)> = None;
    loop {
        let outcome = reader.read_record(&mut cells);
        collector.line = line_of(text, cells.position());
        let is_there = outcome.map_err(|error| {
            collector.problem(TraceProblem::NotReadable {
                format: "CSV",
                error: error.to_string(),
            })
        })?;
        if !is_there {
            return Ok(());
        }
        let is_comment = cells.get(0).is_some_and(|cell| cell.starts_with('#'));
        let Some(last) = (0..cells.len()).rfind(|idx| !cells[*idx].is_empty()) else {
            continue;
        };
        if is_comment {
            continue;
        }
        let Some((n_cells, columns)) = &header else {
            let known = cells.iter().enumerate();
            let known: Vec<_> = known
                .filter_map(|(idx, name)| Some((idx, column(name)?)))
                .collect();
            check_header(&known).map_err(|problem| collector.problem(problem))?;
            header = Some((cells.len() as u64, known));
            continue;
        };
        // A cell too many is mostly a comma within a text: what follows is in wrong columns.
        let given = last as u64 + 1;
        if *n_cells < given {
            return Err(collector.problem(TraceProblem::TooManyCells {
                given,
                header: *n_cells,
            }));
        }
        let mut record = Record::default();
        for (idx, column) in columns {
            if let Some(cell) = cells.get(*idx) {
                record.put(*column, Cell::Text(cell.into()));
            }
        }
        collector.add(&record)?;
    }
}

/// The separator by which a header has the most names that are known.
fn separator(header: &str) -> u8 {
    let n_known = |separator: &u8| {
        let names = header.split(char::from(*separator));
        names.filter(|name| column(name).is_some()).count()
    };
    // Of equals the last one is taken: a comma.
    let all = [b'|', b'\t', b';', b','];
    all.into_iter().max_by_key(n_known).unwrap_or(b',')
}

/// The line of a record that begins here, or after lines that are none.
fn line_of(text: &str, position: Option<&csv::Position>) -> Option<u64> {
    let position = position?;
    let rest = text.get(usize::try_from(position.byte()).ok()?..)?;
    let is_skipped = |line: &&str| line.trim().is_empty() || line.starts_with('#');
    Some(position.line() + rest.lines().take_while(is_skipped).count() as u64)
}

fn check_header(columns: &[(usize, Column)]) -> Result<(), TraceProblem> {
    let has = |kinds: &[Kind]| {
        columns
            .iter()
            .any(|(_, column)| kinds.contains(&column.kind))
    };
    if !has(&[Kind::Arrival]) {
        return Err(missing(Kind::Arrival));
    }
    if !has(&[Kind::Prompt]) {
        return Err(missing(Kind::Prompt));
    }
    if !has(&[Kind::Answer, Kind::Output]) {
        return Err(missing(Kind::Output));
    }
    Ok(())
}
