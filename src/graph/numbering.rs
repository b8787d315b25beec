//! Numbers: positions in falling degree order.
//!
//! The vertex of largest degree has number 0; among equal degrees the larger id comes first. So every arc of the
//! oriented graph (lower degree to higher, ties from the smaller id to the larger, as in LSTC, section 4.1.1) goes from
//! the larger number to the smaller one. A counting sort: `O(n)` time, 4 bytes for each degree that could occur on top
//! of the two results of 4 bytes a vertex.

/// The numbers of `n` vertices and the way back.
#[derive(Debug, Clone, Default)]
pub struct Numbering {
    /// `number_of[id]`.
    pub number_of: Vec<u32>,
    /// `id_of[number]`.
    pub id_of: Vec<u32>,
}

impl Numbering {
    /// Numbers vertices by their degrees.
    pub fn by_degree(degrees: &[u32]) -> Self {
        Self::of(numbers(degrees))
    }

    /// The way there and back, from the numbers of all ids.
    pub fn of(number_of: Vec<u32>) -> Self {
        let mut id_of = vec![0; number_of.len()];
        for (id, &number) in number_of.iter().enumerate() {
            id_of[number as usize] = id as u32;
        }
        Self { number_of, id_of }
    }
}

/// The number of each vertex. Vertices of degree 0 come last.
pub fn numbers(degrees: &[u32]) -> Vec<u32> {
    let most = degrees.iter().copied().max().unwrap_or(0) as usize;
    let mut next = vec![0u32; most + 1];
    for &degree in degrees {
        next[degree as usize] += 1;
    }
    // Where each degree's numbers end: ids are met in ascending order, and the larger id has the smaller number.
    let mut end = 0;
    for count in next.iter_mut().rev() {
        end += *count;
        *count = end;
    }
    degrees
        .iter()
        .map(|&degree| {
            let slot = &mut next[degree as usize];
            *slot -= 1;
            *slot
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falling_degree_and_ties_by_falling_id() {
        let degrees = [2, 5, 2, 0, 5, 1];
        let numbering = Numbering::by_degree(&degrees);
        assert_eq!(numbering.id_of, [4, 1, 2, 0, 5, 3]);
        assert_eq!(numbering.number_of, [3, 1, 2, 5, 0, 4]);
    }
}
