//! Replaces what the settings name but what is not available by the closest substitute, so that a typo loses no game.

use crate::evaluator::Evaluator;
use crate::network::{BackendKind, BuiltIn, EvaluatorSettings, HintsFrom, Lack, Part, Weights};
use oncilla_nets::HeadChoice;

/// An evaluator that may differ from the one that was wanted.
pub struct Made {
    pub evaluator: Evaluator,
    /// Lines for a person: what runs, and why not something else.
    pub notes: Vec<String>,
    /// What could not be had, and what plays instead: one line.
    pub lacks: Option<String>,
}

/// Makes the evaluator that is wanted, or the one that comes nearest to it:
/// - Heads that the network lacks are replaced by its default heads.
/// - A network that can't be read is replaced by that of `last`, and this one by the network in the program.
/// - Hints that can't be read are replaced by the program's own.
/// - A backend that only Lc0 has is replaced by the nearest one that is here.
/// - If no device can be had, the host runs the network.
///
/// # Errors
/// One line, if none of these can be made.
pub fn make(wanted: &EvaluatorSettings, last: Option<&EvaluatorSettings>) -> Result<Made, String> {
    let mut settings = wanted.clone();
    let mut last = last;
    let mut lacks: Vec<Replaced> = Vec::new();
    loop {
        let lack = match Evaluator::new(&settings) {
            Ok((evaluator, notes)) => return Ok(Made { evaluator, notes, lacks: line(&lacks) }),
            Err(lack) => lack,
        };
        match replace(&mut settings, lack.part, &mut last) {
            Some(instead) => note(&mut lacks, lack, instead),
            None => return Err(lack.why),
        }
    }
}

/// A part that was replaced, why, and by what.
struct Replaced {
    part: Part,
    whys: Vec<String>,
    instead: String,
}

/// Adds a replacement. A part may be replaced again, because its replacement can't be had either: then the last one
/// counts.
fn note(lacks: &mut Vec<Replaced>, Lack { part, why }: Lack, instead: String) {
    match lacks.iter_mut().find(|replaced| replaced.part == part) {
        Some(replaced) => {
            replaced.instead = instead;
            if !replaced.whys.contains(&why) {
                replaced.whys.push(why);
            }
        }
        None => lacks.push(Replaced { part, whys: vec![why], instead }),
    }
}

fn line(lacks: &[Replaced]) -> Option<String> {
    let texts = lacks.iter().map(|Replaced { whys, instead, .. }| format!("{}; {instead}", whys.join("; ")));
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| format!("WARNING: {}", texts.join(". ")))
}

/// Replaces a part in `settings` by the next best, and says what that is. `None` if there is nothing left to try.
fn replace(settings: &mut EvaluatorSettings, part: Part, last: &mut Option<&EvaluatorSettings>) -> Option<String> {
    match part {
        Part::Network => replace_network(settings, last),
        Part::Hints => replace_hints(settings),
        Part::Backend => replace_backend(settings),
    }
}

fn replace_backend(settings: &mut EvaluatorSettings) -> Option<String> {
    settings.backend = match settings.backend {
        BackendKind::OpenCl => BackendKind::Host,
        BackendKind::Lc0s(backend) => {
            // A number counted the devices of that backend: the same number may be another device here, or no GPU at
            // all.
            settings.devices.retain(|name| name.trim().parse::<usize>().is_err());
            backend.nearest()
        }
        BackendKind::Auto | BackendKind::Host | BackendKind::Random | BackendKind::Constant => return None,
    };
    let instead = match settings.backend {
        BackendKind::Auto => "auto runs the network: a GPU where that is faster, else the host",
        _ => "the host runs the network",
    };
    Some(instead.to_string())
}

