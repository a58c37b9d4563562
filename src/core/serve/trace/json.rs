//! Traces in JSON: an object a line, a list of objects, or an object with such a list. Nothing is kept but the requests, so
//! that a trace with long lists of other things takes no memory for them.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::columns::{Column, Kind, column, is_opened};
use super::{Cell, Collector, Record, TraceProblem};
use crate::core::serve::ServeError;

/// Reads all requests of a text whose first sign is a bracket or a brace.
pub(super) fn read(text: &str, collector: &mut Collector) -> Result<(), ServeError> {
    let is_comment = |line: &str| line.trim_start().starts_with('#');
    let mut lines = text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty() && !is_comment(line))
        .peekable();
    let is_by_line = lines
        .peek()
        .is_some_and(|(line, _)| serde_json::from_str::<IgnoredAny>(line).is_ok());
    if is_by_line {
        return lines.try_for_each(|(line, number)| {
            collector.line = Some(number);
            value(line, number, collector)
        });
    }
    collector.line = None;
    // No string of JSON goes over a line's end, so a line that begins with this sign is a comment.
    let text = if text.lines().any(is_comment) {
        let kept = text
            .lines()
            .map(|line| if is_comment(line) { "" } else { line });
        Cow::from(kept.collect::<Vec<_>>().join("\n"))
    } else {
        Cow::from(text)
    };
    value(&text, 1, collector)
}

/// Reads the values of a text that begins in this line.
fn value(text: &str, first_line: u64, collector: &mut Collector) -> Result<(), ServeError> {
    let mut reader = serde_json::Deserializer::from_str(text);
    loop {
        let outcome = Whole(collector).deserialize(&mut reader);
        if let Err(error) = outcome {
            return Err(collector
                .error
                .take()
                .unwrap_or_else(|| not_json(&error, first_line)));
        }
        // What follows is another value, or wrong.
        if reader.end().is_ok() {
            return Ok(());
        }
    }
}

fn not_json(error: &serde_json::Error, first_line: u64) -> ServeError {
    // The place is told by the line of the trace.
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    let problem = if error.is_data() {
        TraceProblem::NotAnObject
    } else {
        TraceProblem::NotReadable {
            format: "JSON",
            error: format!("{said}, column {}", error.column()),
        }
    };
    ServeError::TraceLine {
        line: first_line + (error.line() as u64).saturating_sub(1),
        problem,
    }
}

/// One value that is a request, or holds requests.
struct Whole<'c>(&'c mut Collector);

impl<'de> DeserializeSeed<'de> for Whole<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a request, which is an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        // A list may be all in one line.
        self.0.line = None;
        self.0.n_lists += 1;
        while list.next_element_seed(Whole(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let mut record = Record::default();
        let n_before = self.0.n_lists;
        fields(map, self.0, &mut record)?;
        // An object around a list of requests is none itself.
        let is_request = record.get(Kind::Arrival).is_some() && record.get(Kind::Prompt).is_some();
        if self.0.n_lists != n_before && !is_request {
            return Ok(());
        }
        self.0.add(&record).map_err(|error| {
            self.0.error = Some(error);
            A::Error::custom("")
        })
    }
}

/// Takes what is known of an object.
fn fields<'de, A: MapAccess<'de>>(
    mut map: A,
    collector: &mut Collector,
    record: &mut Record<'de>,
) -> Result<(), A::Error> {
    while let Some(Text(name)) = map.next_key_seed(TextSeed)? {
        let column = column(&name);
        let is_opened = is_opened(&name);
        if column.is_none() && !is_opened {
            map.next_value::<IgnoredAny>()?;
            continue;
        }
        map.next_value_seed(Field {
            column,
            is_opened,
            collector,
            record,
        })?;
    }
    Ok(())
}

/// A text, borrowed where it has no escapes.
struct Text<'de>(Cow<'de, str>);
struct TextSeed;

impl<'de> DeserializeSeed<'de> for TextSeed {
    type Value = Text<'de>;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Text<'de>, D::Error> {
        reader.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for TextSeed {
    type Value = Text<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'de>, E> {
        Ok(Text(text.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text<'de>, E> {
        Ok(Text(text.to_owned().into()))
    }
}

/// What stands under a known name.
struct Field<'c, 'de> {
    column: Option<Column>,
    is_opened: bool,
    collector: &'c mut Collector,
    record: &'c mut Record<'de>,
}

impl<'de> Field<'_, 'de> {
    fn put<E>(self, cell: Cell<'de>) -> Result<(), E> {
        if let Some(column) = self.column {
            self.record.put(column, cell);
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Field<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Field<'_, 'de> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: Error>(self, is_true: bool) -> Result<(), E> {
        self.put(Cell::Other(if is_true { "true" } else { "false" }))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.put(Cell::Number(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.put(Cell::Number(number as f64))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.put(Cell::Number(number as f64))
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<(), E> {
        self.put(Cell::Text(text.into()))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.put(Cell::Text(text.to_owned().into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        if self.is_opened && self.column.is_none() {
            return Whole(self.collector).visit_seq(list);
        }
        while list.next_element::<IgnoredAny>()?.is_some() {}
        self.put(Cell::Other("[…]"))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        if self.is_opened {
            return fields(map, self.collector, self.record);
        }
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.put(Cell::Other("{…}"))
    }
}
