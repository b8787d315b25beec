//! Apache Parquet: a table with two columns of ids, a row for each arc. Integers of 32 and 64 bits, signed or not, or text where ids are names; a
//! negative number or a missing value is an error. [`schema`] chooses the columns. Pages are plain or compressed by snappy, zstd, gzip or LZ4. Ids
//! are delivered as stored. Row groups are read in parallel. Memory: for each thread a page of both columns (usually about 1 MiB), as stored and
//! decoded, and dictionaries; the metadata of all files. Pages for which the host's budget is too small are refused.

mod column;
mod footer;
mod pages;
mod schema;
mod thrift;

use std::ops::Range;
use std::sync::Arc;

use parquet::data_type::ByteArrayType;
use parquet::file::metadata::ParquetMetaData;

use super::arcs::SourceFacts;
use super::batch::ArcBatch;
use super::ends::check_alike;
use super::file::InputFile;
use super::names::{NameSink, NamedArcs, names_expected};
use super::parallel::{chunks, in_order};
use super::settings::InputSettings;
use super::source::HowToOpen;
use super::tables::{ROWS, deliver};
use super::{ArcSink, Reader};
use column::{ColumnValues, IdColumn};
use schema::EndColumn;
use trimill_system::control::{Control, Task};
use trimill_system::text::printable;
use trimill_system::{Error, Result};

/// Bytes of a page that are never too many: usual ones have 1 MiB.
const LEAST_PAGE: u64 = 2 << 20;

/// How many pages a thread holds at a time: one of each column, and the next one of a column, as stored and decoded.
const PAGES: u64 = 4;

pub(super) struct Parquet {
    tables: Vec<ParquetFile>,
    names: bool,
}

struct ParquetFile {
    file: Arc<InputFile>,
    metadata: ParquetMetaData,
    ends: [EndColumn; 2],
    groups: Vec<Range<u64>>,
    rows: u64,
    /// The most bytes of a page, as stored and decoded; it depends on the row groups of all files.
    most_page: u64,
}

impl Parquet {
    pub(super) fn open(files: Vec<InputFile>, reading: &InputSettings, how: &HowToOpen<'_>) -> Result<Self> {
        let mut tables: Vec<ParquetFile> =
            files.into_iter().map(|file| ParquetFile::open(file, reading)).collect::<Result<_>>()?;
        let ends = |table: &ParquetFile| table.ends.each_ref().map(|end| end.name.clone());
        check_alike(tables.iter().map(|table| (&*table.file.path, ends(table))))?;
        let groups: usize = tables.iter().map(|table| table.groups.len()).sum();
        let most_page = (how.sizes.decoder(groups) / PAGES).max(LEAST_PAGE);
        tables.iter_mut().for_each(|table| table.most_page = most_page);
        Ok(Self { tables, names: reading.names })
    }

    fn each_group(
        &self,
        control: &Control,
        task: &Task,
        work: impl Fn(&ParquetFile, usize) -> Result<u64> + Sync,
    ) -> Result<u64> {
        let groups: Vec<(&ParquetFile, usize)> =
            self.tables.iter().flat_map(|table| (0..table.groups.len()).map(move |group| (table, group))).collect();
        in_order(&groups, control, |&(table, group)| {
            let arcs = work(table, group)?;
            task.advance(table.file.bytes / table.groups.len() as u64);
            Ok(arcs)
        })
    }
}

impl ParquetFile {
    fn open(file: InputFile, reading: &InputSettings) -> Result<Self> {
        let metadata = footer::read(&file)?;
        let schema = metadata.file_metadata().schema_descr();
        let ends = schema::ends(schema, reading).map_err(|error| {
            let key = file.path.iter().find_map(|name| name.to_str().filter(|name| name.contains('=')));
            let error = error.at(&file.path);
            match key {
                Some(key) => error.also(&format!(
                    "'{}' in its path is no column of ids: both ends of edges are read from the files",
                    printable(key)
                )),
                None => error,
            }
        })?;
        let (mut groups, mut rows) = (Vec::with_capacity(metadata.num_row_groups()), 0u64);
        for group in metadata.row_groups() {
            let end = u64::try_from(group.num_rows()).ok().and_then(|more| rows.checked_add(more));
            let end =
                end.ok_or_else(|| Error::data(&file.path, format!("a row group of {} rows", group.num_rows())))?;
            groups.push(rows..end);
            rows = end;
        }
        Ok(Self { file: Arc::new(file), metadata, ends, groups, rows, most_page: LEAST_PAGE })
    }

    fn scan(&self, group: usize, batch: ArcBatch<'_>) -> Result<u64> {
        let mut ends = [IdColumn::new(self, group, 0)?, IdColumn::new(self, group, 1)?];
        let arcs = deliver(self.groups[group].clone(), batch, |end, rows, ids| ends[end].read(rows, ids))?;
        ends.into_iter().try_for_each(IdColumn::check_end)?;
        Ok(arcs)
    }

    fn scan_names(&self, group: usize, sink: &dyn NameSink, control: &Control) -> Result<u64> {
        let mut ends = [ColumnValues::<ByteArrayType>::new(self, group, 0)?, ColumnValues::new(self, group, 1)?];
        let (all, mut batch) = (&self.groups[group], NamedArcs::default());
        for rows in chunks(all.clone(), ROWS) {
            ends.iter_mut().try_for_each(|column| column.read(rows.clone()))?;
            for (at, row) in rows.enumerate() {
                for (end, column) in ends.iter().enumerate() {
                    batch.push(column.values[at].data()).map_err(|found| {
                        self.wrong(group, end, &format!("{found} in row {row}")).expected(names_expected())
                    })?;
                }
                batch.deliver_if_full(sink, control)?;
            }
        }
        ends.into_iter().try_for_each(ColumnValues::check_end)?;
        sink.arcs(&batch)?;
        Ok(all.end - all.start)
    }

    fn wrong(&self, group: usize, column: usize, found: &str) -> Error {
        let name = printable(&self.ends[column].name).into_owned();
        Error::data(&self.file.path, format!("the column '{name}' in row group {group}: {found}"))
    }
}

impl Reader for Parquet {
    fn facts(&self) -> SourceFacts {
        let arcs_at_most = self.tables.iter().fold(0_u64, |sum, table| sum.saturating_add(table.rows));
        SourceFacts { arcs_at_most, has_names: self.names, ..SourceFacts::default() }
    }

    fn scan(&self, sink: &dyn ArcSink, control: &Control, task: &Task) -> Result<u64> {
        self.each_group(control, task, |table, group| table.scan(group, ArcBatch::new(sink, control)))
    }

    fn scan_names(&self, sink: &dyn NameSink, control: &Control, task: &Task) -> Result<u64> {
        self.each_group(control, task, |table, group| table.scan_names(group, sink, control))
    }
}
