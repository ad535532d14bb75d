//! Forsyth–Edwards notation: reading, refusing and writing positions.

use core::fmt::{self, Write};
use core::str::{FromStr, SplitAsciiWhitespace};

use cozy_chess::{
    Board, BoardBuilder, BoardBuilderError, CastleRights, Color, File, Piece, Rank, Square, get_king_moves,
    get_pawn_attacks,
};
use heapless::String;

use crate::history::History;
use crate::notation::Castling;

/// The content of a FEN.
pub(crate) struct Setup {
    pub board: Board,
    /// As it was given, even if no pawn can capture; but see [`build`].
    pub en_passant: Option<File>,
    pub rule50: u16,
    pub ply: u32,
}

/// A field of a FEN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenField {
    /// The pieces, rank by rank from the eighth.
    Board,
    /// `w` or `b`.
    SideToMove,
    /// `KQkq`, rook files, or `-`.
    Castling,
    /// A square or `-`.
    EnPassant,
    /// Plies since the last pawn move or capture.
    HalfmoveClock,
    /// Number of the move, from 1.
    MoveNumber,
    /// What follows the six fields: nothing.
    End,
}

impl fmt::Display for FenField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FenField::Board => "board",
            FenField::SideToMove => "side to move",
            FenField::Castling => "castling rights",
            FenField::EnPassant => "en passant square",
            FenField::HalfmoveClock => "half-move clock",
            FenField::MoveNumber => "move number",
            FenField::End => "end",
        })
    }
}

/// Why a FEN was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FenError {
    /// The field that is wrong.
    pub field: FenField,
    /// What would have been right.
    pub expected: &'static str,
    /// What was there instead, cut off if it is too long for a message.
    pub got: String<32>,
}

impl FenError {
    fn new(field: FenField, expected: &'static str, got: impl fmt::Display) -> Self {
        let mut text = Clipped(String::new());
        // `Clipped` never fails: it cuts the text off.
        let _ = write!(text, "{got}");
        FenError { field, expected, got: text.0 }
    }
}

impl fmt::Display for FenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bad FEN: {}: expected {}, got {:?}", self.field, self.expected, self.got.as_str())
    }
}

impl core::error::Error for FenError {}

/// A text that is cut off at its capacity.
pub(crate) struct Clipped<const N: usize>(pub String<N>);

impl<const N: usize> Write for Clipped<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            if self.0.push(c).is_err() {
                break;
            }
        }
        Ok(())
    }
}

/// Reads a FEN. See [`History::from_fen`] for what is accepted.
pub(crate) fn parse(fen: &str) -> Result<Setup, FenError> {
    let mut fields = fen.split_ascii_whitespace();
    let mut builder = BoardBuilder::empty();
    read_pieces(&mut builder, fields.next().unwrap_or(""))?;
    check_material(&builder)?;
    builder.side_to_move = read_side(fields.next())?;
    check_checks(&builder)?;
    read_castling(&mut builder, fields.next().unwrap_or("-"))?;
    builder.en_passant = read_en_passant(&builder, fields.next().unwrap_or("-"))?;
    let rule50: u16 = read_number(FenField::HalfmoveClock, fields.next().unwrap_or("0"))?;
    let number: u16 = read_number(FenField::MoveNumber, fields.next().unwrap_or("1"))?;
    read_end(fields)?;
    // The library's own clock only goes to 100; ours is kept beside it.
    builder.halfmove_clock = rule50.min(100) as u8;
    // Some programs count moves from 0.
    builder.fullmove_number = number.max(1);
    let board = build(&mut builder)?;
    let ply = 2 * (u32::from(builder.fullmove_number) - 1) + u32::from(builder.side_to_move == Color::Black);
    Ok(Setup { board, en_passant: builder.en_passant.map(Square::file), rule50, ply })
}

/// Builds the board. An en-passant flag that no double step can have left is dropped if no pawn could use it anyway:
/// the legal moves are the same without it. If one could use it, the FEN contradicts itself about what may be played.
fn build(builder: &mut BoardBuilder) -> Result<Board, FenError> {
    let built = builder.build();
    if matches!(built, Err(BoardBuilderError::InvalidEnPassant)) && !somebody_captures_en_passant(builder) {
        builder.en_passant = None;
        return builder.build().map_err(|error| refused(error, builder));
    }
    built.map_err(|error| refused(error, builder))
}

