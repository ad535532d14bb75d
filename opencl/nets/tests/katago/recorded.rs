//! Compares what KataGo answered with what the model that was read makes of the same planes.

use crate::common::{device_is_there, rows};
use crate::forward::{Board, Planes, Raw};
use oncilla_nets::katago::{Block, GLOBALS, Model, PLANES};
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::host::{Host, plain};
use oncilla_opencl::kernels::{Tuning, Variant};
use oncilla_opencl::opencl::{OpenCl, Options};
use oncilla_testing::shared;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// The largest differences that were seen.
#[derive(Debug, Default)]
struct Worst {
    policy: f64,
    value: f64,
    score: f64,
    ownership: f64,
}

/// An evaluation from White's view.
struct Answer {
    policy: Vec<f64>,
    win: f64,
    loss: f64,
    no_result: f64,
    lead: f64,
    mean: f64,
    stdev: f64,
    ownership: Vec<f64>,
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|logit| (logit - most).exp()).sum();
    logits.iter().map(|logit| (logit - most).exp() / sum).collect()
}

/// The planes of a record, if it has any.
fn planes(row: &Value, board: Board) -> Option<(Planes, Vec<f32>)> {
    let input = &row["input"];
    let spatial = input["spatial"].as_array()?;
    let points = |list: &Value| {
        let mut plane = vec![0.0; board.width * board.height];
        numbers(list).iter().for_each(|&at| plane[at as usize] = 1.0);
        plane
    };
    let spatial: Planes = spatial.iter().map(points).collect();
    let globals: Vec<f32> = numbers(&input["global"]).iter().map(|&x| x as f32).collect();
    assert_eq!((spatial.len(), globals.len()), (PLANES, GLOBALS));
    Some((spatial, globals))
}

/// What the model's graph gives by definition, and what the host computes.
fn through_graph(host: &mut Host, input: &[f32]) -> [Raw; 2] {
    let mut outputs = Outputs::default();
    host.evaluate(input, &mut outputs).expect("an evaluation");
    [plain::evaluate(host.graph(), input).expect("an evaluation"), outputs].map(raw)
}

fn raw(mut outputs: Outputs) -> Raw {
    outputs.policy.append(&mut outputs.pass);
    Raw { policy: outputs.policy, value: outputs.results, scores: outputs.scores, ownership: outputs.ownership }
}

impl Answer {
    /// What KataGo makes of its network's outputs; `legal` is the recorded policy, below 0 for moves that are not
    /// allowed.
    fn of(raw: &Raw, row: &Value, legal: &[f64]) -> Self {
        let logits = raw.policy.iter().zip(legal);
        let logits = logits.map(|(&logit, &p)| if p < 0.0 { f64::NEG_INFINITY } else { f64::from(logit) });
        let mut policy = softmax(&logits.collect::<Vec<_>>());
        policy.iter_mut().zip(legal).filter(|(_, p)| **p < 0.0).for_each(|(policy, _)| *policy = -1.0);

        let mut value: Vec<f64> = raw.value.iter().map(|&x| f64::from(x)).collect();
        if row["rules"]["ko"] != "SIMPLE" && row["rules"]["scoring"] != "TERRITORY" {
            value[2] = f64::NEG_INFINITY;
        }
        let value = softmax(&value);
        let scores: Vec<f64> = raw.scores.iter().map(|&x| f64::from(x)).collect();
        // Points on condition that the game has a result, then the probability that it has one.
        let (mean, stdev, lead) = (scores[0] * 20.0, scores[1].exp().ln_1p() * 20.0, scores[2] * 20.0);
        let rest = 1.0 - value[2];
        let square = (mean * mean + stdev * stdev) * rest;
        let (mean, lead) = (mean * rest, lead * rest);
        let stdev = (square - mean * mean).max(0.0).sqrt();

        let white = if row["toMove"] == "W" { 1.0 } else { -1.0 };
        let (win, loss) = if white > 0.0 { (value[0], value[1]) } else { (value[1], value[0]) };
        let ownership = raw.ownership.iter().map(|&x| f64::from(x) * white).collect();
        Self { policy, win, loss, no_result: value[2], lead: lead * white, mean: mean * white, stdev, ownership }
    }
}

impl Worst {
    fn add(&mut self, answer: &Answer, row: &Value) {
        let far = |ours: f64, theirs: &Value| (ours - number(theirs)).abs();
        let all = |ours: &[f64], theirs: &Value| {
            let theirs = numbers(theirs);
            assert_eq!(ours.len(), theirs.len());
            ours.iter().zip(theirs).map(|(a, b)| (a - b).abs()).fold(0.0, larger)
        };
        let (raw, gtp) = (&row["raw"], &row["gtpRaw"]);
        let winrate = 0.5 * (1.0 + answer.win - answer.loss);
        self.policy = larger(self.policy, all(&answer.policy, &raw["policy"]));
        self.ownership = larger(self.ownership, all(&answer.ownership, &raw["ownership"]));
        for (ours, theirs) in [
            (winrate, &raw["rawWinrate"]),
            (answer.no_result, &raw["rawNoResultProb"]),
            (answer.win, &gtp["whiteWin"]),
            (answer.loss, &gtp["whiteLoss"]),
            (answer.no_result, &gtp["noResult"]),
        ] {
            self.value = larger(self.value, far(ours, theirs));
        }
        for (ours, theirs) in [
            (answer.lead, &raw["rawLead"]),
            (answer.mean, &raw["rawScoreSelfplay"]),
            (answer.stdev, &raw["rawScoreSelfplayStdev"]),
        ] {
            self.score = larger(self.score, far(ours, theirs));
        }
    }

