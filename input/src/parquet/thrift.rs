//! Checks data in Thrift's compact protocol before a library reads it, which may reserve memory for as many elements as a list announces, or recurse
//! for each level. Walks a structure in constant memory: lists must end within the bytes, and nesting is at most [`MOST_DEPTH`] deep.

/// The deepest nesting of structures and lists; Parquet metadata has about six levels.
const MOST_DEPTH: usize = 24;

/// Visited together with the path of field numbers that leads to it.
pub(super) enum ThriftItem {
    Integer(i64),
    End,
}

/// Walks the structure at the beginning of `bytes`; returns its length. `None` if it is damaged.
pub(super) fn walk(bytes: &[u8], visit: &mut dyn FnMut(&[i16], ThriftItem) -> Option<()>) -> Option<usize> {
    let mut walk = Walk { bytes, at: 0, path: Vec::with_capacity(MOST_DEPTH), visit };
    walk.structure(0)?;
    Some(walk.at)
}

/// Reads the variable-length number at `at`, and moves `at` behind it.
pub(super) fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

struct Walk<'a, 'v> {
    bytes: &'a [u8],
    at: usize,
    path: Vec<i16>,
    visit: &'v mut dyn FnMut(&[i16], ThriftItem) -> Option<()>,
}

impl Walk<'_, '_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, bytes: u64) -> Option<()> {
        let left = (self.bytes.len() - self.at) as u64;
        (bytes <= left).then(|| self.at += bytes as usize)
    }

    fn varint(&mut self) -> Option<u64> {
        varint(self.bytes, &mut self.at)
    }

    fn integer(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }

    fn structure(&mut self, depth: usize) -> Option<()> {
        if depth > MOST_DEPTH {
            return None;
        }
        let mut field = 0i16;
        loop {
            let head = self.byte()?;
            if head == 0 {
                return (self.visit)(&self.path, ThriftItem::End);
            }
            field = match head >> 4 {
                0 => i16::try_from(self.integer()?).ok()?,
                step => field.checked_add(i16::from(step))?,
            };
            self.path.push(field);
            // A boolean's value is part of its type.
            if !matches!(head & 15, 1 | 2) {
                self.value(head & 15, depth + 1)?;
            }
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > MOST_DEPTH {
            return None;
        }
        match kind {
            1..=3 => self.skip(1),
            4..=6 => {
                let value = self.integer()?;
                (self.visit)(&self.path, ThriftItem::Integer(value))
            }
            7 => self.skip(8),
            8 => {
                let length = self.varint()?;
                self.skip(length)
            }
            9 | 10 => {
                let head = self.byte()?;
                let length = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                // Each element takes at least a byte.
                if length > (self.bytes.len() - self.at) as u64 {
                    return None;
                }
                (0..length).try_for_each(|_| self.value(head & 15, depth + 1))
            }
            11 => {
                let length = self.varint()?;
                if length == 0 {
                    return Some(());
                }
                let kinds = self.byte()?;
                (0..length).try_for_each(|_| {
                    self.value(kinds >> 4, depth + 1)?;
                    self.value(kinds & 15, depth + 1)
                })
            }
            12 => self.structure(depth),
            13 => self.skip(16),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bytes: &[u8]) -> Option<(usize, Vec<String>)> {
        let mut found = Vec::new();
        let end = walk(bytes, &mut |path, value| {
            found.push(match value {
                ThriftItem::Integer(value) => format!("{path:?}={value}"),
                ThriftItem::End => format!("{path:?}."),
            });
            Some(())
        })?;
        Some((end, found))
    }

    #[test]
    fn a_structure_is_walked_to_its_end() {
        // 1: i32 -1; 2: a list of two structures {5: i32 3}; 20: true; 21: "ab".
        let bytes = [0x15, 1, 0x19, 0x2c, 0x55, 6, 0, 0x55, 6, 0, 0x01, 40, 0x18, 2, b'a', b'b', 0, 99];
        let (end, values) = found(&bytes).unwrap();
        assert_eq!(end, bytes.len() - 1);
        assert_eq!(values, ["[1]=-1", "[2, 5]=3", "[2].", "[2, 5]=3", "[2].", "[]."]);
        for cut in 0..end {
            assert_eq!(found(&bytes[..cut]), None, "{cut}");
        }
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_refused() {
        // A list of 2^34 bytes, a text of as many, a number without an end.
        assert_eq!(found(&[0x19, 0xf3, 0x80, 0x80, 0x80, 0x80, 0x40, 0, 0]), None);
        assert_eq!(found(&[0x18, 0x80, 0x80, 0x80, 0x80, 0x40, 0, 0]), None);
        assert_eq!(found(&[[0x16].as_slice(), &[0x80; 20]].concat()), None);
        assert_eq!(found(&[[0x1c; 10].as_slice(), &[0; 11]].concat()).unwrap().0, 21);
        assert_eq!(found(&[[0x1c; 1000].as_slice(), &[0; 1001]].concat()), None);
        assert_eq!(found(&[[0x19].as_slice(), &[0x19; 1000], &[0; 1001]].concat()), None);
    }
}
