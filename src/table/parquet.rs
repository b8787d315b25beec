//! Counts as Parquet tables: columns of unsigned integers or doubles, never null, in zstd. All threads encode row groups' columns, written in order.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::{ColumnCloseResult, ColumnWriterImpl};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnDescPtr, ColumnPath, SchemaDescriptor, TypePtr};

use super::columns::{ColumnValue, CountRows, CountsInOrder};
use trimill_graph::names::Names;
use trimill_system::disk::Output;
use trimill_system::ordered::make_and_write;
use trimill_system::{Error, Result};

const AT_A_TIME: usize = 1 << 12;

/// Rows of a row group; fewer with names, which may be long.
const GROUP: usize = 1 << 17;
const NAMED_GROUP: usize = 1 << 14;

type EncodedColumn = std::result::Result<(Bytes, ColumnCloseResult), ParquetError>;

/// Runs in the current thread pool.
pub(super) fn write<C: CountsInOrder>(to: &mut Output, counts: &C) -> Result<()> {
    let name = to.name().to_path_buf();
    let failed = |error| failed(&name, error);
    let has_names = counts.has_names();
    let (schema, properties) = layout::<C::Rows<'static>>(&counts.names(), has_names).map_err(failed)?;
    let of_group = if has_names { NAMED_GROUP } else { GROUP };
    let descriptors = SchemaDescriptor::new(Arc::clone(&schema)).columns().to_vec();
    let mut writer = SerializedFileWriter::new(to, schema, Arc::clone(&properties)).map_err(failed)?;
    counts.in_order(&mut |rows| {
        let make = |group: u64, encoded: &mut Vec<(Bytes, ColumnCloseResult)>| {
            let first = group as usize * of_group;
            let places = first..rows.count().min(first + of_group);
            let columns = descriptors.iter().zip(<C::Rows<'_> as CountRows>::COLUMNS);
            let columns = columns.map(|(descriptor, (_, value))| {
                let encoder = ColumnEncoder { descriptor: Arc::clone(descriptor), properties: Arc::clone(&properties) };
                let (names, rows) = (rows.names(), rows.range(places.clone()));
                // Unsigned numbers are stored as signed ones with the same bits.
                match *value {
                    ColumnValue::Id(id) => match names {
                        Some(names) => encoder.names(names, rows.map(|row| id(&row))),
                        None => encoder.column::<Int64Type>(rows.map(|row| id(&row) as i64)).map_err(failed),
                    },
                    ColumnValue::U64(value) => {
                        encoder.column::<Int64Type>(rows.map(|row| value(&row) as i64)).map_err(failed)
                    }
                    ColumnValue::U32(value) => {
                        encoder.column::<Int32Type>(rows.map(|row| value(&row) as i32)).map_err(failed)
                    }
                    ColumnValue::F64(value) => {
                        encoder.column::<DoubleType>(rows.map(|row| value(&row))).map_err(failed)
                    }
                }
            });
            encoded.clear();
            for column in columns {
                encoded.push(column?);
            }
            Ok(())
        };
        make_and_write(rows.count().div_ceil(of_group) as u64, make, |columns: &Vec<(Bytes, ColumnCloseResult)>| {
            let mut group = writer.next_row_group().map_err(failed)?;
            for (bytes, close) in columns {
                group.append_column(bytes, close.clone()).map_err(failed)?;
            }
            group.close().map(drop).map_err(failed)
        })
    })?;
    writer.close().map(drop).map_err(failed)
}

fn layout<R: CountRows>(
    names: &[&str],
    has_names: bool,
) -> std::result::Result<(TypePtr, WriterPropertiesPtr), ParquetError> {
    // No dictionary, since ids, counts and coefficients hardly repeat; the columns are compressed in any case.
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_dictionary_enabled(false)
        .set_created_by(concat!("trimill ", env!("CARGO_PKG_VERSION")).into());
    let mut schema = String::from("message trimill {");
    for (name, (_, value)) in names.iter().zip(R::COLUMNS) {
        schema += &match value {
            ColumnValue::Id(_) if has_names => format!("required byte_array {name} (STRING);"),
            ColumnValue::Id(_) | ColumnValue::U64(_) => format!("required int64 {name} (INTEGER(64, false));"),
            ColumnValue::U32(_) => format!("required int32 {name} (INTEGER(32, false));"),
            ColumnValue::F64(_) => format!("required double {name};"),
        };
        let encoding = match value {
            // Front-coded, as they mostly ascend.
            ColumnValue::Id(_) if has_names => Some(Encoding::DELTA_BYTE_ARRAY),
            _ => R::AS_DIFFERENCES.then_some(Encoding::DELTA_BINARY_PACKED),
        };
        if let Some(encoding) = encoding {
            properties = properties.set_column_encoding(ColumnPath::from(*name), encoding);
        }
    }
    Ok((Arc::new(parse_message_type(&(schema + "}"))?), Arc::new(properties.build())))
}

struct ColumnEncoder {
    descriptor: ColumnDescPtr,
    properties: WriterPropertiesPtr,
}

impl ColumnEncoder {
    fn names(self, names: &Names, ids: impl Iterator<Item = u64>) -> Result<(Bytes, ColumnCloseResult)> {
        let mut reader = names.reader();
        let values = ids.map(|id| reader.name(id).map(|name| ByteArray::from(name.to_vec())));
        let values: Vec<ByteArray> = values.collect::<Result<_>>()?;
        let defect = |error| Error::defect(format!("names that are not encoded: {error}"));
        self.column::<ByteArrayType>(values.into_iter()).map_err(defect)
    }

    fn column<T: DataType>(self, mut values: impl Iterator<Item = T::T>) -> EncodedColumn {
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

fn failed(name: &std::path::Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => Error::write(name, *source),
            Err(source) => Error::resource(format!("cannot be written: {source}")).at(name),
        },
        other => Error::resource(format!("cannot be written: {other}")).at(name),
    }
}
