//! Parquet tables: columns that are never null, compressed with zstd. The columns of row groups are encoded
//! by all threads, and written in order.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnPath, SchemaDescriptor};
use rayon::prelude::*;

use trimill_system::disk::Output;
use trimill_system::error::{Error, Result};
use trimill_system::ordered::make_and_write;

/// Values that are encoded at a time.
const AT_A_TIME: usize = 1 << 12;

/// An encoded column of a row group.
pub(crate) type EncodedColumn = std::result::Result<(Bytes, ColumnCloseResult), ParquetError>;

pub(crate) struct ParquetTable<'a> {
    writer: SerializedFileWriter<&'a mut Output>,
    columns: Vec<ColumnDescPtr>,
    properties: WriterPropertiesPtr,
    name: std::path::PathBuf,
}

pub(crate) struct ColumnEncoder {
    descriptor: ColumnDescPtr,
    properties: WriterPropertiesPtr,
}

impl<'a> ParquetTable<'a> {
    /// Begins a table. `differences`: columns of which the differences from the row before are stored, bit-packed.
    pub(crate) fn begin(to: &'a mut Output, schema: &str, differences: &[&str]) -> Result<Self> {
        let name = to.name().to_path_buf();
        let failed = |error| failed(&name, error);
        let schema = Arc::new(parse_message_type(schema).map_err(failed)?);
        let columns = SchemaDescriptor::new(Arc::clone(&schema)).columns().to_vec();
        let zstd = ZstdLevel::try_new(1).map_err(failed)?;
        // Ids, counts and coefficients hardly repeat; the columns are compressed in any case.
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(zstd))
            .set_dictionary_enabled(false)
            .set_created_by(concat!("trimill ", env!("CARGO_PKG_VERSION")).into());
        let properties = differences.iter().fold(properties, |properties, column| {
            properties.set_column_encoding(ColumnPath::from(*column), Encoding::DELTA_BINARY_PACKED)
        });
        let properties = Arc::new(properties.build());
        let writer = SerializedFileWriter::new(to, schema, Arc::clone(&properties)).map_err(failed)?;
        Ok(Self { writer, columns, properties, name })
    }

    /// Writes so many row groups; `encode` makes a column of a row group. Runs in the current thread pool.
    pub(crate) fn write(
        &mut self,
        groups: usize,
        encode: impl Fn(usize, usize, ColumnEncoder) -> EncodedColumn + Sync,
    ) -> Result<()> {
        let Self { writer, columns, properties, name } = self;
        let failed = |error| failed(name, error);
        let make = |group: u64| {
            let encoded = columns.par_iter().enumerate().map(|(column, descriptor)| {
                let encoder = ColumnEncoder { descriptor: Arc::clone(descriptor), properties: Arc::clone(properties) };
                encode(group as usize, column, encoder)
            });
            encoded.collect::<std::result::Result<Vec<_>, _>>().map_err(failed)
        };
        make_and_write(groups as u64, make, |columns: &Vec<(Bytes, ColumnCloseResult)>| {
            let mut group = writer.next_row_group().map_err(failed)?;
            for (bytes, close) in columns {
                group.append_column(bytes, close.clone()).map_err(failed)?;
            }
            group.close().map(drop).map_err(failed)
        })
    }

    pub(crate) fn finish(self) -> Result<()> {
        let Self { writer, name, .. } = self;
        writer.close().map(drop).map_err(|error| failed(&name, error))
    }
}

impl ColumnEncoder {
    pub(crate) fn column<T: DataType>(self, mut values: impl Iterator<Item = T::T>) -> EncodedColumn {
        let mut bytes = TrackedWrite::new(Vec::new());
        let pages = Box::new(SerializedPageWriter::new(&mut bytes));
        let mut writer = ColumnWriterImpl::<T>::new(self.descriptor, self.properties, pages);
        let mut some = Vec::with_capacity(AT_A_TIME);
        loop {
            some.clear();
            some.extend(values.by_ref().take(AT_A_TIME));
            if some.is_empty() {
                break;
            }
            writer.write_batch(&some, None, None)?;
        }
        let close = writer.close()?;
        Ok((Bytes::from(bytes.into_inner()?), close))
    }
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
