//! Where a tuning is kept, and how the tuning of a device is found.

use super::settings::EvaluatorSettings;
use oncilla_opencl::device::{Device, choose};
use oncilla_opencl::graph::Graph;
use oncilla_opencl::kernels::Tuning;
use oncilla_opencl::opencl::{OpenCl, Options};
use oncilla_opencl::tune::{Key, Record};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The cache folder: `--cache-dir`, else the system's own folder for caches; `None` if there is no home.
pub fn cache_dir(settings: &EvaluatorSettings) -> Option<PathBuf> {
    let variable = std::env::var_os;
    settings.cache_dir.clone().or_else(|| {
        if cfg!(windows) {
            local_cache(variable("LOCALAPPDATA"))
        } else {
            xdg_cache(variable("XDG_CACHE_HOME"), variable("HOME"))
        }
    })
}

/// The folder for caches according to the XDG base directory specification, which ignores a relative `$XDG_CACHE_HOME`.
fn xdg_cache(cache: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let cache = cache.map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || home.filter(|home| !home.is_empty()).map(|home| PathBuf::from(home).join(".cache"));
    cache.or_else(home).map(|folder| folder.join("oncilla"))
}

/// The folder for caches in the one in which Windows keeps a user's data for this machine alone.
fn local_cache(local: Option<OsString>) -> Option<PathBuf> {
    let local = local.map(PathBuf::from).filter(|path| path.is_absolute());
    local.map(|folder| folder.join("oncilla").join("cache"))
}

/// The tuning that `oncilla tune` has found for this graph on this device, and a line for a person if its file is of no
/// use.
pub fn known(settings: &EvaluatorSettings, device: &Device, graph: &Graph) -> (Option<Tuning>, Option<String>) {
    let Some(cache) = cache_dir(settings) else { return (None, None) };
    match Record::open(&cache, &Key::new(device, graph, settings.precision)) {
        Ok(record) => (record.best(), None),
        Err(why) => (None, Some(format!("tuning: {why}; the kernels run as they are made for any device of its kind"))),
    }
}

/// Opens the device as `options` say, but with the settings' precision and the tuning that is known for it. Also
/// returns a line for a person.
///
/// # Errors
/// The errors of [`OpenCl::new`].
pub fn open(
    settings: &EvaluatorSettings,
    graph: &Arc<Graph>,
    options: Options,
) -> Result<(OpenCl, Option<String>), String> {
    let device = choose(&options.device).map_err(|error| error.to_string())?;
    let (tuning, note) = known(settings, &device, graph);
    let options = Options { tuning, precision: settings.precision, ..options };
    let opened = OpenCl::new(Arc::clone(graph), &options).map_err(|error| error.to_string())?;
    Ok((opened, note))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(windows)]
    fn the_cache_is_where_windows_keeps_such() {
        let folder = |local: &str| local_cache(Some(OsString::from(local)));
        assert_eq!(folder(r"C:\Users\a\AppData\Local"), Some(PathBuf::from(r"C:\Users\a\AppData\Local\oncilla\cache")));
        assert_eq!(folder("AppData"), None);
        assert_eq!(local_cache(None), None);
    }

    #[test]
    #[cfg(unix)]
    fn the_cache_is_where_xdg_says() {
        let folder = |cache: &str, home: &str| {
            let given = |text: &str| (!text.is_empty()).then(|| OsString::from(text));
            xdg_cache(given(cache), given(home)).map(|path| path.display().to_string())
        };
        assert_eq!(folder("/c", "/h").as_deref(), Some("/c/oncilla"));
        assert_eq!(folder("", "/h").as_deref(), Some("/h/.cache/oncilla"));
        assert_eq!(folder("relative", "/h").as_deref(), Some("/h/.cache/oncilla"));
        assert_eq!(folder("", ""), None);
    }
}
