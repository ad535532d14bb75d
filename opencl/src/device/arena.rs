//! Many buffers combined into two.

use super::Error;
use super::session::{Buffer, Kernel, Session};

/// The places of buffers that were made one by one: those that nothing writes to are in one large buffer, the others in
/// another.
///
/// A moved buffer is a region of the large one, and is used as before.
#[derive(Debug)]
pub struct Arenas {
    constant: Buffer,
    written: Buffer,
    moves: Vec<Move>,
}

#[derive(Debug)]
struct Move {
    from: Buffer,
    to: Buffer,
    /// How many elements come before it in its arena.
    at: usize,
}

/// A buffer, and where it will be.
type Place<'a> = (&'a Buffer, usize);

impl Arenas {
    /// Combines `buffers`, each once; constant ones are copied with their content. `None` if an arena is larger than
    /// the device allows for one buffer, or than an `int` counts, or if there is no room for everything twice.
    ///
    /// # Errors
    /// If the driver has no room, or refuses.
    pub fn new<'a>(session: &Session, buffers: impl Iterator<Item = &'a Buffer>) -> Result<Option<Self>, Error> {
        let (mut places, mut lengths) = ([const { Vec::<Place<'a>>::new() }; 2], [0usize; 2]);
        let align = session.device().alignment.div_ceil(4).max(1) as usize;
        for buffer in buffers {
            let kind = usize::from(!buffer.is_constant());
            if places[kind].iter().all(|(known, _)| !known.is(buffer)) {
                places[kind].push((buffer, lengths[kind]));
                lengths[kind] = (lengths[kind] + buffer.len().max(1)).next_multiple_of(align);
            }
        }
        let most = (session.device().max_allocation / 4).min(i32::MAX as u64) as usize;
        // Until the buffers that were made one by one are freed, everything is there twice.
        let at_first = 2 * 4 * (lengths[0] as u64 + lengths[1] as u64);
        if lengths.iter().any(|length| !(1..=most).contains(length)) || at_first > session.device().global_memory {
            return Ok(None);
        }
        let (constant, written) = (session.constant_buffer(lengths[0])?, session.buffer(lengths[1])?);
        let mut moves = Vec::new();
        for (arena, places) in [&constant, &written].into_iter().zip(&places) {
            for &(from, at) in places {
                let to = session.region(arena, at, from.len())?;
                if from.is_constant() {
                    session.copy(from, &to)?;
                }
                moves.push(Move { from: from.clone(), to, at });
            }
        }
        session.finish()?;
        Ok(Some(Self { constant, written, moves }))
    }

    /// The arena of everything that nothing writes to.
    pub fn constant(&self) -> &Buffer {
        &self.constant
    }

    /// The arena of everything else.
    pub fn written(&self) -> &Buffer {
        &self.written
    }

    fn of(&self, buffer: &Buffer) -> Option<&Move> {
        self.moves.iter().find(|moved| moved.from.is(buffer))
    }

    /// How many elements come before a buffer in its arena.
    pub fn place(&self, buffer: &Buffer) -> Option<usize> {
        self.of(buffer).map(|moved| moved.at)
    }

    /// The region to which a buffer was moved; the buffer itself if it was not moved.
    pub fn moved<'a>(&'a self, buffer: &'a Buffer) -> &'a Buffer {
        self.of(buffer).map_or(buffer, |moved| &moved.to)
    }

    /// Makes a kernel read and write where its buffers are now.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn move_args(&self, session: &Session, kernel: &mut Kernel) -> Result<(), Error> {
        let args = kernel.args().to_vec();
        session.set_args(kernel, &args, |buffer| Ok(self.moved(buffer).clone()))
    }
}
