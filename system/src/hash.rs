//! A hash of one number.

/// Mixes the bits of a key, so that each of them can select a bucket (the finaliser of MurmurHash3).
#[inline]
pub fn mix(mut key: u64) -> u64 {
    key = (key ^ (key >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    key = (key ^ (key >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    key ^ (key >> 33)
}
