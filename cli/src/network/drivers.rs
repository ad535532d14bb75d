//! Anything that may crash a driver is first tried in a child process.
//!
//! Listing devices runs every driver that is installed, and some abort then, or never return. Others do so when they
//! compile a kernel, or launch it for the first time. That must not end a game: so this program is started once more,
//! to list the devices or to open one, and if that process fails, the driver is left alone.

use super::settings::EvaluatorSettings;
use super::tuning::cache_dir;
use crate::{child, system};
use oncilla_opencl::device::Device;
use oncilla_opencl::graph::Graph;
use oncilla_opencl::tune::Key;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

/// How long listing the devices may take. Some drivers need seconds for their first call.
const LISTING: Duration = Duration::from_secs(20);

/// How long a device may take to be opened for the first time, in a process of its own. What it compiles in that time
/// is kept, so that the next start needs less. What is left of [`super::device::GETTING_READY`] is enough for a
/// device that has compiled everything.
const OPENING: Duration = Duration::from_secs(150);

/// Environment variable that tells a process which goes first to end when its standard input ends.
const ENDS_WITH_INPUT: &str = "ONCILLA_ENDS_WITH_INPUT";

static SCOUT: OnceLock<PathBuf> = OnceLock::new();

/// Sets the program that goes first: this one. Called with `devices --here` it lists the devices and exits with status
/// 0 or 2; with `devices --open` it opens one. If no program is set, as in a program that only uses the library,
/// drivers are trusted.
pub fn scout_with(program: PathBuf) {
    // If a program is set already, it stays: another one has no reason to be different.
    let _ = SCOUT.set(program);
}

/// The program that goes first; `None` in the process that goes first itself.
fn scout_program() -> Option<&'static Path> {
    SCOUT.get().map(PathBuf::as_path).filter(|_| std::env::var_os(ENDS_WITH_INPUT).is_none())
}

/// Finds out, once and in another process, whether listing devices is safe.
///
/// # Errors
/// One line: a driver ended that process, or took too long.
pub fn scout() -> Result<(), String> {
    static FOUND: OnceLock<Result<(), String>> = OnceLock::new();
    let look = || scout_program().map_or(Ok(()), |program| list_with(program, LISTING));
    FOUND.get_or_init(look).clone()
}

fn list_with(program: &Path, limit: Duration) -> Result<(), String> {
    match run(program, ["devices", "--here"], limit, || false) {
        None => Ok(()),
        Some(Ending::Late) => Err(format!("an OpenCL driver took more than {} s to list its devices", limit.as_secs())),
        // That there is no device at all is for the caller to find out.
        Some(Ending::Status(status)) if matches!(status.code(), Some(0 | 2)) => Ok(()),
        Some(Ending::Status(status)) => {
            Err(format!("an OpenCL driver ended the process that listed its devices ({status})"))
        }
    }
}

/// Finds out in another process whether a device compiles the kernels for this graph and answers, unless that has been
/// found before with this driver and these kernels. The driver is trusted if there is no folder to remember that in,
/// because every start would take twice as long, and if the other process could not read the network, because a pipe
/// gives it only once.
///
/// # Errors
/// One line: the driver ended the process, or took too long. If the driver refuses, or answers wrongly, that is for the
/// caller to find out.
pub fn rehearse(settings: &EvaluatorSettings, device: &Device, graph: &Graph) -> Result<(), String> {
    let (Some(program), Some(cache)) = (scout_program(), cache_dir(settings)) else { return Ok(()) };
    rehearse_with(program, &cache, settings, device, graph)
}

fn rehearse_with(
    program: &Path,
    cache: &Path,
    settings: &EvaluatorSettings,
    device: &Device,
    graph: &Graph,
) -> Result<(), String> {
    let mark = Key::new(device, graph, settings.precision).path(cache).with_extension("opened");
    // A mark whose path is not UTF-8 can't be passed as an argument.
    if !settings.weights.is_there_again() || mark.to_str().is_none() {
        return Ok(());
    }
    if let Some(fault) = failed().get(&mark) {
        return Err(fault.clone());
    }
    if mark.exists() || !can_be_made(&mark) {
        return Ok(());
    }
    open_with(program, &opening(settings, device, graph, &mark), &mark, OPENING).map_err(|what| {
        let fault = format!("{}: its OpenCL driver {what}", device.name);
        failed().insert(mark, fault.clone());
        fault
    })
}

/// The faults of devices that did not come through, by the marks that they did not make. Nothing waits for such a
/// device again in this process.
fn failed() -> MutexGuard<'static, BTreeMap<PathBuf, String>> {
    static FAILED: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    FAILED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The arguments with which this program opens the device for a network, or for one of Go on the graph's board, and
