//! The gauges over time, as CSV and as a picture.

use std::fmt::{self, Write};
use std::time::Duration;

use buffer_accounting::Label;
use pipeline_stage::Class;
use scheduler::simulator::Sample;

use super::inputs::{Settings, theirs};
use super::outcome::{Outcome, in_gib};

/// One row a moment and scheme: bytes and buffers by class, and what each stage does. A stage that a scheme lacks has empty fields.
pub(super) fn csv(outcomes: &[Outcome<'_>]) -> String {
    let mut stages = Vec::new();
    for stage in outcomes.iter().flat_map(|outcome| &outcome.scheme.model.stages) {
        if !stages.contains(&stage.name) {
            stages.push(stage.name);
        }
    }
    stages.sort_by_key(|stage| stage.index());
    let gauges = ["working", "waiting", "blocked", "queued", "unsent"];
    let mut columns = vec!["scheme".to_owned(), "time_s".to_owned(), "in_use_bytes".to_owned()];
    columns.extend(Class::ALL.iter().map(|class| format!("{}_bytes", class.name())));
    columns.extend(Class::ALL.iter().map(|class| format!("{}_buffers", class.name())));
    columns.extend(stages.iter().flat_map(|stage| gauges.map(|gauge| format!("{}_{gauge}", stage.name()))));
    let mut text = columns.join(",");
    text.push('\n');
    for outcome in outcomes {
        for sample in &outcome.run.samples {
            let mut row = vec![outcome.scheme.key.to_string(), format!("{:.3}", sample.time.as_secs_f64()), sample.in_use().to_string()];
            row.extend(sample.bytes.iter().map(u64::to_string));
            row.extend(sample.buffers.iter().map(u32::to_string));
            for stage in &stages {
                let position = outcome.scheme.model.stages.iter().position(|other| other.name == *stage);
                match position.map(|position| sample.stages[position]) {
                    Some(g) => row.extend([g.working, g.waiting, g.blocked, g.queued, g.unsent].map(|n| n.to_string())),
                    None => row.extend(gauges.map(|_| String::new())),
                }
            }
            text.push_str(&row.join(","));
            text.push('\n');
        }
    }
    text
}

/// Classes from the bottom up, with their colours.
const LAYERS: &[(Class, &str)] = &[
    (Class::SrsSection, "#b8bec8"),
    (Class::CompiledCircuit, "#8d97a5"),
    (Class::Evaluations, "#d1495b"),
    (Class::Witness, "#edae49"),
    (Class::Reserved, "#66a182"),
];

/// Bytes of the classes that have a layer.
#[cfg(test)]
pub(super) fn drawn_bytes(sample: &Sample) -> u64 {
    LAYERS.iter().map(|(class, _)| sample.bytes[class.index()]).sum()
}

const LEFT: u32 = 60;
const PANEL_WIDTH: u32 = 720;
const PANEL_HEIGHT: u32 = 130;
const PANEL_PITCH: u32 = 178;
const TOP: u32 = 62;
/// Pixels of one step in time: of the samples in it, the one with the most bytes is drawn, so that no peak is lost.
const STEP: u32 = 3;

/// The same axes for every scheme: time, and bytes by class stacked.
pub(super) fn svg(settings: &Settings, outcomes: &[Outcome<'_>]) -> String {
    let end = outcomes.iter().map(|outcome| outcome.run.end).max().unwrap_or_default();
    let top = outcomes.iter().map(Outcome::peak).fold(0.0, f64::max);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = picture(&mut text, settings, outcomes, &Axes::new(end, top));
    text
}

struct Axes {
    seconds: f64,
    seconds_tick: f64,
    gib: f64,
    gib_tick: f64,
}

impl Axes {
    fn new(end: Duration, gib: f64) -> Self {
        let seconds = end.as_secs_f64().max(1.0);
        let (seconds_tick, gib_tick) = (tick(seconds), tick(gib.max(1.0)));
        Self { seconds, seconds_tick, gib: (gib / gib_tick).ceil().max(1.0) * gib_tick, gib_tick }
    }

    fn x(&self, seconds: f64) -> f64 {
        f64::from(LEFT) + seconds / self.seconds * f64::from(PANEL_WIDTH)
    }

    /// Down from the top of a panel.
    fn y(&self, gib: f64) -> f64 {
        (1.0 - gib / self.gib) * f64::from(PANEL_HEIGHT)
    }
}

/// 1, 2 or 5 times a power of ten, so that there are four to ten of them.
fn tick(whole: f64) -> f64 {
    let power = 10f64.powf((whole / 4.0).log10().floor());
    [5.0, 2.0].into_iter().map(|factor| factor * power).find(|tick| whole / tick >= 4.0).unwrap_or(power)
}

fn picture(text: &mut String, settings: &Settings, outcomes: &[Outcome<'_>], axes: &Axes) -> fmt::Result {
    let panels = u32::try_from(outcomes.len()).unwrap_or(0);
    let (width, height) = (LEFT + PANEL_WIDTH + 20, TOP + panels * PANEL_PITCH);
    writeln!(
        text,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12" fill="#222">"##
    )?;
    writeln!(text, r##"<rect width="{width}" height="{height}" fill="#fff"/>"##)?;
    writeln!(
        text,
        r#"<text x="{LEFT}" y="20" font-size="14">GiB by class over time: {} jobs of 10 partitions, {} synthesis workers, device {} s a partition</text>"#,
        settings.jobs, settings.workers, settings.device
    )?;
    for (number, (class, colour)) in (0u32..).zip(LAYERS) {
        let x = LEFT + number * 140;
        writeln!(
            text,
            r#"<rect x="{x}" y="31" width="12" height="12" fill="{colour}"/><text x="{}" y="41">{}</text>"#,
            x + 17,
            class.name()
        )?;
    }
    for (number, outcome) in (0u32..).zip(outcomes) {
        panel(text, outcome, axes, TOP + number * PANEL_PITCH)?;
    }
    writeln!(text, "</svg>")
}

fn panel(text: &mut String, outcome: &Outcome<'_>, axes: &Axes, top: u32) -> fmt::Result {
    writeln!(text, r#"<g transform="translate(0 {})">"#, top + 18)?;
    writeln!(
        text,
        r#"<text x="{LEFT}" y="-6">({}) {}: peak {:.0} GiB, {:.1} s a proof, device idle {:.0} %</text>"#,
        outcome.scheme.key,
        outcome.scheme.title,
        outcome.peak(),
        outcome.pace(),
        100.0 * outcome.device_idle()
    )?;
    let columns = columns(outcome, axes);
    for layer in (0..LAYERS.len()).rev() {
        area(text, &columns, axes, layer)?;
    }
    grid(text, axes)?;
    writeln!(text, "</g>")
}

/// For each step in time, the sample that is drawn.
fn columns<'a>(outcome: &'a Outcome<'_>, axes: &Axes) -> Vec<&'a Sample> {
    let steps = PANEL_WIDTH / STEP;
    let mut columns: Vec<&Sample> = Vec::new();
    let mut rest = outcome.run.samples.as_slice();
    for step in 1..=steps {
        let until = axes.seconds * f64::from(step) / f64::from(steps);
        let inside = rest.partition_point(|sample| sample.time.as_secs_f64() < until);
        let highest = rest[..inside].iter().max_by_key(|sample| sample.in_use());
        if let Some(sample) = highest.or(columns.last().copied()).or(rest.first()) {
            columns.push(sample);
        }
        // What held last holds on: only a step without a sample of its own shows it.
        if inside > 0 && inside == rest.len() {
            rest = &rest[inside - 1..];
            continue;
        }
        rest = &rest[inside..];
    }
    columns
}

/// Everything up to the top of one layer; the layers below are drawn over it.
fn area(text: &mut String, columns: &[&Sample], axes: &Axes, layer: usize) -> fmt::Result {
    let (class, colour) = LAYERS[layer];
    let height = |sample: &Sample| {
        let bytes: u64 = LAYERS[..=layer].iter().map(|(class, _)| sample.bytes[class.index()]).sum();
        axes.y(in_gib(bytes))
    };
    write!(text, r#"<path fill="{colour}" d="M{LEFT} {PANEL_HEIGHT}"#)?;
    let mut last = String::new();
    for (x, sample) in (LEFT..).step_by(STEP as usize).zip(columns) {
        let y = format!("{:.1}", height(sample));
        if y != last {
            write!(text, "H{x}V{y}")?;
            last = y;
        }
    }
    writeln!(text, r#"H{}V{PANEL_HEIGHT}Z"><title>{}</title></path>"#, LEFT + PANEL_WIDTH, class.name())
}

fn grid(text: &mut String, axes: &Axes) -> fmt::Result {
    let right = LEFT + PANEL_WIDTH;
    let ticks = |whole: f64, tick: f64| (0u32..).map(move |n| f64::from(n) * tick).take_while(move |at| *at <= whole * 1.0001);
    for gib in ticks(axes.gib, axes.gib_tick) {
        let y = axes.y(gib);
        writeln!(
            text,
            r##"<path d="M{LEFT} {y:.1}H{right}" stroke="#000" stroke-opacity=".12"/><text x="{}" y="{:.1}" text-anchor="end">{gib:.0}</text>"##,
            LEFT - 6,
            y + 4.0
        )?;
    }
    let machine = theirs::MACHINE_GIB as f64;
    if machine <= axes.gib {
        let y = axes.y(machine);
        writeln!(
            text,
            r##"<path d="M{LEFT} {y:.1}H{right}" stroke="#a00" stroke-dasharray="5 4"/><text x="{right}" y="{:.1}" text-anchor="end" fill="#a00">{machine:.0}</text>"##,
            y - 3.0
        )?;
    }
    for seconds in ticks(axes.seconds, axes.seconds_tick) {
        let x = axes.x(seconds);
        writeln!(text, r#"<text x="{x:.1}" y="{}" text-anchor="middle">{seconds:.0} s</text>"#, PANEL_HEIGHT + 15)?;
    }
    Ok(())
}