    fn is_near(&self) {
        let within = [(self.policy, 1e-4), (self.value, 1e-4), (self.score, 1e-3), (self.ownership, 1e-4)];
        assert!(within.iter().all(|&(far, tolerance)| far <= tolerance), "{self:?}");
    }
}

/// The larger of two numbers; a NaN stays one.
fn larger(a: f64, b: f64) -> f64 {
    if b.is_nan() || b > a { b } else { a }
}

/// A position that KataGo answered, with the planes that KataGo made of it.
struct Recorded {
    row: Value,
    board: Board,
    planes: Planes,
    globals: Vec<f32>,
}

impl Recorded {
    /// The recorded positions that have planes: two of 40 have a komi for which KataGo made none.
    fn all(shared: &Path) -> Vec<Self> {
        let rows = rows(&shared.join("oracle/katago/nn_b6c96.jsonl")).into_iter().filter_map(|row| {
            let size = |key: &str| row[key].as_u64().expect("a size") as usize;
            let board = Board { width: size("boardXSize"), height: size("boardYSize") };
            let (planes, globals) = planes(&row, board)?;
            Some(Self { row, board, planes, globals })
        });
        let all: Vec<Self> = rows.collect();
        assert_eq!(all.len(), 38);
        all
    }

    /// What a graph reads of this position.
    fn input(&self) -> Vec<f32> {
        [&self.planes.concat(), &self.globals[..]].concat()
    }

    fn compare(&self, raw: &Raw, worst: &mut Worst) {
        worst.add(&Answer::of(raw, &self.row, &numbers(&self.row["raw"]["policy"])), &self.row);
    }
}

const NET: &str = "nets/g170-b6c96-s175395328-d26788732.bin.gz";

#[test]
fn g170_b6c96_answers_as_katago_does() {
    let Some(shared) = shared() else { return };
    let model = Model::read(shared.join(NET)).expect("a model");
    assert_eq!((model.name.as_str(), model.version), ("g170-b6c96-s175395328-d26788732", 8));
    let trunk = &model.trunk;
    assert_eq!((trunk.channels, trunk.mid, trunk.regular, trunk.pooled), (96, 96, 64, 32));
    let pooling: Vec<bool> = trunk.blocks.iter().map(|block| matches!(block, Block::Pooling { .. })).collect();
    assert_eq!(pooling, [false, false, true, false, true, false]);
    assert_eq!(model.parameters, 1_027_911);

    let (mut hosts, mut worst) = (HashMap::new(), <[Worst; 3]>::default());
    for position in Recorded::all(&shared) {
        let Recorded { board, planes, globals, .. } = &position;
        let host = hosts.entry((board.height, board.width)).or_insert_with(|| {
            let graph = model.graph(board.height, board.width).expect("a graph");
            Host::new(graph, 2).expect("a host")
        });
        let [by_definition, by_host] = through_graph(host, &position.input());
        let raws = [board.evaluate(&model, planes, globals), by_definition, by_host];
        worst.iter_mut().zip(&raws).for_each(|(worst, raw)| position.compare(raw, worst));
    }
    println!("{} sizes, {worst:?}", hosts.len());
    worst.iter().for_each(Worst::is_near);
}

/// How many positions a batch has.
const BATCH: usize = 5;

/// Both variants, all sizes of boards, and batches of several positions.
#[test]
fn g170_b6c96_answers_as_katago_does_on_opencl() {
    let Some(shared) = shared().filter(|_| device_is_there()) else { return };
    let model = Model::read(shared.join(NET)).expect("a model");
    let mut by_board: BTreeMap<(usize, usize), Vec<Recorded>> = BTreeMap::new();
    for position in Recorded::all(&shared) {
        by_board.entry((position.board.height, position.board.width)).or_default().push(position);
    }
    assert_eq!(by_board.keys().copied().collect::<Vec<_>>(), [(7, 13), (9, 9), (9, 13), (13, 7), (13, 13), (19, 19)]);
    for variant in [Variant::Cpu, Variant::Gpu] {
        let mut worst = Worst::default();
        for (&(height, width), positions) in &by_board {
            let graph = model.graph(height, width).expect("a graph");
            let tuning = Some(Tuning::start(variant, 8));
            let options = Options { max_batch: BATCH, tuning, ..Options::default() };
            let mut device = OpenCl::new(graph, &options).expect("the device runs the network");
            // On the cores of a host the kernels for a GPU are slow: three positions of a size are enough to see that
            // they are right.
            let some = if variant == Variant::Gpu { 3 } else { positions.len() };
            let some = &positions[..some.min(positions.len())];
            some.chunks(BATCH).for_each(|positions| compare_batch(&mut device, positions, &mut worst));
        }
        println!("{variant}, {worst:?}");
        worst.is_near();
    }
}

fn compare_batch(device: &mut OpenCl, positions: &[Recorded], worst: &mut Worst) {
    let input: Vec<f32> = positions.iter().flat_map(Recorded::input).collect();
    let mut outputs = Outputs::default();
    device.evaluate(&input, &mut outputs).expect("an evaluation");
    for (n, position) in positions.iter().enumerate() {
        let of = |head: &[f32]| {
            let each = head.len() / positions.len();
            head[n * each..][..each].to_vec()
        };
        let Outputs { policy, pass, results, scores, ownership, .. } = &outputs;
        let policy = [of(policy), of(pass)].concat();
        let raw = Raw { policy, value: of(results), scores: of(scores), ownership: of(ownership) };
        position.compare(&raw, worst);
    }
}
