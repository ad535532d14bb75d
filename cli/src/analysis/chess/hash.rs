//! Hashes of positions.

use oncilla_chess::{Castling, History, MoveList, Piece, Square};

use crate::digest::digits;

/// `thisHash` and `symHash`, 32 hexadecimal digits each. The first is a hash of pieces, side to move, castling rights
/// and of an en-passant square on which a pawn can capture, and does not depend on the moves played before. The second
/// is the same for positions that differ only by exchanged colours or, if neither side has castling rights, by left and
/// right.
pub fn of(position: &History) -> [String; 2] {
    let fen = position.to_fen(Castling::Chess960);
    let fields: Vec<&str> = fen.split(' ').collect();
    let [pieces, side, castling, en_passant] = std::array::from_fn(|at| fields.get(at).copied().unwrap_or("-"));
    let en_passant = if can_capture_on(position, en_passant) { en_passant } else { "-" };
    let plain = [pieces, side, castling, en_passant].map(str::to_string);
    let swapped = swap_colours(&plain);
    let mut alike = vec![plain.join(" "), swapped.join(" ")];
    if castling == "-" {
        alike.extend([mirrored(&plain).join(" "), mirrored(&swapped).join(" ")]);
    }
    let least = alike.iter().min().map_or("", String::as_str);
    [digits(&alike[0]), digits(least)]
}

/// Whether a pawn may capture on the en-passant square of the FEN: only then does the square distinguish positions.
fn can_capture_on(position: &History, square: &str) -> bool {
    let Ok(square) = square.parse::<Square>() else { return false };
    let mut legal = MoveList::new();
    position.legal_moves(&mut legal);
    legal.iter().any(|mv| mv.to == square && position.board().piece_on(mv.from) == Some(Piece::Pawn))
}

type Fields = [String; 4];

/// The position with the colours exchanged.
fn swap_colours([pieces, side, castling, en_passant]: &Fields) -> Fields {
    let swap = |c: char| if c.is_ascii_uppercase() { c.to_ascii_lowercase() } else { c.to_ascii_uppercase() };
    let ranks: Vec<String> = pieces.split('/').rev().map(|rank| rank.chars().map(swap).collect()).collect();
    let mut rights: Vec<char> = castling.chars().map(swap).collect();
    // The rights of White are written first.
    rights.sort_by_key(|c| c.is_ascii_lowercase());
    let other_rank = |c| match c {
        '3' => '6',
        '6' => '3',
        c => c,
    };
    [
        ranks.join("/"),
        if side == "w" { "b" } else { "w" }.to_string(),
        rights.into_iter().collect(),
        en_passant.chars().map(other_rank).collect(),
    ]
}

/// The position mirrored between the d and the e file.
fn mirrored([pieces, side, castling, en_passant]: &Fields) -> Fields {
    let ranks: Vec<String> = pieces.split('/').map(|rank| rank.chars().rev().collect()).collect();
    let file = |c: char| if c.is_ascii_alphabetic() { (b'a' + b'h' - c as u8) as char } else { c };
    [ranks.join("/"), side.clone(), castling.clone(), en_passant.chars().map(file).collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashes(fen: &str) -> [String; 2] {
        of(&History::from_fen(fen).unwrap())
    }

    #[test]
    fn positions_alike_have_one_symmetric_hash() {
        let fen = "8/2k5/8/3p4/8/1K6/4P3/8 w - - 0 1";
        let alike = ["8/4p3/1k6/8/3P4/8/2K5/8 b - - 0 1", "8/5k2/8/4p3/8/6K1/3P4/8 w - - 0 1"];
        for other in alike {
            assert_eq!(hashes(fen)[1], hashes(other)[1], "{other}");
            assert_ne!(hashes(fen)[0], hashes(other)[0], "{other}");
        }
        assert_eq!(hashes(fen), hashes(&fen.replace(" 0 1", " 7 30")), "counters are no part of the position");
        assert_ne!(hashes(fen)[1], hashes(&fen.replace(" w ", " b "))[1]);
    }

    #[test]
    fn castling_and_en_passant_take_part() {
        let castles = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
        let some = "r3k2r/8/8/8/8/8/8/R3K2R w KQk - 0 1";
        assert_ne!(hashes(castles)[1], hashes(some)[1]);
        let swapped = "r3k2r/8/8/8/8/8/8/R3K2R b Kkq - 0 1";
        assert_eq!(hashes(some)[1], hashes(swapped)[1]);
        let takes = "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1";
        assert_ne!(hashes(takes)[1], hashes(&takes.replace("d6", "-"))[1]);
        assert_eq!(hashes(takes)[1], hashes("4k3/8/8/8/3Pp3/8/8/4K3 b - d3 0 1")[1]);
        // No pawn can capture: there is none, or it is pinned.
        for idle in ["4k3/8/8/3p4/8/8/8/4K3 w - d6 0 1", "4r1k1/8/8/3pP3/8/8/8/4K3 w - d6 0 1"] {
            assert_eq!(hashes(idle), hashes(&idle.replace("d6", "-")), "{idle}");
        }
        assert_eq!(hashes(takes)[1], hashes("3k4/8/8/3Pp3/8/8/8/3K4 w - e6 0 1")[1]);
    }
}
