//! Runs a working device behind a library that makes it fail like small GPUs do (`driver/faulty.c`).
#![cfg(all(unix, not(target_os = "macos")))]

mod common;
mod driver;

use driver::{Folder, binary, stderr, stdout};
use oncilla_opencl::device::{self, DeviceChoice, Kind, LIBRARY_ENV};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

/// A device that has no row of its own in the table of starts, on whatever processor.
const NAME: (&str, &str) = ("FAULTY_NAME", "some device");

const GPU: (&str, &str) = ("FAULTY_KIND", "4");
const CPU: (&str, &str) = ("FAULTY_KIND", "2");
const ACCELERATOR: (&str, &str) = ("FAULTY_KIND", "8");

/// A candidate in which each layer has its own launches.
const LAYERS: &str = "variant=gpu winograd=4 vector=16 rows=4 vectors=2 squares=8 network=0 columns=8 item_rows=4 \
                      item_channels=4 depth=8 lanes=64;";

/// Has PoCL compile kernels without optimising them, in a third of the time. What fails here is not the kernels.
const QUICKLY: (&str, &str) = ("POCL_EXTRA_BUILD_FLAGS", "-cl-opt-disable");

const BENCH: &[&str] = &["bench", "--fen=startpos", "--nodes=4"];

/// The library, and a cache of the programs compiled with it, because PoCL takes seconds to compile kernels for a GPU.
struct Lab {
    faulty: String,
    cache: String,
}

/// Builds the library once. `None`, after printing a line, if there is no OpenCL device or no compiler.
fn lab() -> Option<&'static Lab> {
    static LAB: OnceLock<Result<(Folder, Lab), String>> = OnceLock::new();
    let (_, lab) = oncilla_testing::opencl(LAB.get_or_init(build).as_ref())?;
    Some(lab)
}