/// The error for what the library refuses after the checks of this module: an en-passant flag where there is something
/// on the square that the pawn came from, or the king is in a check that the double step can't have given.
fn refused(error: BoardBuilderError, builder: &BoardBuilder) -> FenError {
    match (error, builder.en_passant) {
        (BoardBuilderError::InvalidEnPassant, Some(square)) => {
            let from = Square::new(square.file(), Rank::Seventh.relative_to(builder.side_to_move));
            if builder.square(from).is_some() {
                return FenError::new(FenField::EnPassant, "empty squares on the way of the double step", square);
            }
            let expected = "a double step as the last move, so no check but from it";
            FenError::new(FenField::EnPassant, expected, format_args!("{square} and another check"))
        }
        (error, _) => FenError::new(FenField::Board, "a position that a game can reach", error),
    }
}

/// Whether a pawn could capture at the en-passant flag without exposing its king.
fn somebody_captures_en_passant(builder: &BoardBuilder) -> bool {
    let (Some(to), mover) = (builder.en_passant, builder.side_to_move) else { return false };
    let pawn = Some((Piece::Pawn, mover));
    let is_legal = |&from: &Square| {
        let mut after = builder.clone();
        (after.en_passant, after.side_to_move) = (None, !mover);
        *after.square_mut(from) = None;
        *after.square_mut(Square::new(to.file(), from.rank())) = None;
        *after.square_mut(to) = pawn;
        // The library refuses a king in check while it is the other side's move.
        after.build().is_ok()
    };
    get_pawn_attacks(to, !mover).into_iter().filter(|&from| builder.square(from) == pawn).any(|from| is_legal(&from))
}

fn read_pieces(builder: &mut BoardBuilder, text: &str) -> Result<(), FenError> {
    let refuse = |expected, got: &dyn fmt::Display| FenError::new(FenField::Board, expected, got);
    if text.is_empty() {
        return Err(refuse("eight ranks of pieces", &text));
    }
    let ranks = text.split('/').count();
    if ranks != Rank::NUM {
        return Err(refuse("eight ranks, separated by /", &format_args!("{ranks} ranks")));
    }
    for (row, &rank) in text.split('/').zip(Rank::ALL.iter().rev()) {
        let mut file = 0;
        for c in row.chars() {
            if let Some(empty @ 1..=8) = c.to_digit(10) {
                file += empty as usize;
                continue;
            }
            let piece = Piece::try_from(c.to_ascii_lowercase());
            let piece = piece.map_err(|_| refuse("pieces PNBRQK, pnbrqk and digits 1 to 8", &c))?;
            let color = if c.is_ascii_uppercase() { Color::White } else { Color::Black };
            let place = File::try_index(file).ok_or_else(|| refuse("eight squares in a rank", &row))?;
            *builder.square_mut(Square::new(place, rank)) = Some((piece, color));
            file += 1;
        }
        if file != File::NUM {
            return Err(refuse("eight squares in a rank", &row));
        }
    }
    Ok(())
}

/// Refuses what no game can reach; this also keeps the number of legal moves within [`crate::MoveList`].
fn check_material(builder: &BoardBuilder) -> Result<(), FenError> {
    for color in Color::ALL {
        let count = |piece| builder.board.iter().filter(|&&square| square == Some((piece, color))).count();
        let refuse = |expected, n: usize, what: &str| {
            let side = if color == Color::White { "White" } else { "Black" };
            Err(FenError::new(FenField::Board, expected, format_args!("{n} {what} of {side}")))
        };
        let (pawns, kings) = (count(Piece::Pawn), count(Piece::King));
        if kings != 1 {
            return refuse("one king a side", kings, "kings");
        }
        if pawns > 8 {
            return refuse("at most eight pawns a side", pawns, "pawns");
        }
        let promoted: usize = [(Piece::Queen, 1), (Piece::Rook, 2), (Piece::Bishop, 2), (Piece::Knight, 2)]
            .map(|(piece, at_first)| count(piece).saturating_sub(at_first))
            .iter()
            .sum();
        if promoted > 8 - pawns {
            return refuse("no more promoted pieces than missing pawns", promoted, "promoted pieces");
        }
    }
    let king = |color| Square::ALL.into_iter().find(|&s| builder.square(s) == Some((Piece::King, color)));
    if let Some((white, black)) = king(Color::White).zip(king(Color::Black))
        && get_king_moves(white).has(black)
    {
        let got = format_args!("kings on {white} and {black}");
        return Err(FenError::new(FenField::Board, "kings that are not neighbours", got));
    }
    let back_ranks = Square::ALL.into_iter().filter(|s| matches!(s.rank(), Rank::First | Rank::Eighth));
    for square in back_ranks {
        if matches!(builder.square(square), Some((Piece::Pawn, _))) {
            let got = format_args!("a pawn on {square}");
            return Err(FenError::new(FenField::Board, "no pawn on the first or last rank", got));
        }
    }
    Ok(())
}

