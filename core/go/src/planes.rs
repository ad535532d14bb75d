//! The input of KataGo's networks: "inputs version 7", which the network versions 8 to 17 use.
//!
//! It has 22 planes of X × Y points and 19 numbers, all seen from the player to move.
//!
//! | planes | content |
//! |---|---|
//! | 0 | points of the board |
//! | 1, 2 | stones of the player to move; of the opponent |
//! | 3, 4, 5 | stones of chains with 1, 2, 3 liberties |
//! | 6 | points that ko forbids the player to move |
//! | 7, 8 | empty (7: a phase of territory scoring that this crate does not know) |
//! | 9–13 | the last move, the one before, … the fifth last |
//! | 14, 15, 16 | stones caught in ladders: now, one move ago, two moves ago |
//! | 17 | moves that begin a ladder that works |
//! | 18, 19 | area of the player to move; of the opponent (area scoring only) |
//! | 20, 21 | empty (as 7) |
//!
//! | numbers | content |
//! |---|---|
//! | 0–4 | 1 if the last move, … the fifth last was a pass |
//! | 5 | komi of the player to move in points, over 20 |
//! | 6, 7 | ko rule: 0, 0 simple; 1, ½ positional and Spight; 1, −½ situational |
//! | 8 | 1 if chains may kill themselves |
//! | 9 | 1 if territory is counted |
//! | 10, 11 | tax: 0, 0 none; 1, 0 in seki; 1, 1 all |
//! | 12, 13 | 0 (as plane 7) |
//! | 14 | 1 if a pass would end the game |
//! | 15, 16 | 1 and half the playout doubling advantage, where there is one |
//! | 17 | 1 if the button is still to be taken |
//! | 18 | how komi rounds: see [`komi_wave`] |

use crate::area::taxed_area;
use crate::color::Color;
use crate::game::{Button, Game};
use crate::ladder::ladders;
use crate::points::{PointSet, Size};
use crate::rules::{KoRule, Scoring, Tax};
use crate::symmetry::Symmetry;

/// How many planes an input has.
pub const SPATIAL: usize = 22;

/// How many numbers an input has that do not belong to a point.
pub const GLOBAL: usize = 19;

/// How many of the last moves an input shows at most.
pub const HISTORY: usize = 5;

/// By how many points komi may exceed the area of the board before it is clipped.
const KOMI_MARGIN: f32 = 20.0;

/// What komi is divided by.
const KOMI_SCALE: f32 = 20.0;

const BOARD: usize = 0;
const OWN: usize = 1;
const OPPONENT: usize = 2;
const LIBERTIES: usize = 3;
const KO: usize = 6;
const LAST_MOVES: usize = 9;
const LADDERS: usize = 14;
const LADDER_STARTS: usize = 17;
const AREA: usize = 18;

const PASSES: usize = 0;
const KOMI: usize = 5;
const SUPERKO: usize = 6;
const SUPERKO_KIND: usize = 7;
const SUICIDE: usize = 8;
const TERRITORY: usize = 9;
const TAX: usize = 10;
const TAX_ALL: usize = 11;
const PASS_ENDS: usize = 14;
const HAS_PLAYOUT_DOUBLING: usize = 15;
const PLAYOUT_DOUBLING: usize = 16;
const BUTTON: usize = 17;
const KOMI_WAVE: usize = 18;

/// What an input shows besides the position, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// How many of the last moves the input may show, up to [`HISTORY`]. With 0 the network sees the position alone.
    ///
    /// For KataGo's `ignorePreRootHistory`, which its analysis engine has on unless told otherwise, use 0 at the root
    /// and d at d moves below it.
    pub history: usize,
    /// Whether the network should not learn that a pass would end the game: then the input shows no history, and
    /// nothing of the end. Without effect if territory is counted, since a pass then ends a phase and not the game.
    /// (KataGo's `conservativePass`, at the root.)
    pub conservative_pass: bool,
    /// Whether the network should not learn that a pass would end the game if the player to move would not win by it.
    /// Without effect if territory is counted. (KataGo's `enablePassingHacks`.)
    pub passing_hacks: bool,
    /// Whether areas are found as if chains might kill themselves, whatever the rules say. Networks of version 15 and
    /// later ask for it in their header.
    pub areas_with_suicide: bool,
    /// The player to move is searched 2 to this power times as much as the opponent. It is usually 0.
    pub playout_doubling_advantage: f32,
    /// How many games won by White a draw counts as, from 0 to 1: if a draw is possible, komi is higher or lower by up
    /// to half a point, and so is the score that `passing_hacks` takes for a win. (KataGo's
    /// `drawEquivalentWinsForWhite`.)
    pub draw_wins: f32,
}

