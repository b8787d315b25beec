//! Tables in Arrow's format as edges: two columns of integers, in any number of chunks, not copied, or two of text.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatchReader, UInt32Array};
use arrow_schema::{DataType, Schema};
use trimill::{Column, Control, Error, Pairs, Result};

/// The edges of a table: integers stay in the stream's chunks; text is numbered, and the texts are returned in the order of their numbers.
///
/// # Errors
/// The columns `ends`, or all without names, are not two of integers or two of text; nulls; an error of the stream; a stop.
pub(crate) fn pairs(
    reader: RecordBatchStreamReader,
    ends: Option<[String; 2]>,
    control: &Control,
) -> Result<(Pairs<'static>, Option<Vec<String>>)> {
    let schema = reader.schema();
    let places = match &ends {
        Some([source, target]) => [place(&schema, source)?, place(&schema, target)?],
        None if schema.fields().len() == 2 => [0, 1],
        None => {
            let names = names(&schema);
            return Err(Error::usage(format!("{} columns: {}", names.len(), names.join(", ")))
                .at("table")
                .expected("two, the vertices of each edge")
                .advice("name them: source=, target="));
        }
    };
    let fields = places.map(|place| schema.field(place));
    let text = fields.map(|field| is_text(field.data_type()));
    for (field, text) in fields.iter().zip(text) {
        if !text && !field.data_type().is_integer() {
            return Err(Error::usage(format!("the column {} has the type {}", field.name(), field.data_type()))
                .at("table")
                .expected("integers of 8 to 64 bits, or text"));
        }
    }
    if text[0] != text[1] {
        let types = fields.map(|field| format!("{}: {}", field.name(), field.data_type())).join(", ");
        return Err(Error::usage(types).at("table").expected("ids of one kind: integers or text in both columns"));
    }
    let mut columns = [Chunks::default(), Chunks::default()];
    let mut labels = text[0].then(Labels::default);
    for batch in reader {
        control.check()?;
        let batch = batch.map_err(|error| wrong(error.to_string()))?;
        // Dictionaries of an empty batch may have no values, and their keys cannot be looked up.
        if batch.num_rows() == 0 {
            continue;
        }
        for ((column, field), place) in columns.iter_mut().zip(fields).zip(places) {
            let chunk = batch.column(place);
            column.check(field.name(), chunk)?;
            match &mut labels {
                Some(labels) => column.push(field.name(), &labels.numbers(chunk, control)?)?,
                None => column.push(field.name(), chunk)?,
            }
        }
    }
    let [first, second] = columns;
    let pairs = Pairs::new(first, second)?.named(fields[0].name(), fields[1].name());
    Ok((pairs, labels.map(Labels::listed)))
}

fn names(schema: &Schema) -> Vec<&str> {
    schema.fields().iter().map(|field| field.name().as_str()).collect()
}

/// The index of the only column of this name.
fn place(schema: &Schema, name: &str) -> Result<usize> {
    let mut found = (0..schema.fields().len()).filter(|&place| schema.field(place).name() == name);
    let error = match (found.next(), found.next()) {
        (Some(place), None) => return Ok(place),
        (Some(_), Some(_)) => Error::usage(format!("several columns '{name}'")).expected("one"),
        (None, _) => Error::usage(format!("no column {name}")).expected(format!("one of {}", names(schema).join(", "))),
    };
    Err(error.at("table"))
}

