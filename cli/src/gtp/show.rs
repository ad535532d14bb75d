//! Shows the board to a person.

use oncilla_go::{Color, Move, Size};

use super::args::letter;
use super::record::Record;

/// The board with its coordinates and the last move in brackets, the side to move, the rules, and the stones that each
/// player has lost.
pub fn board(record: &Record) -> String {
    let (size, game) = (record.size(), record.game());
    let last = record.moves().last().map(|(_, mv)| *mv).filter(|mv| *mv != size.pass());
    let columns: String = (0..size.x()).map(|x| format!(" {}", column(size, x))).collect();
    let mut lines = vec![format!("Move {}: {} to play", record.moves().len(), letter(game.side_to_move()))];
    lines.push(format!("   {columns}"));
    for y in 0..size.y() {
        let row = size.y() - y;
        let mut line = format!("{row:>3}");
        let mut closes = false;
        for mv in (0..size.x()).filter_map(|x| size.point(x, y)) {
            let is_last = last == Some(mv);
            line.push(if closes {
                ')'
            } else if is_last {
                '('
            } else {
                ' '
            });
            line.push(mark(record, mv));
            closes = is_last;
        }
        line.push(if closes { ')' } else { ' ' });
        lines.push(format!("{line}{row}"));
    }
    lines.push(format!("   {columns}"));
    lines.push(format!("Rules {}", record.rules()));
    let [black, white] = Color::ALL.map(|color| record.stones_of(color) - game.board().stones(color).len());
    lines.push(format!("Stones lost: {black} of Black, {white} of White"));
    lines.join("\n")
}

fn column(size: Size, x: u8) -> String {
    let text = size.format(Move(u16::from(x))).to_string();
    text.chars().take(1).collect()
}

fn mark(record: &Record, point: Move) -> char {
    match record.game().board().stone(point) {
        Some(Color::Black) => 'X',
        Some(Color::White) => 'O',
        None => '.',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shows_what_there_is() {
        let size = Size::new(3, 2).unwrap();
        let mut record = Record::new(size, "tromp-taylor".parse().unwrap(), true);
        for (color, text) in [(Color::Black, "A1"), (Color::White, "A2"), (Color::Black, "C1"), (Color::White, "B1")] {
            record.play(color, size.parse(text).unwrap()).unwrap();
        }
        let expected = "Move 4: B to play
    A B C
  2 O . . 2
  1 .(O)X 1
    A B C
Rules koPOSITIONALscoreAREAtaxNONEsui1komi7.5
Stones lost: 1 of Black, 0 of White";
        assert_eq!(board(&record), expected);
    }
}
