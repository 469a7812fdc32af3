//! `doctor`: what this machine has, and what proofmill makes of it.

use std::path::Path;

use serde_json::{Value as Json, json};
use telemetry::{DiskSpace, Machine};

use crate::config::{Bytes, Config, Value};
use crate::exit::Failure;
use crate::output::Report;
use crate::resources;
use crate::store::{self, Listed};

/// Lines of a label and what is to say about it.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, label: &str, text: impl AsRef<str>) {
        self.0.push_str(&format!("{label:<12}  {}\n", text.as_ref()));
    }
}

/// Looks at the machine, the folders and what is in them. Nothing that is missing is an error: saying so is the point.
pub(crate) fn examine(config: &Config) -> Report {
    let machine = Machine::look();
    let mut lines = Lines::default();
    lines.add("proofmill", env!("CARGO_PKG_VERSION"));
    system(&machine, &mut lines);
    let budget = resources::memory_budget(config, &machine);
    let told = match &budget {
        Ok(bytes) => format!("{} for large buffers ({}: {})", Bytes(*bytes), config.memory.source, config.memory.value.show()),
        Err(failure) => format!("none: {failure}"),
    };
    lines.add("budget", told);
    let threads = resources::threads(config, &machine);
    lines.add("threads", format!("{threads} ({})", config.threads.source));
    let parameters = folder("parameters", config.params_dir(), &mut lines);
    let circuits = folder("circuits", config.cache_dir(), &mut lines);
    let kept = kept(config, &mut lines);
    for problem in &machine.problems {
        lines.add("unknown", problem);
    }
    let budget = match budget {
        Ok(bytes) => json!({ "bytes": bytes }),
        Err(failure) => json!({ "bytes": null, "problem": failure.message }),
    };
    Report::new(
        lines.0,
        json!({
            "proofmill": env!("CARGO_PKG_VERSION"),
            "machine": machine,
            "memory_budget": budget,
            "threads": threads,
            "parameters": parameters,
            "circuits": circuits,
            "kept": kept,
        }),
    )
}

fn system(machine: &Machine, lines: &mut Lines) {
    let unknown = || "unknown".to_owned();
    let system = [machine.distribution.clone(), machine.kernel.as_ref().map(|kernel| format!("kernel {kernel}"))];
    lines.add("system", system.into_iter().flatten().collect::<Vec<_>>().join(", "));
    let cpu = &machine.cpu;
    let count = |number: Option<u64>| number.map_or_else(unknown, |n| n.to_string());
    lines.add("processor", cpu.model.clone().unwrap_or_else(unknown));
    lines.add(
        "cores",
        format!("{} physical, {} threads online, {} usable by this process", count(cpu.physical_cores), count(cpu.online), cpu.usable),
    );
    let units: Vec<_> = cpu.vector_units.iter().filter(|unit| unit.present).map(|unit| unit.name).collect();
    lines.add("instructions", if units.is_empty() { "none of those that help".to_owned() } else { units.join(" ") });
    match &machine.memory {
        Some(memory) => lines.add("memory", format!("{}, {} available", Bytes(memory.total_bytes), Bytes(memory.available_bytes))),
        None => lines.add("memory", "unknown"),
    }
    let limit = machine.cgroup.as_ref().and_then(|group| Some((group.limit_bytes?, group)));
    match limit {
        Some((limit, group)) => {
            let used = group.used_bytes.map_or_else(unknown, |used| Bytes(used).to_string());
            lines.add("memory limit", format!("{}, {used} used, by control group {}", Bytes(limit), group.group));
        }
        None => lines.add("memory limit", "none (no control group sets one)"),
    }
    lines.add("GPU", format!("{}; this version proves on the CPU", machine.gpu.in_words()));
}

fn folder(label: &str, path: Result<&std::path::PathBuf, Failure>, lines: &mut Lines) -> Json {
    match path {
        Err(failure) => {
            lines.add(label, &failure.message);
            json!({ "problem": failure.message })
        }
        Ok(path) => {
            let state = state(path);
            let space = DiskSpace::of(path);
            let free = match &space {
                Ok(space) => format!("{} free", Bytes(space.available_bytes)),
                Err(error) => error.to_string(),
            };
            lines.add(label, format!("{} ({state}, {free})", path.display()));
            json!({ "folder": path.display().to_string(), "state": state, "free_bytes": space.ok().map(|space| space.available_bytes) })
        }
    }
}

/// The parameters and circuits that are there.
fn kept(config: &Config, lines: &mut Lines) -> Json {
    let (mut keys, mut circuits) = (Vec::new(), Vec::new());
    for Listed { path, found } in config.params_dir().and_then(|folder| store::list_keys(folder)).unwrap_or_default() {
        let what = match found {
            Ok(info) => format!("{}, {}", super::params::short_origin(info.origin), Bytes(info.file_bytes)),
            Err(problem) => problem,
        };
        lines.add("  key", format!("{}: {what}", path.display()));
        keys.push(path.display().to_string());
    }
    for Listed { path, found } in config.cache_dir().and_then(|folder| store::list_circuits(folder)).unwrap_or_default() {
        lines.add("  circuit", format!("{}: {}", path.display(), found.map_or_else(|problem| problem, |bytes| Bytes(bytes).to_string())));
        circuits.push(path.display().to_string());
    }
    json!({ "parameters": keys, "circuits": circuits })
}

/// What can be done with a folder, by looking only.
fn state(path: &Path) -> String {
    match std::fs::read_dir(path) {
        Ok(_) => "readable".to_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "not made yet".to_owned(),
        Err(error) => error.to_string(),
    }
}
