//! The positions of a query: board, stones, rules and moves.

use oncilla_go::{
    Board, Color, DEFAULT_CAP, Game, HandicapBonus, KoRule, Komi, MAX_SIDE, Move, PlayError, Played, PointSet, Rules,
    Scoring, Size, Tax,
};
use serde_json::Value;

use super::vertex::{self, Passes, Vertex};
use crate::fields::{A_PLAYER, BadField, Fields, Object, integer};
use crate::go::LEAST_SIDE;

/// The room for moves that a game keeps free, because a search plays on from it.
pub const ROOM: usize = 256;

/// The number of moves that a game still knows after it has forgotten others: see [`Setup::game`].
const KEPT: usize = DEFAULT_CAP - 2 * ROOM;

/// A game from its beginning to its last move, in two bytes for each move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    size: Size,
    rules: Rules,
    black_run_is_handicap: bool,
    /// The stones of each player at the beginning.
    stones: [PointSet; 2],
    /// Who is to move at the beginning.
    first: Color,
    moves: Box<[Played]>,
}

impl Setup {
    /// The position after `turn` moves, at most all of them.
    ///
    /// If a player makes two moves in a row, the game begins anew at the second: nothing is known of what was before. A
    /// game of more than [`DEFAULT_CAP`] − [`ROOM`] moves forgets its first ones ([`Game::forget`]): ko rules look at
    /// the last 512 at least. The game has room for [`ROOM`] more moves.
    pub fn game(&self, turn: usize) -> Game {
        let mut game = self.start();
        for played in self.moves.iter().take(turn) {
            // The move was played once already, so it can be played.
            let _ = self.play(&mut game, played.color(), played.mv());
        }
        game
    }

    /// The number of moves, which is also the number of the last turn.
    pub fn turns(&self) -> usize {
        self.moves.len()
    }

    /// The size of the board.
    pub fn size(&self) -> Size {
        self.size
    }

    /// The rules, which the network supports.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Bytes that it takes besides its own size.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.moves)
    }

    /// A setup with the stones on a board, and no moves yet.
    pub fn new(board: &Board, first: Color, rules: Rules, black_run_is_handicap: bool) -> Self {
        let stones = Color::ALL.map(|color| *board.stones(color));
        Self { size: board.size(), rules, black_run_is_handicap, stones, first, moves: Box::default() }
    }

    /// The same under other rules.
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// The stones of a player at the beginning.
    pub fn stones(&self, color: Color) -> &PointSet {
        &self.stones[color as usize]
    }

    /// Who is to move at the beginning.
    pub fn first(&self) -> Color {
        self.first
    }

    /// The position at the beginning.
    pub fn start(&self) -> Game {
        let stones = Color::ALL.into_iter().flat_map(|color| {
            let points = self.stones[color as usize].iter();
            points.map(move |point| (color, point))
        });
        // The stones were on a board already.
        let board = Board::with_stones(self.size, stones).unwrap_or_else(|_| Board::new(self.size));
        let mut game = Game::starting_from(board, self.first, self.rules);
        game.set_black_run_is_handicap(self.black_run_is_handicap);
        game
    }

    /// Makes it this player's turn in the game, and makes room for a search: see [`Setup::game`].
    pub fn turn_to(&self, game: &mut Game, color: Color) {
        if color != game.side_to_move() {
            *game = game.begun_anew(color);
        } else if game.room() <= ROOM {
            game.forget(KEPT);
        }
    }

    /// Plays a move of a record: no ko and no ban on suicide keeps it from being played.
    ///
    /// # Errors
    /// The errors of [`Game::play_tolerantly`].
    pub fn play(&self, game: &mut Game, color: Color, mv: Move) -> Result<(), PlayError> {
        self.turn_to(game, color);
        game.play_tolerantly(color, mv)
    }
}

/// The board and moves of a query, before it is known whether the moves can be played.
#[derive(Debug)]
pub struct Transcript {
    board: Board,
    first: Color,
    moves: Vec<(Color, Vertex)>,
}

