//! Which pieces of a long row of sections are encoded, and what the others will take.
//!
//! Enters: the raw bytes of the pieces of one section after another. Leaves: those that are met by steps of equal length
//! over the raw bytes of all sections; once they are encoded, what each section will take.
//!
//! Pieces are smaller than the blocks of a spill, so that many places are met, and smaller ones compress less well. So
//! a few blocks are encoded both whole and in pieces, and what that gains is taken for all.

/// Pieces that a section's ratio is taken from, at least, if there are so many.
const ENOUGH: usize = 16;

/// Of so many pieces met, one's block is encoded whole as well.
const WHOLE: usize = 16;

/// A walk over the sections of one kind.
#[derive(Debug, Default)]
pub(super) struct Walk {
    /// Raw bytes between two steps.
    step: u64,
    /// Where the next step falls.
    next: u64,
    /// Raw bytes of all sections so far.
    end: u64,
    met: Vec<Met>,
    /// What blocks took whole, and in pieces.
    whole: [u64; 2],
}

/// A piece that was met.
#[derive(Debug)]
struct Met {
    /// Its middle.
    at: u64,
    raw: u64,
    stored: u64,
}

/// A section's place in a walk.
#[derive(Debug)]
pub(super) struct Span {
    begin: u64,
    end: u64,
    pieces: usize,
    /// What it takes, where all of it was met.
    stored: Option<u64>,
}

/// A piece to be encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chosen {
    /// Which piece of the section.
    pub(super) piece: usize,
    /// Whether its block is to be encoded whole and in pieces, see [`Walk::compare`].
    pub(super) whole: bool,
    at: u64,
}

impl Walk {
    /// From here on, meets pieces of `piece` bytes, `sample` bytes in all among the next `raw` ones; all, if those are not more.
    pub(super) fn pace(&mut self, raw: u64, sample: u64, piece: u64) {
        self.step = if raw <= sample { 1 } else { (raw as f64 / sample as f64 * piece as f64) as u64 };
        self.next = self.end + self.step / 2;
    }

    /// Whether it meets everything, so that pieces may be whole blocks.
    pub(super) fn meets_all(&self) -> bool {
        self.step == 1
    }

    /// Walks over the pieces of the next section.
    pub(super) fn over(&mut self, pieces: impl Iterator<Item = u64>) -> (Span, Vec<Chosen>) {
        let (begin, mut count, mut chosen) = (self.end, 0, Vec::new());
        for raw in pieces {
            let at = self.end + raw / 2;
            self.end += raw;
            if self.next < self.end {
                let whole = !self.meets_all() && (self.met.len() + chosen.len()).is_multiple_of(WHOLE);
                chosen.push(Chosen { piece: count, whole, at });
                self.next += (self.end - self.next).next_multiple_of(self.step);
            }
            count += 1;
        }
        (Span { begin, end: self.end, pieces: count, stored: None }, chosen)
    }

    /// Takes what blocks took whole, and what in pieces.
    pub(super) fn compare(&mut self, whole: u64, in_pieces: u64) {
        self.whole[0] += whole;
        self.whole[1] += in_pieces;
    }

    /// Takes what the chosen pieces of a section held and took.
    pub(super) fn take(&mut self, span: &mut Span, chosen: &[Chosen], encoded: &[(u64, u64)]) {
        if self.meets_all() && span.pieces == chosen.len() {
            span.stored = Some(encoded.iter().map(|&(_, stored)| stored).sum());
        }
        self.met.extend(chosen.iter().zip(encoded).map(|(chosen, &(raw, stored))| Met { at: chosen.at, raw, stored }));
    }

    /// What a section takes on disk for each raw byte.
    pub(super) fn ratio(&self, span: &Span) -> f64 {
        if let Some(stored) = span.stored {
            return stored as f64 / (span.end - span.begin).max(1) as f64;
        }
        let first = self.met.partition_point(|met| met.at < span.begin);
        let last = self.met.partition_point(|met| met.at < span.end);
        let (mut first, mut last) = (first, last);
        while last - first < ENOUGH.min(self.met.len()) {
            let before = first.checked_sub(1).map(|i| span.begin - self.met[i].at);
            let after = self.met.get(last).map(|met| met.at - span.end);
            match (before, after) {
                (Some(before), Some(after)) if before > after => last += 1,
                (Some(_), _) => first -= 1,
                _ => last += 1,
            }
        }
        let sum = |of: fn(&Met) -> u64| self.met[first..last].iter().map(of).sum::<u64>() as f64;
        let gain = if self.whole[1] == 0 { 1.0 } else { self.whole[0] as f64 / self.whole[1] as f64 };
        gain * sum(|met| met.stored) / sum(|met| met.raw).max(1.0)
    }
}

impl Span {
    /// Its raw bytes.
    pub(super) fn raw(&self) -> u64 {
        self.end - self.begin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: u64 = 1 << 16;

    /// Walks over a section of pieces of one length, each of which takes a share of it that depends on its place.
    fn section(walk: &mut Walk, pieces: u64, raw: u64, share: impl Fn(usize) -> f64) -> (Span, usize) {
        let (mut span, chosen) = walk.over((0..pieces).map(|_| raw));
        let encoded: Vec<_> = chosen.iter().map(|c| (raw, (raw as f64 * share(c.piece)) as u64)).collect();
        walk.take(&mut span, &chosen, &encoded);
        (span, chosen.len())
    }

    #[test]
    fn a_small_sum_is_met_whole_and_known_exactly() {
        let mut walk = Walk::default();
        walk.pace(3 * 700 + 5 * 10, 1 << 20, PIECE);
        assert!(walk.meets_all());
        let (a, met) = section(&mut walk, 3, 700, |_| 0.5);
        assert_eq!(met, 3);
        let (b, met) = section(&mut walk, 5, 10, |piece| if piece == 0 { 1.0 } else { 0.1 });
        assert_eq!(met, 5);
        assert_eq!((walk.ratio(&a), walk.ratio(&b)), (0.5, 14.0 / 50.0));
        let (none, _) = section(&mut walk, 0, 0, |_| 1.0);
        assert_eq!(walk.ratio(&none), 0.0);
    }

    #[test]
    fn a_slope_is_met_all_along_it_and_whole_blocks_gain_what_a_few_showed() {
        let mut walk = Walk::default();
        walk.pace(1000 * PIECE, 20 * PIECE, PIECE);
        let (span, met) = section(&mut walk, 1000, PIECE, |piece| 0.2 + piece as f64 / 2000.0);
        assert_eq!(met, 20);
        assert!((walk.ratio(&span) - 0.45).abs() < 0.005, "{}", walk.ratio(&span));
        walk.compare(90, 100);
        assert!((walk.ratio(&span) - 0.405).abs() < 0.005, "{}", walk.ratio(&span));
    }

    #[test]
    fn a_section_that_was_missed_is_like_its_neighbours() {
        let mut walk = Walk::default();
        walk.pace(430 * PIECE, 43 * PIECE, PIECE);
        let (_, met) = section(&mut walk, 200, PIECE, |_| 0.3);
        assert_eq!(met, 20);
        let (missed, met) = section(&mut walk, 3, PIECE, |_| 0.9);
        assert_eq!(met, 0);
        let (last, _) = section(&mut walk, 227, PIECE, |_| 0.5);
        assert!((walk.ratio(&missed) - 0.4).abs() < 0.02, "{}", walk.ratio(&missed));
        assert_eq!(walk.ratio(&last), 0.5);
    }
}