fn build() -> Result<(Folder, Lab), String> {
    if driver::program::is_emulated() {
        return Err("an emulated program takes no library of this machine's".to_string());
    }
    let device = device::choose(&DeviceChoice::Auto).map_err(|why| why.to_string())?;
    if device.kind != Kind::Cpu || device.platform != "Portable Computing Language" {
        return Err(format!("the faults are made for PoCL on a CPU, and there is \"{}\"", device.name));
    }
    let folder = Folder::new("faulty-drivers");
    let (faulty, cache) = (folder.file("faulty.so"), folder.file("cache"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/driver/faulty.c");
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Werror", "-shared", "-fPIC", "-o", &faulty]).arg(source);
    // Calls that the library does not define are looked up in the libraries that it needs.
    compiler.args(["-Wl,--no-as-needed", "-l:libOpenCL.so.1"]);
    match compiler.status() {
        Ok(status) if status.success() => Ok((folder, Lab { faulty, cache })),
        other => Err(format!("cc: {other:?}")),
    }
}

impl Lab {
    fn command(&self, args: &[&str], faults: &[(&str, &str)]) -> Command {
        let mut command = binary();
        command.args(args).args(["--weights=tiny", &format!("--cache-dir={}", self.cache)]);
        command.env(LIBRARY_ENV, &self.faulty).envs([QUICKLY, NAME]).envs(faults.iter().copied());
        command
    }

    fn run(&self, args: &[&str], faults: &[(&str, &str)]) -> Output {
        self.command(args, faults).output().expect("the binary starts")
    }

    /// The program's output at the start when it evaluates a few positions on the device.
    fn start(&self, faults: &[(&str, &str)]) -> String {
        let output = self.run(&[BENCH, &["--backend=opencl"]].concat(), faults);
        let said = stderr(&output);
        assert!(output.status.success() && said.contains("network on OpenCL device "), "{said}");
        said
    }

    /// The program's reason for refusing the device.
    fn refusal(&self, faults: &[(&str, &str)]) -> String {
        let output = self.run(&[BENCH, &["--backend=opencl"]].concat(), faults);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        stderr(&output)
    }

    /// The program's output if no backend is set, in which the host runs the network.
    fn start_unasked(&self, faults: &[(&str, &str)]) -> String {
        let said = stderr(&self.run(BENCH, faults));
        assert!(said.contains("; the host runs the network"), "{said}");
        said
    }

    /// The program's output during a game in which `fault` begins when the file that it names is created.
    fn game_with_late(&self, fault: &str) -> String {
        let folder = Folder::new(&format!("late-{}", fault.to_lowercase()));
        let file = folder.file("now");
        let mut engine =
            driver::Engine::of(self.command(&["--backend=opencl", "--smart-pruning-factor=0"], &[GPU, (fault, &file)]));
        engine.ask("isready", "readyok");
        let played = engine.ask("go nodes 10", "bestmove").join("\n");
        assert!(!played.contains("the host"), "{played}");
        std::fs::File::create(&file).and_then(|mut file| file.write_all(b"now")).expect("a file");
        engine.say("position startpos moves e2e4");
        engine.ask("go nodes 10", "bestmove").join("\n")
    }
}

/// The launch reports no error, so only the output shows the fault. It must not be that of the last batch, which would
/// look valid.
#[test]
fn a_lost_launch_is_no_answer() {
    let Some(lab) = lab() else { return };
    let said = lab.game_with_late("FAULTY_LOSES");
    assert!(said.contains("is not finite at element ") && said.contains("; the host "), "{said}");
}

#[test]
fn what_only_an_event_says_is_heard() {
    let Some(lab) = lab() else { return };
    let said = lab.game_with_late("FAULTY_ADMITS");
    // The error is that of the batch's first launch, whichever kernel that is.
    let status = ": CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST (-14)";
    assert!(
        said.contains("a batch: ")
            && !said.contains("a batch: read")
            && said.contains(status)
            && said.contains("; the host "),
        "{said}"
    );
}

/// Three positions have few work groups, at most twelve in a row: a driver may run these, and leave out others in larger
/// batches.
#[test]
fn the_batches_that_play_are_compared_with_the_host() {
    let Some(lab) = lab() else { return };
    let few = [GPU, ("FAULTY_GROUPS", "13")];
    let said = lab.refusal(&few);
    // Which of the two messages appears depends on whether the last position is among those that are left out.
    let found = [" at a time: Policy disagrees with the host by ", "output Policy is not finite at element "];
    assert!(found.iter().any(|what| said.contains(what)), "{said}");
    let output = lab.run(&["selftest", "--backend=opencl"], &few);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("OVER"), "{}", stdout(&output));
}

#[test]
fn a_second_batch_at_the_same_time_is_compared_as_well() {
    let Some(lab) = lab() else { return };
    let said = lab.start(&[GPU, ("FAULTY_LANES", "1")]);
    assert!(
        said.contains("a second batch at the same time: ") && said.contains("; one batch at a time runs"),
        "{said}"
    );
}

/// Either queue is right alone.
#[test]
fn two_batches_at_the_same_time_are_tried_before_a_game() {
    let Some(lab) = lab() else { return };
    let said = lab.start(&[GPU, ("FAULTY_AT_ONCE", "loses")]);
    assert!(
        said.contains("a second batch at the same time: ") && said.contains("; one batch at a time runs"),
        "{said}"
    );
}

/// In the process that opens the device for the first time, as with a compiler that aborts.
#[test]
fn a_driver_that_two_batches_at_the_same_time_end_ends_no_game() {
    let Some(lab) = lab() else { return };
    let folder = Folder::new("aborting-at-once");
    let own = Lab { faulty: lab.faulty.clone(), cache: folder.file("cache") };
    let said = own.refusal(&[CPU, ("FAULTY_AT_ONCE", "aborts")]);
    assert!(said.contains(ENDED), "{said}");
}

/// If a device refuses a size, a smaller one is used, whether the compiler or the launch refuses it, and whether or not
/// the device reports a possible size.
#[test]
fn a_size_that_fails_gives_way_to_a_smaller_one() {
    let Some(lab) = lab() else { return };
    for fault in [("FAULTY_BUILD", "LX=16"), ("FAULTY_ITEMS", "32"), ("FAULTY_KERNEL_ITEMS", "0")] {
        lab.start(&[GPU, fault]);
    }
    let said = lab.refusal(&[GPU, ("FAULTY_BUILD", "LX=")]);
    assert!(said.contains(".cl was not compiled: "), "{said}");
}

/// Winograd's kernels are most of the program, and their weights are larger.
#[test]
fn a_gpu_without_winograd_runs_what_it_can() {
    let Some(lab) = lab() else { return };
    for fault in ["-DTILE=4", "-DTILE="] {
        lab.start(&[GPU, ("FAULTY_BUILD", fault)]);
    }
}

#[test]
fn where_memory_is_short_batches_are_smaller() {
    let Some(lab) = lab() else { return };
    let output = lab.run(&["backendbench", "--backend=opencl", "--batch=64"], &[GPU, ("FAULTY_MEMORY", "3000000")]);
    assert!(stderr(&output).ends_with("--batch: expected at most 8, got 64\n"), "{}", stderr(&output));
    let said = lab.refusal(&[GPU, ("FAULTY_MEMORY", "10000")]);
    assert!(said.contains("a batch of 8 positions: ") && said.contains(" needed, 10000 bytes available"), "{said}");
}

/// For a driver that refuses the first choice for its kind of device, or that does not have memory for the batch.
#[test]
fn what_a_game_runs_on_is_tuned_and_tested() {
    let Some(lab) = lab() else { return };
    for fault in [("FAULTY_ITEMS", "32"), ("FAULTY_ALLOCATION", "200000"), ("FAULTY_BUILD", "-DTILE=")] {
        let output = lab.run(&["selftest", "--backend=opencl"], &[GPU, fault]);
        let said = format!("{fault:?}: {}{}", stdout(&output), stderr(&output));
        assert!(output.status.code() == Some(0) && said.contains("; what a game runs instead is tested"), "{said}");
    }
}

/// The tuning starts with kernels that run on a device with small groups only.
#[test]
fn a_candidate_says_what_a_game_runs() {
    let Some(lab) = lab() else { return };
    let ask = |candidate: &str, fault| {
        let output = lab.run(&["tune", "--backend=opencl", "--candidate", candidate], &[GPU, fault]);
        stdout(&output).lines().last().unwrap_or_default().to_string()
    };
    let small = ("FAULTY_ITEMS", "32");
    let said = ask(";", small);
    let tuning = said.strip_prefix("{\"runs\":\"").and_then(|rest| rest.strip_suffix("\"}"));
    let tuning = tuning.unwrap_or_else(|| panic!("{said}"));
    let said = ask(&format!("{tuning};"), small);
    assert!(said.starts_with("{\"milliseconds\":["), "{tuning}: {said}");
    // If there is not enough memory for a batch, it is measured as several smaller batches.
    let short = ("FAULTY_ALLOCATION", "200000");
    let said = ask(";", short);
    let tuning = said.strip_prefix("{\"runs\":\"").and_then(|rest| rest.strip_suffix("\"}"));
    let said = ask(&format!("{};", tuning.unwrap_or_else(|| panic!("{said}"))), short);
    assert!(said.starts_with("{\"milliseconds\":["), "{said}");
}

/// The candidate is refused even if it is fast.
#[test]
fn a_candidate_whose_numbers_are_wrong_is_refused() {
    let Some(lab) = lab() else { return };
    for kind in [GPU, CPU] {
        let output = lab.run(&["tune", "--backend=opencl", "--candidate", LAYERS], &[kind, ("FAULTY_GROUPS", "8")]);
        let said = stdout(&output);
        let found = [" at a time: Policy disagrees with the host by ", "is not finite at element "];
        assert!(said.contains("{\"refused\":") && found.iter().any(|what| said.contains(what)), "{kind:?}: {said}");
    }
}

/// If the program is killed, the process of a candidate ends too, even if a driver hangs in it.
#[test]
fn a_candidate_that_hangs_ends_with_the_program() {
    let Some(lab) = lab() else { return };
    let folder = Folder::new("hanging-candidate");
    let file = folder.file("alive");
    let length = || std::fs::metadata(&file).map_or(0, |file| file.len());
    let mut command = lab.command(&["tune", "--backend=opencl", "--limit=1000"], &[GPU, ("FAULTY_HANGS", &file)]);
    let mut tune = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts");
    let begun = Instant::now();
    while length() == 0 {
        assert!(begun.elapsed() < driver::patience(), "no candidate comes to its compiler");
        std::thread::sleep(driver::A_WHILE);
    }
    tune.kill().and_then(|()| tune.wait()).expect("it is killed");
    let begun = Instant::now();
    let mut before = 0;
    while length() > before {
        assert!(begun.elapsed() < driver::patience(), "it still compiles");
        before = length();
        std::thread::sleep(driver::A_WHILE);
    }
}

/// The layer needs the same amount of local memory for any size of batch or group.
#[test]
fn short_local_memory_is_said_and_nothing_smaller_is_tried() {
    let Some(lab) = lab() else { return };
    let said = lab.refusal(&[GPU, ("FAULTY_LOCAL", "64")]);
    assert!(
        said.contains("squeeze and excitation of ") && said.contains(" of local memory needed, 64 bytes"),
        "{said}"
    );
}

/// The message about a device whose compiler aborts.
const ENDED: &str = ": its OpenCL driver ended the process that opened it for the first time (signal: 6";

/// The compiler aborts in a process of its own, not in the program, so the game goes on.
#[test]
fn a_compiler_that_aborts_ends_no_game() {
    let Some(lab) = lab() else { return };
    // A folder of its own, because the device may have been opened before with the other tests' folder.
    let folder = Folder::new("aborting-compiler");
    let cache = folder.file("cache");
    let own = Lab { faulty: lab.faulty.clone(), cache: cache.clone() };
    let aborts = [CPU, ("FAULTY_ABORTS", "-DVARIANT_CPU")];
    let said = own.refusal(&aborts);
    assert!(said.contains(ENDED), "{said}");
    let mut engine = driver::Engine::of(own.command(&["--backend=opencl"], &aborts));
    let played = engine.ask("go nodes 10", "bestmove").join("\n");
    assert!(played.contains(ENDED) && played.contains("; the host runs the network"), "{played}");
    let marks = || {
        let files = std::fs::read_dir(Path::new(&cache).join("tuning")).expect("a folder").flatten();
        files.map(|file| file.path().extension().map(|end| end.to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(marks(), [], "nothing is left of a device that was not opened");
    own.start(&[CPU]);
    assert_eq!(marks(), [Some("opened".into())]);
    // A driver that has opened the device once without a fault is trusted.
    let output = own.run(&[BENCH, &["--backend=opencl"]].concat(), &aborts);
    assert!(output.status.code().is_none(), "{}", stderr(&output));
}

/// Nor does it end a game of Go, in which the device is opened for each board size.
#[test]
fn a_compiler_that_aborts_ends_no_game_of_go() {
    let Some(lab) = lab() else { return };
    let folder = Folder::new("aborting-compiler-go");
    let weights = oncilla_testing::fixtures().join("go/tiny-v8.bin.gz").display().to_string();
    let cache = folder.file("cache");
    let start = |faults: &[(&str, &str)]| {
        let mut command = binary();
        command.args(["analysis", "--weights", &weights, "--cache-dir", &cache, "--threads=1"]);
        command.env(LIBRARY_ENV, &lab.faulty).envs([QUICKLY]).envs(faults.iter().copied()).stdin(Stdio::piped());
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let query = |x, y| {
            format!(
                r#"{{"id":"a","moves":[],"rules":"chinese","komi":7.5,"boardXSize":{x},"boardYSize":{y},"maxVisits":2}}"#
            )
        };
        let input = format!("{}\n{}\n", query(9, 7), query(5, 5));
        process.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
        let output = process.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), stdout(&output).lines().count()), (Some(0), 2), "{}", stderr(&output));
        stderr(&output)
    };
    let said = start(&[GPU, ("FAULTY_ABORTS", "VARIANT")]);
    assert!(said.contains(ENDED) && said.contains("; the host runs the network"), "{said}");
    start(&[GPU]);
    let marks = std::fs::read_dir(Path::new(&cache).join("tuning")).expect("a folder").flatten();
    let is_mark = |file: &std::fs::DirEntry| file.path().extension().is_some_and(|end| end == "opened");
    assert_eq!(
        marks.filter(is_mark).count(),
        3,
        "one for each board, and for the one of 19 that a start names the device of"
    );
}

/// Every kernel of both variants compiles without `static`, which OpenCL C 1.1 does not have.
#[test]
fn a_compiler_of_opencl_1_1_takes_every_kernel() {
    let Some(lab) = lab() else { return };
    for kind in [GPU, CPU] {
        for precision in ["--precision=fp16", "--precision=int8"] {
            let faults = [kind, ("FAULTY_OPTION", "-cl-std=CL1.1")];
            let output = lab.run(&["selftest", "--backend=opencl", precision], &faults);
            let said = format!("{kind:?}, {precision}: {}{}", stdout(&output), stderr(&output));
            assert_eq!(output.status.code(), Some(0), "{said}");
            assert!(!said.contains("was not compiled"), "{said}");
        }
    }
}

/// A device with an unknown number of compute units is used as if it had one; for an unknown alignment, the largest one
/// is used.
#[test]
fn what_a_driver_does_not_say_of_its_device_is_no_fault() {
    let Some(lab) = lab() else { return };
    for unsaid in ["FAULTY_UNITS", "FAULTY_ALIGNMENT"] {
        for kind in [GPU, CPU] {
            let said = lab.start(&[kind, (unsaid, "0")]);
            assert!(!said.contains("each layer is launched by itself"), "{kind:?}, {unsaid}: {said}");
        }
    }
}

/// OpenCL guarantees only one item along dimension 1.
#[test]
fn groups_are_no_longer_along_a_dimension_than_the_device_takes() {
    let Some(lab) = lab() else { return };
    for precision in ["--precision=fp32", "--precision=int8"] {
        let output = lab.run(&["selftest", "--backend=opencl", precision], &[CPU, ("FAULTY_ALONG", "1")]);
        assert_eq!(output.status.code(), Some(0), "{precision}: {}{}", stdout(&output), stderr(&output));
    }
}

#[test]
fn options_for_the_compiler_end_with_no_blank() {
    let Some(lab) = lab() else { return };
    let said = stderr(&lab.run(&["selftest", "--backend=opencl"], &[CPU, ("FAULTY_SAYS", "1")]));
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("built with [")).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| !line.ends_with(" ]")), "{lines:#?}");
}

