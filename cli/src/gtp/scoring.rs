//! Judges which stones are dead, and the score, from the owners of the points that a search expects.

use oncilla_go::area::{Area, area, connected, independent_life, pass_alive, taxed_area};
use oncilla_go::{Board, Color, Ending, Move, Outcome, PointSet, Rules, Scoring, Tax};

use super::args::letter;
use super::record::Record;

/// A chain is dead if the mean ownership of its points is more than this for the opponent, of 1 at most. In a seki it
/// is near 0.
const DEAD: f64 = 0.3;

/// A point that neither player surrounds counts for the player whose ownership of it is more than this.
const SETTLED: f64 = 0.5;

/// The judged status of the stones and points of a board.
pub struct Judged {
    /// The board without the dead stones.
    board: Board,
    dead: PointSet,
    /// Stones that are alive without territory.
    seki: PointSet,
    /// Each player's points without living stones, as far as they count under the rules' tax.
    territory: [PointSet; 2],
    lead: f64,
    /// Whether nothing is open, and each point that a player surrounds is expected to stay that player's.
    is_settled: bool,
    /// White's lead with komi and bonuses, as a search of the position expects it.
    expected: f64,
}

impl Judged {
    /// Judges a board. `ownership` has the expected owner of each point, from 1 for White to −1 for Black, and
    /// `expected` is the expected lead of White.
    pub fn new(board: &Board, rules: &Rules, ownership: &[f64], expected: f64) -> Self {
        let owned = |point: Move| ownership.get(point.index()).copied().unwrap_or(0.0);
        let dead = dead(board, rules, ownership);
        let cleaned = without(board, dead);
        let area = area(&cleaned, rules.suicide);
        let mut territory = Color::ALL.map(|color| *area.of(color) - cleaned.occupied());
        let open = PointSet::full(board.size()) - *area.of(Color::Black) - *area.of(Color::White) - cleaned.occupied();
        let (mut lead, mut taxed) = (f64::from(area.white_lead()), area);
        if rules.tax != Tax::None {
            let filled = filled(&cleaned, open, &owned);
            taxed = taxed_area(&filled, rules.suicide, rules.tax);
            lead = taxed_lead(&area, &taxed, &filled, rules);
        }
        let is_safe = |color: Color| {
            let sign: f64 = color.sign();
            area.of(color).iter().all(|point| sign * owned(point) > SETTLED)
        };
        let is_settled = open.is_empty() && Color::ALL.into_iter().all(is_safe);
        for point in open.iter() {
            let owned = owned(point);
            if owned.abs() > SETTLED {
                let owner = if owned > 0.0 { Color::White } else { Color::Black };
                // A player who fills the point gets one more stone on the board, which is a point of area, but none of
                // territory.
                let is_beside_other = cleaned.neighbours(point).any(|beside| cleaned.stone(beside) == Some(!owner));
                if rules.scoring == Scoring::Territory && is_beside_other {
                    continue;
                }
                territory[owner as usize].insert(point);
                lead += owned.signum();
            }
        }
        // A group is connected by its eyes even where they don't count.
        let seki = seki(&cleaned, &territory);
        for color in Color::ALL {
            let counted = &mut territory[color as usize];
            *counted = *counted - (*area.of(color) - *taxed.of(color));
        }
        Self { board: cleaned, dead, seki, territory, lead, is_settled, expected }
    }

    /// The status of the stones and points of a game that [`by_the_rules`] decides: as the stones are counted, so that
    /// both agree. A stone is dead if its point counts for the opponent, and otherwise alive; none is in seki, as in
    /// KataGo. Without a result every stone is alive, and no point is anybody's.
    pub fn by_the_rules(record: &Record) -> Option<Self> {
        let expected = by_the_rules(record)?;
        let (game, rules) = (record.game(), record.rules());
        let board = game.board();
        let mut of_points = [Area::default(); 2];
        if let Some(Outcome::WhiteLead(_)) = game.outcome() {
            of_points = [area(board, rules.suicide), taxed_area(board, rules.suicide, rules.tax)];
        }
        let [area, taxed] = of_points;
        let dead = (*board.stones(Color::Black) & *area.of(Color::White))
            | (*board.stones(Color::White) & *area.of(Color::Black));
        let cleaned = without(board, dead);
        let seki = PointSet::EMPTY;
        let territory = Color::ALL.map(|color| *taxed.of(color) - cleaned.occupied());
        let lead = expected - f64::from(game.compensation());
        Some(Self { board: cleaned, dead, seki, territory, lead, is_settled: true, expected })
    }