impl Transcript {
    /// Reads `boardXSize`, `boardYSize`, `initialStones`, `moves` and `initialPlayer`.
    ///
    /// # Errors
    /// A bad field, in KataGo's words.
    pub fn read(fields: Fields<'_>) -> Result<Self, BadField> {
        let (x, y) = (side(fields, "boardXSize")?, side(fields, "boardYSize")?);
        let size = Size::new(x, y).ok_or_else(|| no_side("boardXSize"))?;
        let board = stones(fields, size)?;
        let list = fields.get("moves");
        let list = list.ok_or_else(|| BadField::new("moves", "Must specify an array of [player,location] pairs"))?;
        let moves = vertex::pairs("moves", list, size, Passes::Allowed)?;
        let first = fields.read("initialPlayer", A_PLAYER, |value| vertex::player(value.as_str()?))?;
        let first = first.or(moves.first().map(|(color, _)| *color)).unwrap_or_else(|| mover(&board));
        Ok(Self { board, first, moves })
    }

    /// The size of the board.
    pub fn size(&self) -> Size {
        self.board.size()
    }

    /// The number of moves.
    pub fn turns(&self) -> usize {
        self.moves.len()
    }

    /// Plays the moves.
    ///
    /// # Errors
    /// The first move that can't be played on any board.
    pub fn setup(self, rules: Rules, black_run_is_handicap: bool) -> Result<Setup, BadField> {
        let size = self.size();
        let mut setup = Setup::new(&self.board, self.first, rules, black_run_is_handicap);
        let mut game = setup.start();
        let mut moves = Vec::with_capacity(self.moves.len());
        for (index, (color, vertex)) in self.moves.into_iter().enumerate() {
            let illegal = || BadField::new("moves", format!("Illegal move {index}: {}", vertex.name(size)));
            let Vertex::On(mv) = vertex else { return Err(illegal()) };
            setup.play(&mut game, color, mv).map_err(|_| illegal())?;
            moves.push(Played::new(color, mv));
        }
        setup.moves = moves.into();
        Ok(setup)
    }
}

fn side(fields: Fields<'_>, field: &str) -> Result<u8, BadField> {
    let side = fields.get(field).and_then(|value| integer(value, LEAST_SIDE.into()..=MAX_SIDE.into()));
    side.map(|side| side as u8).ok_or_else(|| no_side(field))
}

fn no_side(field: &str) -> BadField {
    BadField::new(field, format!("Must provide an integer from {LEAST_SIDE} to {MAX_SIDE}"))
}

/// The board with `initialStones`. They are put down one after the other, as KataGo does it: a later stone replaces an
/// earlier one, and what has no liberties then is captured.
fn stones(fields: Fields<'_>, size: Size) -> Result<Board, BadField> {
    let field = "initialStones";
    let mut board = Board::new(size);
    let Some(list) = fields.get(field) else { return Ok(board) };
    for (color, vertex) in vertex::pairs(field, list, size, Passes::Refused)? {
        // KataGo ignores stones that are off the board.
        let off = || BadField::new(field, format!("Could not parse board location: {}", vertex.name(size)));
        let Vertex::On(point) = vertex else { return Err(off()) };
        board.set_stone(color, point).map_err(|_| off())?;
    }
    Ok(board)
}

/// Who begins if the query does not say: White, if Black has handicap stones, else Black.
pub fn mover(board: &Board) -> Color {
    let [black, white] = Color::ALL.map(|color| board.stones(color).len());
    if black >= 2 && white == 0 { Color::White } else { Color::Black }
}

/// Reads `rules`, then `komi` and `whiteHandicapBonus`, which count for more.
///
/// # Errors
/// A bad field, in KataGo's words.
pub fn rules(fields: Fields<'_>) -> Result<Rules, BadField> {
    let bad = |text: &str| BadField::new("rules", format!("Could not parse rules: {text}"));
    let mut rules = match fields.get("rules") {
        Some(Value::String(text)) => rules_in_text(text).ok_or_else(|| bad(text))?,
        Some(Value::Object(object)) => {
            rules_of_object(object).ok_or_else(|| bad(&serde_json::to_string(object).unwrap_or_default()))?
        }
        _ => return Err(BadField::new("rules", NO_RULES)),
    };
    let expected = "Must be a integer or half-integer from -400.0 to 400.0";
    rules.komi = fields.read("komi", expected, komi)?.unwrap_or(rules.komi);
    if let Some(name) = fields.read("whiteHandicapBonus", "Must be a string", bonus_name)? {
        let bad = || format!("Rules::parseWhiteHandicapBonusRule: Invalid whiteHandicapBonus rule: {name}");
        let bonus = HandicapBonus::from_name(name);
        rules.handicap_bonus = bonus.ok_or_else(|| BadField::new("whiteHandicapBonus", bad()))?;
    }
    Ok(rules)
}