fn check_checks(builder: &BoardBuilder) -> Result<(), FenError> {
    // Everything else that the library checks in the bare board has been checked.
    let expected = "the side not to move out of check";
    let board = builder.build().map_err(|_| FenError::new(FenField::SideToMove, expected, builder.side_to_move))?;
    let checkers = board.checkers().len();
    if checkers > 2 {
        let got = format_args!("{checkers} checkers");
        return Err(FenError::new(FenField::Board, "at most two pieces giving check", got));
    }
    Ok(())
}

fn read_side(text: Option<&str>) -> Result<Color, FenError> {
    match text {
        None | Some("w") => Ok(Color::White),
        Some("b") => Ok(Color::Black),
        Some(other) => Err(FenError::new(FenField::SideToMove, "w or b", other)),
    }
}

fn read_castling(builder: &mut BoardBuilder, text: &str) -> Result<(), FenError> {
    if text == "-" {
        return Ok(());
    }
    for c in text.chars() {
        let color = if c.is_ascii_uppercase() { Color::White } else { Color::Black };
        let (king, rook) = castling_rook(builder, color, c)?;
        let rights = builder.castle_rights_mut(color);
        let right = if rook > king { &mut rights.short } else { &mut rights.long };
        if right.replace(rook).is_some() {
            return Err(FenError::new(FenField::Castling, "each right once", text));
        }
    }
    Ok(())
}

/// The files of the king and the rook that the letter `c` of a castling field means.
fn castling_rook(builder: &BoardBuilder, color: Color, c: char) -> Result<(File, File), FenError> {
    let refuse = |expected| FenError::new(FenField::Castling, expected, c);
    let back_rank = Rank::First.relative_to(color);
    let on = |file: File| builder.square(Square::new(file, back_rank));
    let is_rook = |file: &File| on(*file) == Some((Piece::Rook, color));
    let king = File::ALL.into_iter().find(|&file| on(file) == Some((Piece::King, color)));
    let king = king.ok_or_else(|| refuse("castling rights only with the king on its first rank"))?;
    let rook = match c.to_ascii_lowercase() {
        'k' => File::ALL.into_iter().rev().take_while(|&file| file > king).find(is_rook),
        'q' => File::ALL.into_iter().take_while(|&file| file < king).find(is_rook),
        letter @ 'a'..='h' => File::try_from(letter).ok().filter(is_rook),
        _ => return Err(refuse("KQkq, rook files A to H or a to h, or -")),
    };
    Ok((king, rook.ok_or_else(|| refuse("a rook for each castling right"))?))
}

fn read_en_passant(builder: &BoardBuilder, text: &str) -> Result<Option<Square>, FenError> {
    if text == "-" {
        return Ok(None);
    }
    let refuse = |expected| Err(FenError::new(FenField::EnPassant, expected, text));
    let Ok(square) = Square::from_str(text) else {
        return refuse("a square or -");
    };
    let mover = builder.side_to_move;
    let on = |rank: Rank| builder.square(Square::new(square.file(), rank.relative_to(mover)));
    if square.rank() != Rank::Sixth.relative_to(mover) {
        return refuse("rank 6 with White to move, rank 3 with Black to move");
    }
    if on(Rank::Fifth) != Some((Piece::Pawn, !mover)) {
        return refuse("a square with an enemy pawn in front of it");
    }
    if on(Rank::Sixth).is_some() {
        return refuse("empty squares on the way of the double step");
    }
    Ok(Some(square))
}

