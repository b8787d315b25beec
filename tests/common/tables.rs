//! Writes tables of Parquet.

use std::sync::Arc;

use parquet::column::writer::ColumnWriter;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

/// A file with a row group for each of `groups`, whose columns `fill` writes, given the number of each.
pub(crate) fn parquet<G>(
    columns: &str,
    properties: WriterProperties,
    groups: impl IntoIterator<Item = G>,
    fill: impl Fn(&G, usize, &mut ColumnWriter<'_>),
) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message m {{ {columns} }}")).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    for values in groups {
        let (mut group, mut number) = (writer.next_row_group().unwrap(), 0);
        while let Some(mut column) = group.next_column().unwrap() {
            fill(&values, number, column.untyped());
            column.close().unwrap();
            number += 1;
        }
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}
