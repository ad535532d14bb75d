//! An Lc0 network made ready for the evaluator: read, with its layers' precision, and with what runs it.

use super::canaries;
use super::inputs::Inputs;
use crate::network::{EvaluatorSettings, Lack, Part, Service, Weights, open_service, refusal};
use oncilla_nets::{HeadChoice, NetError, Network};
use oncilla_opencl::graph::{Graph, Role};
use oncilla_opencl::int8;
use oncilla_opencl::kernels::Precision;
use std::sync::Arc;

/// A network and what runs it.
pub struct Running {
    /// The network, to run it on another backend as well.
    pub graph: Arc<Graph>,
    /// What runs it.
    pub service: Service,
    /// The planes that the network wants to see.
    pub inputs: Inputs,
}

impl Running {
    /// Whether the network has a head with this role.
    pub fn has_head(&self, role: Role) -> bool {
        self.graph.output_len(role).is_some()
    }
}

/// Reads the network that `settings` name and makes the backend for it; also returns lines for a person.
pub fn open(settings: &EvaluatorSettings) -> Result<(Running, Vec<String>), Lack> {
    // This check comes first because reading a network may take long.
    settings.backend.is_here().map_err(Lack::of(Part::Backend))?;
    let (network, mut notes) = prepare(settings).map_err(Lack::of(Part::Network))?;
    let inputs = Inputs::of(&network, settings.history_fill).map_err(Lack::of(Part::Network))?;
    let graph = Arc::new(network.graph);
    let service = open_service(settings, &graph, &mut notes)?;
    Ok((Running { graph, service, inputs }, notes))
}

/// Reads the network that `settings` name and gives its layers their precision; also returns lines for a person.
///
/// # Errors
/// One line, with the file's name.
pub fn prepare(settings: &EvaluatorSettings) -> Result<(Network, Vec<String>), String> {
    let mut network = read_network(&settings.weights, &settings.heads)?;
    let mut notes = Vec::new();
    if settings.precision == Precision::Int8 {
        let canaries = canaries::planes(&canaries::POSITIONS, Inputs::of(&network, settings.history_fill)?)?;
        let choice = int8::choose(&mut network.graph, &canaries).map_err(|error| error.to_string())?;
        notes.push(choice.to_string());
    }
    Ok((network, notes))
}

/// Reads the network that `weights` name, with the heads of this choice, and without the planes and filters that change
/// nothing.
///
/// # Errors
/// One line, with the file's name.
pub fn read_network(weights: &Weights, heads: &HeadChoice) -> Result<Network, String> {
    try_network(weights, heads).map_err(|error| refusal(weights, &error))
}

/// Like [`read_network`], for a caller that does something else if the file is another kind of network.
pub fn try_network(weights: &Weights, heads: &HeadChoice) -> Result<Network, NetError> {
    let mut network = match weights {
        Weights::BuiltIn(network) => Network::from_bytes_heads(network.file(), heads),
        Weights::File(path) => Network::read_heads(path, heads),
    }?;
    network.prune();
    Ok(network)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{BuiltIn, drivers};
    use crate::options::Typed;
    use oncilla_opencl::device::DeviceChoice;
    use oncilla_opencl::kernels::Tuning;
    use oncilla_opencl::opencl::{OpenCl, Options};

    /// Also tries the kernels that a GPU has, and tunings without Winograd, in which there is nothing to fall back
    /// from.
    #[test]
    fn the_built_in_networks_pass_the_check_in_every_precision_and_on_every_form_of_kernels() {
        use oncilla_opencl::kernels::Variant;
        if drivers::device_is_there(&DeviceChoice::Auto).is_none() {
            return;
        }
        for network in BuiltIn::ALL {
            let mut settings = Typed::default().meaning().unwrap().settings.evaluator;
            settings.weights = Weights::BuiltIn(network);
            for precision in [Precision::Fp32, Precision::Fp16, Precision::Int8] {
                settings.precision = precision;
                let graph = Arc::new(prepare(&settings).unwrap().0.graph);
                let has_int8 = graph.has_int8();
                assert!(precision == Precision::Int8 || !has_int8);
                for (variant, winograd) in [(Variant::Cpu, 0), (Variant::Cpu, 4), (Variant::Gpu, 0), (Variant::Gpu, 4)]
                {
                    let tuning = Tuning { winograd, ..Tuning::start(variant, 8) };
                    let options = Options { tuning: Some(tuning), precision, max_batch: 16, ..Options::default() };
                    let checked = OpenCl::new(Arc::clone(&graph), &options);
                    let kept = checked.map(|device| device.tuning()).map_err(|error| error.to_string());
                    // Layers in eight bits are launched one by one, so the network has no single launch.
                    let tuning = if has_int8 { Tuning { network: 0, ..tuning } } else { tuning };
                    assert_eq!(kept, Ok(tuning), "{}, {precision}", network.name());
                }
            }
        }
    }
}
