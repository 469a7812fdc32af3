//! Plans add up, keep their limits, and say what a budget allows.

#![allow(clippy::unwrap_used, reason = "a test fails where it unwraps")]

use buffer_accounting::{Label, Space, labels};
use proptest::prelude::*;
use scheduler::plan::{Ladder, Part, Plan, Row, Sum};

labels! { enum Class { Tile => "tile", Frame => "frame", Free => "free" } }
labels! { enum Step { Read => "read", Blur => "blur", Write => "write" } }

fn row(class: Class, stage: Step, count: u64, bytes_each: u64) -> Row<Class, Step> {
    Row { class, stage, what: format!("{}s", class.name()), count, bytes_each, why: "so many threads".to_owned() }
}

/// Frames that are read and blurred share 100 bytes; two tiles of 30 are written, outside of them.
fn plan(shared: u64) -> Plan<Class, Step> {
    let mut plan = Plan::new(Class::Free);
    let frames = Sum::new("frames", "drawn from what is set aside")
        .set_aside_for(Step::Blur)
        .limited_to(shared)
        .row(row(Class::Frame, Step::Read, 2, 40))
        .sum(Sum::new("blurring", "one of both").limited_to(50).row(row(Class::Frame, Step::Blur, 1, 45)).row(row(
            Class::Tile,
            Step::Blur,
            1,
            50,
        )))
        .row(row(Class::Tile, Step::Read, 0, 1000));
    plan.add(Space::Host, frames);
    plan.add(Space::Host, Sum::new("tiles", "two buffers").row(row(Class::Tile, Step::Write, 2, 30)));
    plan.add(Space::Mapped, Sum::new("source", "one file").row(row(Class::Frame, Step::Read, 1, 1 << 20)));
    plan.add(Space::Pinned, Sum::new("nothing", "no device"));
    plan
}

#[test]
fn limits_hold_for_every_way_of_adding_up() {
    let plan = plan(100);
    assert_eq!((plan.total(Space::Host), plan.total(Space::Mapped), plan.total(Space::Pinned)), (160, 1 << 20, 0));
    assert_eq!(plan.spaces(), [Space::Host, Space::Mapped]);
    // Frames alone stay below the shared limit only together with what blurs.
    assert_eq!(plan.class(Space::Host, Class::Frame), 100);
    assert_eq!(plan.class(Space::Host, Class::Tile), 50 + 60);
    assert_eq!(
        (plan.stage(Space::Host, Step::Blur), plan.stage(Space::Host, Step::Read), plan.stage(Space::Host, Step::Write)),
        (50, 80, 60)
    );
    assert_eq!(plan.cell(Space::Host, Class::Tile, Step::Blur), 50);
    // What is set aside is bounded by itself, under its own class.
    assert_eq!((plan.set_aside(Space::Host), plan.set_aside_for(Space::Host, Step::Blur)), (100, 100));
    assert_eq!((plan.class(Space::Host, Class::Free), plan.cell(Space::Host, Class::Free, Step::Blur)), (100, 100));
    assert_eq!(plan.set_aside_for(Space::Host, Step::Read), 0);
    assert_eq!((plan.set_aside_as(Space::Host, "frames"), plan.set_aside_as(Space::Host, "tiles")), (100, 0), "tiles are not set aside");
    assert_eq!(plan.rows().count(), 5, "a row of nothing is no row");
}

