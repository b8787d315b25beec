//! An array of integers in a file, from some offset on: one of NumPy, or one of another format that has the same bytes.

use super::header::{MOST, NpyHeader};
use crate::file::InputFile;
use crate::storage::FilePart;
use trimill_system::{Error, Result};

pub(crate) const OF_MATRIX: &str =
    "save an adjacency matrix as a sparse one: scipy.sparse.save_npz('NEW.npz', scipy.sparse.csr_array(matrix))";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NpyIntegers {
    /// 1, 2, 4 or 8 bytes.
    width: u8,
    signed: bool,
    big_endian: bool,
}

impl NpyIntegers {
    pub(crate) const I32: Self = Self { width: 4, signed: true, big_endian: false };
    pub(crate) const I64: Self = Self { width: 8, signed: true, big_endian: false };

    /// By the name of a type in NumPy, such as `<i8`; `None` if it is no type of integers.
    fn of(descr: &str) -> Option<Self> {
        let &[order, kind, width] = descr.as_bytes() else { return None };
        let fits = matches!((order, width), (b'|', b'1') | (b'<' | b'>', b'1' | b'2' | b'4' | b'8'));
        let known = fits && matches!(kind, b'i' | b'u');
        known.then(|| Self { width: width - b'0', signed: kind == b'i', big_endian: order == b'>' })
    }

    pub(crate) const fn bytes(self) -> u64 {
        self.width as u64
    }

    /// The integer with index `at` in `bytes`, which must be long enough. The error is a negative one.
    #[inline(always)]
    pub(crate) fn get(self, bytes: &[u8], at: usize) -> Result<u64, i64> {
        match self.width {
            1 => self.value(bytes.as_chunks::<1>().0[at]),
            2 => self.value(bytes.as_chunks::<2>().0[at]),
            4 => self.value(bytes.as_chunks::<4>().0[at]),
            _ => self.value(bytes.as_chunks::<8>().0[at]),
        }
    }

    /// Passes all integers in `bytes` to `take`, each with its index. The type is looked at once, not for each of them.
    #[inline(always)]
    pub(crate) fn each(self, bytes: &[u8], mut take: impl FnMut(usize, Result<u64, i64>) -> Result<()>) -> Result<()> {
        match self.width {
            1 => (0..).zip(bytes.as_chunks::<1>().0).try_for_each(|(at, &raw)| take(at, self.value(raw))),
            2 => (0..).zip(bytes.as_chunks::<2>().0).try_for_each(|(at, &raw)| take(at, self.value(raw))),
            4 => (0..).zip(bytes.as_chunks::<4>().0).try_for_each(|(at, &raw)| take(at, self.value(raw))),
            _ => (0..).zip(bytes.as_chunks::<8>().0).try_for_each(|(at, &raw)| take(at, self.value(raw))),
        }
    }

    #[inline(always)]
    fn value<const N: usize>(self, mut raw: [u8; N]) -> Result<u64, i64> {
        if self.big_endian {
            raw.reverse();
        }
        let mut wide = [0; 8];
        wide[..N].copy_from_slice(&raw);
        let value = u64::from_le_bytes(wide);
        let unused = 64 - 8 * N as u32;
        let signed = ((value << unused) as i64) >> unused;
        if self.signed && signed < 0 { Err(signed) } else { Ok(value) }
    }
}

pub(crate) struct NpyArray {
    pub(crate) file: InputFile,
    pub(crate) integers: NpyIntegers,
    pub(crate) length: u64,
    start: u64,
}

impl NpyArray {
    /// The `length` integers from byte `start` of `file` on, which must have them all.
    pub(crate) fn within(file: InputFile, start: u64, length: u64, integers: NpyIntegers) -> Self {
        Self { file, integers, length, start }
    }