fn read_number(field: FenField, text: &str) -> Result<u16, FenError> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let number = if digits { text.parse().ok() } else { None };
    number.ok_or_else(|| FenError::new(field, "a whole number from 0 to 65535", text))
}

fn read_end(mut fields: SplitAsciiWhitespace<'_>) -> Result<(), FenError> {
    match fields.next() {
        None => Ok(()),
        Some(more) => Err(FenError::new(FenField::End, "six fields", more)),
    }
}

/// The text of a FEN: 71 characters of board, the other fields and their spaces.
pub type FenText = String<100>;

impl<const CAP: usize> History<CAP> {
    /// The last position as a FEN.
    ///
    /// [`Castling::Chess960`] writes castling rights as rook files (`HAha`, Shredder-FEN). Otherwise they are `KQkq`,
    /// and a file letter only for a rook that is not the outermost (X-FEN). The en-passant square is written when
    /// [`crate::Position`] has the flag.
    ///
    /// ```
    /// use oncilla_chess::{Castling, History};
    /// let history: History = History::startpos();
    /// assert_eq!(history.to_fen(Castling::Standard), "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1");
    /// ```
    pub fn to_fen(&self, castling: Castling) -> FenText {
        let mut text = FenText::new();
        let written = self.write_fen(&mut text, castling);
        debug_assert!(written.is_ok(), "every FEN has room");
        text
    }

    fn write_fen(&self, out: &mut impl Write, castling: Castling) -> fmt::Result {
        let board = self.board();
        write_pieces(out, board)?;
        write!(out, " {} ", board.side_to_move())?;
        write_castling(out, board, castling)?;
        match self.last().en_passant() {
            Some(file) => write!(out, " {}", Square::new(file, Rank::Sixth.relative_to(board.side_to_move())))?,
            None => write!(out, " -")?,
        }
        // No larger number than from_fen reads.
        write!(out, " {} {}", self.rule50(), (self.ply() / 2 + 1).min(u16::MAX.into()))
    }
}

fn write_pieces(out: &mut impl Write, board: &Board) -> fmt::Result {
    for &rank in Rank::ALL.iter().rev() {
        let mut empty = 0;
        for file in File::ALL {
            let square = Square::new(file, rank);
            let Some((piece, color)) = board.piece_on(square).zip(board.color_on(square)) else {
                empty += 1;
                continue;
            };
            if empty > 0 {
                write!(out, "{empty}")?;
                empty = 0;
            }
            out.write_char(cased(piece.into(), color))?;
        }
        if empty > 0 {
            write!(out, "{empty}")?;
        }
        if rank != Rank::First {
            out.write_char('/')?;
        }
    }
    Ok(())
}

fn write_castling(out: &mut impl Write, board: &Board, castling: Castling) -> fmt::Result {
    if Color::ALL.iter().all(|&color| *board.castle_rights(color) == CastleRights::EMPTY) {
        return out.write_char('-');
    }
    for color in Color::ALL {
        let rights = board.castle_rights(color);
        let rank = Rank::First.relative_to(color);
        let rooks = board.colored_pieces(color, Piece::Rook);
        let is_rook = |file: &File| rooks.has(Square::new(*file, rank));
        let outermost_short = File::ALL.into_iter().rev().find(is_rook);
        let outermost_long = File::ALL.into_iter().find(is_rook);
        for (right, outermost, letter) in [(rights.short, outermost_short, 'k'), (rights.long, outermost_long, 'q')] {
            if let Some(file) = right {
                let by_letter = castling == Castling::Standard && right == outermost;
                out.write_char(cased(if by_letter { letter } else { file.into() }, color))?;
            }
        }
    }
    Ok(())
}