#[test]
fn the_table_and_the_json_tell_the_same() {
    let plan = plan(100);
    let text = plan.to_string();
    for line in ["host memory", "  frames", "together", "so many threads", "mapped memory", "by class: tile 110 B, frame 100 B, free 100 B"]
    {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    assert!(!text.contains("pinned"), "{text}");
    let json: serde_json::Value = serde_json::to_value(&plan).unwrap();
    assert_eq!(json["spaces"][0], serde_json::json!({ "space": "host", "bytes": 160 }));
    assert_eq!(json["sums"][0]["limit_bytes"], 100);
    assert_eq!(json["sums"][0]["set_aside_for"], "blur");
    assert_eq!(json["sums"][0]["parts"][1]["parts"][0]["bytes"], 45);
    let first = serde_json::json!(
        { "what": "frames", "class": "frame", "stage": "read", "count": 2, "bytes_each": 40, "bytes": 80, "why": "so many threads" }
    );
    assert_eq!(json["sums"][0]["parts"][0], first);
    assert_eq!(json["classes"][0], serde_json::json!({ "space": "host", "class": "tile", "bytes": 110 }));
}

#[test]
fn a_budget_is_told_what_fits_and_what_would() {
    let ladder =
        Ladder::new(Space::Host, plan(60)).then("more frames", plan(80)).then("nothing more", plan(80)).then("all frames", plan(130));
    assert_eq!((ladder.minimum().total(Space::Host), ladder.recommended().total(Space::Host)), (120, 190));
    let fit = ladder.fit(119);
    assert_eq!((fit.plan, fit.missing, fit.next), (None, 1, None));
    let fit = ladder.fit(120);
    assert_eq!(fit.plan, Some(ladder.minimum()));
    let next = fit.next.unwrap();
    assert_eq!((next.adds.as_str(), next.bytes, next.missing), ("more frames", 140, 20));
    let fit = ladder.fit(189);
    assert_eq!(fit.plan.unwrap().total(Space::Host), 140);
    assert_eq!(fit.next.unwrap().missing, 1);
    let fit = ladder.fit(u64::MAX);
    assert_eq!((fit.plan, fit.next, fit.recommended), (Some(ladder.recommended()), None, 190));
}

/// Sums of any depth.
fn any_sum() -> impl Strategy<Value = Sum<Class, Step>> {
    let any_row = (0..2usize, 0..3usize, 0..4u64, 0..50u64);
    let leaf = (prop::collection::vec(any_row, 0..4), prop::option::of(0..150u64)).prop_map(|(rows, limit)| {
        let sum = rows.into_iter().fold(Sum::new("leaf", "any"), |sum, (class, stage, count, each)| {
            sum.row(row(Class::ALL[class], Step::ALL[stage], count, each))
        });
        limit.map_or(sum.clone(), |limit| sum.limited_to(limit))
    });
    leaf.prop_recursive(3, 20, 3, |inner| {
        (prop::collection::vec(inner, 0..3), prop::option::of(0..300u64)).prop_map(|(sums, limit)| {
            let sum = sums.into_iter().fold(Sum::new("node", "any"), Sum::sum);
            limit.map_or(sum.clone(), |limit| sum.limited_to(limit))
        })
    })
}

/// Lets every row hold as much as it can, in turn, within all limits above it: some state that the plan allows.
fn greedy(sum: &Sum<Class, Step>, room: u64, held: &mut Vec<(Class, Step, u64)>) -> u64 {
    let mut left = sum.limit().map_or(room, |limit| limit.min(room));
    let before = left;
    for part in sum.parts() {
        left -= match part {
            Part::Row(row) => {
                let bytes = row.bytes().min(left);
                held.push((row.class, row.stage, bytes));
                bytes
            }
            Part::Sum(inner) => greedy(inner, left, held),
        };
    }
    before - left
}

proptest! {
    #[test]
    fn no_state_within_the_limits_is_above_a_bound(sums in prop::collection::vec(any_sum(), 1..4)) {
        let mut plan = Plan::new(Class::Free);
        let mut held = Vec::new();
        for sum in sums {
            greedy(&sum, u64::MAX, &mut held);
            plan.add(Space::Host, sum);
        }
        let sum_of = |keep: &dyn Fn(Class, Step) -> bool| held.iter().filter(|(c, s, _)| keep(*c, *s)).map(|(_, _, b)| *b).sum::<u64>();
        prop_assert_eq!(sum_of(&|_, _| true), plan.total(Space::Host));
        for &class in Class::ALL {
            prop_assert!(sum_of(&|c, _| c == class) <= plan.class(Space::Host, class));
            for &stage in Step::ALL {
                prop_assert!(sum_of(&|_, s| s == stage) <= plan.stage(Space::Host, stage));
                prop_assert!(sum_of(&|c, s| c == class && s == stage) <= plan.cell(Space::Host, class, stage));
                prop_assert!(plan.cell(Space::Host, class, stage) <= plan.class(Space::Host, class).min(plan.stage(Space::Host, stage)));
            }
        }
    }
}
