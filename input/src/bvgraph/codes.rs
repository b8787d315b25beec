//! Reads numbers in the codes of BVGraphs, from streams that may be damaged. A number that no graph has is an error before its bits are read.
//! Definitions: Boldi and Vigna, 'Codes for the World Wide Web' (Internet Mathematics 2, 2005); for pi, Apostolico and Drovandi, 'Graph compression
//! by BFS' (Algorithms 2, 2009). A code within a window is read at once.

use dsi_bitstream::dispatch::Codes;

use super::bits::{BitOrder, BitReader, WINDOW_BITS};

/// The most bits of a number: signed distances between 32-bit ids take 33, and codes one more.
const MOST_BITS: u64 = 40;

#[inline(always)]
pub(super) fn read<O: BitOrder>(code: Codes, bits: &mut BitReader<'_, O>) -> Option<u64> {
    match code {
        Codes::Gamma => gamma(bits),
        Codes::Zeta(k) => zeta(bits, k as u32),
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
        _ => None,
    }
}

#[inline(always)]
fn unary<O: BitOrder>(bits: &mut BitReader<'_, O>) -> Option<u64> {
    let zeros = O::zeros(bits.window()?);
    if zeros < WINDOW_BITS {
        bits.advance(zeros + 1);
        return Some(zeros.into());
    }
    long_unary(bits)
}

#[cold]
fn long_unary<O: BitOrder>(bits: &mut BitReader<'_, O>) -> Option<u64> {
    let mut sum = 0;
    loop {
        let zeros = O::zeros(bits.window()?);
        if zeros < WINDOW_BITS {
            bits.advance(zeros + 1);
            return Some(sum + u64::from(zeros));
        }
        bits.advance(WINDOW_BITS);
        sum += u64::from(WINDOW_BITS);
    }
}

#[inline(always)]
fn gamma<O: BitOrder>(bits: &mut BitReader<'_, O>) -> Option<u64> {
    let window = bits.window()?;
    let zeros = O::zeros(window);
    if 2 * zeros < WINDOW_BITS {
        bits.advance(2 * zeros + 1);
        return Some((1 << zeros) - 1 + O::first(O::skip(window, zeros + 1), zeros));
    }
    let length = unary(bits)?;
    below_power(bits, length)
}

#[inline(always)]
fn zeta<O: BitOrder>(bits: &mut BitReader<'_, O>, k: u32) -> Option<u64> {
    // A minimal binary code of 2^low (2^k - 1) numbers: those with `length` bits are below `short`.
    let window = bits.window()?;
    let zeros = O::zeros(window);
    let low = zeros * k;
    let length = low + k - 1;
    if zeros < WINDOW_BITS && zeros + 2 + length <= WINDOW_BITS {
        let rest = O::skip(window, zeros + 1);
        let (short, prefix) = (1 << low, O::first(rest, length));
        let one_more = O::first(O::skip(rest, length), 1);
        let is_long = prefix >= short;
        bits.advance(zeros + 1 + length + u32::from(is_long));
        return Some(if is_long { (prefix << 1 | one_more) - 1 } else { short + prefix - 1 });
    }
    let low = at_most(unary(bits)? * u64::from(k), MOST_BITS)?;
    let short = 1 << low;
    let prefix = number(bits, low + u64::from(k) - 1)?;
    let rest = if prefix < short { prefix } else { (prefix << 1 | number(bits, 1)?) - short };
    Some(short + rest - 1)
}

#[inline(always)]
fn omega<O: BitOrder>(bits: &mut BitReader<'_, O>) -> Option<u64> {
    let mut value = 1;
    while number(bits, 1)? == 1 {
        // The one bit that was read is the highest of the `value + 1` bits of the next number.
        let length = at_most(value, MOST_BITS)?;
        value = 1 << length | number(bits, length)?;
    }
    Some(value - 1)
}

/// Reads `length` bits; the number plus 1 has these after its highest bit.
#[inline(always)]
fn below_power<O: BitOrder>(bits: &mut BitReader<'_, O>, length: u64) -> Option<u64> {
    let rest = number(bits, at_most(length, MOST_BITS)?)?;
    Some((1 << length) - 1 + rest)
}

/// The number in the next `length` bits, fewer than a window has.
#[inline(always)]
fn number<O: BitOrder>(bits: &mut BitReader<'_, O>, length: u64) -> Option<u64> {
    let number = O::first(bits.window()?, length as u32);
    bits.advance(length as u32);
    Some(number)
}

#[inline(always)]
pub(super) fn at_most(value: u64, most: u64) -> Option<u64> {
    (value <= most).then_some(value)
}

#[cfg(test)]
mod tests {
    use dsi_bitstream::dispatch::DynamicCodeWrite;
    use dsi_bitstream::impls::{BufBitWriter, MemWordWriterVec};
    use dsi_bitstream::traits::{BE, BitWrite, LE};

    use super::super::bits::{HighFirst, LowFirst};
    use super::*;
    use crate::tests::stored;

    fn codes() -> impl Iterator<Item = Codes> {
        let numbered = (1..=7).map(Codes::Zeta).chain((1..=4).map(Codes::Pi));
        [Codes::Gamma, Codes::Delta, Codes::Omega].into_iter().chain(numbered)
    }

    fn numbers() -> impl Iterator<Item = u64> {
        (0..200).chain((1..=33).flat_map(|bits| [(1u64 << bits) - 2, (1 << bits) - 1, 1 << bits, (1 << bits) + 1]))
    }

    macro_rules! round_trip {
        ($order:ty, $ours:ty, $code:expr) => {{
            let mut words: Vec<u64> = Vec::new();
            let mut writer = BufBitWriter::<$order, _>::new(MemWordWriterVec::new(&mut words));
            for number in numbers() {
                DynamicCodeWrite::write(&$code, &mut writer, number).unwrap();
            }
            BitWrite::flush(&mut writer).unwrap();
            drop(writer);
            let file = stored(bytemuck::cast_slice(&words));
            let mut bits = BitReader::<$ours>::new(&file, 8 * words.len() as u64, None);
            for number in numbers() {
                assert_eq!(read($code, &mut bits), Some(number), "{:?}", $code);
            }
        }};
    }

    #[test]
    fn numbers_that_the_library_wrote_are_read() {
        for code in codes() {
            round_trip!(BE, HighFirst, code);
            round_trip!(LE, LowFirst, code);
        }
    }

    #[test]
    fn what_is_no_number_is_an_error_in_every_code() {
        for byte in [0, 0xff, 0x55, 1, 0x80] {
            let file = stored(&[byte; 256]);
            for code in codes().chain([Codes::Unary]) {
                // Ends without a panic.
                let mut bits = BitReader::<HighFirst>::new(&file, 256, None);
                while read(code, &mut bits).is_some() {}
                let mut bits = BitReader::<LowFirst>::new(&file, 256, None);
                while read(code, &mut bits).is_some() {}
            }
        }
    }
}
