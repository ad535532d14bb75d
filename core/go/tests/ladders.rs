//! Ladders: some by hand, and random positions compared with a naive reader.

mod common;
mod naive;

use common::{board, diagram, marked};
use oncilla_go::ladder::ladders;
use oncilla_go::{Board, Color, Move, PointSet, Size};
use quickcheck::QuickCheck;

/// Compares what is caught, and where Black begins a ladder, with diagrams that mark points with `#`.
fn assert_ladders(rows: &[&str], caught: &[&str], starts: &[&str]) {
    let board = board(rows);
    let found = ladders(&board, Color::Black);
    assert_eq!(found.caught, marked(caught, "#"), "caught:\n{board}\n{}", diagram(board.size(), &found.caught));
    assert_eq!(found.starts, marked(starts, "#"), "starts:\n{board}\n{}", diagram(board.size(), &found.starts));
}

const NOTHING: [&str; 9] = ["........."; 9];

/// A row of it.
const NOTHING_ON_7: &str = ".......";

#[test]
fn a_ladder_that_runs_to_the_edge_works() {
    let rows = [
        ".........", //
        ".........",
        "..XX.....",
        ".XO......",
        "..X......",
        ".........",
        ".........",
        ".........",
        ".........",
    ];
    let mut caught = NOTHING;
    caught[3] = "..#......";
    assert_ladders(&rows, &caught, &NOTHING);
    // One move earlier Black may still begin the ladder, but only from below: from the right White would run into the
    // open.
    let mut earlier = rows;
    earlier[4] = ".........";
    let mut starts = NOTHING;
    starts[4] = "..#......";
    assert_ladders(&earlier, &caught, &starts);
}

#[test]
fn a_stone_in_the_way_breaks_it() {
    let rows = [
        ".........", //
        ".........",
        "..XX.....",
        ".XO......",
        "..X......",
        ".........",
        "......O..",
        ".........",
        ".........",
    ];
    assert_ladders(&rows, &NOTHING, &NOTHING);
}

/// Ladders go from atari to atari. A chain with three liberties may be lost in a net, but not in a ladder.
#[test]
fn a_net_is_no_ladder() {
    let rows = [
        ".........", //
        "..XX.....",
        ".X..X....",
        ".XO.X....",
        ".X..X....",
        "..XX.....",
        ".........",
        ".........",
        ".........",
    ];
    assert_ladders(&rows, &NOTHING, &NOTHING);
    // With two liberties it is a ladder: after either atari the chain can't get a third one.
    let mut rows = rows;
    rows[2] = ".XX.X....";
    let mut starts = NOTHING;
    (starts[3], starts[4]) = ("...#.....", "..#......");
    assert_ladders(&rows, &rows.map(|row| if row == ".XO.X...." { "..#......" } else { "........." }), &starts);
}

#[test]
fn a_ladder_across_the_largest_board_is_read() {
    let size = Size::STANDARD;
    let at = |text| size.parse(text).unwrap();
    let mut stones = vec![(Color::White, at("C17"))];
    stones.extend(["C18", "D18", "B17", "C16"].map(|text| (Color::Black, at(text))));
    let board = Board::with_stones(size, stones.clone()).unwrap();
    assert_eq!(ladders(&board, Color::Black).caught, PointSet::from_iter([at("C17")]));
    stones.push((Color::White, at("Q4")));
    let broken = Board::with_stones(size, stones).unwrap();
    assert!(ladders(&broken, Color::Black).caught.is_empty());
}

#[test]
fn capturing_an_attacker_saves_the_chain() {
    let rows = [
        ".........", //
        ".........",
        ".OXX.....",
        ".XO......",
        ".OX......",
        ".........",
        ".........",
        ".........",
        ".........",
    ];
    let prey = Move(3 * 9 + 2);
    // White takes the stone at B6, which has one liberty.
    assert!(!ladders(&board(&rows), Color::Black).caught.contains(prey));
    let mut safe = rows;
    (safe[2], safe[4]) = ("..XX.....", "..X......");
    assert!(ladders(&board(&safe), Color::Black).caught.contains(prey), "B6 has three liberties");
}

