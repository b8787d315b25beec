//! Chooses the reader of each format, and of a pipe that is read as it arrives.

use super::HowToOpen;
use crate::binary::Binary;
use crate::file::InputFile;
use crate::format::Format;
use crate::gapbs::GapbsSg;
use crate::graphalytics::Graphalytics;
use crate::matrix_market::MatrixMarket;
use crate::metis::Metis;
use crate::names::NamedEdges;
use crate::npy::Npy;
use crate::pipe::{PairStream, Pipe};
use crate::settings::InputSettings;
use crate::text::EdgeListText;
use crate::{Reader, scipy};
use trimill_system::{Error, Kind, Result};

/// Opens the files of a graph of any format but a BVGraph; returns their size in bytes.
pub(super) fn open_reader(
    format: Format,
    files: Vec<InputFile>,
    reading: &InputSettings,
    how: &HowToOpen<'_>,
) -> Result<(u64, Box<dyn Reader>)> {
    let HowToOpen { work_dir, control, .. } = *how;
    let window = how.sizes.window;
    // Files of other formats are decompressed one after another.
    let zstd_window = how.sizes.zstd_window(if format == Format::Text { files.len() } else { 1 });
    let readable = |file: InputFile| {
        let file = InputFile { zstd_window, ..file }.packed_once()?;
        match format {
            Format::Text | Format::Graphalytics => Ok(file),
            Format::BinU32 | Format::BinU64 | Format::Graph500 | Format::GapbsSg => file.unpacked(work_dir, control),
            _ => file.decompressed(work_dir, control),
        }
    };
    let files: Vec<InputFile> = files.into_iter().map(readable).collect::<Result<_>>()?;
    let bytes = files.iter().map(|file| file.bytes).sum();
    let first = |files: Vec<InputFile>| files.into_iter().next().ok_or_else(|| Error::usage("no input"));
    let reader: Box<dyn Reader> = match format {
        Format::Text if reading.names => Box::new(NamedEdges::open(files, reading.header, window)?),
        Format::Text => Box::new(EdgeListText::open(files, reading.header, reading.format, window)?),
        Format::BinU32 | Format::BinU64 | Format::Graph500 => {
            Box::new(Binary::open(files, format, reading.format.is_some(), window)?)
        }
        Format::Npy => Box::new(Npy::open(files, window)?),
        #[cfg(feature = "parquet")]
        Format::Parquet => Box::new(crate::parquet::Parquet::open(files, reading, how)?),
        #[cfg(feature = "parquet")]
        Format::Arrow => Box::new(crate::arrow::Arrow::open(files, reading, how)?),
        #[cfg(not(feature = "parquet"))]
        Format::Parquet | Format::Arrow => {
            return Err(Error::usage(format!("a file of format {format}, which this build does not read"))
                .at(first(files)?.path)
                .advice("install one that does: cargo install --path . --features parquet"));
        }
        Format::Graphalytics => Box::new(Graphalytics::open(files, window)?),
        Format::ScipyNpz => {
            let matrix = scipy::open(&first(files)?, how)?;
            return Ok((matrix.bytes(), matrix));
        }
        Format::MatrixMarket => Box::new(MatrixMarket::open(first(files)?, window)?),
        Format::Metis => Box::new(Metis::open(first(files)?, window).map_err(|error| if_text(error, reading))?),
        Format::GapbsSg => Box::new(GapbsSg::open(first(files)?, window)?),
        Format::Bvgraph => return Err(Error::defect("a BVGraph that is read as arcs")),
    };
    Ok((bytes, reader))
}

/// Adds to an error about a METIS file that it may be an edge list, unless the user named the format.
pub(super) fn if_text(error: Error, reading: &InputSettings) -> Error {
    if reading.format.is_none() && error.kind() == Kind::Data {
        error.also("if it is an edge list, name it with --format text")
    } else {
        error
    }
}

/// A reader of a pipe, or the pipe, if it is to be copied.
pub(super) type BegunPipe = std::result::Result<(Format, Box<dyn Reader>), Pipe>;

pub(super) fn read_as_it_comes(mut pipe: Pipe, reading: &InputSettings, how: &HowToOpen<'_>) -> Result<BegunPipe> {
    if reading.format == Some(Format::BinU32) && !pipe.looks_compressed(how.control)? {
        reading.check(&pipe.path, Format::BinU32)?;
        return Ok(Ok((Format::BinU32, Box::new(PairStream::new(pipe)))));
    }
    #[cfg(feature = "parquet")]
    if matches!(reading.format, None | Some(Format::Arrow))
        && reading.check(&pipe.path, Format::Arrow).is_ok()
        && !reading.names
    {
        let begun = crate::arrow::ArrowStream::begin(pipe, reading, how)?;
        return Ok(begun.map(|stream| (Format::Arrow, Box::new(stream) as Box<dyn Reader>)));
    }
    Ok(Err(pipe))
}