impl Default for Options {
    /// All history, draws that are worth the same to both sides, and none of the rest.
    fn default() -> Self {
        Options {
            history: HISTORY,
            conservative_pass: false,
            passing_hacks: false,
            areas_with_suicide: false,
            playout_doubling_advantage: 0.0,
            draw_wins: 0.5,
        }
    }
}

/// An input of a network: 1.1 KB.
#[derive(Clone, Debug, PartialEq)]
pub struct Planes {
    size: Size,
    spatial: [PointSet; SPATIAL],
    global: [f32; GLOBAL],
}

impl Planes {
    /// The size of the board.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The planes: each is 1 on the points of a set, and 0 on the others.
    pub fn spatial(&self) -> &[PointSet; SPATIAL] {
        &self.spatial
    }

    /// The numbers that do not belong to a point.
    pub fn global(&self) -> &[f32; GLOBAL] {
        &self.global
    }

    /// Writes the planes one after the other, each by rows from the top, after `symmetry` has turned them.
    ///
    /// What the network says of a point has to be turned back by [`Symmetry::inverse`].
    ///
    /// # Panics
    /// Unless `out` has a length of [`SPATIAL`] · X · Y.
    pub fn write_spatial(&self, symmetry: Symmetry, out: &mut [f32]) {
        let area = self.size.area();
        assert_eq!(out.len(), SPATIAL * area, "room for all planes");
        out.fill(0.0);
        for (plane, out) in self.spatial.iter().zip(out.chunks_exact_mut(area)) {
            plane.iter().for_each(|point| out[symmetry.apply(self.size, point).index()] = 1.0);
        }
    }
}

/// The input for the last position of a game.
///
/// ```
/// use oncilla_go::planes::{Options, encode};
/// use oncilla_go::{Game, Rules, Size};
/// let mut game: Game = Game::new(Size::STANDARD, Rules::TROMP_TAYLOR);
/// game.play(game.size().parse("Q16")?)?;
/// let planes = encode(&game, &Options::default());
/// assert_eq!(planes.spatial()[2], *game.board().stones(!game.side_to_move()));
/// assert_eq!(planes.global()[5], 7.5 / 20.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode<const CAP: usize>(game: &Game<CAP>, options: &Options) -> Planes {
    let mut planes = Planes { size: game.size(), spatial: [PointSet::EMPTY; SPATIAL], global: [0.0; GLOBAL] };
    let hides_end = hides_end(game, options);
    let shown = show_moves(game, allowed_history(game, options, hides_end), &mut planes);
    show_stones(game, &mut planes);
    show_ladders(game, shown, &mut planes);
    show_area(game, options, &mut planes);
    show_rules(game, options, &mut planes);
    planes.global[PASS_ENDS] = number(game.pass_would_end() && !hides_end);
    planes.global[HAS_PLAYOUT_DOUBLING] = number(options.playout_doubling_advantage != 0.0);
    planes.global[PLAYOUT_DOUBLING] = 0.5 * options.playout_doubling_advantage;
    planes
}

fn number(condition: bool) -> f32 {
    f32::from(u8::from(condition))
}

/// Whether the network is not to know that a pass would end the game. If territory is counted, only a phase of the game
/// ends.
fn hides_end<const CAP: usize>(game: &Game<CAP>, options: &Options) -> bool {
    if game.rules().scoring == Scoring::Territory || !game.pass_would_end() {
        return false;
    }
    let is_no_win = || !game.pass_would_win(worth_of_draws(game, options));
    game.pass_is_friendly() || options.conservative_pass || options.passing_hacks && is_no_win()
}

/// How many of the last moves may be shown. After the end it is one; if the game goes on, it is that one and those
/// since. Otherwise the network would see two passes and moves after them, which no game in its training had.
fn allowed_history<const CAP: usize>(game: &Game<CAP>, options: &Options, hides_end: bool) -> usize {
    if hides_end { 0 } else { options.history.min(HISTORY).min(game.moves_in_sight().into()) }
}

/// Shows the last moves, as long as the players alternate. Returns how many are shown.
fn show_moves<const CAP: usize>(game: &Game<CAP>, allowed: usize, planes: &mut Planes) -> usize {
    let mut mover = game.side_to_move();
    let mut shown = 0;
    for (color, mv) in game.moves().rev().take(allowed) {
        mover = !mover;
        if color != mover {
            break;
        }
        if mv == game.size().pass() {
            planes.global[PASSES + shown] = 1.0;
        } else {
            planes.spatial[LAST_MOVES + shown].insert(mv);
        }
        shown += 1;
    }
    shown
}