/// The next four positions are the smallest in which KataGo's reader and one without its two rules about kos differ,
/// of some ten thousand with random stones, after all stones without an effect had been taken off.
#[test]
fn an_attacker_who_begins_a_ko_has_failed() {
    // From G7 the ladder leads to the corner A7, where Black would have to take the ko at G7 to go on.
    let rows = [".....O.", ".....X.", "......X", ".......", ".......", ".......", "......."];
    let mut caught = [NOTHING_ON_7; 7];
    let mut starts = caught;
    (caught[0], starts[0]) = (".....#.", "....#..");
    assert_ladders(&rows, &caught, &starts);
}

#[test]
fn between_two_kos_a_chain_is_caught() {
    // Without that rule only A4 is, from below.
    let rows = ["..X....", "OXX....", "..X....", "OX.....", ".......", ".......", "......."];
    let mut caught = [NOTHING_ON_7; 7];
    let mut starts = caught;
    (caught[1], caught[3]) = ("#......", "#......");
    (starts[0], starts[2], starts[4]) = ("#......", "#......", "#......");
    assert_ladders(&rows, &caught, &starts);
    // Without it both are as well, but not by a stone between them.
    let rows = [".......", ".......", "OX.....", "..X....", "OX.....", ".......", "..X...."];
    let (mut caught, mut starts) = ([NOTHING_ON_7; 7], [NOTHING_ON_7; 7]);
    (caught[2], caught[4]) = ("#......", "#......");
    (starts[1], starts[3], starts[5]) = ("#......", "#......", "#......");
    assert_ladders(&rows, &caught, &starts);
    // Between kos that give a third liberty to who fills them, White is not.
    let rows = [".......", ".......", "OO.....", "O.O....", "X.X....", ".X.....", "XO....."];
    let mut caught = [NOTHING_ON_7; 7];
    caught[6] = ".#.....";
    assert_ladders(&rows, &caught, &[NOTHING_ON_7; 7]);
}

/// How many positions the naive reader looks at, and how many moves one line may have: a ladder with kos in it goes on
/// and on, and each move takes some of the stack.
const MOST_POSITIONS: u32 = 5_000;
const MOST_MOVES: u32 = 200;

/// How far the naive reader has come.
#[derive(Default)]
struct Reading {
    positions: u32,
    moves: u32,
}

/// The ladder reader once more, without its shortcuts. Returns `None` if it takes too long.
fn is_caught(
    position: &naive::Position,
    ko: Option<usize>,
    prey: usize,
    defends: bool,
    reading: &mut Reading,
) -> Option<bool> {
    reading.positions += 1;
    if reading.positions > MOST_POSITIONS || reading.moves > MOST_MOVES {
        return None;
    }
    let liberties = position.liberties(prey);
    match (defends, liberties.len()) {
        (true, 2..) | (false, 3..) => return Some(false),
        (false, 0 | 1) => return Some(true),
        // The attacker needs a ko.
        (true, _) if ko.is_some() => return Some(false),
        _ => {}
    }
    let defender = position.stones[prey].unwrap();
    let captures = captures_around(position, prey);
    if !defends && captures.is_empty() && liberties.iter().all(|&at| is_worthless_ko(position, defender, at)) {
        return Some(true);
    }
    let mut choices = liberties;
    if defends {
        choices.extend(captures);
    }
    let mover = if defends { defender } else { !defender };
    for choice in choices.into_iter().filter(|&choice| Some(choice) != ko) {
        let Some(next) = position.after_without_suicide(mover, choice) else { continue };
        let ko = ko_point(position, &next, choice);
        // An attacker who has captured the prey has won.
        reading.moves += 1;
        let captured = next.stones[prey].is_none() || is_caught(&next, ko, prey, !defends, reading)?;
        reading.moves -= 1;
        if captured != defends {
            return Some(captured);
        }
    }
    Some(defends)
}

/// The moves that capture a chain beside that of the prey.
fn captures_around(position: &naive::Position, prey: usize) -> Vec<usize> {
    let around = position.chain(prey).into_iter().flat_map(|stone| position.neighbours(stone));
    let hunters = around.filter(|&beside| position.stones[beside] == Some(!position.stones[prey].unwrap()));
    let weak: Vec<usize> = hunters.filter(|&hunter| position.liberties(hunter).len() == 1).collect();
    weak.into_iter().flat_map(|hunter| position.liberties(hunter)).collect()
}

