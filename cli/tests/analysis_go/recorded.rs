//! What recorded sessions of KataGo say.

use super::*;

/// Sums for the comparison with KataGo's searches.
#[derive(Debug, Default)]
struct Agreement {
    roots: usize,
    off: f64,
    bests: usize,
    same: usize,
    first: usize,
    /// The number of moves with the same number of visits in both searches, if more than one; of those whose utility is
    /// equal; and of those after which both expect the same line.
    moves: usize,
    equal: usize,
    lines: usize,
    /// The number of points with an ownership in both answers, and the sum of the differences.
    points: usize,
    owned_off: f64,
    /// The sum of the differences in the root's weight per visit.
    weight_off: f64,
}

impl Agreement {
    fn compare(&mut self, ours: &Value, theirs: &Value) {
        assert_eq!(keys(ours), keys(theirs));
        let (root, their_root) = (&ours["rootInfo"], &theirs["rootInfo"]);
        if !root.is_object() || !their_root.is_object() {
            return;
        }
        // KataGo's documentation has the root's `lcb`, but the recorded version does not write it any more.
        let own: Vec<&str> = keys(root).into_iter().filter(|key| *key != "lcb").collect();
        assert!(own == keys(their_root) && root["lcb"].is_f64(), "{root}, KataGo {their_root}");
        assert!((number(root, "rawWinrate") - number(their_root, "rawWinrate")).abs() <= 1e-4, "{root}");
        self.roots += 1;
        self.off += (number(root, "winrate") - number(their_root, "winrate")).abs();
        let of_visit = |root: &Value| number(root, "weight") / number(root, "visits");
        self.weight_off += (of_visit(root) - of_visit(their_root)).abs();
        self.compare_owners(&ours["ownership"], &theirs["ownership"]);
        let (Some(first), Some(their_first)) = (infos(ours).first(), infos(theirs).first()) else {
            assert_eq!(infos(ours).len(), infos(theirs).len());
            return;
        };
        assert_eq!(keys(first), keys(their_first));
        assert_same_images(&ours["id"], infos(ours), infos(theirs));
        self.compare_moves(infos(ours), infos(theirs));
        // A move and its symmetric images count as one.
        let names: Vec<&Value> = infos(theirs)
            .iter()
            .filter(|info| info["isSymmetryOf"].is_null())
            .take(3)
            .map(|info| &info["move"])
            .collect();
        let is_among = |info: &&Value| names.contains(&&info["move"]) || names.contains(&&info["isSymmetryOf"]);
        self.bests += 1;
        self.first += usize::from(first["move"] == their_first["move"]);
        self.same += usize::from(infos(theirs).iter().filter(is_among).any(|info| info["move"] == first["move"]));
    }
}

impl Agreement {
    /// KataGo has noise at the root, which changes the visits of the root's moves. Below them there is no noise, so the
    /// same number of visits gives the same value, except for positions that several moves of the root lead to.
    fn compare_moves(&mut self, ours: &[Value], theirs: &[Value]) {
        for their in theirs.iter().filter(|info| info["visits"].as_u64().unwrap() > 1) {
            let is_it = |info: &&Value| info["move"] == their["move"] && info["visits"] == their["visits"];
            let Some(our) = ours.iter().find(is_it) else { continue };
            self.moves += 1;
            self.equal += usize::from((number(our, "utility") - number(their, "utility")).abs() < 0.002);
            self.lines += usize::from(our["pv"] == their["pv"]);
        }
    }

    fn compare_owners(&mut self, ours: &Value, theirs: &Value) {
        let points = |of: &Value| of.as_array().into_iter().flatten().map(|point| point.as_f64().unwrap()).collect();
        let (ours, theirs): (Vec<f64>, Vec<f64>) = (points(ours), points(theirs));
        assert_eq!(ours.len(), theirs.len());
        self.points += ours.len();
        self.owned_off += ours.iter().zip(theirs).map(|(our, their)| (our - their).abs()).sum::<f64>();
    }
}

