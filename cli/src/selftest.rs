//! `oncilla selftest`: compares every kernel and the whole network with the host, layer by layer.

use oncilla_opencl::device;
use oncilla_opencl::graph::{Graph, Role};
use oncilla_opencl::int8::Loss;
use oncilla_opencl::kernels::Precision;
use oncilla_opencl::opencl::Options;
use oncilla_opencl::opencl::selftest::{Findings, kit};
use serde::Serialize;
use std::sync::Arc;

use oncilla_go::Size;

use crate::console::{Console, aside};
use crate::network::{EvaluatorSettings, device_choice, drivers, tuning};
use crate::options::backend::on_a_device;
use crate::progress::Progress;
use crate::subject::Subject;

/// The number of test positions: an opening, a middlegame and an endgame. More than one, so that the memory offsets of
/// further positions are checked too.
const CANARIES: usize = 3;

/// The batch size of games on a GPU. The test positions are repeated to fill it.
const BATCH: usize = 16;

/// A line of the results. The JSON output is a list of these.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The name of the graph: `network`, or a part of the kit.
    pub graph: String,
    /// The number and name of the layer, the output, or the kind of the loss by int8.
    pub what: String,
    /// Channels and squares of the layer's output; `None` for an output of the network.
    pub shape: Option<[usize; 2]>,
    /// The largest difference, relative to the largest number if that is above 1; or the loss by int8. `None` if it is
    /// not finite.
    pub error: Option<f32>,
    /// Whether the error is within the bound.
    pub ok: bool,
}

/// Tests the device and prints the results; returns false if an error is over the bound. `board` is the board size for
/// a Go network.
///
/// # Errors
/// In one line: no network, no device, a backend that uses none, or a kernel that is not compiled.
pub fn print(console: &Console, settings: &EvaluatorSettings, board: Size, json: bool) -> Result<bool, String> {
    let bound = settings.precision.bound();
    let (rows, describe) = run(settings, board, bound)?;
    aside(&describe);
    let ok = rows.iter().all(|row| row.ok);
    if json {
        console.say(&serde_json::to_string(&rows).map_err(|error| error.to_string())?);
        return Ok(ok);
    }
    rows.iter().for_each(|row| console.say(&line(row)));
    let worst = rows.iter().map(|row| row.error.unwrap_or(f32::INFINITY)).fold(0.0, f32::max);
    let bounds = match rows.iter().any(|row| row.what.starts_with("int8 ")) {
        true => format!(
            "bounds: {bound:.0e}, with int8 for policy and value {} and {}",
            Loss::BOUND.policy,
            Loss::BOUND.value
        ),
        false => format!("bound of {bound:.0e}"),
    };
    let verdict = if ok { "within" } else { "OVER" };
    console.say(&format!("worst error {worst:.1e}, {verdict} the {bounds}"));
    Ok(ok)
}

fn line(row: &Row) -> String {
    let shape = row.shape.map(|[channels, squares]| format!("{channels}x{squares}")).unwrap_or_default();
    let error = row.error.map_or("not finite".to_string(), |error| format!("{error:.1e}"));
    let verdict = if row.ok { "" } else { "  OVER" };
    format!("{:<12} {:<24} {shape:>10} {error:>10}{verdict}", row.graph, row.what)
}

fn run(settings: &EvaluatorSettings, board: Size, bound: f32) -> Result<(Vec<Row>, String), String> {
    on_a_device(settings)?;
    drivers::scout()?;
    let (subject, notes) = Subject::of(settings, board)?;
    notes.iter().for_each(|note| aside(note));
    let input = subject.inputs(CANARIES);
    let graph = Arc::new(subject.graph);
    // Checked here, because the test must not replace a missing device by the host.
    device::choose(&device_choice(settings)).map_err(|error| error.to_string())?;
    let progress = Progress::on_stderr();
    let mut rows = Vec::new();
    let (findings, describe) = test(settings, &graph, &input, "network", &progress)?;
    rows.extend(to_rows("network", &findings, bound));
    for (name, mut graph) in kit() {
        for layer in 0..graph.layers().len() {
            let int8 = settings.precision == Precision::Int8 && graph.can_be_int8(layer);
            graph.set_int8(layer, int8).map_err(|error| error.to_string())?;
        }
        let input = oncilla_opencl::compare::canary(CANARIES * graph.input().len(), 4);
        let (findings, _) = test(settings, &Arc::new(graph), &input, name, &progress)?;
        rows.extend(to_rows(name, &findings, bound));
    }
    Ok((rows, describe))
}

