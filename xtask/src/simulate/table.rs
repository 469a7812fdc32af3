//! The outcomes as text.

use std::fmt::{self, Write};

use anyhow::Result;
use scheduler::simulator::simulate;

use super::history::{DEVICE, swept};
use super::inputs::{Range, Settings, theirs};
use super::outcome::{Outcome, Refused, in_gib};

/// Everything that is printed.
pub(super) fn report(settings: &Settings, outcomes: &[Outcome<'_>], refused: &[Refused<'_>]) -> Result<String> {
    let mut text = String::new();
    let partitions = outcomes.first().map_or(0, |o| o.scheme.model.jobs.iter().map(|job| job.partitions).sum());
    writeln!(
        text,
        "{} jobs, {partitions} partitions, all there at the start; {} workers of {} s a synthesis; device {} s a partition",
        settings.jobs, settings.workers, settings.synthesis, settings.device
    )?;
    schemes(&mut text, outcomes)?;
    for Refused { scheme, reason } in refused {
        writeln!(text, "{}  {}: {reason}", scheme.key, scheme.title)?;
    }
    notes(&mut text, settings, outcomes)?;
    sweep(&mut text, settings)?;
    Ok(text)
}

/// How far a figure is from the published one.
fn difference(found: f64, published: Option<f64>) -> String {
    published.map_or_else(String::new, |published| format!("{:+.0} %", 100.0 * (found / published - 1.0)))
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(String::new, |value| format!("{value:.decimals$}"))
}

fn schemes(text: &mut String, outcomes: &[Outcome<'_>]) -> fmt::Result {
    writeln!(
        text,
        "\n{:45} {:>7} {:>8} {:>6} {:>9} {:>6} {:>8} {:>7} {:>21}",
        "", "s/proof", "proofs/h", "peak", "in flight", "made", "waiting", "device", "published"
    )?;
    writeln!(
        text,
        "{:45} {:>7} {:>8} {:>6} {:>9} {:>6} {:>8} {:>7} {:>21}",
        "", "", "", "GiB", "GiB", "GiB", "at most", "idle", "s/proof      peak GiB"
    )?;
    for outcome in outcomes {
        let (pace, peak) = (outcome.scheme.published_pace, outcome.scheme.published_peak);
        let line = format!(
            "{}  {:42} {:7.1} {:8.0} {:6.0} {:9.0} {:6.1} {:8} {:6.1}% {:>4} {:>5} {:>5} {:>5}",
            outcome.scheme.key,
            outcome.scheme.title,
            outcome.pace(),
            3600.0 / outcome.pace(),
            outcome.peak(),
            outcome.peak_in_flight(),
            outcome.peak_made(),
            outcome.piled_up_most(),
            100.0 * outcome.device_idle(),
            number(pace, 1),
            difference(outcome.pace(), pace),
            number(peak, 1),
            difference(outcome.peak(), peak),
        );
        writeln!(text, "{}", line.trim_end())?;
    }
    writeln!(
        text,
        "in flight: without key and circuit; made: of that, without what is only set aside; waiting: synthesised, not read by the device"
    )
}

/// What the first scheme does on the way, since it does not end on a real machine.
fn notes(text: &mut String, settings: &Settings, outcomes: &[Outcome<'_>]) -> fmt::Result {
    writeln!(text)?;
    for outcome in outcomes {
        let key = outcome.scheme.key;
        if let (Some((time, gib)), 'a') = (outcome.at_published_pile(), key) {
            let published = Some(theirs::KILLED_GIB).filter(|_| settings.workers == 12);
            let compared = published.map_or_else(String::new, |p| format!("; published {p:.0} GiB, {}", difference(gib, published)));
            writeln!(text, "{key}: {} synthesised partitions wait after {time:.0} s, at {gib:.0} GiB{compared}", theirs::PILED_UP)?;
        }
        if let Some(time) = outcome.passes_machine() {
            writeln!(
                text,
                "{key}: passes the {} GiB of the machine after {time:.0} s, with {:.0} s to go",
                theirs::MACHINE_GIB,
                outcome.run.end.as_secs_f64() - time
            )?;
        }
    }
    Ok(())
}

/// Scheme (c) for every published number of workers, with the device's time as set and at the other end of its range.
fn sweep(text: &mut String, settings: &Settings) -> Result<()> {
    writeln!(
        text,
        "\nscheme c for each published number of workers (peak at {} s of the device, pace at both ends of the published range)",
        settings.device
    )?;
    writeln!(
        text,
        "{:>7} {:>7} {:>5} {:>9} {:>9} {:>6} {:>9} {:>9} {:>6} {:>12} {:>7}",
        "workers", "device", "jobs", "s/proof", "published", "", "peak GiB", "published", "", "s/proof at", "device"
    )?;
    writeln!(
        text,
        "{:>7} {:>7} {:>5} {:>9} {:>9} {:>6} {:>9} {:>9} {:>6} {:>12} {:>7}",
        "", "workers", "", "", "", "", "", "", "", "1.8 s", "idle"
    )?;
    for &(workers, device_workers, jobs, pace, peak) in theirs::SWEEP {
        let run = simulate(&swept(settings, workers, device_workers, jobs))?;
        let fast = Settings { device: Range::exactly(theirs::DEVICE_ALONE), ..*settings };
        let fast = simulate(&swept(&fast, workers, device_workers, jobs))?;
        let (found_pace, found_peak) = (run.time_per_job().as_secs_f64(), in_gib(run.peak.bytes));
        writeln!(
            text,
            "{workers:7} {device_workers:7} {jobs:5} {found_pace:9.1} {pace:9.1} {:>6} {found_peak:9.1} {peak:9.1} {:>6} {:12.1} {:6.1}%",
            difference(found_pace, Some(pace)),
            difference(found_peak, Some(peak)),
            fast.time_per_job().as_secs_f64(),
            100.0 * run.resources[DEVICE].idle_share(),
        )?;
    }
    Ok(())
}
