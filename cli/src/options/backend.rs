//! `WeightsFile`, `Hints`, `Backend` and `BackendOptions`.

use crate::network::{BackendKind, BuiltIn, EvaluatorSettings, HintsFrom, Lc0Backend, WantedBackend, Weights, wanted};

use super::path::{found, path, unquoted};
use super::suboptions::{Content, Item, List, SubOptionError, parse};

/// The names of backends: ours, then Lc0's for the backends that are here too.
pub const BACKENDS: &[&str] = &["auto", "host", "opencl", "random", "constant", "blas", "eigen", "trivial"];

/// The names of Lc0's other backends. They are accepted, but not listed, and UCI plays with [the nearest
/// backend](Lc0Backend::nearest).
pub const ONLY_LC0S: &[&str] = &[
    "cudnn-auto",
    "cudnn-fp16",
    "cudnn",
    "cuda-auto",
    "cuda-fp16",
    "cuda",
    "dx12",
    "metal",
    "sycl-auto",
    "sycl-fp16",
    "sycl",
    "onnx-migraphx",
    "onnx-rocm",
    "onnx-dml",
    "onnx-cuda",
    "onnx-trt",
    "onnx-coreml",
    "onnx-cpu",
    "xla",
    "tensorflow-cc",
    "tensorflow-cc-cpu",
    "mkl",
    "dnnl",
    "onednn",
    "multiplexing",
    "demux",
    "roundrobin",
    "check",
    "recordreplay",
];

/// Those of [`ONLY_LC0S`] that run on the CPU.
const FOR_CPUS: [&str; 5] = ["onnx-cpu", "tensorflow-cc-cpu", "mkl", "dnnl", "onednn"];

/// The backend of a name.
pub fn kind(name: &str) -> Option<BackendKind> {
    Some(match name {
        "auto" => BackendKind::Auto,
        // Lc0's backends for the CPU, which use BLAS or Eigen. Here they are our own code.
        "host" | "blas" | "eigen" => BackendKind::Host,
        "opencl" => BackendKind::OpenCl,
        "random" => BackendKind::Random,
        "constant" | "trivial" => BackendKind::Constant,
        name => {
            let name = *ONLY_LC0S.iter().find(|only| **only == name)?;
            BackendKind::Lc0s(Lc0Backend { name, is_for_cpus: FOR_CPUS.contains(&name) })
        }
    })
}

/// Checks the settings of a command about an OpenCL device.
///
/// # Errors
/// One line: the backend uses no OpenCL devices, or none is named but the host.
pub fn on_a_device(settings: &EvaluatorSettings) -> Result<(), String> {
    on_devices(settings.backend)?;
    if wanted(settings).iter().all(|wanted| *wanted == WantedBackend::Host) {
        return Err("--backend-opts: expected an OpenCL device, got host".to_string());
    }
    Ok(())
}

fn on_devices(backend: BackendKind) -> Result<(), String> {
    if backend.uses_devices() {
        return Ok(());
    }
    let mut names = BACKENDS.iter().chain(ONLY_LC0S);
    let name = names.find(|name| kind(name) == Some(backend)).unwrap_or(&"another");
    Err(format!("--backend: expected auto or opencl, for an OpenCL device, got {name}"))
}

/// The source of the network: the name of a built-in one, or else a file. A file that has such a name is written
/// `./tiny`.
pub fn weights(text: &str) -> Weights {
    match unquoted(text) {
        // Lc0 searches for a file next to the program; here a network is built in.
        "" | "<autodiscover>" => Weights::BuiltIn(BuiltIn::Small),
        text => BuiltIn::named(text).map_or_else(|| Weights::File(found(text)), Weights::BuiltIn),
    }
}

/// Like [`weights`], for the network beside the main one; an empty text stands for none.
pub fn human_model(text: &str) -> Option<Weights> {
    (!unquoted(text).trim().is_empty()).then(|| weights(text))
}

/// The source of hints: `auto`, `off`, or a file.
pub fn hints(text: &str) -> HintsFrom {
    match unquoted(text) {
        "" | "auto" => HintsFrom::Program,
        "off" => HintsFrom::Nowhere,
        name => HintsFrom::File(path(name)),
    }
}

