//! Manifests: the bytes as a file, and with a valid checksum.

use trimill::testing::spill::Manifest;

use super::{Place, is_told, seal};

pub(super) fn check(place: &Place, bytes: &[u8]) {
    file(place, bytes);
    file(place, &seal::manifest(bytes));
}

fn file(place: &Place, bytes: &[u8]) {
    let path = place.write("manifest.json", bytes);
    let manifest = match Manifest::read(place.dir()) {
        Ok(manifest) => manifest,
        Err(error) => return is_told(&error, &path),
    };
    for partition in &manifest.partitions {
        // None of the spills exists, and nothing outside of the folder is opened.
        if let Err(error) = manifest.open(place.dir(), partition) {
            is_told(&error, &place.dir().join(&partition.file));
        }
    }
    manifest.write(place.dir()).expect("written");
    assert_eq!(Manifest::read(place.dir()).expect("what was written"), manifest);
}