const NO_RULES: &str = "Must specify rules string, such as \"chinese\" or \"tromp-taylor\", or a JSON object with detailed rules \
                        parameters.";

/// The name of a handicap bonus. One name is `"0"`, which may also be the number 0, as in KataGo's description.
fn bonus_name(value: &Value) -> Option<&str> {
    if value.as_i64() == Some(0) { Some("0") } else { value.as_str() }
}

/// Reads a komi in points. A number that differs from a multiple of one half by less than 32 bits can tell counts as
/// that multiple.
fn komi(value: &Value) -> Option<Komi> {
    Komi::from_points(value.as_f64()? as f32)
}

/// Reads rules from a name, the compact form, or an object that is written as text.
pub fn rules_in_text(text: &str) -> Option<Rules> {
    if text.trim_start().starts_with('{') {
        return rules_of_object(&serde_json::from_str(text).ok()?);
    }
    text.parse().ok()
}

/// Reads rules from an object that sets some of the axes. The others are Tromp and Taylor's, except for tax and komi,
/// which follow the scoring.
pub fn rules_of_object(object: &Object) -> Option<Rules> {
    let mut rules = Rules::TROMP_TAYLOR;
    let (mut tax, mut points) = (None, None);
    for (axis, value) in object {
        match axis.as_str() {
            "ko" => rules.ko = KoRule::from_name(value.as_str()?)?,
            "score" | "scoring" => rules.scoring = Scoring::from_name(value.as_str()?)?,
            "tax" => tax = Some(Tax::from_name(value.as_str()?)?),
            "suicide" => rules.suicide = value.as_bool()?,
            "hasButton" => rules.button = value.as_bool()?,
            "whiteHandicapBonus" => rules.handicap_bonus = HandicapBonus::from_name(bonus_name(value)?)?,
            "friendlyPassOk" => rules.friendly_pass = value.as_bool()?,
            "komi" => points = Some(komi(value)?),
            _ => return None,
        }
    }
    Some(rules.with_usual(tax, points))
}

/// The object for rules that [`rules_of_object`] reads, without the komi.
pub fn object_of_rules(rules: &Rules) -> Object {
    let mut object = Object::new();
    object.insert("friendlyPassOk".into(), rules.friendly_pass.into());
    object.insert("hasButton".into(), rules.button.into());
    object.insert("ko".into(), rules.ko.name().into());
    object.insert("scoring".into(), rules.scoring.name().into());
    object.insert("suicide".into(), rules.suicide.into());
    object.insert("tax".into(), rules.tax.name().into());
    object.insert("whiteHandicapBonus".into(), rules.handicap_bonus.name().into());
    object
}

