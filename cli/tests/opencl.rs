//! Tests `selftest`, `tune` and `devices` of the real binary, if there is an OpenCL device.

mod driver;

use driver::{Folder, OWN_CACHE, binary, run, stderr, stdout};
use oncilla_opencl::device::{self, DeviceChoice};
use oncilla_opencl::kernels::{Tuning, Variant};
use same_file::Handle;
use serde_json::Value;
use std::hash::Hasher;

/// PoCL's platform.
const POCL: &str = "Portable Computing Language";

/// Whether there is a device. If not, prints a line.
fn device_is_there() -> bool {
    oncilla_testing::opencl(device::choose(&DeviceChoice::Auto)).is_some()
}

#[test]
fn a_device_is_named_and_proved_right() {
    if !device_is_there() {
        return;
    }
    let devices = run(&["devices"], "");
    let text = stdout(&devices);
    assert!(text.lines().last().is_some_and(|line| line.starts_with("used: ")), "{text}");
    let output = run(&["selftest", "--backend=opencl", OWN_CACHE, "--json"], "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows: Vec<Value> = serde_json::from_str(&stdout(&output)).expect("a JSON list");
    for graph in ["network", "convolution", "odd board", "vectors", "attention", "board of Go"] {
        assert!(rows.iter().any(|row| row["graph"] == graph), "{graph}");
    }
    assert!(rows.iter().all(|row| row["ok"] == true && row["error"].as_f64().is_some_and(|error| error < 1e-4)));
}

/// Besides planes and globals, such a network has metadata as an input.
#[test]
fn a_network_for_human_play_is_proved_right() {
    if !device_is_there() {
        return;
    }
    let network = ["--weights=../fixtures/go/tiny-human.bin.gz", "--board=7"];
    let output = run(&[&["selftest", "--backend=opencl", OWN_CACHE, "--json"][..], &network].concat(), "");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let rows: Vec<Value> = serde_json::from_str(&stdout(&output)).expect("a JSON list");
    assert!(rows.iter().filter(|row| row["graph"] == "network").count() > 20);
    assert!(rows.iter().all(|row| row["ok"] == true && row["error"].as_f64().is_some_and(|error| error < 1e-4)));
}

/// The size is refused before memory for it is allocated, which no machine has.
#[test]
fn a_profile_of_more_than_any_device_takes_is_refused() {
    let args = ["backendbench", "--profile", "--batch=1,1000000000000", "--backend=opencl", "--weights=tiny"];
    let output = run(&args, "");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("--batch: expected at most 65536, got 1000000000000"), "{}", stderr(&output));
}

#[test]
fn a_profile_says_where_the_time_goes() {
    if !device_is_there() {
        return;
    }
    let of_two = ["backendbench", "--profile", "--batch=1,2", "--backend=opencl", "--weights=tiny", OWN_CACHE];
    let output = run(&[&of_two[..], &["--json"]].concat(), "");
    let rows: Vec<Value> = serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert_eq!(rows.iter().map(|row| row["batch"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(2)]);
    for row in &rows {
        let ms = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("{row}"));
        let parts = row["parts"].as_array().unwrap_or_else(|| panic!("{row}"));
        let busy: f64 = parts.iter().map(|part| ms(&part["ms"])).sum();
        assert!((busy + ms(&row["between_ms"]) - ms(&row["device_ms"])).abs() <= 1e-3 * ms(&row["device_ms"]), "{row}");
        for of in ["write", "read"] {
            assert!(parts.iter().any(|part| part["of"] == of), "{row}");
        }
    }
    let text = stdout(&run(&of_two, ""));
    for line in ["batch 1: ", "batch 2: ", "  write ", "  between commands "] {
        assert!(text.lines().any(|found| found.starts_with(line)), "{text}");
    }
    let output = run(&["backendbench", "--profile", "--backend=host"], "");
    assert!(stderr(&output).contains("expected auto or opencl"), "{}", stderr(&output));
}

