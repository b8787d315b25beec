//! Sequences of numbers in about as many bits as they need. A number is divided into groups of bits, lowest first: one group of `first` bits, then as
//! many groups of `more` bits as it takes. The number of groups is stored apart from the bits, as in Stream VByte (Lemire, Kurz, Rupp: Information
//! Processing Letters 2018), but in unary:
//!
//! ```text
//! header   u64        bits 0 to 7: `first`; 8 to 15: `more`; 16 to 63: the number of control bits
//! control  u64 words  for each number as many zeros as it has further groups, then a one; lowest bit first
//! data     u64 words  the groups of all numbers, lowest bit first; after the last word that has any, one more
//! ```
//!
//! Number `i`, whose control bits begin at bit `c`, has its groups at bit `first * i + more * (c - i)` of the data: every number is found
//! without decoding those before it, and a device decodes all at once. A sequence takes the groups that make it shortest
//! (`Groups::shortest`). The successors of GAP-kron 20 take 0.82 of the bytes of LEB128, those of cnr-2000 0.59.
//!
//! Cost: a few instructions per number, and no branch that depends on it.

mod decode;
mod encode;
mod groups;

pub use decode::NumberSequence;
pub(super) use decode::{FOUND, WORDS, find_ones};
pub use encode::encode;
pub use groups::{Groups, Wrong};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::encode::lengths_of;
    use super::groups::{MOST_MORE, TOO_LONG};
    use super::*;

    fn encoded(numbers: &[u32]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(numbers, &mut bytes);
        bytes
    }

    fn decoded(bytes: &[u8], many: usize) -> Result<Vec<u32>, Wrong> {
        let (sequence, rest) = NumberSequence::split(bytes, many as u64)?;
        let mut numbers = vec![7; many];
        sequence.decode(&mut numbers)?;
        if rest.is_empty() { Ok(numbers) } else { Err("more bytes") }
    }

    fn numbers() -> impl Strategy<Value = Vec<u32>> {
        let number = (any::<u32>(), prop_oneof![Just(32u32), 20u32..31, 28u32..33, Just(24)]);
        let number = number.prop_map(|(number, shift)| number.checked_shr(shift).unwrap_or(0));
        prop_oneof![
            prop::collection::vec(number, 0..300),
            prop::collection::vec(any::<u32>(), 0..100),
            (0u32..1 << 13, 0usize..500).prop_map(|(number, many)| vec![number; many]),
        ]
    }

    proptest! {
        #[test]
        fn numbers_come_back(numbers in numbers()) {
            let bytes = encoded(&numbers);
            prop_assert_eq!(decoded(&bytes, numbers.len()), Ok(numbers.clone()));
            for other in [bytes[..bytes.len() - 8].to_vec(), [&bytes[..], &[0; 8]].concat()] {
                prop_assert!(decoded(&other, numbers.len()).is_err());
            }
            prop_assert!(decoded(&bytes, numbers.len() + 1).is_err());
            prop_assert!(numbers.is_empty() || decoded(&bytes, numbers.len() - 1).is_err());
        }

        #[test]
        fn no_other_groups_are_shorter(numbers in numbers()) {
            // The sizes that the head of this module gives, number by number.
            let size = |first: u32, more: u32| -> u64 {
                let of = |&number: &u32| {
                    let mut groups = 0;
                    while u64::from(number) >> (first + more * groups) != 0 {
                        groups += 1;
                    }
                    u64::from(1 + groups + first + more * groups)
                };
                numbers.iter().map(of).sum()
            };
            let all = (1..=MOST_MORE).flat_map(|more| (0..=32).map(move |first| (size(first, more), more, first)));
            let best = all.min().unwrap();
            let (groups, bits) = Groups::shortest(&lengths_of(&numbers));
            prop_assert_eq!((bits, groups.more, groups.first), best);
        }
    }

    #[test]
    fn a_number_of_33_bits_is_an_error() {
        for (first, further) in [(0u64, 11u64), (32, 1)] {
            let header = first | 3 << 8 | (further + 1) << 16;
            let words = |data: u64| [header, 1 << further, data, 0].map(u64::to_le_bytes).concat();
            assert_eq!(decoded(&words(0xffff_ffff), 1), Ok(vec![u32::MAX]));
            assert_eq!(decoded(&words(1 << 32), 1), Err(TOO_LONG));
        }
    }
}