fn test(
    settings: &EvaluatorSettings,
    graph: &Arc<Graph>,
    input: &[f32],
    name: &str,
    progress: &Progress,
) -> Result<(Findings, String), String> {
    let test = |size| test_with(size, settings, graph, input, name, progress);
    // The kernels that the device starts with come first, without the self-check, which would replace wrong kernels by
    // others.
    let tested = test((false, BATCH)).or_else(|why| {
        aside(&format!("{name}: {why}; what a game runs instead is tested"));
        test((true, BATCH))
    });
    // A part of the kit may be too large for the device even if the network is not.
    tested.or_else(|why| {
        aside(&format!("{name}: {why}; {CANARIES} positions at a time are tested"));
        test((true, CANARIES))
    })
}

/// `self_check` and `max_batch` as in [`Options`].
fn test_with(
    (self_check, max_batch): (bool, usize),
    settings: &EvaluatorSettings,
    graph: &Arc<Graph>,
    input: &[f32],
    name: &str,
    progress: &Progress,
) -> Result<(Findings, String), String> {
    use oncilla_opencl::backend::Backend;
    progress.show(&format!("{name}: compiling"));
    let options = Options { device: device_choice(settings), max_batch, self_check, ..Options::default() };
    let opened = tuning::open(settings, graph, options).inspect_err(|_| progress.clear());
    let (mut device, note) = opened?;
    note.iter().for_each(|note| aside(note));
    let layers = graph.layers().len();
    progress.show(&format!("{name}: the host computes what is expected"));
    let findings = device.self_test(input, |done| progress.show(&format!("{name}: {done}/{layers}")));
    progress.clear();
    let describe = format!("{}, {}", device.describe(), device.tuning());
    Ok((findings.map_err(|error| error.to_string())?, describe))
}

fn to_rows(graph: &str, findings: &Findings, bound: f32) -> Vec<Row> {
    let row = |what: String, shape: Option<[usize; 2]>, error: f32| Row {
        graph: graph.to_string(),
        what,
        shape,
        error: error.is_finite().then_some(error),
        ok: error <= bound,
    };
    let layers = findings.layers.iter().map(|found| {
        let shape = Some([found.shape.channels, found.shape.squares]);
        row(format!("{} {}", found.layer, found.name), shape, found.error)
    });
    // With int8, policy and value are checked by the loss of the network as a whole, and their single numbers have no
    // bound.
    let held = |role: Role| findings.loss.is_none() || !matches!(role, Role::Policy | Role::Wdl | Role::Value);
    let heads = findings.heads.iter().map(|head| Row {
        ok: if held(head.role) { head.error <= bound } else { head.error.is_finite() },
        ..row(format!("output {:?}", head.role), None, head.error)
    });
    let lost = findings.loss.into_iter().flat_map(|loss| {
        let most = Loss::BOUND;
        [("int8 policy divergence", loss.policy, most.policy), ("int8 value difference", loss.value, most.value)]
    });
    // Written so that NaN is not ok.
    let lost = lost.map(|(what, lost, most)| Row { ok: lost <= most, ..row(what.to_string(), None, lost as f32) });
    layers.chain(heads).chain(lost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oncilla_opencl::graph::Shape;
    use oncilla_opencl::opencl::selftest::{HeadError, LayerError};

    #[test]
    fn what_is_over_the_bound_or_not_finite_is_not_ok() {
        let layer = LayerError { layer: 3, name: "dense", shape: Shape { channels: 2, squares: 1 }, error: 2e-5 };
        let heads =
            vec![HeadError { role: Role::Wdl, error: 2e-4 }, HeadError { role: Role::Policy, error: f32::INFINITY }];
        let rows = to_rows("network", &Findings { layers: vec![layer], heads, loss: None }, 1e-4);
        assert_eq!(rows.iter().map(|row| row.ok).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!(line(&rows[0]), "network      3 dense                         2x1     2.0e-5");
        assert!(line(&rows[1]).ends_with("2.0e-4  OVER"));
        assert!(line(&rows[2]).ends_with("not finite  OVER"));
    }
    #[test]
    fn int8_is_held_to_what_it_loses_as_a_whole() {
        let head = |role, error| HeadError { role, error };
        let heads = |policy| vec![head(Role::Policy, policy), head(Role::Wdl, 0.2), head(Role::MovesLeft, 0.2)];
        let ok = |policy, loss| {
            let findings = Findings { layers: Vec::new(), heads: heads(policy), loss: Some(loss) };
            to_rows("network", &findings, 5e-2).iter().map(|row| row.ok).collect::<Vec<_>>()
        };
        assert_eq!(ok(0.3, Loss { policy: 0.009, value: 0.011 }), [true, true, false, true, false]);
        assert_eq!(ok(f32::INFINITY, Loss { policy: f64::NAN, value: 0.0 }), [false, true, false, false, true]);
    }
}
