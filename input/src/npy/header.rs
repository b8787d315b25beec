//! The header of a `.npy` file: which elements the array has, how many, and where they begin.
//!
//! | bytes | |
//! | --- | --- |
//! | 6 | `\x93NUMPY` |
//! | 2 | the version: 1.0, 2.0 or 3.0 |
//! | 2, from version 2.0 on 4 | the length of the text, little-endian |
//! | | the text ([`super::literal`]), padded with blanks |

use super::literal::{Dictionary, dictionary};

pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The most bytes of a header. NumPy itself reads texts of 10,000 bytes.
pub(crate) const MOST: u64 = 1 << 16;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NpyHeader {
    /// The type of elements, as NumPy writes it; `None` for records.
    pub(crate) descr: Option<String>,
    /// Whether columns, not rows, are stored one after another.
    pub(crate) fortran: bool,
    pub(crate) shape: Vec<u64>,
    pub(crate) end: u64,
}

impl NpyHeader {
    /// Reads the header of a file that begins with `bytes`; the error says what is wrong.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self, &'static str> {
        let rest = bytes.strip_prefix(MAGIC).ok_or("no NumPy array")?;
        let (&[major, minor], rest) = rest.split_first_chunk::<2>().ok_or("a header that is cut")?;
        if !matches!((major, minor), (1..=3, 0)) {
            return Err("a version that is not known");
        }
        let (length, text, fixed) = if major == 1 {
            let (length, rest) = rest.split_first_chunk::<2>().ok_or("a header that is cut")?;
            (u64::from(u16::from_le_bytes(*length)), rest, 10)
        } else {
            let (length, rest) = rest.split_first_chunk::<4>().ok_or("a header that is cut")?;
            (u64::from(u32::from_le_bytes(*length)), rest, 12)
        };
        if length > MOST - fixed {
            return Err("a header that is too long");
        }
        let text = text.get(..length as usize).ok_or("a header that is cut")?;
        let text = std::str::from_utf8(text).map_err(|_| "a header that is no text")?;
        let Dictionary { descr, fortran, shape } =
            dictionary(text).ok_or("a header without the descr, fortran_order and shape that NumPy writes")?;
        Ok(Self { descr, fortran, shape, end: fixed + length })
    }

    /// The number of elements; `None` if it is above 2^64.
    pub(crate) fn elements(&self) -> Option<u64> {
        self.shape.iter().try_fold(1u64, |product, &length| product.checked_mul(length))
    }

    /// The shape as Python writes it.
    pub(crate) fn shown_shape(&self) -> String {
        let lengths: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        if let [only] = &lengths[..] { format!("({only},)") } else { format!("({})", lengths.join(", ")) }
    }
}
