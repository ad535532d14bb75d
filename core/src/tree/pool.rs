//! A pool of records of one size: a bump pointer, then a list of freed records.

/// No record: what an empty link holds. Links hold slot + 1, so that zeroed memory holds no links.
pub const NONE: u32 = 0;

/// Which records of a slice are in use. The list of free ones runs through the records' first word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pool {
    /// Records from here on were never used: memory that is never touched is never paged in.
    fresh: u32,
    /// Head of the list of freed records.
    free: u32,
    live: u32,
}

impl Pool {
    /// Takes a record; gives back its link (slot + 1).
    pub fn take<const WORDS: usize>(&mut self, records: &mut [[u32; WORDS]]) -> Option<u32> {
        let link = if self.free != NONE {
            let link = self.free;
            self.free = records[link as usize - 1][0];
            link
        } else if (self.fresh as usize) < records.len() {
            self.fresh += 1;
            self.fresh
        } else {
            return None;
        };
        self.live += 1;
        records[link as usize - 1] = [0; WORDS];
        Some(link)
    }

    /// Gives a record back.
    pub fn give<const WORDS: usize>(&mut self, records: &mut [[u32; WORDS]], link: u32) {
        records[link as usize - 1][0] = self.free;
        self.free = link;
        self.live -= 1;
    }

    /// Records in use.
    pub fn live(&self) -> usize {
        self.live as usize
    }

    /// Slots that have been used so far lie below this one.
    pub fn high_water(&self) -> u32 {
        self.fresh
    }
}