    /// The array in the `bytes` from `start` of `file`, which hold nothing else, and its header.
    pub(crate) fn open(file: InputFile, start: u64, bytes: u64) -> Result<(Self, NpyHeader)> {
        let wrong = |found: String| Error::data(&file.path, found);
        let mut head = vec![0; bytes.min(MOST) as usize];
        file.read_exact_at(&mut head, start)?;
        let header = NpyHeader::of(&head).map_err(|found| {
            wrong(found.into()).expected("the header of a .npy file").advice("write it again with numpy.save")
        })?;
        let descr = header.descr.as_deref();
        let Some(integers) = descr.and_then(NpyIntegers::of) else {
            let found =
                descr.map_or("records".to_string(), |descr| format!("elements of type '{}'", descr.escape_debug()));
            let advice = match (descr, &header.shape[..]) {
                (None, _) => {
                    "save the two columns with the ends of edges, such as numpy.column_stack([edges['u'], edges['v']])"
                }
                (_, [rows, columns]) if rows == columns && *rows > 2 => OF_MATRIX,
                _ => "convert them before they are saved: edges.astype(numpy.int64)",
            };
            return Err(wrong(found).expected("integers of 1, 2, 4 or 8 bytes").advice(advice));
        };
        let length = header.elements().filter(|length| length.checked_mul(8).is_some());
        let expected = length.and_then(|length| (length * integers.bytes()).checked_add(header.end));
        match (length, expected) {
            (Some(length), Some(expected)) if expected == bytes => {
                let start = start + header.end;
                Ok((Self { file, integers, length, start }, header))
            }
            _ => Err(wrong(format!("{bytes} bytes"))
                .expected(match expected {
                    Some(expected) => format!("{expected} for an array of shape {}", header.shown_shape()),
                    None => format!("as many as an array of shape {} has, which no file can", header.shown_shape()),
                })
                .advice("the file is cut, or holds more than one array: write it again with numpy.save")),
        }
    }

    pub(super) fn halves(self) -> (Self, Self) {
        let (integers, length) = (self.integers, self.length / 2);
        let second = Self::within(self.file.clone(), self.start + integers.bytes() * length, length, integers);
        (Self { length, ..self }, second)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.length * self.integers.bytes()
    }

    pub(crate) fn window(&self, first: u64, end: u64) -> Result<FilePart> {
        let bytes = self.integers.bytes();
        self.file.window(self.start + bytes * first, self.start + bytes * end)
    }

    /// Reads the bytes of the integers from index `first` on.
    pub(crate) fn read(&self, first: u64, into: &mut [u8]) -> Result<()> {
        self.file.read_exact_at(into, self.start + self.integers.bytes() * first)
    }

    pub(crate) fn get(&self, at: u64) -> Result<u64> {
        let mut bytes = [0; 8];
        let bytes = &mut bytes[..self.integers.bytes() as usize];
        self.read(at, bytes)?;
        self.integers.get(bytes, 0).map_err(|value| self.negative(at, value))
    }

    pub(crate) fn negative(&self, at: u64, value: i64) -> Error {
        Error::data(&self.file.path, format!("the negative number {value} at place {at}")).expected("numbers from 0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_all_types_have_their_values() {
        for (descr, bytes, value) in [
            ("|u1", &[0xff][..], Ok(255)),
            ("|i1", &[0xff], Err(-1)),
            ("<i2", &[0x34, 0x12], Ok(0x1234)),
            (">i2", &[0x12, 0x34], Ok(0x1234)),
            (">i2", &[0x80, 0], Err(-0x8000)),
            ("<u2", &[0, 0x80], Ok(0x8000)),
            ("<u4", &[0, 0, 0, 0x80], Ok(1 << 31)),
            ("<i4", &[0, 0, 0, 0x80], Err(-(1 << 31))),
            (">u8", &[0xff, 0, 0, 0, 0, 0, 0, 1], Ok(0xff00_0000_0000_0001)),
            ("<i8", &[1, 0, 0, 0, 0, 0, 0, 0x7f], Ok(0x7f00_0000_0000_0001)),
            ("<i8", &[0, 0, 0, 0, 0, 0, 0, 0x80], Err(i64::MIN)),
        ] {
            let integers = NpyIntegers::of(descr).unwrap();
            assert_eq!(integers.bytes() as usize, bytes.len());
            assert_eq!(integers.get(&[&[9; 8][..bytes.len()], bytes].concat(), 1), value, "{descr}");
        }
        for descr in ["<f8", "|b1", "|i2", "=i4", "<i3", "<c16", "|S3", "i4", "<i16", "|O", ""] {
            assert_eq!(NpyIntegers::of(descr), None, "{descr}");
        }
    }
}
