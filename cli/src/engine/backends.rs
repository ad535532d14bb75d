//! What evaluates: a network on some backend, or a rule that stands in for one.

use super::settings::{BackendKind, EvaluatorSettings, Weights};
use oncilla_chess::planes::InputFormat;
use oncilla_core::evaluate::Value;
use oncilla_nets::Network;
use oncilla_opencl::backend::{Backend, Outputs};
use oncilla_opencl::device::{self, DeviceChoice, Kind};
use oncilla_opencl::graph::{Graph, Role};
use oncilla_opencl::host::Host;
use oncilla_opencl::opencl::{OpenCl, Options};

/// The network that plays where the user names none.
static EMBEDDED: &[u8] = include_bytes!("../../../fixtures/nets/default.pb.gz");

/// Largest batch of an evaluator without a network.
const MAX_BATCH_WITHOUT_NETWORK: usize = 1024;

/// Whatever answers.
pub enum Source {
    /// A network.
    Network {
        /// Runs it.
        backend: Box<dyn Backend>,
        /// How it wants its planes.
        input_format: InputFormat,
        /// Whether the backend is a device, which can fail where the host can't.
        device: bool,
    },
    /// Priors and values from a hash of the position.
    Random,
    /// Even priors and values.
    Constant,
}

/// Reads the network and makes the backend that `settings` name, with lines for a person.
pub fn open(settings: &EvaluatorSettings) -> Result<(Source, Vec<String>), String> {
    match settings.backend {
        BackendKind::Random => return Ok((Source::Random, Vec::new())),
        BackendKind::Constant => return Ok((Source::Constant, Vec::new())),
        _ => {}
    }
    let network = read_network(&settings.weights)?;
    let number = network.input_format.number();
    let input_format =
        InputFormat::from_number(number.into()).ok_or_else(|| format!("input format {number} is not known"))?;
    let mut notes = Vec::new();
    let (backend, device) = open_backend(settings, network.graph, &mut notes)?;
    notes.push(format!("network on {}", backend.describe()));
    Ok((Source::Network { backend, input_format, device }, notes))
}

/// Reads the network that `weights` name.
///
/// # Errors
/// One line, with the file's name.
pub fn read_network(weights: &Weights) -> Result<Network, String> {
    match weights {
        Weights::Embedded => Network::from_bytes(EMBEDDED).map_err(|e| format!("the embedded network: {e}")),
        Weights::File(path) => Network::read(path).map_err(|e| format!("{}: {e}", path.display())),
    }
}

fn open_backend(
    settings: &EvaluatorSettings,
    graph: Graph,
    notes: &mut Vec<String>,
) -> Result<(Box<dyn Backend>, bool), String> {
    match settings.backend {
        BackendKind::OpenCl => return Ok((open_device(settings, graph)?, true)),
        BackendKind::Auto => match worthwhile_device(settings).and_then(|_| open_device(settings, graph.clone())) {
            Ok(device) => return Ok((device, true)),
            Err(fault) => notes.push(format!("{fault}; the host runs the network")),
        },
        BackendKind::Host | BackendKind::Random | BackendKind::Constant => {}
    }
    Ok((open_host(graph, settings.threads)?, false))
}

fn open_host(graph: Graph, threads: usize) -> Result<Box<dyn Backend>, String> {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if threads == 0 { cores() } else { threads };
    Ok(Box::new(Host::new(graph, threads).map_err(|e| e.to_string())?))
}

fn device_choice(settings: &EvaluatorSettings) -> DeviceChoice {
    settings.device.as_deref().map_or(DeviceChoice::Auto, DeviceChoice::from)
}

/// A device that nobody named must be more than the host's own cores, which the host backend has already.
fn worthwhile_device(settings: &EvaluatorSettings) -> Result<(), String> {
    let choice = device_choice(settings);
    let named = choice != DeviceChoice::Auto || std::env::var_os(device::DEVICE_ENV).is_some();
    let device = device::choose(&choice).map_err(|e| e.to_string())?;
    match device.kind {
        Kind::Cpu if !named => Err(format!("the only OpenCL device is a CPU ({})", device.name)),
        _ => Ok(()),
    }
}