fn cased(letter: char, color: Color) -> char {
    if color == Color::White { letter.to_ascii_uppercase() } else { letter }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::MIN_CAP;

    type Game = History<MIN_CAP>;

    #[test]
    fn fens_come_back_as_they_went_in() {
        for fen in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1",
            "8/5k2/3r4/8/2R5/8/4K3/8 b - - 149 260",
            "4k3/8/8/8/8/8/8/RR2K2R w KB - 3 7",
            "4k3/8/8/8/8/8/8/4K3 b - - 65535 65535",
        ] {
            assert_eq!(Game::from_fen(fen).unwrap().to_fen(Castling::Standard), fen);
        }
        let shredder = "1rkr4/ppp2ppp/8/8/8/8/PPP2PPP/1RKR4 w DBdb - 2 12";
        assert_eq!(Game::from_fen(shredder).unwrap().to_fen(Castling::Chess960), shredder);
        let by_letters = "1rkr4/ppp2ppp/8/8/8/8/PPP2PPP/1RKR4 w KQkq - 2 12";
        assert_eq!(Game::from_fen(by_letters).unwrap().to_fen(Castling::Chess960), shredder);
        assert_eq!(Game::from_fen(shredder).unwrap().to_fen(Castling::Standard), by_letters);
    }

    /// With all eight pawns no piece can be a promoted one.
    #[test]
    fn no_piece_is_there_once_more_than_at_the_start_beside_eight_pawns() {
        for (allowed, one_more) in [("Q", "QQ"), ("RR", "RRR"), ("BB", "BBB"), ("NN", "NNN")] {
            let fen = |pieces: &str| {
                let mut text = String::<64>::new();
                write!(text, "4k3/8/8/8/8/{pieces}{}/PPPPPPPP/4K3 w - -", 8 - pieces.len()).unwrap();
                Game::from_fen(&text)
            };
            assert!(fen(allowed).is_ok(), "{allowed}");
            assert_eq!(fen(one_more).err().map(|error| error.field), Some(FenField::Board), "{one_more}");
        }
    }

    #[test]
    fn trailing_fields_may_be_missing() {
        let whole = Game::from_fen("4k3/8/8/8/8/8/8/4K3 w - - 0 1").unwrap().to_fen(Castling::Standard);
        for fen in ["4k3/8/8/8/8/8/8/4K3", "4k3/8/8/8/8/8/8/4K3 w", "4k3/8/8/8/8/8/8/4K3  w -  - 0 0 "] {
            assert_eq!(Game::from_fen(fen).unwrap().to_fen(Castling::Standard), whole);
        }
    }

    /// No double step can have led here, and no capture is possible: no pawn stands beside, or the king is in check.
    #[test]
    fn an_impossible_en_passant_flag_that_nobody_can_use_is_dropped() {
        for (fen, without) in [
            ("3k4/8/8/1P1p1P2/3P2N1/pbp5/4N1R1/3K4 w - d6 0 1", "3k4/8/8/1P1p1P2/3P2N1/pbp5/4N1R1/3K4 w - - 0 1"),
            ("4k3/8/8/2pP4/8/8/3n4/5K2 w - c6 3 7", "4k3/8/8/2pP4/8/8/3n4/5K2 w - - 3 7"),
            ("4k3/2p5/8/2p5/8/8/8/4K3 w - c6 0 7", "4k3/2p5/8/2p5/8/8/8/4K3 w - - 0 7"),
            ("1b1k4/8/8/1rPpK3/8/8/8/8 w - d6 0 1", "1b1k4/8/8/1rPpK3/8/8/8/8 w - - 0 1"),
        ] {
            let game = Game::from_fen(fen).unwrap();
            assert_eq!((game.last().en_passant(), game.to_fen(Castling::Standard).as_str()), (None, without));
        }
        // A flag that a double step can have left is kept, even if no pawn can use it.
        assert_eq!(Game::from_fen("4k3/8/8/2p5/8/8/8/4K3 w - c6").unwrap().last().en_passant(), Some(File::C));
    }

    #[test]
    fn what_no_game_can_reach_is_refused_with_the_field() {
        use FenField::*;
        for (fen, field, expected, got) in [
            ("", Board, "eight ranks of pieces", ""),
            ("8/8/8 w - -", Board, "eight ranks, separated by /", "3 ranks"),
            ("4k3/8/8/8/8/8/8/8/4K3 w - -", Board, "eight ranks, separated by /", "9 ranks"),
            ("4k3/8/8/8/8/8/9/4K3 w - -", Board, "pieces PNBRQK, pnbrqk and digits 1 to 8", "9"),
            ("4k3/8/8/8/8/8/7/4K3 w - -", Board, "eight squares in a rank", "7"),
            ("4k3/8/8/8/8/8/8p/4K3 w - -", Board, "eight squares in a rank", "8p"),
            ("4k3/8/8/8/8/8/88/4K3 w - -", Board, "eight squares in a rank", "88"),
            ("4k3/8/8/8/8/8/x7/4K3 w - -", Board, "pieces PNBRQK, pnbrqk and digits 1 to 8", "x"),
            ("8/8/8/8/8/8/8/4K3 w - -", Board, "one king a side", "0 kings of Black"),
            ("4k3/8/8/8/8/8/8/3KK3 w - -", Board, "one king a side", "2 kings of White"),
            ("4k3/8/8/8/8/P7/PPPPPPPP/4K3 w - -", Board, "at most eight pawns a side", "9 pawns of White"),
            (
                "4k3/8/8/8/8/8/PPPPPPPP/QQ2K3 w - -",
                Board,
                "no more promoted pieces than missing pawns",
                "1 promoted pieces of White",
            ),
            ("4k2P/8/8/8/8/8/8/4K3 w - -", Board, "no pawn on the first or last rank", "a pawn on h8"),
            ("4k3/4R3/8/8/8/8/8/4K3 w - -", SideToMove, "the side not to move out of check", "w"),
            ("4k3/8/8/8/8/8/8/3kK3 w - -", Board, "one king a side", "2 kings of Black"),
            ("8/8/8/8/8/8/3k4/4K3 w - -", Board, "kings that are not neighbours", "kings on e1 and d2"),
            ("4k3/4r3/8/8/1b6/8/6n1/4K3 w - -", Board, "at most two pieces giving check", "3 checkers"),
            ("4k3/8/8/8/8/8/8/4K3 x - -", SideToMove, "w or b", "x"),
            ("4k3/8/8/8/8/8/8/4K3 w K -", Castling, "a rook for each castling right", "K"),
            ("4k3/8/8/8/8/8/4K3/7R w K -", Castling, "castling rights only with the king on its first rank", "K"),
            ("4k3/8/8/8/8/8/8/4K2R w KH -", Castling, "each right once", "KH"),
            ("4k3/8/8/8/8/8/8/4K2R w E -", Castling, "a rook for each castling right", "E"),
            ("4k3/8/8/8/8/8/8/4K2R w é -", Castling, "KQkq, rook files A to H or a to h, or -", "é"),
            ("4k3/8/8/2pP4/8/8/8/4K3 w - c9", EnPassant, "a square or -", "c9"),
            ("4k3/8/8/2pP4/8/8/8/4K3 w - c3", EnPassant, "rank 6 with White to move, rank 3 with Black to move", "c3"),
            ("4k3/8/8/3P4/8/8/8/4K3 w - c6", EnPassant, "a square with an enemy pawn in front of it", "c6"),
            ("4k3/8/2p5/2pP4/8/8/8/4K3 w - c6", EnPassant, "empty squares on the way of the double step", "c6"),
            ("4k3/2p5/8/2pP4/8/8/8/4K3 w - c6", EnPassant, "empty squares on the way of the double step", "c6"),
            (
                "8/8/8/1k6/3Pp3/8/8/4KQ2 b - d3",
                EnPassant,
                "a double step as the last move, so no check but from it",
                "d3 and another check",
            ),
            ("4k3/8/8/8/8/8/8/4K3 w - - -1", HalfmoveClock, "a whole number from 0 to 65535", "-1"),
            ("4k3/8/8/8/8/8/8/4K3 w - - 0 1.5", MoveNumber, "a whole number from 0 to 65535", "1.5"),
            (
                "4k3/8/8/8/8/8/8/4K3 w - - 0 99999999999999999999999999999999999",
                MoveNumber,
                "a whole number from 0 to 65535",
                "99999999999999999999999999999999",
            ),
            ("4k3/8/8/8/8/8/8/4K3 w - - 0 1 moves", End, "six fields", "moves"),
        ] {
            let error = Game::from_fen(fen).err().unwrap_or_else(|| panic!("{fen} was accepted"));
            assert_eq!((error.field, error.expected, error.got.as_str()), (field, expected, got), "{fen}");
        }
    }
}
