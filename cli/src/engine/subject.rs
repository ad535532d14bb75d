//! A network of either game as what is measured, tested and tuned: its graph, and what it sees of some positions.

use super::backends::{prepare, read_network};
use super::canaries;
use super::inputs::Inputs;
use super::settings::{EvaluatorSettings, Weights};
use crate::go;
use oncilla_go::Size;
use oncilla_nets::katago::{self, Model};
use oncilla_opencl::graph::Graph;
use oncilla_opencl::kernels::Precision;
use std::path::Path;

/// A graph and what it is tried on.
pub struct Subject {
    /// The network.
    pub graph: Graph,
    /// Rows of its input.
    inputs: Vec<f32>,
}

impl Subject {
    /// The network that `settings` name, one of Go for boards of this size, with lines for a person.
    ///
    /// # Errors
    /// One line, with the file's name.
    pub fn of(settings: &EvaluatorSettings, board: Size) -> Result<(Self, Vec<String>), String> {
        if let Some(model) = model(settings)? {
            let graph = graph_of(&model, board)?;
            let inputs = go::inputs(&model, board);
            return Ok((Self { graph, inputs }, Vec::new()));
        }
        let (network, notes) = prepare(settings)?;
        let inputs = canaries::planes(&canaries::POSITIONS, Inputs::of(&network, settings.history_fill)?)?;
        Ok((Self { graph: network.graph, inputs }, notes))
    }

    /// The graph alone, with all layers in single precision.
    ///
    /// # Errors
    /// As [`Subject::of`].
    pub fn graph(settings: &EvaluatorSettings, board: Size) -> Result<Graph, String> {
        match model(settings)? {
            Some(model) => graph_of(&model, board),
            None => Ok(read_network(&settings.weights, &settings.heads)?.graph),
        }
    }

    /// So many rows, the same again where there are not so many.
    pub fn inputs(&self, rows: usize) -> Vec<f32> {
        let each = self.graph.input().len();
        self.inputs.chunks_exact(each).cycle().take(rows).flatten().copied().collect()
    }
}

fn graph_of(model: &Model, board: Size) -> Result<Graph, String> {
    model.graph(board.y().into(), board.x().into()).map_err(|error| error.to_string())
}

/// Whether the network that `settings` name is one of Go.
pub fn is_go(settings: &EvaluatorSettings) -> bool {
    file_of_go(settings).is_some()
}

fn file_of_go(settings: &EvaluatorSettings) -> Option<&Path> {
    match &settings.weights {
        Weights::File(path) => Some(path.as_path()).filter(|path| katago::is_model(path)),
        _ => None,
    }
}

/// The network of Go that `settings` name, if it is one.
///
/// # Errors
/// One line, with the file's name: it is damaged, or has what isn't supported; eight bits, in which none is run.
pub fn model(settings: &EvaluatorSettings) -> Result<Option<Model>, String> {
    let Some(path) = file_of_go(settings) else { return Ok(None) };
    if settings.precision == Precision::Int8 {
        return Err("--precision: expected fp32 or fp16 for a network of Go, got int8".to_string());
    }
    Model::read(path).map(Some).map_err(|error| super::refusal(&settings.weights, &error))
}