#[test]
fn a_candidate_says_how_it_went() {
    if !device_is_there() {
        return;
    }
    let device = device::choose(&DeviceChoice::Auto).expect("a device that is there");
    let tuning = Tuning::start(Variant::of(device.kind), device.vector_width).to_string();
    let output = run(&["tune", "--backend=opencl", OWN_CACHE, "--candidate", &tuning], "");
    let said: Value = serde_json::from_str(&stdout(&output)).expect("a line of JSON");
    let times = said["milliseconds"].as_array().unwrap_or_else(|| panic!("{said}"));
    assert!(times.len() == 3 && times.iter().all(|time| time.as_f64().is_some_and(|time| time > 0.0)), "{said}");
    let wrong = run(&["tune", "--candidate", "variant=cpu"], "");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("--candidate: expected winograd="), "{}", stderr(&wrong));
}

/// Every candidate takes longer than 0 s, so tuning ends at once.
const HURRIED: [&str; 4] = ["tune", "--backend=opencl", "--weights=tiny", "--limit=0"];
const TOO_LATE: &str = "it took more than 0 s";

#[test]
fn what_an_earlier_run_has_found_out_is_tried_again_by_a_flag() {
    if !device_is_there() {
        return;
    }
    let folder = Folder::new("tune-again");
    let cache = format!("--cache-dir={}", folder.0.display());
    let end = |more: &[&str]| {
        let output = run(&[&HURRIED[..], &[cache.as_str()], more].concat(), "");
        assert_eq!(output.status.code(), Some(2));
        let said = stderr(&output);
        assert!(said.contains(TOO_LATE), "{said}");
        said
    };
    assert!(!end(&[]).contains("--again"), "it was this run that found it out");
    let second = end(&[]);
    assert!(second.contains(".txt has that of an earlier run: --again tries again"), "{second}");
    assert!(!end(&["--again"]).contains("--again"), "there is nothing of an earlier run");
}

#[test]
fn a_cache_that_can_not_be_used_stops_no_tuning() {
    if !device_is_there() {
        return;
    }
    let folder = Folder::new("tune-no-cache");
    let file = folder.file("cache");
    std::fs::write(&file, "a file").expect("a file");
    let output = run(&[&HURRIED[..], &[format!("--cache-dir={file}").as_str()]].concat(), "");
    let said = stderr(&output);
    assert!(said.contains("; what is found is not kept") && said.contains(TOO_LATE), "{said}");
    assert!(!said.contains("--again"), "{said}");
    // A file that can't be parsed is kept, so that the user can look at it.
    let cache = format!("--cache-dir={}", folder.0.display());
    run(&[&HURRIED[..], &[cache.as_str()]].concat(), "");
    let records = std::fs::read_dir(folder.0.join("tuning")).expect("a folder").flatten().map(|entry| entry.path());
    for record in records.filter(|path| path.extension().is_some_and(|extension| extension == "txt")) {
        std::fs::write(record, "no sense").expect("a file");
    }
    let said = stderr(&run(&[&HURRIED[..], &[cache.as_str()]].concat(), ""));
    assert!(said.contains("--again begins a new file") && !said.contains(TOO_LATE), "{said}");
}

/// Each candidate's process has to read the network again, which is not possible with a pipe.
#[test]
#[cfg(unix)]
fn weights_that_can_be_read_once_are_refused() {
    use std::process::Stdio;
    if !device_is_there() {
        return;
    }
    let network = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/nets/default.pb.gz");
    let mut cat = std::process::Command::new("cat").arg(network).stdout(Stdio::piped()).spawn().expect("cat starts");
    let pipe = cat.stdout.take().expect("a pipe");
    let folder = Folder::new("tune-pipe");
    let mut command = binary();
    command.args(["tune", "--backend=opencl", "--weights=/dev/stdin", "--cache-dir"]).arg(&folder.0);
    let output = command.stdin(pipe).output().expect("the binary starts");
    cat.wait().expect("cat ends");
    assert_eq!(output.status.code(), Some(2));
    let expected =
        "--weights: expected a regular file, which each candidate's process reads again, got /dev/stdin, which is none";
    assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    assert!(!folder.0.join("tuning").exists(), "something was tried");
}

