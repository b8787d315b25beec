use rayon::prelude::*;

use super::*;

#[test]
fn what_goes_in_comes_out_whether_it_fits_or_not() {
    let dir = tempfile::tempdir().unwrap();
    for (memory, later) in [(0, 0), (1 << 14, 1 << 14), (1 << 30, 1 << 30), (1 << 30, 1 << 14), (1 << 30, 0)] {
        let buckets = Buckets::new(7, 200_000, memory, dir.path());
        (0u64..50)
            .into_par_iter()
            .try_for_each(|t| buckets.extend((0..4000).map(|i| ((i % 7) as usize, t * 4000 + i))))
            .unwrap();
        buckets.flush().unwrap();
        assert_eq!(buckets.bytes_written() > 0, memory < 1 << 20);
        buckets.keep_at_most(later).unwrap();
        assert_eq!(buckets.bytes_written() > 0, later < 1 << 20);
        assert!(buckets.held.load(Ordering::Relaxed) <= later);
        let mut all = Vec::new();
        for bucket in 0..7 {
            let before = all.len();
            let len = buckets.len(bucket);
            buckets
                .take_in_parts(bucket, 1000, |chunks| {
                    assert!(chunks.len() == 1 || chunks.iter().map(Vec::len).sum::<usize>() <= 1000);
                    all.extend(chunks.into_iter().flatten());
                    Ok(())
                })
                .unwrap();
            assert_eq!((all.len() - before) as u64, len);
            assert!(all[before..].iter().all(|key| (key % 4000) % 7 == bucket as u64));
        }
        all.sort_unstable();
        assert_eq!(all, (0..200_000).collect::<Vec<u64>>());
        assert_eq!(buckets.held.load(Ordering::Relaxed), 0);
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "the file has no name");
}

#[test]
fn a_full_disk_is_described_without_a_bound_that_is_not_known() {
    for (expected, said) in [(1000, " at most, of which "), (u64::MAX, "that are sorted, of which ")] {
        let buckets = Buckets::new(1, expected, 0, Path::new("."));
        let error = buckets.without_room(Error::write("file", std::io::ErrorKind::FileTooLarge.into())).to_string();
        assert!(error.contains(said), "{error}");
    }
}