/// Applies options such as `gpu=1,threads=4,policy_head=soft` to the settings. Several devices, as in
/// `gpu=0,gpu=1,device=host`, share the work, and so do those in the lists of Lc0's `demux` and similar backends:
/// `backend=cudnn-fp16,(gpu=0),(gpu=1)`. Whether the network has a head of this name is checked when it is read.
///
/// # Errors
/// The position of the error in the text, or what was expected.
pub fn options(settings: &mut EvaluatorSettings, text: &str) -> Result<(), String> {
    let mut devices = Vec::new();
    take(settings, &mut devices, &parse(text).map_err(|error| error.to_string())?)?;
    if !devices.is_empty() {
        settings.devices = devices;
    }
    Ok(())
}

fn take(settings: &mut EvaluatorSettings, devices: &mut Vec<String>, list: &List) -> Result<(), String> {
    for item in &list.items {
        match (item.name.as_str(), &item.content) {
            ("gpu", &Content::Number(index)) if index >= 0.0 && index.fract() == 0.0 => {
                devices.push(index.to_string());
            }
            ("device", Content::Text(name)) => devices.push(name.clone()),
            ("device", Content::Number(index)) => devices.push(index.to_string()),
            ("threads", &Content::Number(threads)) if (0.0..=128.0).contains(&threads) && threads.fract() == 0.0 => {
                (settings.threads, settings.threads_are_all) = (threads as usize, true);
            }
            ("tiles", &Content::Switch(on)) => settings.tiles = on,
            ("mlh", &Content::Switch(on)) => settings.moves_left = on,
            ("policy_head", Content::Text(name)) => settings.heads.policy = name.clone(),
            ("value_head", Content::Text(name)) => settings.heads.value = name.clone(),
            (_, Content::List(list)) if !list.items.is_empty() => take(settings, devices, list)?,
            (name, content) if is_only_lc0s(name, content) => {}
            _ => return Err(refuse(item)),
        }
    }
    Ok(())
}

/// Options of Lc0's backends that do not affect the output of ours. The seed is that of Lc0's random backend.
fn is_only_lc0s(name: &str, content: &Content) -> bool {
    match content {
        Content::Number(_) => matches!(
            name,
            "batch" | "batch_size" | "max_batch" | "min_batch" | "steps" | "delay" | "seed" | "input_mode" | "opset"
        ),
        Content::Switch(_) => matches!(
            name,
            "uniform" | "custom_winograd" | "multi_stream" | "res_block_fusing" | "cache_opt" | "nhwc" | "fp16"
        ),
        Content::Text(_) => matches!(name, "backend" | "datatype"),
        Content::List(_) => false,
    }
}

