//! A network of either game, to be measured, tested and tuned: its graph, and its input for some positions.

use crate::evaluator::{self, Inputs, canaries};
use crate::go;
use crate::network::{EvaluatorSettings, Weights, drivers, of_network, refusal, serve};
use oncilla_go::Size;
use oncilla_nets::katago::{self, Model};
use oncilla_opencl::graph::Graph;
use oncilla_opencl::kernels::Precision;
use std::path::Path;
use std::sync::Arc;

/// A graph and the input on which it is tried.
pub struct Subject {
    /// The network's graph.
    pub graph: Graph,
    /// The input of some positions, one row for each.
    inputs: Vec<f32>,
}

impl Subject {
    /// Reads the network that `settings` name; one of Go is made for boards of this size. Also returns lines for a
    /// person.
    ///
    /// # Errors
    /// One line, with the file's name.
    pub fn of(settings: &EvaluatorSettings, board: Size) -> Result<(Self, Vec<String>), String> {
        if let Some(model) = model(settings)? {
            let graph = graph_of(&model, &settings.weights, board)?;
            let inputs = go::inputs(&model, board);
            return Ok((Self { graph, inputs }, Vec::new()));
        }
        expect_no_board(board)?;
        let (network, notes) = evaluator::prepare(settings)?;
        let inputs = canaries::planes(&canaries::POSITIONS, Inputs::of(&network, settings.history_fill)?)?;
        Ok((Self { graph: network.graph, inputs }, notes))
    }

    /// The network's graph alone, with all layers in single precision.
    ///
    /// # Errors
    /// The errors of [`Subject::of`].
    pub fn graph(settings: &EvaluatorSettings, board: Size) -> Result<Graph, String> {
        match model(settings)? {
            Some(model) => graph_of(&model, &settings.weights, board),
            None => expect_no_board(board)
                .and_then(|()| Ok(evaluator::read_network(&settings.weights, &settings.heads)?.graph)),
        }
    }

    /// The input for `rows` positions, which are repeated if there are fewer.
    pub fn inputs(&self, rows: usize) -> Vec<f32> {
        let each = self.graph.input().len();
        self.inputs.chunks_exact(each).cycle().take(rows).flatten().copied().collect()
    }
}

/// Refuses a size for a chessboard.
pub fn expect_no_board(board: Size) -> Result<(), String> {
    if board == Size::STANDARD {
        return Ok(());
    }
    Err(format!("--board: expected it with a network of Go's, got {}x{} with one for chess", board.x(), board.y()))
}

/// The graph of a network of Go, which was read from `weights`, for boards of a size.
///
/// # Errors
/// One line, with the file's name: weights that become infinite for this size, or what graphs can't express.
pub fn graph_of(model: &Model, weights: &Weights, board: Size) -> Result<Graph, String> {
    model.graph(board.y().into(), board.x().into()).map_err(|error| of_network(weights, &error))
}

/// Whether the network that `settings` name is a network of Go.
pub fn is_go(settings: &EvaluatorSettings) -> bool {
    file_of_go(settings).is_some()
}

fn file_of_go(settings: &EvaluatorSettings) -> Option<&Path> {
    match &settings.weights {
        Weights::File(path) => Some(path.as_path()).filter(|path| katago::is_model(path)),
        _ => None,
    }
}

/// Reads the network that `settings` name, if it is a network of Go; else `None`.
///
/// # Errors
/// One line, with the file's name: the file is damaged, or has something that isn't supported. Or the precision is
/// eight bits, which isn't supported for networks of Go.
pub fn model(settings: &EvaluatorSettings) -> Result<Option<Model>, String> {
    let Some(path) = file_of_go(settings) else { return Ok(None) };
    if settings.precision == Precision::Int8 {
        return Err("--precision: expected fp32 or fp16 for a network of Go, got int8".to_string());
    }
    Model::read(path).map(Some).map_err(|error| refusal(&settings.weights, &error))
}

/// Opens what `settings` name, for another process, which does the same after this one has come through: see
/// [`drivers::rehearse`]. A network of Go is opened for boards of this size.
///
/// # Errors
/// One line: why it can't be opened, or that the mark could not be made.
pub fn open_for_another(settings: &EvaluatorSettings, board: Size, mark: &Path) -> Result<(), String> {
    drivers::end_with_input_if_asked();
    if mark.exists() {
        drivers::is_mark(mark)?;
    }
    let (subject, _) = Subject::of(settings, board)?;
    // The service is kept open until the mark is made: closing it is not part of a start.
    let _opened = serve(settings, &Arc::new(subject.graph))?;
    drivers::came_through(mark)
}
