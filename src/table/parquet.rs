//! Counts as Parquet tables: columns of unsigned integers or doubles, never null, in zstd. All threads encode row groups' columns, written in order.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, SchemaDescriptor, TypePtr};

use super::columns::{ColumnValue, CountRows, CountsInOrder, in_batches};
use super::text::USUAL_NAME;
use trimill_graph::names::{NameReader, Names};
use trimill_system::disk::Output;
use trimill_system::ordered::make_and_write_parts;
use trimill_system::{Error, Result};

/// Rows of a row group; fewer with names, and still fewer if these are longer than usual.
const GROUP: usize = 1 << 17;
const NAMED_GROUP: usize = 1 << 14;

/// A row group ends early if its names take more bytes: names are sorted, so long ones may stand together.
const MOST_NAMED: usize = 5 << 20;

type EncodedGroup = Vec<(Bytes, ColumnCloseResult)>;

/// Runs in the current thread pool.
pub(super) fn write<C: CountsInOrder>(to: &mut Output, counts: &C) -> Result<()> {
    let name = to.name().to_path_buf();
    let failed = |error| failed(&name, error);
    let has_names = counts.has_names();
    let (schema, properties) = layout::<C::Rows<'static>>(&counts.names(), has_names).map_err(failed)?;
    let descriptors = SchemaDescriptor::new(Arc::clone(&schema)).columns().to_vec();
    let mut writer = SerializedFileWriter::new(to, schema, Arc::clone(&properties)).map_err(failed)?;
    counts.in_order(&mut |rows| {
        let of_group = rows.names().map_or(GROUP, |names| names.as_many_as(NAMED_GROUP, USUAL_NAME));
        // Returns the place behind the last of the rows that are in the group.
        let encode = |places: Range<usize>, encoded: &mut EncodedGroup| -> Result<usize> {
            encoded.clear();
            let mut buffers: Vec<_> = descriptors.iter().map(|_| TrackedWrite::new(Vec::new())).collect();
            let values = <C::Rows<'_> as CountRows>::COLUMNS.iter().zip(&descriptors);
            let columns = buffers.iter_mut().zip(values).map(|(buffer, ((_, value), descriptor))| {
                let pages = Box::new(SerializedPageWriter::new(buffer));
                let writer = get_column_writer(Arc::clone(descriptor), Arc::clone(&properties), pages);
                OpenColumn { value, writer, names: rows.names().map(Names::reader), named: 0 }
            });
            let mut columns: Vec<_> = columns.collect();
            let end = in_batches(rows, places, |some| {
                columns.iter_mut().try_for_each(|column| column.put(some)?.map(drop).map_err(failed))?;
                Ok(columns.iter().map(|column| column.named).sum::<usize>() <= MOST_NAMED)
            })?;
            let closed: Vec<_> = columns.into_iter().map(|column| column.writer.close()).collect();
            for (buffer, close) in buffers.into_iter().zip(closed) {
                encoded.push((Bytes::from(buffer.into_inner().map_err(failed)?), close.map_err(failed)?));
            }
            Ok(end)
        };
        make_and_write_parts(
            rows.count().div_ceil(of_group) as u64,
            |group, encoded: &mut EncodedGroup, write_part| {
                let first = group as usize * of_group;
                let end = rows.count().min(first + of_group);
                let mut next = encode(first..end, encoded)?;
                while next < end {
                    write_part(encoded)?;
                    next = encode(next..end, encoded)?;
                }
                Ok(())
            },
            |columns: &EncodedGroup| {
                let mut group = writer.next_row_group().map_err(failed)?;
                for (bytes, close) in columns {
                    group.append_column(bytes, close.clone()).map_err(failed)?;
                }
                group.close().map(drop).map_err(failed)
            },
        )
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
        // Names are plain: not every program reads text as differences, and compressed they take about as much.
        let is_number = !matches!(value, ColumnValue::Id(_) if has_names);
        if R::AS_DIFFERENCES && is_number {
            properties = properties.set_column_encoding(ColumnPath::from(*name), Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok((Arc::new(parse_message_type(&(schema + "}"))?), Arc::new(properties.build())))
}

/// A column of a row group that is being encoded.
struct OpenColumn<'a, R: 'static> {
    value: &'static ColumnValue<R>,
    writer: ColumnWriter<'a>,
    /// If ids are names.
    names: Option<NameReader<'a>>,
    /// Bytes of names so far.
    named: usize,
}

impl<R> OpenColumn<'_, R> {
    /// Unsigned numbers are stored as signed ones with the same bits. The outer error is that of reading names.
    fn put(&mut self, rows: &[R]) -> Result<std::result::Result<usize, ParquetError>> {
        Ok(match (&mut self.writer, self.value, &mut self.names) {
            (ColumnWriter::ByteArrayColumnWriter(writer), ColumnValue::Id(id), Some(names)) => {
                let names = rows.iter().map(|row| Ok(ByteArray::from(names.name(id(row))?.to_vec())));
                let names = names.collect::<Result<Vec<_>>>()?;
                self.named += names.iter().map(ByteArray::len).sum::<usize>();
                writer.write_batch(&names, None, None)
            }
            (ColumnWriter::Int64ColumnWriter(writer), ColumnValue::Id(value) | ColumnValue::U64(value), _) => {
                writer.write_batch(&rows.iter().map(|row| value(row) as i64).collect::<Vec<_>>(), None, None)
            }
            (ColumnWriter::Int32ColumnWriter(writer), ColumnValue::U32(value), _) => {
                writer.write_batch(&rows.iter().map(|row| value(row) as i32).collect::<Vec<_>>(), None, None)
            }
            (ColumnWriter::DoubleColumnWriter(writer), ColumnValue::F64(value), _) => {
                writer.write_batch(&rows.iter().map(value).collect::<Vec<_>>(), None, None)
            }
            _ => return Err(Error::defect("a column of a table has another type than its values")),
        })
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