fn refuse(item: &Item) -> String {
    let got = match &item.content {
        Content::List(_) => crate::text::quoted(&item.name),
        content => format!("{}={content}", item.name),
    };
    let expected = "gpu=NUMBER, device=NAME|host, threads=0..128, tiles=true|false, mlh=true|false, policy_head=NAME or \
                    value_head=NAME (as in gpu=0,device=host)";
    let expected = expected.to_string();
    SubOptionError { offset: item.offset, expected, got }.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Typed;
    use crate::options::meaning::Draft;

    fn read(text: &str) -> Result<EvaluatorSettings, String> {
        let mut settings = Draft::new().meaning.settings.evaluator;
        options(&mut settings, text).map(|()| settings)
    }

    #[test]
    fn devices_and_threads() {
        assert_eq!(read("gpu=1").unwrap().devices, ["1"]);
        assert_eq!(read("device='GeForce RTX'").unwrap().devices, ["GeForce RTX"]);
        assert_eq!(read("gpu=0,device=host,device=Mali").unwrap().devices, ["0", "host", "Mali"]);
        assert_eq!(read("threads=3,batch=16").unwrap().threads, 3);
        assert_eq!((read("").unwrap().tiles, read("tiles=false").unwrap().tiles), (true, false));
        let heads = read("policy_head=soft,value_head=q").unwrap().heads;
        assert_eq!((heads.policy.as_str(), heads.value.as_str()), ("soft", "q"));
        assert_eq!(
            read("gpu=-1").unwrap_err(),
            "at offset 0: expected gpu=NUMBER, device=NAME|host, threads=0..128, tiles=true|false, mlh=true|false, \
             policy_head=NAME or value_head=NAME (as in gpu=0,device=host), got gpu=-1"
        );
        assert!(read("gpu=0,host").unwrap_err().ends_with("(as in gpu=0,device=host), got \"host\""));
        assert!(read("threads=1e30").is_err());
        assert!(read("multiplexing(gpu)").unwrap_err().ends_with("got \"gpu\""));
    }

    #[test]
    fn what_lc0s_backends_are_told_is_taken() {
        assert_eq!((read("").unwrap().moves_left, read("mlh=false").unwrap().moves_left), (true, false));
        assert_eq!(read("seed=7,uniform=true,delay=5,input_mode=1,max_batch=8"), read(""));
        assert_eq!(read("custom_winograd=true,multi_stream=false,fp16=true,datatype=bf16,steps=4"), read(""));
        assert!(read("mlh=1").is_err() && read("custom_winograd=1").is_err() && read("backend").is_err());
        for text in [
            "backend=cudnn-fp16,custom_winograd=true,(gpu=0),(gpu=1)",
            "multiplexing(gpu=0),b(backend=cuda,gpu=1)",
            "(backend=cudnn,gpu=0,max_batch=256),(backend=cudnn,gpu=1)",
        ] {
            assert_eq!(read(text).unwrap().devices, ["0", "1"], "{text}");
        }
    }

    #[test]
    fn a_network_beside_is_none_without_a_name() {
        for text in ["", " ", "\"\""] {
            assert_eq!(human_model(text), None);
        }
        assert_eq!(human_model("human.bin.gz"), Some(Weights::File("human.bin.gz".into())));
        assert_eq!(human_model("tiny"), Some(Weights::BuiltIn(BuiltIn::Tiny)), "and is refused where it is read");
    }

    #[test]
    fn every_listed_backend_exists() {
        assert!(BACKENDS.iter().all(|name| kind(name).is_some_and(|kind| kind.is_here().is_ok())));
        assert_eq!(kind("no such backend"), None);
    }

    #[test]
    fn what_only_lc0_has_is_known_by_what_comes_nearest() {
        let nearest = |name: &str| match kind(name) {
            Some(BackendKind::Lc0s(backend)) => backend.nearest(),
            other => panic!("{name}: {other:?}"),
        };
        for name in ONLY_LC0S {
            let is_for_cpus = FOR_CPUS.contains(name);
            assert_eq!(nearest(name), if is_for_cpus { BackendKind::Host } else { BackendKind::Auto }, "{name}");
        }
        assert!(FOR_CPUS.iter().all(|name| ONLY_LC0S.contains(name)));
        let got = "got cuda-fp16, which only Lc0 has";
        assert!(kind("cuda-fp16").unwrap().is_here().unwrap_err().ends_with(got));
        assert!(on_devices(kind("demux").unwrap()).unwrap_err().ends_with("got demux"));
        let check = |text| {
            let mut settings = Typed::default().meaning().unwrap().settings.evaluator;
            options(&mut settings, text).unwrap();
            on_a_device(&settings)
        };
        assert_eq!(["gpu=1", "device=host,gpu=0"].map(check), [const { Ok(()) }; 2]);
        assert!(check("device=host").unwrap_err().ends_with("got host"));
    }

    #[test]
    fn hints_by_name_and_by_file() {
        assert_eq!((hints("auto"), hints("")), (HintsFrom::Program, HintsFrom::Program));
        assert_eq!(hints("off"), HintsFrom::Nowhere);
        assert_eq!(hints("./off"), HintsFrom::File("./off".into()));
    }

    #[test]
    fn networks_by_name_and_by_file() {
        assert_eq!(weights("small"), Weights::BuiltIn(BuiltIn::Small));
        assert_eq!(weights("tiny"), Weights::BuiltIn(BuiltIn::Tiny));
        assert_eq!(weights("./tiny"), Weights::File("./tiny".into()));
        for text in ["small", "tiny", "./tiny", "/nets/a b.pb"] {
            assert_eq!(weights(text).to_string(), text);
        }
    }
}