fn replace_network(settings: &mut EvaluatorSettings, last: &mut Option<&EvaluatorSettings>) -> Option<String> {
    let built_in = Weights::BuiltIn(BuiltIn::Small);
    if settings.heads != HeadChoice::default() {
        settings.heads = HeadChoice::default();
        return Some(format!("{} plays with its default heads", shown(&settings.weights)));
    }
    let (weights, heads, hints) = match last.take().filter(|last| last.weights != settings.weights) {
        Some(last) => (last.weights.clone(), last.heads.clone(), last.hints.clone()),
        None if settings.weights != built_in => (built_in, HeadChoice::default(), HintsFrom::Program),
        None => return None,
    };
    let instead = format!("{} plays instead", shown(&weights));
    (settings.weights, settings.heads) = (weights, heads);
    // Hints in a file were fitted to the network that could not be read.
    if settings.hints != HintsFrom::Nowhere {
        settings.hints = hints;
    }
    Some(instead)
}

fn replace_hints(settings: &mut EvaluatorSettings) -> Option<String> {
    let instead = match (&settings.hints, &settings.weights) {
        (HintsFrom::Nowhere | HintsFrom::Program, _) => return None,
        (HintsFrom::File(_), Weights::BuiltIn(_)) => "the program's own hints are used",
        (HintsFrom::File(_), Weights::File(_)) => "the network plays without hints",
    };
    settings.hints = HintsFrom::Program;
    Some(instead.to_string())
}