fn is_text(of: &DataType) -> bool {
    match of {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// Rows between two checks for a stop.
const ROWS: usize = 1 << 16;

fn check(row: usize, control: &Control) -> Result<()> {
    if row.is_multiple_of(ROWS) { control.check() } else { Ok(()) }
}

/// Texts and their numbers, which are consecutive from 0 on.
#[derive(Default)]
struct Labels(HashMap<String, u32>);

impl Labels {
    fn number(&mut self, text: &str) -> Result<u32> {
        if let Some(&number) = self.0.get(text) {
            return Ok(number);
        }
        let next = u32::try_from(self.0.len()).map_err(|_| wrong("2^32 names of vertices".into()).expected("fewer"))?;
        self.0.insert(text.into(), next);
        Ok(next)
    }

    fn all<'a>(&mut self, texts: impl Iterator<Item = &'a str>, control: &Control) -> Result<Vec<u32>> {
        let number = |(row, text)| check(row, control).and_then(|()| self.number(text));
        texts.enumerate().map(number).collect()
    }

    /// The numbers of a chunk of texts without nulls.
    fn numbers(&mut self, chunk: &ArrayRef, control: &Control) -> Result<ArrayRef> {
        let numbers: Result<Vec<u32>> = match chunk.data_type() {
            DataType::Utf8 => self.all(chunk.as_string::<i32>().iter().flatten(), control),
            DataType::LargeUtf8 => self.all(chunk.as_string::<i64>().iter().flatten(), control),
            DataType::Utf8View => self.all(chunk.as_string_view().iter().flatten(), control),
            _ => {
                let Some(coded) = chunk.as_any_dictionary_opt().filter(|_| is_text(chunk.data_type())) else {
                    return Err(wrong(format!("a chunk of the type {}", chunk.data_type())).expected("text"));
                };
                // A dictionary may have texts that no row has.
                let (keys, values) = (coded.normalized_keys(), coded.values());
                let mut known = vec![None; values.len()];
                let mut number = |key: usize| match known[key] {
                    Some(number) => Ok(number),
                    None => {
                        let one = values.slice(key, 1);
                        let number = self.numbers(&one, control)?.as_primitive::<UInt32Type>().value(0);
                        known[key] = Some(number);
                        Ok(number)
                    }
                };
                keys.into_iter().enumerate().map(|(row, key)| check(row, control).and_then(|()| number(key))).collect()
            }
        };
        Ok(Arc::new(UInt32Array::from(numbers?)))
    }

    fn listed(self) -> Vec<String> {
        let mut texts = vec![String::new(); self.0.len()];
        self.0.into_iter().for_each(|(text, number)| texts[number as usize] = text);
        texts
    }
}

fn wrong(found: String) -> Error {
    Error::data("table", found)
}

#[derive(Default)]
struct Chunks {
    chunks: Vec<Box<dyn Column>>,
    /// Where each begins.
    starts: Vec<u64>,
    len: u64,
    width: u64,
}

impl Chunks {
    /// Refuses a chunk with nulls.
    fn check(&self, name: &str, chunk: &ArrayRef) -> Result<()> {
        if let Some(nulls) = chunk.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            let row = self.len + nulls.iter().take_while(|&valid| valid).count() as u64;
            return Err(wrong(format!("the column {name} has no value in row {row}"))
                .expected("a vertex in every row")
                .advice("drop such rows first"));
        }
        Ok(())
    }

    fn push(&mut self, name: &str, chunk: &ArrayRef) -> Result<()> {
        if chunk.is_empty() {
            return Ok(());
        }
        let start = self.len;
        let column = match chunk.data_type() {
            DataType::Int8 => values::<Int8Type>(chunk, start),
            DataType::Int16 => values::<Int16Type>(chunk, start),
            DataType::Int32 => values::<Int32Type>(chunk, start),
            DataType::Int64 => values::<Int64Type>(chunk, start),
            DataType::UInt8 => values::<UInt8Type>(chunk, start),
            DataType::UInt16 => values::<UInt16Type>(chunk, start),
            DataType::UInt32 => values::<UInt32Type>(chunk, start),
            DataType::UInt64 => values::<UInt64Type>(chunk, start),
            other => return Err(wrong(format!("the column {name} has a chunk of the type {other}"))),
        };
        self.width = column.width();
        self.chunks.push(column);
        self.starts.push(start);
        self.len += chunk.len() as u64;
        Ok(())
    }
}

impl Column for Chunks {
    fn len(&self) -> u64 {
        self.len
    }

    fn read_ids(&self, first: u64, ids: &mut [u64]) -> Result<()> {
        self.places(first, ids.len())?;
        let (mut at, mut rest) = (first, ids);
        let mut number = self.starts.partition_point(|&start| start <= first).saturating_sub(1);
        while !rest.is_empty() {
            let end = self.starts.get(number + 1).copied().unwrap_or(self.len);
            let (now, later) = rest.split_at_mut(rest.len().min((end - at) as usize));
            self.chunks[number].read_ids(at, now)?;
            at += now.len() as u64;
            (rest, number) = (later, number + 1);
        }
        Ok(())
    }

    fn width(&self) -> u64 {
        self.width
    }
}

/// A chunk, numbered by places in the whole column, so that errors name them.
struct Chunk<T: ArrowPrimitiveType> {
    values: PrimitiveArray<T>,
    start: u64,
}

fn values<T: ArrowPrimitiveType>(chunk: &ArrayRef, start: u64) -> Box<dyn Column>
where
    T::Native: Into<i128>,
{
    Box::new(Chunk { values: chunk.as_primitive::<T>().clone(), start })
}

impl<T: ArrowPrimitiveType> Column for Chunk<T>
where
    T::Native: Into<i128>,
{
    fn len(&self) -> u64 {
        self.start + self.values.len() as u64
    }

    fn read_ids(&self, first: u64, ids: &mut [u64]) -> Result<()> {
        let values = &self.values.values()[(first - self.start) as usize..];
        for ((place, id), &value) in (first..).zip(ids).zip(values) {
            *id = Self::id(value.into(), place)?;
        }
        Ok(())
    }

    fn width(&self) -> u64 {
        size_of::<T::Native>() as u64
    }
}
