//! The squares of the pieces, and nothing else: enough for captures.

use cozy_chess::{BitBoard, Board, Color, Piece, Square, get_between_rays, get_bishop_rays, get_rook_rays};

#[derive(Clone)]
pub(crate) struct Pieces {
    pub(crate) kinds: [BitBoard; Piece::NUM],
    pub(crate) sides: [BitBoard; Color::NUM],
}

impl Pieces {
    pub(crate) fn of(board: &Board) -> Self {
        Self {
            kinds: Piece::ALL.map(|piece| board.pieces(piece)),
            sides: [board.colors(Color::White), board.colors(Color::Black)],
        }
    }

    pub(crate) fn kind(&self, piece: Piece) -> BitBoard {
        self.kinds[piece as usize]
    }

    pub(crate) fn side(&self, side: Color) -> BitBoard {
        self.sides[side as usize]
    }

    pub(crate) fn occupied(&self) -> BitBoard {
        self.sides[0] | self.sides[1]
    }

    /// Bishops and queens.
    pub(crate) fn diagonal(&self) -> BitBoard {
        self.kind(Piece::Bishop) | self.kind(Piece::Queen)
    }

    /// Rooks and queens.
    pub(crate) fn straight(&self) -> BitBoard {
        self.kind(Piece::Rook) | self.kind(Piece::Queen)
    }

    /// Pieces that stand alone between a king and a bishop, rook or queen of `side`.
    pub(crate) fn screens(&self, king: Square, side: Color) -> BitBoard {
        let behind = get_bishop_rays(king) & self.diagonal() | get_rook_rays(king) & self.straight();
        let mut screens = BitBoard::EMPTY;
        for slider in behind & self.side(side) {
            let between = get_between_rays(king, slider) & self.occupied();
            if between.len() == 1 {
                screens |= between;
            }
        }
        screens
    }

    /// Puts a piece on each square of `on`, which are empty.
    pub(crate) fn put(&mut self, side: Color, piece: Piece, on: BitBoard) {
        self.kinds[piece as usize] |= on;
        self.sides[side as usize] |= on;
    }

    /// Removes a piece.
    pub(crate) fn take(&mut self, side: Color, piece: Piece, from: BitBoard) {
        self.kinds[piece as usize] &= !from;
        self.sides[side as usize] &= !from;
    }
}