fn shown(weights: &Weights) -> String {
    match weights {
        Weights::BuiltIn(network) => format!("the built-in network {}", network.name()),
        Weights::File(path) => crate::text::shown(&path.to_string_lossy()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Lc0Backend;
    use crate::options::Typed;
    use flate2::read::GzDecoder;
    use std::io::Read;

    fn settings(change: impl FnOnce(&mut EvaluatorSettings)) -> EvaluatorSettings {
        let mut settings = Typed::default().meaning().unwrap().settings.evaluator;
        settings.backend = BackendKind::Host;
        settings.threads = 1;
        change(&mut settings);
        settings
    }

    /// What is made of `wanted`, and what is said to be lacking.
    fn made(wanted: &EvaluatorSettings, last: Option<&EvaluatorSettings>) -> (EvaluatorSettings, Option<String>) {
        let Made { evaluator, lacks, .. } = make(wanted, last).unwrap();
        (evaluator.settings().clone(), lacks)
    }

    const NOWHERE: &str = "/no such folder/file";

    #[test]
    fn what_can_be_had_is_made_as_it_is_wanted() {
        let wanted = settings(|_| {});
        assert_eq!(made(&wanted, None), (wanted, None));
    }

    #[test]
    fn a_network_gives_way_to_the_last_one_and_to_the_one_in_the_program() {
        let wanted = settings(|s| {
            s.weights = Weights::File(NOWHERE.into());
            s.hints = HintsFrom::File(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/nets/tiny.hints").into());
        });
        let absent = std::fs::read(NOWHERE).unwrap_err();
        let why = format!("WARNING: {NOWHERE}: can't read it: {absent}; the built-in network");
        let (small, tiny) = (settings(|_| {}), settings(|s| s.weights = Weights::BuiltIn(BuiltIn::Tiny)));
        assert_eq!(made(&wanted, None), (small.clone(), Some(format!("{why} small plays instead"))));
        assert_eq!(made(&wanted, Some(&tiny)), (tiny.clone(), Some(format!("{why} tiny plays instead"))));
        // A network whose file has disappeared since.
        assert_eq!(made(&wanted, Some(&wanted)), (small.clone(), Some(format!("{why} small plays instead"))));
        let heads = settings(|s| {
            s.weights = wanted.weights.clone();
            s.heads.policy = "soft".to_string();
        });
        assert_eq!(made(&heads, None), (small, Some(format!("{why} small plays instead"))), "said once");
        let plain = settings(|s| {
            s.weights = wanted.weights.clone();
            s.hints = HintsFrom::Nowhere;
        });
        assert_eq!(made(&plain, None).0.hints, HintsFrom::Nowhere);
    }

    #[test]
    fn heads_and_hints_cost_no_network() {
        let (made_of, lacks) = made(&settings(|s| s.heads.policy = "foo".to_string()), None);
        assert_eq!(made_of, settings(|_| {}));
        let lacks = lacks.unwrap();
        assert!(
            lacks.contains("no policy head \"foo\", but vanilla; the built-in network small plays with its"),
            "{lacks}"
        );
        let (made_of, lacks) = made(&settings(|s| s.hints = HintsFrom::File(NOWHERE.into())), None);
        assert_eq!(made_of, settings(|_| {}));
        let absent = std::fs::read(NOWHERE).unwrap_err();
        assert!(lacks.unwrap().ends_with(&format!("{absent}; the program's own hints are used")));
    }

    #[test]
    fn what_a_backend_of_lc0s_counted_is_forgotten() {
        let mut wanted = settings(|s| {
            s.backend = BackendKind::Lc0s(Lc0Backend { name: "cuda", is_for_cpus: false });
            s.devices = ["1", "Mali", "0"].map(str::to_string).to_vec();
        });
        let instead = replace_backend(&mut wanted).unwrap();
        assert!(instead.starts_with("auto runs the network"), "{instead}");
        assert_eq!((wanted.backend, wanted.devices), (BackendKind::Auto, vec!["Mali".to_string()]));
    }

    #[test]
    fn each_of_several_faults_is_said() {
        let wanted = settings(|s| {
            s.weights = Weights::File(NOWHERE.into());
            s.backend = BackendKind::OpenCl;
            s.devices = vec!["no such device".to_string()];
        });
        let (made_of, lacks) = made(&wanted, None);
        assert_eq!((made_of.backend, made_of.weights), (BackendKind::Host, Weights::BuiltIn(BuiltIn::Small)));
        let lacks = lacks.unwrap();
        assert!(lacks.contains("small plays instead. ") && lacks.ends_with("; the host runs the network"), "{lacks}");
    }

    /// The file of a network, but with weights up to 10³⁰.
    fn of_huge_weights() -> Vec<u8> {
        let mut network = Vec::new();
        GzDecoder::new(BuiltIn::Tiny.file()).read_to_end(&mut network).unwrap();
        // A layer has its least and its largest weight, two floats, in front of its weights, which are 128 bytes or
        // more: shorter ones may be variances.
        let is_layer = |at: &usize| {
            [0, 5, 10].map(|field| network[at + field]) == [0x0d, 0x15, 0x1a] && network[at + 11] & 0x80 != 0
        };
        let layers: Vec<usize> = (0..network.len() - 11).filter(is_layer).collect();
        assert!(!layers.is_empty());
        for at in layers {
            network[at + 1..at + 5].copy_from_slice(&(-1e30f32).to_le_bytes());
            network[at + 6..at + 10].copy_from_slice(&1e30f32.to_le_bytes());
        }
        network
    }

    #[test]
    fn a_network_whose_outputs_are_no_numbers_gives_way_whatever_should_run_it() {
        let file = std::env::temp_dir().join(format!("oncilla-huge-{}.pb", std::process::id()));
        std::fs::write(&file, of_huge_weights()).unwrap();
        let line = format!(
            "WARNING: {}: an output of the network is no finite number; the built-in network small plays instead",
            file.display()
        );
        for backend in [BackendKind::Host, BackendKind::Auto, BackendKind::OpenCl] {
            // A device is named, so that a device is tried if there is one.
            let wanted = settings(|s| {
                (s.weights, s.backend) = (Weights::File(file.clone()), backend);
                s.devices = vec!["0".to_string()];
            });
            let (made_of, lacks) = made(&wanted, None);
            assert_eq!(made_of.weights, Weights::BuiltIn(BuiltIn::Small), "{backend:?}");
            // If there is no device, that is said too.
            let lacks = lacks.unwrap_or_default();
            assert!(lacks.starts_with(&line), "{backend:?}: {lacks}");
        }
        let _ = std::fs::remove_file(file); // the test made it
    }
}