/// Queries that forbid one of two symmetric moves but not the other, or do so only below the root. KataGo leaves the
/// images out anyway; here all are searched.
const TOLD_APART: [&str; 2] = ["avoid1", "avoid_both"];

/// Checks that the same one of symmetric moves is searched and represents the others.
fn assert_same_images(id: &Value, ours: &[Value], theirs: &[Value]) {
    let has_images = |infos: &[Value]| infos.iter().any(|info| info["isSymmetryOf"].is_string());
    let is_told_apart = TOLD_APART.iter().any(|told| id == told);
    assert_eq!(has_images(ours), has_images(theirs) && !is_told_apart, "{id}");
    if is_told_apart {
        return;
    }
    let of = |info: &Value| (info["move"].to_string(), info["isSymmetryOf"].to_string());
    let theirs: BTreeMap<String, String> = theirs.iter().map(of).collect();
    for (mv, stands_for_it) in ours.iter().map(of) {
        assert!(theirs.get(&mv).is_none_or(|theirs| *theirs == stands_for_it), "{id}: {mv} {stands_for_it}");
    }
}

#[test]
fn recorded_queries_are_answered_as_katago_answers_them() {
    let Some(shared) = shared() else { return };
    let weights = format!("--weights={}", shared.join("nets/g170-b6c96-s175395328-d26788732.bin.gz").display());
    let mut agreement = Agreement::default();
    for name in RECORDED {
        let session = json_lines(&shared.join(format!("oracle/katago/{name}.jsonl")));
        let of = |way: &'static str| {
            session.iter().filter(move |row| row["dir"] == way).filter_map(|row| row["line"].as_str())
        };
        let config = session[0]["config"].as_str().unwrap();
        let settings: Vec<String> = config.lines().map(|line| line.replace(' ', "")).collect();
        let settings = format!("-override-config={}", settings.join(","));
        let words = ["analysis", "--backend=host", &weights, "--parallel=1", &settings].map(str::to_string);
        let input: String = of("in").map(|line| format!("{line}\n")).collect();
        let ours = heard(&words, &input);
        let theirs: Vec<Value> = of("out").filter_map(|line| serde_json::from_str(line).ok()).collect();
        let (ours, theirs) = (finals(&ours), finals(&theirs));
        assert!(ours.keys().eq(theirs.keys()), "{name}");
        for (turn, theirs) in &theirs {
            assert_eq!(ours[turn].len(), theirs.len(), "{name} {turn:?}");
            ours[turn].iter().zip(theirs).for_each(|(ours, theirs)| agreement.compare(ours, theirs));
        }
    }
    let Agreement { roots, off, bests, same, first, moves, equal, lines, points, owned_off, weight_off } = agreement;
    let of_visit = weight_off / roots as f64;
    let (mean, share, of_point) = (off / roots as f64, same as f64 / bests as f64, owned_off / points as f64);
    println!("{roots} roots: mean |Δ winrate| {mean:.4}, a visit counts on average {of_visit:.4} less or more");
    println!("of {bests} best moves {first} are KataGo's, {same} among its first three");
    println!(
        "of {moves} moves with as many visits, more than one, {equal} are worth the same, {lines} have the same line"
    );
    println!("of {points} points each is on average {of_point:.4} less or more one's own");
    // Measured over 111 roots, which have noise in KataGo: mean |Δ winrate| 0.0052, weight per visit 0.0259, best move
    // the same in 100 or 101 of 107 and among the first three in 107, equal utility 125 of 132, the same line 129 of
    // 132, ownership 0.0267 per point.
    assert!(roots > 100 && mean <= 0.010 && of_visit <= 0.040, "{mean} {of_visit}");
    assert!(first * 10 >= bests * 9, "{first} of {bests}");
    assert!(bests > 100 && share >= 0.9, "{share}");
    assert!(moves > 80 && equal * 100 >= moves * 85, "{equal} of {moves}");
    assert!(lines * 100 >= moves * 90, "{lines} of {moves}");
    assert!(points > 900 && of_point <= 0.035, "{of_point} of {points}");
}