fn show_stones<const CAP: usize>(game: &Game<CAP>, planes: &mut Planes) {
    let (board, side) = (game.board(), game.side_to_move());
    planes.spatial[BOARD] = PointSet::full(game.size());
    planes.spatial[OWN] = *board.stones(side);
    planes.spatial[OPPONENT] = *board.stones(!side);
    for point in board.occupied().iter() {
        let liberties = board.liberties(point);
        if liberties <= 3 {
            planes.spatial[LIBERTIES + liberties - 1].insert(point);
        }
    }
    planes.spatial[KO] = game.ko_banned();
}

/// Shows the ladders. For a board before a move that is not shown, the board after that move is used.
fn show_ladders<const CAP: usize>(game: &Game<CAP>, shown: usize, planes: &mut Planes) {
    let now = ladders(game.board(), game.side_to_move());
    planes.spatial[LADDERS] = now.caught;
    planes.spatial[LADDER_STARTS] = now.starts;
    for plies in 1..=crate::game::BOARDS_AGO {
        let earlier = if plies <= shown { game.board_ago(plies) } else { None };
        let caught = earlier.map(|board| ladders(&board, game.side_to_move()).caught);
        planes.spatial[LADDERS + plies] = caught.unwrap_or(planes.spatial[LADDERS + plies - 1]);
    }
}

fn show_area<const CAP: usize>(game: &Game<CAP>, options: &Options, planes: &mut Planes) {
    let (rules, side) = (game.rules(), game.side_to_move());
    if rules.scoring == Scoring::Area {
        let area = taxed_area(game.board(), rules.suicide || options.areas_with_suicide, rules.tax);
        planes.spatial[AREA] = *area.of(side);
        planes.spatial[AREA + 1] = *area.of(!side);
    }
}

fn show_rules<const CAP: usize>(game: &Game<CAP>, options: &Options, planes: &mut Planes) {
    let rules = game.rules();
    let komi = own_komi(game, options);
    planes.global[KOMI] = komi / KOMI_SCALE;
    planes.global[SUPERKO] = number(rules.ko.is_superko());
    planes.global[SUPERKO_KIND] = match rules.ko {
        KoRule::Simple => 0.0,
        KoRule::Positional | KoRule::Spight => 0.5,
        KoRule::Situational => -0.5,
    };
    planes.global[SUICIDE] = number(rules.suicide);
    planes.global[TERRITORY] = number(rules.scoring == Scoring::Territory);
    planes.global[TAX] = number(rules.tax != Tax::None);
    planes.global[TAX_ALL] = number(rules.tax == Tax::All);
    planes.global[BUTTON] = number(game.button() == Button::Available);
    if rules.scoring == Scoring::Area {
        planes.global[KOMI_WAVE] = komi_wave(game.size(), komi);
    }
}

/// Points that White gets for the worth of draws, if a draw is possible.
fn worth_of_draws<const CAP: usize>(game: &Game<CAP>, options: &Options) -> f32 {
    if game.rules().may_draw() { options.draw_wins - 0.5 } else { 0.0 }
}

/// The points that the player to move gets besides those on the board, clipped to what can matter.
fn own_komi<const CAP: usize>(game: &Game<CAP>, options: &Options) -> f32 {
    let most = game.size().area() as f32 + KOMI_MARGIN;
    let whites = game.compensation() + worth_of_draws(game, options);
    let komi = match game.side_to_move() {
        Color::White => whites,
        Color::Black => -whites,
    };
    komi.clamp(-most, most)
}

/// How much a player's `komi`, in points, is worth beyond the last one that allows a draw, once all points are counted
/// by area: a wave of period 2.
///
/// The sum of all points is odd or even as the board's area is, and so are the komis that allow a draw (if the whole
/// board is counted). From such a komi upwards the wave rises to ½, sinks to −½ at the middle of the last half, and
/// rises to 0 at the next.
pub fn komi_wave(size: Size, komi: f32) -> f32 {
    let parity = (size.area() % 2) as f32;
    let beyond = komi - parity - 2.0 * libm::floorf((komi - parity) / 2.0);
    match beyond {
        ..0.5 => beyond,
        ..1.5 => 1.0 - beyond,
        _ => beyond - 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_komi_wave_follows_the_parity_of_the_board() {
        let wave = |side, komi| komi_wave(Size::new(side, side).unwrap(), komi);
        let odd = [-7.5, -7.0, -6.5, -6.0, -5.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5].map(|komi| wave(9, komi));
        assert_eq!(odd, [-0.5, 0.0, 0.5, 0.0, -0.5, 0.0, 0.5, 0.0, -0.5, 0.0, 0.5]);
        let even = [-0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0].map(|komi| wave(8, komi));
        assert_eq!(even, [-0.5, 0.0, 0.25, 0.5, 0.25, 0.0, -0.25, -0.5, -0.25, 0.0]);
    }
}
