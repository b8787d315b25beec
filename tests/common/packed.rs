//! Files in the containers that inputs come in.

use std::io::{Cursor, Write};

use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

pub(crate) fn gz(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes.as_ref()).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zst(bytes: impl AsRef<[u8]>) -> Vec<u8> {
    zstd::bulk::compress(bytes.as_ref(), 1).unwrap()
}

/// A zip archive of deflated members: their names and contents.
pub(crate) fn zipped(members: &[(&str, &[u8])]) -> Vec<u8> {
    zipped_by(CompressionMethod::Deflated, members)
}

pub(crate) fn zipped_by(method: CompressionMethod, members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, contents) in members {
        zip.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(contents).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

pub(crate) fn tarred(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, contents) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(contents.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, name, *contents).unwrap();
    }
    tar.into_inner().unwrap()
}