fn open_device(settings: &EvaluatorSettings, graph: Graph) -> Result<Box<dyn Backend>, String> {
    let options = Options { device: device_choice(settings), ..Options::default() };
    let mut device = OpenCl::new(graph, &options).map_err(|e| e.to_string())?;
    // The first launches of a kernel can take seconds on some drivers: not on a game's clock.
    let preferred = device.preferred_batch();
    for batch in [1, preferred] {
        let input = vec![0.0; batch * device.graph().input().len()];
        device.evaluate(&input, &mut Outputs::default()).map_err(|e| e.to_string())?;
    }
    Ok(Box::new(device))
}

/// The value of position `at`, from the heads that the network has.
pub fn value(outputs: &Outputs, at: usize) -> Value {
    let (wl, d) = match outputs.wdl.get(3 * at..3 * at + 3) {
        Some(&[w, d, l]) => (w - l, d),
        _ => (outputs.value.get(at).copied().unwrap_or(0.0), 0.0),
    };
    Value { wl, d, m: outputs.moves_left.get(at).copied().unwrap_or(0.0) }
}

impl Source {
    fn backend(&self) -> Option<&dyn Backend> {
        match self {
            Self::Network { backend, .. } => Some(backend.as_ref()),
            Self::Random | Self::Constant => None,
        }
    }

    fn has_head(&self, role: Role) -> bool {
        self.backend().is_some_and(|b| b.graph().output_len(role).is_some())
    }

    pub fn has_network(&self) -> bool {
        self.backend().is_some()
    }

    pub fn is_device(&self) -> bool {
        matches!(self, Self::Network { device: true, .. })
    }

    pub fn has_moves_left(&self) -> bool {
        self.has_head(Role::MovesLeft)
    }

    pub fn has_wdl(&self) -> bool {
        self.has_head(Role::Wdl)
    }

    pub fn flops(&self) -> u64 {
        self.backend().map_or(0, |b| b.graph().flops())
    }

    pub fn describe(&self) -> String {
        match self {
            Self::Network { backend, .. } => backend.describe(),
            Self::Random => "random answers".to_string(),
            Self::Constant => "constant answers".to_string(),
        }
    }

    pub fn input_format(&self) -> InputFormat {
        match self {
            Self::Network { input_format, .. } => *input_format,
            Self::Random | Self::Constant => InputFormat::Classical112,
        }
    }

    pub fn preferred_batch(&self) -> usize {
        self.backend().map_or(1, Backend::preferred_batch)
    }

    pub fn max_batch(&self) -> usize {
        self.backend().map_or(MAX_BATCH_WITHOUT_NETWORK, Backend::max_batch)
    }

    /// Runs the network over `input`. Outputs that are no numbers are a fault of the backend.
    pub fn run(&mut self, input: &[f32], outputs: &mut Outputs) -> Result<(), String> {
        let Self::Network { backend, .. } = self else { return Ok(()) };
        backend.evaluate(input, outputs).map_err(|e| e.to_string())?;
        let heads = [&outputs.policy, &outputs.wdl, &outputs.value, &outputs.moves_left];
        match heads.iter().any(|head| head.iter().any(|x| !x.is_finite())) {
            true => Err(format!("{}: an output is no finite number", backend.describe())),
            false => Ok(()),
        }
    }

    /// The same network on the host.
    pub fn to_host(&self, threads: usize) -> Result<Self, String> {
        let graph = self.backend().map(|b| b.graph().clone()).ok_or("there is no network")?;
        Ok(Self::Network { backend: open_host(graph, threads)?, input_format: self.input_format(), device: false })
    }

    /// The answers to a position with `key`, where no network gives them.
    pub fn without_network(&self, key: u64) -> Option<Stand> {
        match self {
            Self::Network { .. } => None,
            Self::Random => Some(Stand { random: Some(key) }),
            Self::Constant => Some(Stand { random: None }),
        }
    }
}

/// Stands in for a network.
pub struct Stand {
    random: Option<u64>,
}

impl Stand {
    /// Uniform in `[0, 1)`, by key and `salt`.
    fn uniform(&self, salt: u64) -> f32 {
        // The output function of SplitMix64.
        let mut x = self.random.unwrap_or(0).wrapping_add(salt.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ x >> 31) >> 40) as f32 / (1u64 << 24) as f32
    }

    pub fn value(&self) -> Value {
        if self.random.is_none() {
            return Value::EVEN;
        }
        let wl = self.uniform(1) * 2.0 - 1.0;
        Value { wl, d: self.uniform(2) * (1.0 - wl.abs()), m: 0.0 }
    }

    pub fn logit(&self, mv: u16) -> f32 {
        if self.random.is_none() { 0.0 } else { 3.0 * self.uniform(u64::from(mv) + 3) }
    }
}