/// The nearest rules that networks know: no network has seen a button together with territory scoring.
pub fn supported(rules: Rules) -> Rules {
    Rules { button: rules.button && rules.scoring == Scoring::Area, ..rules }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(fields: Value) -> Result<Setup, BadField> {
        let mut object = json!({ "boardXSize": 5, "boardYSize": 4, "moves": [], "rules": "chinese" });
        object.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let fields = Fields(object.as_object().unwrap());
        Transcript::read(fields)?.setup(rules(fields)?, true)
    }

    fn moves(texts: &[(&str, &str)]) -> Value {
        json!({ "moves": texts })
    }

    #[test]
    fn turns_are_positions() {
        let setup = read(moves(&[("B", "C2"), ("w", "pass"), ("black", "(0,0)")])).unwrap();
        assert_eq!(setup.turns(), 3);
        let sides: Vec<Color> = (0..=3).map(|turn| setup.game(turn).side_to_move()).collect();
        assert_eq!(sides, [Color::Black, Color::White, Color::Black, Color::White]);
        let last = setup.game(3);
        let stones: Vec<Move> = last.board().stones(Color::Black).iter().collect();
        assert_eq!((stones, last.ply()), (vec![Move(0), Move(12)], 3));
        assert_eq!(setup.game(99).ply(), 3);
        assert!(setup.bytes() == 6 && size_of::<Setup>() < 200, "{}", size_of::<Setup>());
    }

    #[test]
    fn who_begins() {
        let first = |fields: Value| read(fields).unwrap().game(0).side_to_move();
        let two = json!([["B", "A1"], ["B", "A2"]]);
        assert_eq!(first(json!({})), Color::Black);
        assert_eq!(first(json!({ "initialStones": two })), Color::White);
        assert_eq!(first(json!({ "initialStones": [["B", "A1"]] })), Color::Black);
        assert_eq!(first(json!({ "initialStones": [["B", "A1"], ["B", "A2"], ["W", "C3"]] })), Color::Black);
        assert_eq!(first(json!({ "initialStones": two, "moves": [["B", "C3"]] })), Color::Black);
        assert_eq!(first(json!({ "initialStones": two, "initialPlayer": "b" })), Color::Black);
        // If the other player makes the first move, turn 0 is as the field says, and turn 1 begins anew.
        let setup = read(json!({ "initialPlayer": "B", "moves": [["W", "C3"]] })).unwrap();
        assert_eq!([0, 1].map(|turn| setup.game(turn).side_to_move()), [Color::Black; 2]);
    }

    #[test]
    fn two_moves_of_one_player_begin_a_game_anew() {
        let setup = read(moves(&[("B", "A1"), ("W", "pass"), ("B", "pass"), ("B", "C3")])).unwrap();
        let before = setup.game(3);
        assert!(before.ending().is_some(), "two passes, and yet moves follow");
        let game = setup.game(4);
        assert_eq!((game.ply(), game.ending(), game.side_to_move()), (1, None, Color::White));
        assert_eq!(game.board().stones(Color::Black).len(), 2);
        assert_eq!(game.handicap_stones(), 2, "a stone that lay there and a move");
    }

    #[test]
    fn only_what_no_board_allows_is_illegal() {
        let ko =
            [("B", "B4"), ("W", "C4"), ("B", "A3"), ("W", "D3"), ("B", "B2"), ("W", "C2"), ("B", "C3"), ("W", "B3")];
        let taken_back = [&ko[..], &[("B", "C3")]].concat();
        let setup = read(moves(&taken_back)).unwrap();
        assert_eq!(setup.game(9).board().stones(Color::Black).len(), 4);
        let suicide = [("B", "A1"), ("W", "A2"), ("B", "pass"), ("W", "B2"), ("B", "pass"), ("W", "C1"), ("B", "B1")];
        assert!(read(moves(&suicide)).unwrap().game(7).board().stones(Color::Black).is_empty());
        let bad = |texts: &[(&str, &str)]| read(moves(texts)).unwrap_err().error;
        assert_eq!(bad(&[("B", "A1"), ("W", "a1")]), "Illegal move 1: A1");
        assert_eq!(bad(&[("B", "A2"), ("W", "E4"), ("B", "B1"), ("W", "A1")]), "Illegal move 3: A1");
        assert_eq!(bad(&[("B", "(5,0)")]), "Illegal move 0: (-1,1)");
        let off = read(json!({ "initialStones": [["B", "(5,0)"]] })).unwrap_err();
        assert_eq!(off, BadField::new("initialStones", "Could not parse board location: (-1,1)"));
    }

    #[test]
    fn a_long_game_leaves_room_for_a_search() {
        let passes: Vec<[&str; 2]> = (0..3000).map(|index| [["B", "W"][index % 2], "pass"]).collect();
        let setup = read(json!({ "moves": passes })).unwrap();
        for turn in [DEFAULT_CAP - ROOM, DEFAULT_CAP - ROOM + 1, 3000] {
            let mut game = setup.game(turn);
            assert_eq!(game.ply(), turn);
            assert_eq!(game.side_to_move() == Color::Black, turn % 2 == 0);
            assert!((0..ROOM).all(|_| game.play(game.size().pass()).is_ok()), "{turn}");
        }
    }

    /// A random game of moves that no rule forbids, `moves` moves long.
    fn long_game(rules: Rules, moves: usize) -> oncilla_go::Game<4096> {
        let mut game = oncilla_go::Game::new(Size::new(9, 9).unwrap(), rules);
        let mut state = 7u64;
        for _ in 0..moves {
            // This is the generator of Knuth's MMIX.
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let legal: Vec<Move> = game.legal_moves().collect();
            game.play(legal[(state >> 33) as usize % legal.len()]).unwrap();
        }
        game
    }

    #[test]
    fn a_long_game_keeps_prisoners_button_and_handicap() {
        for text in
            ["koSITUATIONALscoreTERRITORYtaxSEKIsui1whbN-1komi6.5", "koPOSITIONALscoreAREAtaxNONEsui1button1whbNkomi7"]
        {
            let rules: Rules = text.parse().unwrap();
            let whole = long_game(rules, 2500);
            let size = whole.size();
            let mut setup = Setup::new(&Board::new(size), Color::Black, rules, true);
            setup.moves = whole.moves().map(|(color, mv)| Played::new(color, mv)).collect();
            let game = setup.game(2500);
            assert_eq!((game.ply(), game.board().hash()), (2500, whole.board().hash()));
            assert_eq!((game.compensation(), game.button()), (whole.compensation(), whole.button()));
            assert_eq!((game.white_lead(), game.handicap_stones()), (whole.white_lead(), whole.handicap_stones()));
            assert!(game.moves().len() > 512 && game.room() >= ROOM, "{}", game.moves().len());
        }
    }

    #[test]
    fn rules_come_from_names_and_objects() {
        let read = |rules: Value| super::rules(Fields(json!({ "rules": rules }).as_object().unwrap()));
        assert_eq!(read(json!({})), Ok(Rules::TROMP_TAYLOR));
        assert_eq!(read(json!("{}")), Ok(Rules::TROMP_TAYLOR));
        assert_eq!(read(json!(" Chinese_OGS ")).unwrap(), Rules::from_name("chinese-kgs").unwrap());
        let territory = read(json!({ "score": "TERRITORY", "ko": "SIMPLE", "suicide": false })).unwrap();
        assert_eq!(territory, Rules::from_name("japanese").unwrap());
        let all = json!({
            "ko": "SPIGHT", "scoring": "AREA", "tax": "ALL", "suicide": false, "hasButton": true,
            "whiteHandicapBonus": "N-1", "friendlyPassOk": true, "komi": -3.5,
        });
        let all = read(all).unwrap();
        assert_eq!(all.to_string(), "koSPIGHTscoreAREAtaxALLsui0button1whbN-1fpok1komi-3.5");
        assert_eq!(all.to_string().parse(), Ok(all));
        for rules in [json!({ "komi": 7.3 }), json!({ "komi": 401 }), json!({ "suicide": 1 }), json!({ "tax": null })] {
            assert!(read(rules.clone()).is_err(), "{rules}");
        }
    }

    #[test]
    fn no_handicap_bonus_is_a_text_or_a_number() {
        let read = |fields: Value| rules(Fields(fields.as_object().unwrap())).map(|rules| rules.handicap_bonus);
        for none in [json!(0), json!("0")] {
            let field = json!({ "rules": { "whiteHandicapBonus": "N" }, "whiteHandicapBonus": none });
            assert_eq!(read(field), Ok(HandicapBonus::Zero));
            assert_eq!(read(json!({ "rules": { "whiteHandicapBonus": none } })), Ok(HandicapBonus::Zero));
        }
        for bad in [json!(1), json!(-1), json!(0.0), json!(false), json!(null)] {
            let field = read(json!({ "rules": "chinese", "whiteHandicapBonus": bad }));
            assert_eq!(field, Err(BadField::new("whiteHandicapBonus", "Must be a string")), "{bad}");
            assert!(read(json!({ "rules": { "whiteHandicapBonus": bad } })).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_fields_count_for_more_than_the_rules() {
        let object = json!({ "rules": { "komi": 3.5 }, "komi": -0.5, "whiteHandicapBonus": "N" });
        let rules = rules(Fields(object.as_object().unwrap())).unwrap();
        assert_eq!((rules.komi.points(), rules.handicap_bonus), (-0.5, HandicapBonus::N));
        let button = Rules { button: true, scoring: Scoring::Territory, ..rules };
        assert_eq!((supported(rules), supported(button).button), (rules, false));
    }
}