/// If the host is set as the backend, no message is about devices.
#[test]
fn a_backend_without_devices_is_taken_at_its_word() {
    if !device_is_there() {
        return;
    }
    for command in ["selftest", "tune"] {
        let output = run(&[command, "--backend=host", OWN_CACHE], "");
        assert_eq!(output.status.code(), Some(2), "{command}");
        let expected = "--backend: expected auto or opencl, for an OpenCL device, got host";
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    let text = stdout(&run(&["devices", "--backend=host"], ""));
    assert_eq!(text.lines().last(), Some("used: none of them, as --backend says"), "{text}");
    let text = stdout(&run(&["devices", "--backend=opencl"], ""));
    assert!(text.lines().last().is_some_and(|line| !line.contains("only")), "{text}");
}

#[test]
fn without_opencl_there_is_nothing_to_test_or_tune() {
    // An emulated program can't start itself to check the drivers.
    if driver::program::is_emulated() {
        return;
    }
    for command in ["selftest", "tune", "devices"] {
        let output =
            binary().args([command, OWN_CACHE]).env(device::LIBRARY_ENV, "none").output().expect("the binary starts");
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains("no OpenCL platform was found"), "{}", stderr(&output));
    }
}

/// The files of compiled programs.
fn programs(folder: &Folder) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder.0.join("programs")).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

/// The program's output at its start when it evaluates one position.
fn start(args: &[&str]) -> String {
    let mut command = binary();
    let output = command.args(["bench", "--fen=startpos", "--nodes=4", "--backend=opencl"]).args(args).output();
    let output = output.expect("the binary starts");
    assert!(output.status.success(), "{}", stderr(&output));
    stderr(&output)
}

#[test]
fn compiled_programs_are_kept_and_a_bad_file_is_compiled_again() {
    if !device_is_there() {
        return;
    }
    let folder = Folder::absent("programs");
    let cache = format!("--cache-dir={}", folder.0.display());
    assert!(!start(&[&cache]).contains("compiled programs"));
    let files = programs(&folder);
    if files.is_empty() {
        let platform = device::choose(&DeviceChoice::Auto).expect("a device is there").platform;
        assert_ne!(platform, POCL, "PoCL provides its binaries");
        return oncilla_testing::skip(&format!("the driver of \"{platform}\" provides no binaries"));
    }
    // A program that is compiled again is written to a new file; reading it only changes the file's time.
    let file = || Handle::from_path(&files[0]).expect("a file");
    let before = file();
    assert!(!start(&[&cache]).contains("compiled programs"));
    assert_eq!((file(), programs(&folder).len()), (before, files.len()), "nothing was compiled again");
    // A truncated file.
    let whole = std::fs::read(&files[0]).expect("a file");
    std::fs::write(&files[0], &whole[..whole.len() / 2]).expect("a file");
    let said = start(&[&cache]);
    assert!(said.contains("compiled programs: ") && said.contains("it is damaged; compiled again"), "{said}");
    // A complete file, but the driver can't use its content.
    let head = whole.windows(7).position(|window| window == b"\nbytes:").expect("a head") + 1;
    let nonsense = [7; 100];
    let mut file = whole[..head].to_vec();
    let mut hash = fnv::FnvHasher::default();
    hash.write(&nonsense);
    let sum = hash.finish();
    file.extend(format!("bytes: 100 sum: {sum:016x}\n").bytes().chain(nonsense));
    std::fs::write(&files[0], file).expect("a file");
    assert!(start(&[&cache]).contains("the driver refuses it; compiled again"));
    assert!(!start(&[&cache]).contains("compiled programs"), "and what was compiled was kept");
}

#[test]
fn a_cache_that_can_not_be_written_is_a_warning() {
    if !device_is_there() {
        return;
    }
    let folder = Folder::absent("no-folder");
    std::fs::write(&folder.0, "a file").expect("a file");
    let said = start(&[&format!("--cache-dir={}", folder.0.display())]);
    assert_eq!(said.matches("compiled programs: ").count(), 1, "{said}");
    std::fs::remove_file(&folder.0).expect("a file");
}

