//! The codes of numbers, read from streams that may be damaged.
//!
//! The library's readers trust the stream: on a prefix that no number up to 2^64 has, they panic or return an arbitrary number. Here a
//! number that no graph has is an error before its bits are read. Definitions: Boldi and Vigna, 'Codes for the World Wide Web'
//! (Internet Mathematics 2, 2005); for pi, Apostolico and Drovandi, 'Graph compression by BFS' (Algorithms 2, 2009).

use dsi_bitstream::dispatch::Codes;
use dsi_bitstream::traits::{BitRead, Endianness};

/// What is no number, or no row, or ends too early.
#[derive(Debug)]
pub(super) struct Impossible;

/// The most bits of a number: signed distances between 32-bit ids take 33, and codes one more.
const MOST_BITS: u64 = 40;

/// Reads a number.
#[inline(always)]
pub(super) fn read<E: Endianness>(code: Codes, bits: &mut impl BitRead<E>) -> Result<u64, Impossible> {
    match code {
        Codes::Gamma => gamma(bits),
        Codes::Zeta(k) => zeta(bits, k),
        Codes::Unary => unary(bits),
        Codes::Delta => {
            let length = gamma(bits)?;
            below_power(bits, length)
        }
        Codes::Pi(k) => {
            let high = unary(bits)?;
            let length = at_most(high, MOST_BITS)? << k | number(bits, k as u64)?;
            below_power(bits, length)
        }
        Codes::Omega => omega(bits),
        _ => Err(Impossible),
    }
}

/// The number of zeros before a one.
#[inline(always)]
fn unary<E: Endianness>(bits: &mut impl BitRead<E>) -> Result<u64, Impossible> {
    bits.read_unary().map_err(|_| Impossible)
}

#[inline(always)]
fn gamma<E: Endianness>(bits: &mut impl BitRead<E>) -> Result<u64, Impossible> {
    let length = unary(bits)?;
    below_power(bits, length)
}

#[inline(always)]
fn zeta<E: Endianness>(bits: &mut impl BitRead<E>, k: usize) -> Result<u64, Impossible> {
    let low = at_most(unary(bits)? * k as u64, MOST_BITS)?;
    // A minimal binary code of 2^low (2^k - 1) numbers: those of `length` bits are below `short`.
    let length = low + k as u64 - 1;
    let short = 1 << low;
    let prefix = number(bits, length)?;
    let rest = if prefix < short { prefix } else { (prefix << 1 | number(bits, 1)?) - short };
    Ok(short + rest - 1)
}

#[inline(always)]
fn omega<E: Endianness>(bits: &mut impl BitRead<E>) -> Result<u64, Impossible> {
    let mut value = 1;
    while number(bits, 1)? == 1 {
        // The one that was read is the highest bit of `value + 1` bits.
        let length = at_most(value, MOST_BITS)?;
        value = 1 << length | number(bits, length)?;
    }
    Ok(value - 1)
}

/// The number whose successor has `length` bits after its highest one.
#[inline(always)]
fn below_power<E: Endianness>(bits: &mut impl BitRead<E>, length: u64) -> Result<u64, Impossible> {
    let rest = number(bits, at_most(length, MOST_BITS)?)?;
    Ok((1 << length) - 1 + rest)
}

#[inline(always)]
fn number<E: Endianness>(bits: &mut impl BitRead<E>, length: u64) -> Result<u64, Impossible> {
    bits.read_bits(length as usize).map_err(|_| Impossible)
}

#[inline(always)]
pub(super) fn at_most(value: u64, most: u64) -> Result<u64, Impossible> {
    if value <= most { Ok(value) } else { Err(Impossible) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use dsi_bitstream::dispatch::DynamicCodeWrite;
    use dsi_bitstream::impls::{BufBitReader, BufBitWriter, MemWordReader, MemWordWriterVec};
    use dsi_bitstream::traits::{BE, BitWrite, LE};

    use super::*;

    const CODES: [Codes; 14] = [
        Codes::Gamma,
        Codes::Delta,
        Codes::Omega,
        Codes::Zeta(1),
        Codes::Zeta(2),
        Codes::Zeta(3),
        Codes::Zeta(4),
        Codes::Zeta(5),
        Codes::Zeta(6),
        Codes::Zeta(7),
        Codes::Pi(1),
        Codes::Pi(2),
        Codes::Pi(3),
        Codes::Pi(4),
    ];

    fn numbers() -> impl Iterator<Item = u64> {
        (0..200).chain((1..=33).flat_map(|bits| [(1u64 << bits) - 2, (1 << bits) - 1, 1 << bits, (1 << bits) + 1]))
    }

    macro_rules! round_trip {
        ($order:ty, $code:expr) => {{
            let mut words: Vec<u64> = Vec::new();
            let mut writer = BufBitWriter::<$order, _>::new(MemWordWriterVec::new(&mut words));
            for number in numbers() {
                DynamicCodeWrite::write(&$code, &mut writer, number).unwrap();
            }
            writer.flush().unwrap();
            drop(writer);
            words.push(0);
            let halves: Vec<u32> = bytemuck::cast_slice(&words).to_vec();
            let mut reader = BufBitReader::<$order, _>::new(MemWordReader::new(halves));
            for number in numbers() {
                assert_eq!(read($code, &mut reader).ok(), Some(number), "{:?}", $code);
            }
        }};
    }

    #[test]
    fn numbers_that_the_library_wrote_are_read() {
        for code in CODES {
            round_trip!(BE, code);
            round_trip!(LE, code);
        }
    }

    #[test]
    fn what_is_no_number_is_an_error_in_every_code() {
        for word in [0, u32::MAX, 0x5555_5555, 1, 0x8000_0000] {
            for code in CODES.into_iter().chain([Codes::Unary]) {
                let mut reader = BufBitReader::<BE, _>::new(MemWordReader::new(vec![word; 64]));
                // Ends without a panic.
                while read(code, &mut reader).is_ok() {}
            }
        }
    }
}
