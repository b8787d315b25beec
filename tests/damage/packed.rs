//! Compressed inputs: the checksums of gzip, and of zstd where the writer added them.

use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

use trimill::testing::control::Control;
use trimill::testing::error::{Kind, Result};
use trimill::testing::input::format::Format;
use trimill::testing::input::{ArcSink, Source};

#[derive(Default)]
struct Keep(Mutex<Vec<(u64, u64)>>);

impl ArcSink for Keep {
    fn arcs(&self, batch: &[(u64, u64)]) -> Result<()> {
        self.0.lock().unwrap().extend_from_slice(batch);
        Ok(())
    }
}

fn read(path: &Path) -> Result<Vec<(u64, u64)>> {
    let keep = Keep::default();
    Source::open(&[path.to_path_buf()], Some(Format::Text), &std::env::temp_dir())?.scan(&keep, &Control::silent())?;
    Ok(keep.0.into_inner().unwrap())
}

#[test]
fn a_flipped_bit_gives_an_error_or_the_same_arcs() {
    let dir = tempfile::tempdir().unwrap();
    let text: String = (0..40).map(|i| format!("{i} {}\n", i * 7919 % 41)).collect();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gz.write_all(text.as_bytes()).unwrap();
    let mut zst = zstd::Encoder::new(Vec::new(), 3).unwrap();
    zst.include_checksum(true).unwrap();
    zst.write_all(text.as_bytes()).unwrap();
    for (name, whole) in [("g.txt.gz", gz.finish().unwrap()), ("g.txt.zst", zst.finish().unwrap())] {
        let path = dir.path().join(name);
        std::fs::write(&path, &whole).unwrap();
        let arcs = read(&path).unwrap();
        assert_eq!(arcs.len(), 40);
        let mut refused = 0;
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, flipped).unwrap();
            match read(&path) {
                // The bit was in a time or a flag of the header.
                Ok(found) => assert_eq!(found, arcs, "{name}: bit {bit}"),
                Err(error) => {
                    assert_eq!(error.kind(), Kind::Data, "{name}: bit {bit}: {error}");
                    assert!(error.to_string().contains(name), "{name}: bit {bit}: {error}");
                    refused += 1;
                }
            }
        }
        assert!(refused > 7 * whole.len(), "{name}: {refused} of {} bits", 8 * whole.len());
        for cut in 1..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(read(&path).unwrap_err().kind(), Kind::Data, "{name}: {cut} bytes");
        }
    }
}