/// A runtime for CPUs may report an accelerator, which is the same cores as the CPU.
#[test]
fn an_accelerator_is_not_taken_unasked() {
    let Some(lab) = lab() else { return };
    let said = lab.start_unasked(&[ACCELERATOR]);
    assert!(said.contains("no OpenCL device is a GPU ("), "{said}");
    lab.start(&[ACCELERATOR]);
    let said = stdout(&lab.run(&["devices"], &[ACCELERATOR]));
    assert!(said.contains(", with --backend=opencl only: "), "{said}");
}

#[test]
fn where_one_device_fails_the_next_is_tried() {
    let Some(lab) = lab() else { return };
    // PoCL reports its processor twice if it is configured to.
    let two = ("POCL_DEVICES", "pthread basic");
    if stdout(&lab.run(&["devices"], &[GPU, two])).lines().filter(|line| line.contains("(gpu, ")).count() < 2 {
        return oncilla_testing::lacks_tool("PoCL has one device only");
    }
    let said = lab.start(&[GPU, two, ("FAULTY_OPENS", "1")]);
    assert!(said.contains("CL_OUT_OF_HOST_MEMORY (-6); the next device runs the network"), "{said}");
    assert!(said.contains("network on OpenCL device 1 "), "{said}");
}

/// The system may reset a GPU whose launch takes too long, so batches are small on a slow device.
#[test]
fn batches_are_no_larger_than_a_slow_device_is_quick_enough_for() {
    let Some(lab) = lab() else { return };
    let slow = [GPU, ("FAULTY_MICROSECONDS", "2000")];
    let output = lab.run(&["backendbench", "--backend=opencl", "--batch=64"], &slow);
    let said = stderr(&output);
    let most = said.split("--batch: expected at most ").nth(1).and_then(|rest| rest.split(',').next()?.parse().ok());
    assert!(most.is_some_and(|most: usize| most < 64), "{said}");
    lab.start(&slow);
    // The same holds for the tuning: a batch of 16 is measured as several smaller batches.
    let said = stdout(&lab.run(&["tune", "--backend=opencl", "--candidate", LAYERS], &slow));
    assert!(said.contains("{\"milliseconds\":["), "{said}");
}

/// The first thing that an owner of a slow GPU is told to do.
#[test]
fn a_self_test_keeps_within_what_a_slow_device_is_quick_enough_for() {
    let Some(lab) = lab() else { return };
    let slow = [GPU, ("FAULTY_MICROSECONDS", "4000"), ("FAULTY_RESET", "125000")];
    let output = lab.run(&["selftest", "--backend=opencl"], &slow);
    let said = format!("{}{}", stdout(&output), stderr(&output));
    assert!(output.status.success() && !said.contains("(-5)"), "{said}");
}

#[test]
fn a_gpu_slower_than_the_host_is_not_taken_unasked() {
    let Some(lab) = lab() else { return };
    let said = lab.start_unasked(&[GPU, ("FAULTY_MICROSECONDS", "200")]);
    assert!(said.contains(": expected more than the host's speed, got "), "{said}");
}