    /// White's points less Black's, with komi and bonuses, by counting the board.
    pub fn white_lead(&self, record: &Record) -> f64 {
        self.lead + f64::from(record.game().compensation())
    }

    /// The result of a game, which need not be over (KataGo's `final_score`). If both players have passed, or nothing
    /// is open any more, this is the count; otherwise the expected lead, rounded to a score that is possible with the
    /// board, the komi and the button (whole or half points).
    pub fn final_lead(&self, record: &Record) -> f64 {
        if record.passes() > 1 || self.is_settled {
            return self.white_lead(record);
        }
        let rules = record.rules();
        // On a tiny board, networks expect more points than it has.
        let (points, given) = (record.size().area() as f64, f64::from(record.game().compensation()));
        let expected = self.expected.clamp(given - points, given + points);
        if rules.may_draw() { expected.round() } else { expected.floor() + 0.5 }
    }

    /// The points with a status, listed by chains if the status is one of stones. `before` is the board with the dead
    /// stones.
    pub fn list(&self, status: Status, before: &Board) -> Vec<Vec<Move>> {
        let points = |set: PointSet| vec![set.iter().collect::<Vec<_>>()];
        match status {
            Status::Alive => chains(&self.board, self.board.occupied() - self.seki),
            Status::Dead => chains(before, self.dead),
            Status::Seki => chains(&self.board, self.seki),
            Status::Territory => points(self.territory[0] | self.territory[1]),
            Status::TerritoryOf(color) => points(self.territory[color as usize]),
        }
    }
}

/// The status of stones or of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Stones that stay and have territory.
    Alive,
    /// Stones that are taken off.
    Dead,
    /// Stones that stay without territory.
    Seki,
    /// Points of either player without a living stone.
    Territory,
    /// Those of one player.
    TerritoryOf(Color),
}

impl Status {
    /// The statuses by their names in GTP, and in KataGo, which has those of points.
    pub const NAMED: [(&str, Self); 6] = [
        ("alive", Self::Alive),
        ("dead", Self::Dead),
        ("seki", Self::Seki),
        ("territory", Self::Territory),
        ("black_territory", Self::TerritoryOf(Color::Black)),
        ("white_territory", Self::TerritoryOf(Color::White)),
    ];

    /// The status with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, status)| *status)
    }
}

/// White's lead if the rules alone determine it, because both players have passed and the stones are counted as they
/// stand. A game that ends without a result by repetition counts as 0.
pub fn by_the_rules(record: &Record) -> Option<f64> {
    let (rules, game) = (record.rules(), record.game());
    match game.outcome()? {
        Outcome::WhiteLead(lead) if !rules.friendly_pass => Some(lead.into()),
        Outcome::NoResult if game.ending() == Some(Ending::Repetition) => Some(0.0),
        _ => None,
    }
}

/// A result as GTP writes it.
pub fn text(white_lead: f64) -> String {
    // Scores are whole or half points.
    let lead = (2.0 * white_lead).round() / 2.0;
    if lead == 0.0 {
        return "0".to_string();
    }
    let winner = if lead > 0.0 { Color::White } else { Color::Black };
    format!("{}+{}", letter(winner), lead.abs())
}

/// The stones of chains whose points are expected to be the opponent's, except for chains that are unconditionally
/// alive.
fn dead(board: &Board, rules: &Rules, ownership: &[f64]) -> PointSet {
    let safe = pass_alive(board, rules.suicide);
    let mut dead = PointSet::EMPTY;
    for chain in chains(board, board.occupied()) {
        let Some(color) = chain.first().and_then(|stone| board.stone(*stone)) else { continue };
        let sign: f64 = color.sign();
        let owned: f64 = chain.iter().map(|stone| ownership.get(stone.index()).copied().unwrap_or(0.0)).sum();
        let is_safe = chain.iter().any(|stone| safe.of(color).contains(*stone));
        if !is_safe && sign * owned / (chain.len() as f64) < -DEAD {
            chain.iter().for_each(|stone| dead.insert(*stone));
        }
    }
    dead
}

