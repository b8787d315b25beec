//! Counts at vertices as a Parquet table: columns `id` and `triangles` (unsigned 64 bits), `degree` (unsigned 32 bits) and
//! `local_clustering` (double), none of them null, compressed with zstd. The columns of row groups are encoded by all threads, and
//! written in order.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::{DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};
use rayon::prelude::*;

use super::coefficient;
use super::order::{Row, Rows};
use crate::disk::Output;
use crate::error::{Error, Result};
use crate::ordered::make_and_write;

/// Rows of a row group.
const GROUP: usize = 1 << 17;

const SCHEMA: &str = "message trimill {
    required int64 id (INTEGER(64, false));
    required int32 degree (INTEGER(32, false));
    required int64 triangles (INTEGER(64, false));
    required double local_clustering;
}";

/// An encoded column of a row group.
type Column = (Bytes, ColumnCloseResult);

/// A table that is being written.
pub(super) struct Table<'a> {
    writer: SerializedFileWriter<&'a mut Output>,
    columns: Vec<ColumnDescPtr>,
    properties: WriterPropertiesPtr,
    name: std::path::PathBuf,
}

impl<'a> Table<'a> {
    /// Begins a table.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`].
    pub(super) fn begin(to: &'a mut Output) -> Result<Self> {
        let name = to.name().to_path_buf();
        let failed = |error| failed(&name, error);
        let schema = Arc::new(parse_message_type(SCHEMA).map_err(failed)?);
        let columns = SchemaDescriptor::new(Arc::clone(&schema)).columns().to_vec();
        let zstd = ZstdLevel::try_new(1).map_err(failed)?;
        // Ids and coefficients hardly repeat; the columns are compressed in any case.
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(zstd))
            .set_dictionary_enabled(false)
            .set_created_by(concat!("trimill ", env!("CARGO_PKG_VERSION")).into());
        let properties = Arc::new(properties.build());
        let writer = SerializedFileWriter::new(to, schema, Arc::clone(&properties)).map_err(failed)?;
        Ok(Self { writer, columns, properties, name })
    }

    /// Writes the rows of some vertices; runs in the current thread pool.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`].
    pub(super) fn rows(&mut self, rows: &Rows<'_>) -> Result<()> {
        let Self { writer, columns, properties, name } = self;
        let failed = |error| failed(name, error);
        let make = |group: u64| {
            let first = group as usize * GROUP;
            let places = first..rows.count().min(first + GROUP);
            let encoded = (0..columns.len()).into_par_iter().map(|column| {
                let (descriptor, properties) = (Arc::clone(&columns[column]), Arc::clone(properties));
                let rows = rows.range(places.clone());
                // Unsigned numbers are stored as signed ones with the same bits.
                match column {
                    0 => encode::<Int64Type>(descriptor, properties, rows.map(|row: Row| row.id as i64).collect()),
                    1 => encode::<Int32Type>(descriptor, properties, rows.map(|row| row.degree as i32).collect()),
                    2 => encode::<Int64Type>(descriptor, properties, rows.map(|row| row.triangles as i64).collect()),
                    _ => {
                        let local = rows.map(|row| coefficient(row.degree, row.triangles)).collect();
                        encode::<DoubleType>(descriptor, properties, local)
                    }
                }
            });
            encoded.collect::<std::result::Result<Vec<Column>, _>>().map_err(failed)
        };
        make_and_write(rows.count().div_ceil(GROUP) as u64, make, |columns: &Vec<Column>| {
            let mut group = writer.next_row_group().map_err(failed)?;
            for (bytes, close) in columns {
                group.append_column(bytes, close.clone()).map_err(failed)?;
            }
            group.close().map(drop).map_err(failed)
        })
    }

    /// Completes the table.
    ///
    /// # Errors
    /// [`crate::error::Kind::Resource`].
    pub(super) fn finish(self) -> Result<()> {
        let Self { writer, name, .. } = self;
        writer.close().map(drop).map_err(|error| failed(&name, error))
    }
}

fn encode<T: DataType>(
    descriptor: ColumnDescPtr,
    properties: WriterPropertiesPtr,
    values: Vec<T::T>,
) -> std::result::Result<Column, ParquetError> {
    let mut bytes = TrackedWrite::new(Vec::new());
    let pages = Box::new(SerializedPageWriter::new(&mut bytes));
    let mut writer = ColumnWriterImpl::<T>::new(descriptor, properties, pages);
    writer.write_batch(&values, None, None)?;
    let close = writer.close()?;
    Ok((Bytes::from(bytes.into_inner()?), close))
}

/// An error of the library: of the file, where it is one.
fn failed(name: &std::path::Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => Error::write(name, *source),
            Err(source) => Error::resource(format!("cannot be written: {source}")).at(name),
        },
        other => Error::resource(format!("cannot be written: {other}")).at(name),
    }
}