#[test]
fn several_devices_share_the_work() {
    if !device_is_there() {
        return;
    }
    let folder = Folder::absent("several");
    let cache = format!("--cache-dir={}", folder.0.display());
    let said = start(&[&cache, "--backend-opts=gpu=0,device=host"]);
    let line = said.lines().find(|line| line.contains("network on ")).unwrap_or_default();
    assert!(line.contains("OpenCL device 0 ") && line.contains("; host, "), "{said}");
    let said = start(&[&cache, "--backend-opts=gpu=0,device='no such device'"]);
    assert!(
        said.contains("device \"no such device\": expected an index") && said.contains("; the other devices run"),
        "{said}"
    );
    let twice = "OpenCL device 0 is named more than once, and runs the network once";
    for (named, fault) in
        [("device=auto,gpu=0", twice), ("gpu=0,gpu=0", twice), ("gpu=99,gpu=0", "device \"99\": expected an index")]
    {
        let said = start(&[&cache, &format!("--backend-opts={named}")]);
        let line = said.lines().find(|line| line.contains("network on ")).unwrap_or_default();
        assert!(line.matches("OpenCL device ").count() == 1 && said.contains(fault), "{named}: {said}");
        assert!(line.contains("OpenCL device 0 "), "{named}: {said}");
    }
    let listed = run(&["devices", "--backend-opts=gpu=0,device=host"], "");
    let last = stdout(&listed).lines().last().unwrap_or_default().to_string();
    assert!(last.ends_with(" and host, because the options name \"0, host\""), "{last}");
}

#[test]
fn of_several_devices_those_are_used_that_are_there() {
    if !device_is_there() {
        return;
    }
    for named in ["gpu=0,gpu=99", "gpu=99,gpu=0"] {
        let listed = run(&["devices", &format!("--backend-opts={named}")], "");
        assert_eq!(listed.status.code(), Some(0), "{}", stderr(&listed));
        let last = stdout(&listed).lines().last().unwrap_or_default().to_string();
        assert!(last.starts_with("used: 0 ") && last.contains(", because the options name "), "{last}");
        let said = stderr(&listed);
        assert!(said.contains("device \"99\": ") && said.contains("; the other devices run the network"), "{said}");
    }
    let none = run(&["devices", "--backend-opts=gpu=98,gpu=99"], "");
    assert_eq!(none.status.code(), Some(2));
    let said = stderr(&none);
    assert!(said.contains("device \"98\": ") && said.contains("device \"99\": "), "{said}");
}

#[test]
fn of_two_devices_of_a_platform_both_are_used() {
    if !device_is_there() {
        return;
    }
    if !device::list().is_ok_and(|devices| devices.iter().any(|device| device.platform == POCL)) {
        return oncilla_testing::skip(&format!("{POCL}, which reports its processor twice if told to, is not here"));
    }
    let listed = binary().arg("devices").env("POCL_DEVICES", "pthread basic").output().expect("the binary starts");
    assert!(listed.status.success(), "{}", stderr(&listed));
    if stdout(&listed).lines().filter(|line| line.contains(POCL)).count() < 2 {
        let why = "this PoCL reports its processor once, whatever POCL_DEVICES says";
        // A Windows program's environment does not reach a library of the system that Wine runs on.
        if cfg!(windows) {
            return oncilla_testing::skip(why);
        }
        let _: Option<()> = oncilla_testing::opencl(Err(why));
        return;
    }
    let folder = Folder::absent("two");
    let args = ["bench", "--fen=startpos", "--nodes=200", "--backend=opencl", "--backend-opts=gpu=0,gpu=1"];
    let mut command = binary();
    command.args(args).arg(format!("--cache-dir={}", folder.0.display())).env("POCL_DEVICES", "pthread basic");
    let output = command.output().expect("the binary starts");
    let said = stderr(&output);
    assert!(
        output.status.success() && said.contains("OpenCL device 0 ") && said.contains("OpenCL device 1 "),
        "{said}"
    );
}