/// makes the mark once that is done.
fn opening(settings: &EvaluatorSettings, device: &Device, graph: &Graph, mark: &Path) -> Vec<OsString> {
    let EvaluatorSettings { weights, heads, precision, history_fill, .. } = settings;
    let pair = |flag: &str, value: &OsStr| [OsString::from(flag), value.to_owned()];
    let mut options = format!("gpu={}", device.index);
    for (name, head) in [("policy_head", &heads.policy), ("value_head", &heads.value)] {
        if !head.is_empty() {
            options.push_str(&format!(",{name}='{head}'"));
        }
    }
    let mut args = vec![OsString::from("devices"), "--backend=opencl".into()];
    args.extend(pair("--open", mark.as_os_str()));
    if let Some((ranks, files)) = graph.board() {
        args.extend(pair("--board", format!("{files}x{ranks}").as_ref()));
    }
    args.extend(pair("--weights", weights.to_string().as_ref()));
    args.extend(pair("--backend-opts", options.as_ref()));
    args.extend(pair("--precision", precision.to_string().as_ref()));
    args.extend(pair("--history-fill", history_fill.to_string().as_ref()));
    args.extend(settings.cache_dir.iter().flat_map(|folder| pair("--cache-dir", folder.as_os_str())));
    args
}

fn open_with(program: &Path, args: &[OsString], mark: &Path, limit: Duration) -> Result<(), String> {
    let ending = run(program, args, limit, || mark.exists());
    match ending {
        // What becomes of the process after that says nothing: some drivers crash or hang when their process ends.
        _ if mark.exists() => Ok(()),
        None => Ok(()),
        // By this status the process says that it has a reason not to open the device, which the caller will find out.
        Some(Ending::Status(status)) if status.code() == Some(2) => Ok(()),
        Some(Ending::Late) => Err(format!("took more than {} s to open it", limit.as_secs())),
        Some(Ending::Status(status)) => Err(format!("ended the process that opened it for the first time ({status})")),
    }
}

/// Whether the file `mark` could be made.
fn can_be_made(mark: &Path) -> bool {
    let draft = mark.with_extension(format!("{}.draft", std::process::id()));
    let folder = mark.parent().map_or(Ok(()), std::fs::create_dir_all);
    let made = folder.and_then(|()| std::fs::write(&draft, "")).is_ok();
    let _ = std::fs::remove_file(&draft); // there may be none
    made
}

/// What a mark says to who finds it.
const MARK: &str = "This device has compiled the kernels of this version for a network of this shape, and answered. \
    Without this file the next start leaves that to a process of its own first.\n";

/// For the process that opens a device for another one: makes the mark that says that it came through. Another process
/// may have made it meanwhile; any other file stays as it is.
///
/// # Errors
/// One line, with the file's name.
pub fn came_through(mark: &Path) -> Result<(), String> {
    let wrong = |error: io::Error| format!("{}: {error}", mark.display());
    match File::create_new(mark) {
        Ok(mut file) => file.write_all(MARK.as_bytes()).map_err(wrong),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => is_mark(mark),
        Err(error) => Err(wrong(error)),
    }
}

/// # Errors
/// One line: the file has something else in it.
pub fn is_mark(path: &Path) -> Result<(), String> {
    let is_longer = std::fs::metadata(path).map_or(true, |file| file.len() > MARK.len() as u64);
    // A mark of another process may not be whole yet.
    if !is_longer && std::fs::read(path).is_ok_and(|text| MARK.as_bytes().starts_with(&text)) {
        return Ok(());
    }
    Err(format!("--open: expected a file that is not there yet, got {}", path.display()))
}

/// How a process ended.
enum Ending {
    Status(ExitStatus),
    Late,
}

/// Runs a process for at most `limit`, and only until `is_done` returns true. `None` if the system can't start another
/// process, which is no fault of the drivers.
fn run<A: AsRef<OsStr>>(
    program: &Path,
    args: impl IntoIterator<Item = A>,
    limit: Duration,
    is_done: impl Fn() -> bool,
) -> Option<Ending> {
    let mut command = Command::new(program);
    command.args(args).stdout(Stdio::null()).stderr(Stdio::null());
    ends_with_this_process(&mut command);
    let mut child = command.spawn().ok()?;
    let status = child::wait_unless(&mut child, limit, is_done).ok()?;
    Some(status.map_or(Ending::Late, Ending::Status))
}

/// Makes a process of this program end with this one, however this one ends: the child gets a pipe as its standard
/// input, and whatever ends this process need not wait for it. The child has to call [`end_with_input_if_asked`].
pub fn ends_with_this_process(command: &mut Command) {
    command.env(ENDS_WITH_INPUT, "1").stdin(Stdio::piped());
}

/// For a process that another one waits for: ends it, whatever a driver does at the time, once its standard input ends,
/// which happens when nothing waits for it any more.
pub fn end_with_input_if_asked() {
    if std::env::var_os(ENDS_WITH_INPUT).is_none() {
        return;
    }
    system::end_without_a_window();
    let watch = || {
        let _ = std::io::copy(&mut system::input(), &mut std::io::sink());
        std::process::exit(1);
    };
    // Without this thread, the process ends when the driver lets it.
    let _ = std::thread::Builder::new().name("stdin".to_string()).spawn(watch);
}

