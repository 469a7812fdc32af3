//! Traces of a GPU.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::proc_file::read;

const LIBRARY: &str = "libcuda.so.1";

/// Folders the loader searches without being told.
const DEFAULT_FOLDERS: [&str; 6] = ["lib", "usr/lib", "lib64", "usr/lib64", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"];

/// The loader's cache is a few hundred kilobytes at most.
const LOADER_CACHE_BYTES_MAX: u64 = 16 << 20;

/// Device nodes and driver library of a GPU. Found by looking: nothing is loaded, so a broken driver cannot do harm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GpuPresence {
    /// Device nodes of GPUs (`/dev/nvidia0`, ...).
    pub device_nodes: Vec<String>,
    /// Where the driver's library was found.
    pub driver_library: Option<PathBuf>,
    /// What the kernel's driver says of its version.
    pub driver_version: Option<String>,
}

impl GpuPresence {
    pub(crate) fn look_under(root: &Path, library_path: Option<&OsStr>) -> Self {
        Self {
            device_nodes: device_nodes(&root.join("dev")),
            driver_library: driver_library(root, library_path),
            driver_version: read(&root.join("proc/driver/nvidia/version")).ok().and_then(|text| version(&text)),
        }
    }

    /// One sentence for people.
    #[must_use]
    pub fn in_words(&self) -> String {
        let devices = match self.device_nodes.len() {
            1 => "1 GPU device node".to_owned(),
            count => format!("{count} GPU device nodes"),
        };
        let version = self.driver_version.as_ref().map_or_else(String::new, |version| format!(" (driver {version})"));
        match (&self.driver_library, self.device_nodes.is_empty()) {
            (None, true) => "no GPU: neither device nodes nor the CUDA driver library".to_owned(),
            (None, false) => format!("{devices}{version}, but no {LIBRARY} on the loader's paths: install the driver's user libraries"),
            (Some(library), true) => {
                format!("{library}, but no GPU device nodes: no GPU here, or none given to this container", library = library.display())
            }
            (Some(library), false) => format!("{devices}{version}, {library}", library = library.display()),
        }
    }
}

/// `nvidia0`, `nvidia1`, ...; not `nvidiactl` or `nvidia-uvm`, which are there without a GPU too.
fn device_nodes(dev: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(dev) else { return Vec::new() };
    let mut numbers: Vec<u32> =
        entries.flatten().filter_map(|entry| entry.file_name().to_str()?.strip_prefix("nvidia")?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.iter().map(|number| format!("/dev/nvidia{number}")).collect()
}

fn driver_library(root: &Path, library_path: Option<&OsStr>) -> Option<PathBuf> {
    let named = library_path.into_iter().flat_map(std::env::split_paths).filter(|folder| folder.is_absolute());
    let cached = cached_libraries(&root.join("etc/ld.so.cache"));
    let default = DEFAULT_FOLDERS.iter().map(|folder| Path::new("/").join(folder).join(LIBRARY));
    named.map(|folder| folder.join(LIBRARY)).chain(cached).chain(default).find(|path| {
        let below_root = path.strip_prefix("/").unwrap_or(path);
        root.join(below_root).exists()
    })
}

/// Paths of the driver library in the loader's cache: a table of zero-terminated strings behind a binary index.
fn cached_libraries(cache: &Path) -> Vec<PathBuf> {
    let mut bytes = Vec::new();
    if File::open(cache).and_then(|file| file.take(LOADER_CACHE_BYTES_MAX).read_to_end(&mut bytes)).is_err() {
        return Vec::new();
    }
    bytes
        .split(|byte| *byte == 0)
        .filter_map(|string| std::str::from_utf8(string).ok())
        .filter(|string| string.starts_with('/') && string.strip_suffix(LIBRARY).is_some_and(|folder| folder.ends_with('/')))
        .map(PathBuf::from)
        .collect()
}

/// The number after `Kernel Module` in a line like `NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu ...`.
fn version(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("NVRM version"))?;
    let is_version = |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    line.split_whitespace().find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(root: &Path, path: &str, bytes: &[u8]) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn a_machine_without() {
        let root = tempfile::tempdir().unwrap();
        file(root.path(), "dev/nvidiactl", b"");
        file(root.path(), "dev/nvidia-uvm", b"");
        let gpu = GpuPresence::look_under(root.path(), None);
        assert_eq!(gpu, GpuPresence { device_nodes: vec![], driver_library: None, driver_version: None });
        assert!(gpu.in_words().starts_with("no GPU"));
    }

    #[test]
    fn a_machine_with_two() {
        let root = tempfile::tempdir().unwrap();
        for node in ["nvidia10", "nvidia0", "nvidiactl"] {
            file(root.path(), &format!("dev/{node}"), b"");
        }
        file(root.path(), "opt/driver/libcuda.so.1", b"");
        file(
            root.path(),
            "etc/ld.so.cache",
            b"\x7fglibc-ld.so.cache1.1\0\xff\0libcuda.so.1\0/gone/libcuda.so.1\0/opt/driver/libcuda.so.1\0/x/notlibcuda.so.1\0",
        );
        let line = b"NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22\nGCC version: 13.1\n";
        file(root.path(), "proc/driver/nvidia/version", line);
        let gpu = GpuPresence::look_under(root.path(), None);
        assert_eq!(gpu.device_nodes, ["/dev/nvidia0", "/dev/nvidia10"]);
        assert_eq!(gpu.driver_library.as_deref(), Some(Path::new("/opt/driver/libcuda.so.1")));
        assert_eq!(gpu.driver_version.as_deref(), Some("550.54.14"));
        assert_eq!(gpu.in_words(), "2 GPU device nodes (driver 550.54.14), /opt/driver/libcuda.so.1");
    }

    #[test]
    fn a_named_folder_comes_first() {
        let root = tempfile::tempdir().unwrap();
        file(root.path(), "usr/lib/libcuda.so.1", b"");
        file(root.path(), "mine/libcuda.so.1", b"");
        let found = |path: &str| GpuPresence::look_under(root.path(), Some(OsStr::new(path)));
        assert_eq!(found("/none:/mine").driver_library.as_deref(), Some(Path::new("/mine/libcuda.so.1")));
        assert_eq!(found("").driver_library.as_deref(), Some(Path::new("/usr/lib/libcuda.so.1")));
        assert!(found("/mine").in_words().contains("no GPU device nodes"));
    }
}