// Only on Unix, where `cc` builds the library.
#[cfg(unix)]
mod hanging {
    use super::*;
    use std::io::Write;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    /// A library whose first call never returns.
    const HANGS: &str =
        "#include <unistd.h>\nint clGetPlatformIDs(unsigned n, void *to, unsigned *count) { for (;;) pause(); }\n";

    #[test]
    fn quit_waits_for_no_driver() {
        if driver::program::is_emulated() {
            return;
        }
        let folder = Folder::new("hanging-driver");
        std::fs::write(folder.0.join("hangs.c"), HANGS).expect("a file");
        let compiled = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-o", &folder.file("hangs.so"), &folder.file("hangs.c")])
            .status();
        if !compiled.as_ref().is_ok_and(std::process::ExitStatus::success) {
            let _: Option<()> = oncilla_testing::opencl(Err(format!("there is no C compiler: {compiled:?}")));
            return;
        }
        for first in ["isready", "go nodes 10", "isready\nposition startpos moves e2e4\nucinewgame"] {
            let mut command = binary();
            command.arg("--backend=opencl").env("ONCILLA_OPENCL_LIBRARY", folder.file("hangs.so"));
            let mut child =
                command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
            let mut stdin = child.stdin.take().expect("stdin is open");
            stdin.write_all(format!("{first}\n").as_bytes()).expect("it reads");
            std::thread::sleep(driver::A_WHILE);
            assert!(child.try_wait().expect("a status").is_none(), "{first}: it waits for the driver");
            stdin.write_all(b"quit\n").expect("it reads");
            let begun = Instant::now();
            let ended = std::iter::repeat_with(|| child.try_wait().expect("a status"))
                .inspect(|_| std::thread::sleep(driver::A_WHILE / 10));
            let status = ended.take_while(|_| begun.elapsed() < Duration::from_secs(15)).flatten().next();
            let _ = child.kill();
            assert!(status.is_some_and(|status| status.success()), "{first}: {status:?} after {:?}", begun.elapsed());
        }
    }
}

/// The variable counts where no option names a device, and the options where one does.
#[test]
fn the_environment_names_the_device_unless_the_options_do() {
    if !device_is_there() {
        return;
    }
    let with = |name: &str, args: &[&str]| {
        let output = binary().args(args).env(device::DEVICE_ENV, name).output().expect("the binary starts");
        (output.status.code(), stdout(&output), stderr(&output))
    };
    let listed = |name: &str, more: &[&str]| with(name, &[&["devices"], more].concat());
    let last = |(code, text, said): (Option<i32>, String, String)| {
        assert_eq!(code, Some(0), "{said}");
        text.lines().last().unwrap_or_default().to_string()
    };
    let used = last(listed("0", &[]));
    assert!(used.starts_with("used: 0 ") && used.ends_with(", because ONCILLA_DEVICE is \"0\""), "{used}");
    assert_eq!(last(listed("host", &[])), "used: host, because ONCILLA_DEVICE is \"host\"");
    let (code, text, said) = listed("no such device", &[]);
    assert_eq!(code, Some(2), "{text}");
    assert!(said.contains("device \"no such device\": "), "{said}");
    const HOST: &str = "--backend-opts=device=host";
    assert_eq!(last(listed("0", &[HOST])), "used: host, because the options name \"host\"");
    let bench = |name: &str, more: &[&str]| {
        let (code, _, said) =
            with(name, &[&["bench", "--fen=startpos", "--nodes=4", "--weights=tiny", OWN_CACHE], more].concat());
        assert_eq!(code, Some(0), "{said}");
        said
    };
    // A device that is named is used even if it is a CPU, which does as much without OpenCL.
    let said = bench("0", &[]);
    assert!(said.contains("network on OpenCL device 0 "), "{said}");
    for (name, more) in [("host", &[][..]), ("0", &[HOST])] {
        let said = bench(name, more);
        assert!(said.contains("network on host, ") && !said.contains("WARNING"), "{name} {more:?}: {said}");
    }
    let said = bench("no such device", &[]);
    assert!(said.contains("WARNING: ") && said.contains("device \"no such device\": "), "{said}");
    assert!(said.contains("; the host runs the network") && said.contains("network on host, "), "{said}");
}