/// The device that tests use; `None`, with a line that says so, if there is none and none is required.
#[cfg(test)]
pub fn device_is_there(choice: &oncilla_opencl::device::DeviceChoice) -> Option<Device> {
    oncilla_testing::opencl(oncilla_opencl::device::choose(choice))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::options::Typed;
    use oncilla_opencl::device::DeviceChoice;
    use oncilla_opencl::graph::Shape;
    use std::os::unix::fs::PermissionsExt;

    const LIMIT: Duration = Duration::from_secs(1);

    /// Calls `use_it` with the path of a script that takes the program's place.
    fn with_script<T>(name: &str, script: &str, use_it: impl FnOnce(&Path) -> T) -> T {
        let path = std::env::temp_dir().join(format!("oncilla-scout-{name}-{}", std::process::id()));
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let answer = use_it(&path);
        std::fs::remove_file(&path).unwrap();
        answer
    }

    fn list_by(name: &str, script: &str) -> Result<(), String> {
        with_script(name, script, |program| list_with(program, LIMIT))
    }

    #[test]
    fn what_becomes_of_the_process_is_the_answer() {
        assert_eq!(list_by("done", "[ \"$*\" = \"devices --here\" ]"), Ok(()));
        assert_eq!(list_by("none", "exit 2"), Ok(()), "no device is a normal state");
        let ended = list_by("killed", "kill -ABRT $$").unwrap_err();
        assert!(ended.starts_with("an OpenCL driver ended the process that listed its devices (signal: 6"), "{ended}");
        let late = list_by("late", "exec sleep 60").unwrap_err();
        assert_eq!(late, "an OpenCL driver took more than 1 s to list its devices");
        // Under user-mode emulation, the system starts a process that ends with status 127 if there is no program.
        if std::env::var_os("ONCILLA_RUNNER").is_none() {
            assert_eq!(list_with(Path::new("/no/such/program"), LIMIT), Ok(()));
        }
    }

    /// Opens a device with a script as the program; `$1` is the mark.
    fn open_by(name: &str, script: &str) -> Result<(), String> {
        let mark = std::env::temp_dir().join(format!("oncilla-mark-{name}-{}", std::process::id()));
        let opened = with_script(name, script, |program| open_with(program, &[mark.clone().into()], &mark, LIMIT));
        let _ = std::fs::remove_file(&mark); // there may be none
        opened
    }

    #[test]
    fn a_device_is_open_once_that_is_said() {
        assert_eq!(open_by("opened", "touch \"$1\""), Ok(()));
        assert_eq!(open_by("crashes-late", "touch \"$1\"; kill -SEGV $$"), Ok(()));
        assert_eq!(open_by("closes-never", "touch \"$1\"; exec sleep 60"), Ok(()));
        assert_eq!(open_by("refuses", "exit 2"), Ok(()), "why is for whoever asks next");
        let ended = open_by("crashes", "kill -SEGV $$").unwrap_err();
        assert!(ended.starts_with("ended the process that opened it for the first time (signal: 11"), "{ended}");
        let silent = open_by("silent", "exit 0").unwrap_err();
        assert_eq!(silent, "ended the process that opened it for the first time (exit status: 0)");
        assert_eq!(open_by("hangs", "exec sleep 60").unwrap_err(), "took more than 1 s to open it");
    }

    /// It is not opened again in this process, for this device: a game that changes an option must not wait for it
    /// again.
    #[test]
    fn a_device_that_did_not_come_through_is_not_opened_again() {
        let Some(any) = device_is_there(&DeviceChoice::Index(0)) else { return };
        let device = |name: &str, index| {
            let mut device = any.clone();
            (device.name, device.index) = (name.to_string(), index);
            device
        };
        let folder = std::env::temp_dir().join(format!("oncilla-rehearsals-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let starts = folder.join("starts");
        let script = format!(
            "echo \"$*\" >>'{}'; case \"$*\" in *gpu=7*) touch \"$4\";; *) kill -SEGV $$;; esac",
            starts.display()
        );
        let settings = Typed::default().meaning().unwrap().settings.evaluator;
        let graph = Graph::new(Shape { channels: 1, squares: 64 });
        with_script("rehearsal", &script, |program| {
            let rehearse = |device: &Device| rehearse_with(program, &folder, &settings, device, &graph);
            let started = || std::fs::read_to_string(&starts).unwrap().lines().count();
            let (bad, good) = (device("bad", 0), device("good", 7));
            let fault = rehearse(&bad).unwrap_err();
            assert!(
                fault.starts_with("bad: its OpenCL driver ended the process that opened it for the first"),
                "{fault}"
            );
            assert_eq!((rehearse(&bad), started()), (Err(fault.clone()), 1));
            // Another device is tried by itself, and a device that came through is not tried again.
            assert_eq!((rehearse(&good), started()), (Ok(()), 2));
            assert_eq!((rehearse(&good), started()), (Ok(()), 2));
            assert_eq!((rehearse(&bad), started()), (Err(fault), 2));
            // A driver that was replaced may be better, so its device is tried again.
            let mut replaced = bad.clone();
            replaced.driver.push_str(", replaced");
            assert!(rehearse(&replaced).is_err());
            assert_eq!(started(), 3);
        });
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
