//! The commands `oncilla describenet` and `oncilla devices`.

mod katago;

use crate::console::{Console, aside};
use crate::evaluator::try_network;
use crate::network::{BackendKind, EvaluatorSettings, WantedBackend, Weights, drivers, refusal, wanted};
use oncilla_nets::{Fault, HeadChoice, NetError, Network};
use oncilla_opencl::device::{self, DEVICE_ENV, Kind};

/// Prints a summary of a network file.
///
/// # Errors
/// In one line: the file can't be read, or its content can't be used.
pub fn network(console: &Console, weights: &Weights) -> Result<(), String> {
    let network = match (read(weights), weights) {
        (Ok(network), _) => network,
        (Err(error), Weights::File(path)) if error.fault == Fault::Go && path.is_file() => {
            let rows = katago::rows(path).map_err(|error| refusal(weights, &error))?;
            say(console, &rows);
            return Ok(());
        }
        (Err(error), _) => return Err(refusal(weights, &error)),
    };
    let facts = &network.facts;
    let [major, minor, patch] = facts.min_version;
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_string();
    let name = match weights {
        Weights::BuiltIn(network) => format!("{}, built in", network.name()),
        Weights::File(path) => path.display().to_string(),
    };
    let mut rows = vec![
        ("Network", name),
        ("Residual blocks", facts.blocks.to_string()),
        ("Filters", facts.filters.to_string()),
        ("Squeeze and excite", yes(facts.squeeze_excite)),
        ("Encoder layers", facts.encoders.to_string()),
        ("Attention heads", facts.attention_heads.to_string()),
        ("Embedding", facts.embedding.to_string()),
        ("Activation", format!("{:?}", facts.activation).to_lowercase()),
        ("Policy head", format!("{} ({})", facts.policy, facts.policy_heads.join(", "))),
        ("Default policy head", first_instead("policy", &HeadChoice::default().policy, &facts.policy_heads)),
        ("Value head", format!("{} ({})", facts.value, facts.value_heads.join(", "))),
        ("Default value head", first_instead("value", &HeadChoice::default().value, &facts.value_heads)),
        ("Value-error head", yes(facts.value_error)),
        ("Moves-left head", yes(facts.moves_left)),
        ("Input format", network.input_format.number().to_string()),
        ("Planes looked at", network.planes.len().to_string()),
        ("Parameters", facts.parameters.to_string()),
        ("Operations an evaluation", network.graph.flops().to_string()),
        ("Training steps", facts.training_steps.to_string()),
        ("Oldest Lc0", format!("{major}.{minor}.{patch}")),
    ];
    if !facts.license.is_empty() {
        rows.push(("Licence", facts.license.clone()));
    }
    rows.retain(|(_, said)| !said.is_empty());
    say(console, &rows);
    Ok(())
}

/// The network in a file with the heads that it has, even if it lacks those that are read by default.
fn read(weights: &Weights) -> Result<Network, NetError> {
    let Weights::File(path) = weights else { return try_network(weights, &HeadChoice::default()) };
    let mut network = Network::read_first_heads(path)?;
    network.prune();
    Ok(network)
}

/// Says that there is no default head, and which one was read instead; empty if there is one.
fn first_instead(kind: &str, default: &str, heads: &[&str]) -> String {
    match heads {
        [first, ..] if *first != default => {
            format!("none called {default}; this describes {first}: a search needs --backend-opts={kind}_head={first}")
        }
        _ => String::new(),
    }
}

fn say(console: &Console, rows: &[(&str, String)]) {
    // A text from a file may contain anything, so line ends are escaped.
    let line = |(label, value): &(&str, String)| format!("{label:>26}: {}", value.escape_debug());
    console.say_all(&rows.iter().map(line).collect::<Vec<_>>());
}

/// Lists the OpenCL devices in the order of their numbers, and prints which would be used and why. Unless `trusting`,
/// another process tries the drivers first.
///
/// # Errors
/// In one line: no OpenCL here, no device, or a driver that must not be loaded.
pub fn devices(console: &Console, settings: &EvaluatorSettings, trusting: bool) -> Result<(), String> {
    match trusting {
        true => drivers::end_with_input_if_asked(),
        false => drivers::scout()?,
    }
    settings.backend.is_here()?;
    let devices = device::list().map_err(|error| error.to_string())?;
    console.say_all(&devices.iter().map(ToString::to_string).collect::<Vec<_>>());
    if !settings.backend.uses_devices() {
        console.say("used: none of them, as --backend says");
        return Ok(());
    }
    let (mut used, mut kinds, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    for wanted in wanted(settings) {
        let choice = match wanted {
            WantedBackend::Host => {
                used.push("host".to_string());
                continue;
            }
            WantedBackend::Device(choice) => choice,
        };
        match device::choose(&choice) {
            Ok(chosen) => {
                let name = format!("{} {}", chosen.index, chosen.name);
                // A device that is named twice is used once.
                if !used.contains(&name) {
                    used.push(name);
                    kinds.push(chosen.kind);
                }
            }
            Err(fault) => faults.push(fault.to_string()),
        }
    }
    if used.is_empty() {
        return Err(faults.join("; "));
    }
    // In a game, too, this is the message if one of several devices can't be used.
    faults.iter().for_each(|fault| aside(&format!("{fault}; the other devices run the network")));
    console.say(&format!("used: {}, {}", used.join(" and "), why(settings, &kinds)));
    Ok(())
}

/// The reason for the choice of the devices.
fn why(settings: &EvaluatorSettings, kinds: &[Kind]) -> String {
    match (&settings.devices[..], device::named_by_environment(), kinds) {
        ([name], ..) if name.parse::<usize>().is_ok() => format!("because the options name device {name}"),
        (names @ [_, ..], ..) => format!("because the options name {}", crate::text::quoted(&names.join(", "))),
        ([], Some(name), _) => format!("because {DEVICE_ENV} is {}", crate::text::quoted(&name)),
        ([], None, [Kind::Cpu]) if settings.backend != BackendKind::OpenCl => {
            "with --backend=opencl only: a CPU does as much without OpenCL".to_string()
        }
        ([], None, [Kind::Accelerator]) if settings.backend != BackendKind::OpenCl => {
            "with --backend=opencl only: an accelerator may be a CPU's cores under another name".to_string()
        }
        ([], None, [Kind::Gpu]) => "the first gpu of those with memory of their own, or else of all".to_string(),
        ([], None, [kind, ..]) => format!("the first {kind}"),
        ([], None, []) => "as nothing else is named".to_string(),
    }
}