/// Whether a stone of the attacker there begins a ko, and one of the defender has at most two liberties.
fn is_worthless_ko(position: &naive::Position, defender: Color, at: usize) -> bool {
    let taken = position.after_without_suicide(!defender, at);
    let filled = position.after_without_suicide(defender, at);
    taken.is_some_and(|next| ko_point(position, &next, at).is_some())
        && filled.is_none_or(|next| next.liberties(at).len() <= 2)
}

/// The point where a stone was captured, if a stone played there would recapture just the one that captured it.
fn ko_point(before: &naive::Position, after: &naive::Position, played: usize) -> Option<usize> {
    let lost: Vec<usize> =
        (0..before.stones.len()).filter(|&at| before.stones[at].is_some() && after.stones[at].is_none()).collect();
    (lost.len() == 1 && after.chain(played).len() == 1 && after.liberties(played).len() == 1).then(|| lost[0])
}

#[test]
fn ladders_are_those_of_a_naive_reader() {
    fn property(sides: (u8, u8), choices: Vec<u16>) -> bool {
        let size = Size::new(2 + sides.0 % 6, 2 + sides.1 % 6).unwrap();
        let mut board = Board::new(size);
        let mut color = Color::Black;
        for &choice in &choices {
            let legal: Vec<Move> = size.points().filter(|&mv| board.is_legal(color, mv, false)).collect();
            let Some(&mv) = legal.get(usize::from(choice) % legal.len().max(1)) else { break };
            board.play(color, mv);
            color = !color;
        }
        compare(&board, color);
        true
    }
    QuickCheck::new().tests(2000).quickcheck(property as fn((u8, u8), Vec<u16>) -> bool);
}

/// Stones anywhere, many of them: in games, two kos beside one chain are rare.
#[test]
fn ladders_among_random_stones_are_those_of_a_naive_reader() {
    fn property(sides: (u8, u8), stones: Vec<u8>) -> bool {
        let size = Size::new(2 + sides.0 % 6, 2 + sides.1 % 6).unwrap();
        let mut board = Board::new(size);
        for (point, stone) in size.points().zip(stones.into_iter().chain([0; 49])) {
            // Most of the points have a stone; one without a liberty is not put down.
            match stone % 8 {
                0..3 => board.set_stone(Color::Black, point).unwrap(),
                3..6 => board.set_stone(Color::White, point).unwrap(),
                _ => {}
            }
        }
        compare(&board, Color::Black);
        true
    }
    QuickCheck::new().tests(5000).quickcheck(property as fn((u8, u8), Vec<u8>) -> bool);
}

fn compare(board: &Board, attacker: Color) {
    let position =
        naive::Position { size: board.size(), stones: board.size().points().map(|point| board.stone(point)).collect() };
    let found = ladders(board, attacker);
    let mut starts = PointSet::EMPTY;
    for point in board.occupied().iter() {
        let (prey, owner) = (point.index(), board.stone(point).unwrap());
        let working = match board.liberties(point) {
            1 => is_caught(&position, None, prey, true, &mut Reading::default()).map(|caught| (caught, vec![])),
            2 => working_moves(board, &position, prey).map(|working| (!working.is_empty(), working)),
            _ => Some((false, vec![])),
        };
        let Some((caught, working)) = working else { return };
        assert_eq!(found.caught.contains(point), caught, "{}\n{board}", board.size().format(point));
        if owner == !attacker {
            starts |= working.into_iter().map(|at| Move(at as u16)).collect();
        }
    }
    assert_eq!(found.starts, starts, "\n{board}");
}

fn working_moves(board: &Board, position: &naive::Position, prey: usize) -> Option<Vec<usize>> {
    let attacker = !position.stones[prey].unwrap();
    let mut working = Vec::new();
    for choice in position.liberties(prey) {
        let banned = board.ko() == Some((attacker, Move(choice as u16)));
        let Some(next) = position.after_without_suicide(attacker, choice).filter(|_| !banned) else { continue };
        if is_caught(&next, None, prey, true, &mut Reading::default())? {
            working.push(choice);
        }
    }
    Some(working)
}
