//! Tables in Arrow's format as edges: two columns of integers, in any number of chunks, not copied.

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatchReader};
use arrow_schema::DataType;
use trimill::{Column, Control, Error, Pairs, Result};

/// The edges of a table; its chunks are kept as the stream hands them over.
///
/// # Errors
/// Other columns than two of integers; nulls; what the stream reports; a stop.
pub(crate) fn pairs(reader: RecordBatchStreamReader, control: &Control) -> Result<Pairs<'static>> {
    let schema = reader.schema();
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let [tails, heads] = names.as_slice() else {
        let found = format!("{} columns: {}", names.len(), names.join(", "));
        return Err(Error::usage(found)
            .at("table")
            .expected("two, the vertices of each edge")
            .advice("select them first"));
    };
    for field in schema.fields() {
        if !field.data_type().is_integer() {
            return Err(Error::usage(format!("the column {} has the type {}", field.name(), field.data_type()))
                .at("table")
                .expected("integers of 8 to 64 bits"));
        }
    }
    let mut columns = [Chunks::default(), Chunks::default()];
    for batch in reader {
        control.check()?;
        let batch = batch.map_err(|error| wrong(error.to_string()))?;
        for ((column, name), chunk) in columns.iter_mut().zip(&names).zip(batch.columns()) {
            column.push(name, chunk)?;
        }
    }
    let [first, second] = columns;
    Ok(Pairs::new(first, second)?.named(tails, heads))
}

fn wrong(found: String) -> Error {
    Error::data("table", found)
}

/// A column of several chunks.
#[derive(Default)]
struct Chunks {
    chunks: Vec<Box<dyn Column>>,
    /// Where each begins.
    starts: Vec<u64>,
    len: u64,
    width: u64,
}

impl Chunks {
    fn push(&mut self, name: &str, chunk: &ArrayRef) -> Result<()> {
        if chunk.is_empty() {
            return Ok(());
        }
        if let Some(nulls) = chunk.nulls().filter(|nulls| nulls.null_count() > 0) {
            let row = self.len + nulls.iter().take_while(|&valid| valid).count() as u64;
            return Err(wrong(format!("the column {name} has no value in row {row}"))
                .expected("a vertex in every row")
                .advice("drop such rows first"));
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

    fn read(&self, first: u64, ids: &mut [u64]) -> Result<()> {
        self.places(first, ids.len())?;
        let (mut at, mut rest) = (first, ids);
        let mut number = self.starts.partition_point(|&start| start <= first).saturating_sub(1);
        while !rest.is_empty() {
            let end = self.starts.get(number + 1).copied().unwrap_or(self.len);
            let (now, later) = rest.split_at_mut(rest.len().min((end - at) as usize));
            self.chunks[number].read(at, now)?;
            at += now.len() as u64;
            (rest, number) = (later, number + 1);
        }
        Ok(())
    }

    fn width(&self) -> u64 {
        self.width
    }
}

/// A chunk. Its places are those of the whole column, so that errors name them.
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

    fn read(&self, first: u64, ids: &mut [u64]) -> Result<()> {
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