/// The board without some of its stones.
fn without(board: &Board, removed: PointSet) -> Board {
    let stones = Color::ALL.into_iter().flat_map(|color| {
        let left = *board.stones(color) - removed;
        left.iter().map(move |point| (color, point)).collect::<Vec<_>>()
    });
    // This can't fail: removing stones takes no liberties from the others.
    Board::with_stones(board.size(), stones).unwrap_or_else(|_| board.clone())
}

/// White's points less Black's of an area under a tax. Groups that do not live independently on the `filled` board, of
/// which `taxed` is the area under the tax, count their stones but no territory, and under [`Tax::All`] each group that
/// lives costs two points.
fn taxed_lead(area: &Area, taxed: &Area, filled: &Board, rules: &Rules) -> f64 {
    let points = |color: Color| (*area.of(color) & *taxed.of(color)).len() as f64;
    let groups = match rules.tax {
        Tax::All => independent_life(filled, rules.suicide).groups.map(f64::from),
        Tax::None | Tax::Seki => [0.0; 2],
    };
    points(Color::White) - points(Color::Black) - 2.0 * (groups[1] - groups[0])
}

/// The board after the players have filled the open points, each point by its expected owner if possible, until every
/// point that is left would put the filler's own stones into atari, as in a seki. This is done because a group beside
/// an open point looks as if it did not live independently.
fn filled(board: &Board, open: PointSet, owned: &impl Fn(Move) -> f64) -> Board {
    let (mut board, mut left) = (board.clone(), open);
    loop {
        let before = left;
        for point in before.iter() {
            let first = if owned(point) > 0.0 { Color::White } else { Color::Black };
            if let Some(color) = [first, !first].into_iter().find(|&color| can_fill(&board, color, point)) {
                board.play(color, point);
                left.remove(point);
            }
        }
        if left == before {
            return defended(&board);
        }
    }
}

/// The board after the players have connected those stones in atari that can be saved in this way, as players do if
/// they have to. Stones that stay in atari look as if they did not live independently.
fn defended(board: &Board) -> Board {
    let mut after = board.clone();
    for chain in chains(board, board.occupied()) {
        let Some((stone, color)) = chain.first().and_then(|&stone| Some((stone, after.stone(stone)?))) else {
            continue;
        };
        let liberties =
            chain.iter().flat_map(|&stone| board.neighbours(stone).filter(|&point| after.stone(point).is_none()));
        if after.liberties(stone) == 1
            && let Some(point) = liberties.last()
            && can_fill(&after, color, point)
        {
            after.play(color, point);
        }
    }
    after
}

/// Whether a player can play at this point without capturing anything and without being in atari afterwards.
fn can_fill(board: &Board, color: Color, point: Move) -> bool {
    let captures = |beside: Move| board.stone(beside) == Some(!color) && board.liberties(beside) == 1;
    if !board.is_legal(color, point, false) || board.neighbours(point).any(captures) {
        return false;
    }
    let mut after = board.clone();
    after.play(color, point);
    after.liberties(point) > 1
}

/// The stones of groups that have no empty point to themselves: every one that they touch, the opponent touches, too. A
/// group is connected by stones and territory.
fn seki(board: &Board, territory: &[PointSet; 2]) -> PointSet {
    let mut seki = PointSet::EMPTY;
    for color in Color::ALL {
        let (own, others) = (board.stones(color), board.stones(!color));
        let mut left = *own;
        while let Some(start) = left.iter().next() {
            let group = connected(board, start, &(*own | territory[color as usize]));
            left = left - group;
            let beside = group.iter().flat_map(|point| board.neighbours(point).collect::<Vec<_>>());
            let mut liberties = beside.filter(|point| board.stone(*point).is_none());
            if liberties.all(|point| board.neighbours(point).any(|stone| others.contains(stone))) {
                seki |= group & *own;
            }
        }
    }
    seki
}

/// The chains of these stones.
fn chains(board: &Board, stones: PointSet) -> Vec<Vec<Move>> {
    let (mut left, mut chains) = (stones, Vec::new());
    while let Some(start) = left.iter().next() {
        let mut chain: Vec<Move> = board.chain(start).collect();
        chain.sort_unstable();
        chain.iter().for_each(|stone| left.remove(*stone));
        left.remove(start);
        chains.push(chain);
    }
    chains
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_go::Size;

    /// A board on which `X` and `O` are stones of Black and White.
    fn board(rows: &[&str]) -> Board {
        let size = Size::new(rows[0].len() as u8, rows.len() as u8).unwrap();
        let stones = size.points().zip(rows.concat().chars().collect::<Vec<_>>()).filter_map(|(point, c)| match c {
            'X' => Some((Color::Black, point)),
            'O' => Some((Color::White, point)),
            _ => None,
        });
        Board::with_stones(size, stones).unwrap()
    }

    /// Judges a 5×5 board with the stones in `rows`. In `owners`, `x` and `o` are points that Black and White are
    /// expected to own.
    fn judged(rules: &str, rows: [&str; 5], owners: [&str; 5]) -> (Record, Judged) {
        let board = board(&rows);
        let ownership: Vec<f64> = owners
            .concat()
            .chars()
            .map(|c| {
                if c == 'o' {
                    0.9
                } else if c == 'x' {
                    -0.9
                } else {
                    0.0
                }
            })
            .collect();
        let record = Record::starting_from(&board, Color::Black, rules.parse().unwrap(), true);
        let judged = Judged::new(&board, record.rules(), &ownership, 0.0);
        (record, judged)
    }

    fn list(record: &Record, judged: &Judged, status: &str) -> Vec<String> {
        let text = |chain: Vec<Move>| {
            let points: Vec<String> = chain.iter().map(|mv| record.size().format(*mv).to_string()).collect();
            points.join(" ")
        };
        judged.list(Status::named(status).unwrap(), record.game().board()).into_iter().map(text).collect()
    }

    const HALVES: [&str; 5] = [".XO..", ".XO..", ".XO..", ".XO.X", ".XO.."];
    const OWNED: [&str; 5] = ["xxooo", "xxooo", "xxooo", "xxooo", "xxooo"];

    #[test]
    fn dead_stones_are_points_of_the_other() {
        let (record, judged) = judged("chinese", HALVES, OWNED);
        // 15 points against 10, and a komi of 7.5.
        assert_eq!(text(judged.white_lead(&record)), "W+12.5");
        assert_eq!(list(&record, &judged, "dead"), ["E2"]);
        assert_eq!(list(&record, &judged, "alive"), ["B5 B4 B3 B2 B1", "C5 C4 C3 C2 C1"]);
        assert_eq!(list(&record, &judged, "black_territory"), ["A5 A4 A3 A2 A1"]);
        assert_eq!(list(&record, &judged, "white_territory")[0].split(' ').count(), 10);
        assert_eq!(list(&record, &judged, "territory")[0].split(' ').count(), 15);
        assert_eq!(Status::named("dame"), None);
        let is_listed = |status| !judged.list(status, record.game().board()).is_empty();
        assert!(Status::NAMED.iter().all(|&(_, status)| is_listed(status) || status == Status::Seki));
        // By territory White has 10 points and a prisoner against 5, and a komi of 6.5.
        let (record, judged) = self::judged("japanese", HALVES, OWNED);
        assert_eq!(text(judged.white_lead(&record)), "W+12.5");
    }

    #[test]
    fn stones_that_live_are_nobodys_whatever_is_expected() {
        let alive = [".X.XO", "XXXXO", "OOOOO", ".....", "....."];
        let (record, judged) = judged("tromp-taylor", alive, ["ooooo"; 5]);
        assert_eq!(list(&record, &judged, "dead"), [""; 0]);
    }

    #[test]
    fn an_open_board_is_shared_out_by_what_is_expected() {
        let open = [".....", "..X..", ".....", "..O..", "....."];
        let (record, judged) = judged("tromp-taylor", open, ["xxxxx", "xxxxx", ".....", "ooooo", "ooooo"]);
        assert_eq!(text(judged.white_lead(&record)), "W+7.5");
        let (record, judged) = self::judged("tromp-taylor", open, ["xxxxx", "xxxxx", "xxxxx", "ooooo", "ooooo"]);
        assert_eq!(text(judged.white_lead(&record)), "W+2.5");
    }

    /// A group beside an open point keeps its territory.
    #[test]
    fn an_open_point_is_no_seki() {
        let (open, owned) =
            ([".XO..", ".XO..", ".XO..", ".XO..", ".X.O."], ["xxooo", "xxooo", "xxooo", "xxooo", "xx.oo"]);
        // White has nine points against five; C1 is open.
        for (rules, expected) in [("japanese", "W+10.5"), ("korean", "W+10.5"), ("stone-scoring", "W+11.5")] {
            let (record, judged) = judged(rules, open, owned);
            assert_eq!(text(judged.white_lead(&record)), expected, "{rules}");
            let points = |status| list(&record, &judged, status)[0].split(' ').count();
            assert_eq!(["black_territory", "white_territory"].map(points), [5, 9], "{rules}");
        }
        // Under rules that count stones, White, who is expected to fill C1, gets a point for it.
        let owned = ["xxooo", "xxooo", "xxooo", "xxooo", "xxooo"];
        for (rules, expected) in [("japanese", "W+10.5"), ("stone-scoring", "W+12.5"), ("chinese", "W+12.5")] {
            let (record, judged) = judged(rules, open, owned);
            assert_eq!(text(judged.white_lead(&record)), expected, "{rules}");
        }
    }

    /// A white stone at C4 puts the black one at C3 into atari, and Black then connects it at B3.
    #[test]
    fn who_has_to_answer_keeps_the_territory() {
        let (open, owned) =
            ([".XXO.", ".X.OO", "..XO.", ".XOOO", ".XO.O"], ["xxxoo", "xxooo", "xxxoo", "xxooo", "xxooo"]);
        // White has three points of territory against six, and three stones more on the board. So the areas are twelve
        // points each, and White also gets C4.
        for (rules, expected) in [("japanese", "W+3.5"), ("stone-scoring", "W+8.5")] {
            let (record, judged) = judged(rules, open, owned);
            assert_eq!(text(judged.white_lead(&record)), expected, "{rules}");
        }
    }

    /// In the middle of a game the expected score counts, not the areas that are surrounded.
    #[test]
    fn an_open_game_comes_to_what_is_expected() {
        let lone = [".....", ".....", "..X..", ".....", "....."];
        for (rules, expected, score) in
            [("chinese", 0.7, "W+0.5"), ("chinese", -9.7, "B+9.5"), ("tromp-taylor", 0.2, "W+0.5")]
        {
            let (record, mut judged) = judged(rules, lone, ["....."; 5]);
            judged.expected = expected;
            assert_eq!(text(judged.final_lead(&record)), score, "{rules}");
        }
        let (mut record, mut judged) = judged("chinese", lone, ["....."; 5]);
        judged.expected = 0.7;
        record.set_rules(Rules { komi: oncilla_go::Komi::from_halves(14).unwrap(), ..*record.rules() });
        assert_eq!(text(judged.final_lead(&record)), "W+1");
        let (record, judged) = self::judged("chinese", HALVES, OWNED);
        assert_eq!(text(judged.final_lead(&record)), "W+12.5", "nothing is open");
    }

    #[test]
    fn a_seki_is_neither_dead_nor_alive() {
        let seki = [".XO.O", ".XOO.", "XXOOO", "OOO.O", ".O.OO"];
        let (record, judged) = judged("chinese", seki, ["...oo", "..ooo", "..ooo", "ooooo", "ooooo"]);
        assert_eq!(list(&record, &judged, "dead"), [""; 0]);
        assert_eq!(list(&record, &judged, "seki"), [""; 0], "Black's corner is Black's alone, as far as stones say");
        // In the corner both players share two liberties, and neither may fill one.
        let shared = ["X.O.O", "XXOO.", ".OOOO", "OOO.O", ".O.OO"];
        let (record, judged) = self::judged("chinese", shared, [".....", "...oo", "ooooo", "ooooo", "ooooo"]);
        assert_eq!(list(&record, &judged, "seki"), ["A5 A4 B4"]);
        assert_eq!(list(&record, &judged, "alive"), ["C5 C4 D4 B3 C3 D3 E3 A2 B2 C2 E2 B1 D1 E1", "E5"]);
    }

    /// Each player has one eye, and neither may fill C5.
    #[test]
    fn what_a_seki_surrounds_is_listed_only_where_it_counts() {
        let seki = [".X.O.", "XXOOO", "XXOOO", "XXOOO", "XXOOO"];
        for (rules, [black, white]) in [("chinese", ["A5", "E5"]), ("japanese", [""; 2]), ("stone-scoring", [""; 2])] {
            let (record, judged) = judged(rules, seki, ["xx.oo"; 5]);
            let listed = |status| list(&record, &judged, status).join(" ");
            let expected = format!("{black} {white}").trim().to_string();
            assert_eq!(
                ["black_territory", "white_territory", "territory"].map(listed),
                [black, white, &expected],
                "{rules}"
            );
            // White has four stones more; by territory they are points for Black again.
            let lead = if rules == "japanese" { "W+6.5" } else { "W+11.5" };
            assert_eq!(text(judged.white_lead(&record)), lead, "{rules}");
        }
    }

    /// The statuses after two passes.
    fn ended(rules: &str, rows: [&str; 5]) -> Option<[String; 6]> {
        let (mut record, _) = judged(rules, rows, ["ooooo"; 5]);
        [Color::Black, Color::White].into_iter().for_each(|color| record.play(color, Move(25)).unwrap());
        let judged = Judged::by_the_rules(&record)?;
        assert_eq!(Some(judged.white_lead(&record)), by_the_rules(&record), "{rules}");
        Some(Status::NAMED.map(|(status, _)| list(&record, &judged, status).join(" ")))
    }

    /// White's lone stone is no more dead than on the board, unless White can't live there whatever happens.
    #[test]
    fn what_the_rules_count_is_what_is_listed() {
        let wall = ["..X..", "..X..", "..X.O", "..X..", "..X.."];
        let black = "A5 B5 A4 B4 A3 B3 A2 B2 A1 B1";
        assert_eq!(ended("tromp-taylor", wall).unwrap(), ["C5 C4 C3 C2 C1 E3", "", "", black, black, ""]);
        assert_eq!([ended("chinese", wall), ended("japanese", wall)], [None, None]);
        let alive = [".X.X.", ".X.X.", "OXXX.", ".X.X.", ".X.X."];
        for rules in ["tromp-taylor", "koPOSITIONALscoreAREAtaxALLsui1"] {
            let [living, dead, seki, _, black, white] = ended(rules, alive).unwrap();
            assert_eq!((living.split(' ').count(), &dead[..], black.split(' ').count()), (11, "A3", 14), "{rules}");
            assert_eq!((&seki[..], &white[..]), ("", ""), "{rules}");
        }
        let seki = [".X.O.", "XXOOO", "XXOOO", "XXOOO", "XXOOO"];
        let territory = |rules| ended(rules, seki).map(|[_, _, _, both, ..]| both);
        assert_eq!(territory("tromp-taylor").unwrap(), "A5 E5");
        assert_eq!(territory("koPOSITIONALscoreAREAtaxSEKIsui1").unwrap(), "");
    }

    /// Three kos are taken in turn until the position has been there three times.
    #[test]
    fn a_game_without_a_result_has_no_dead_stones_and_no_territory() {
        let rows = [".XO..", "XO.O.", ".XO..", ".XO..", "X.XO.", ".XO..", ".XO..", "XO.O.", ".XO.."];
        let mut record = Record::starting_from(&board(&rows), Color::Black, "japanese".parse().unwrap(), true);
        let cycle = ["C8", "B5", "C2", "B8", "C5", "B2"].into_iter().zip([Color::Black, Color::White].repeat(3));
        for (text, color) in cycle.clone().chain(cycle) {
            assert!(Judged::by_the_rules(&record).is_none());
            record.play(color, record.size().parse(text).unwrap()).unwrap();
        }
        let judged = Judged::by_the_rules(&record).unwrap();
        assert_eq!(text(judged.final_lead(&record)), "0");
        for (status, count) in [("alive", 21), ("dead", 0), ("seki", 0), ("territory", 0)] {
            let points: Vec<_> = judged.list(Status::named(status).unwrap(), record.game().board()).concat();
            assert_eq!(points.len(), count, "{status}");
        }
    }

    #[test]
    fn results_have_their_texts() {
        for (lead, expected) in [(0.0, "0"), (7.5, "W+7.5"), (-3.0, "B+3"), (0.1, "0"), (-0.5, "B+0.5")] {
            assert_eq!(text(lead), expected);
        }
    }

    #[test]
    fn the_rules_alone_decide_where_they_do() {
        let size = Size::new(5, 5).unwrap();
        let passed = |rules: &str| {
            let mut record = Record::new(size, rules.parse().unwrap(), true);
            for (color, text) in [(Color::Black, "C3"), (Color::White, "pass"), (Color::Black, "pass")] {
                record.play(color, size.parse(text).unwrap()).unwrap();
            }
            by_the_rules(&record)
        };
        assert_eq!(passed("tromp-taylor"), Some(7.5 - 25.0));
        assert_eq!(passed("chinese"), None, "dead stones may have been left");
        assert_eq!(passed("japanese"), None);
    }
}
