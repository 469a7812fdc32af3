//! A table of bad inputs: the exact error and the exact place.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use c1_parse::{Authority, C1Error, Document, Expected, Limits, SealProof, parse, parse_reader};
use pipeline_stage::{AcquireError, Cancel, Classified, ErrorClass, Ledger, Space, StageContext, StageName};
use serde_json::{Value, json};

const BARE: &str = include_str!("../../../bench-data/porep-2kib/c1.raw.json");
const WRAPPED: &str = include_str!("../../../bench-data/porep-2kib/c1.json");
const SHAPE: &str = "/vanilla_proofs/StackedDrg2KiBV1";
const CHALLENGE: &str = "/vanilla_proofs/StackedDrg2KiBV1/0/0";

fn refuse_with(bytes: &[u8], limits: &Limits, expected: &Expected) -> C1Error {
    let ledger = Ledger::new(&[(Space::Host, 1 << 30)]);
    let context = StageContext::new(ledger.clone(), StageName::Parse, Cancel::never());
    let error = parse(bytes, limits, expected, &context).unwrap_err();
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0, "{error}");
    assert!(error.class() == ErrorClass::Fatal, "{error}");
    let streamed = parse_reader(bytes, limits, expected, &context).unwrap_err();
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0, "{error}");
    if !matches!(error, C1Error::TooLarge { .. }) {
        assert_eq!(streamed.to_string(), error.to_string(), "from a reader");
    }
    error
}

fn refuse(bytes: impl AsRef<[u8]>) -> C1Error {
    refuse_with(bytes.as_ref(), &Limits::default(), &Expected::default())
}

/// The bare file with one change. Its fields are then in alphabetical order, which must not matter.
fn edited(edit: impl FnOnce(&mut Value)) -> String {
    let mut value: Value = serde_json::from_str(BARE).unwrap();
    edit(&mut value);
    value.to_string()
}

fn set(pointer: &str, to: Value) -> String {
    edited(|value| *value.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = to)
}

/// The list with its last item dropped (-1) or repeated (1).
fn resize(pointer: &str, by: i32) -> String {
    edited(|value| {
        let list = value.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")).as_array_mut().unwrap();
        let last = list.pop().unwrap();
        if by > 0 {
            list.push(last.clone());
            list.push(last);
        }
    })
}

fn wrap(bare: &str) -> String {
    json!({"SectorNum": 1, "Phase1Out": STANDARD.encode(bare), "SectorSize": 2048}).to_string()
}

/// `/a/b/0` as `$.a.b[0]`.
fn path_of(pointer: &str) -> String {
    pointer.split('/').skip(1).fold("$".to_owned(), |path, step| match step.parse::<usize>() {
        Ok(index) => format!("{path}[{index}]"),
        Err(_) => format!("{path}.{step}"),
    })
}

#[track_caller]
fn at(error: &C1Error, path: &str) {
    assert_eq!(error.location().unwrap_or_else(|| panic!("no place: {error}")).path, path, "{error}");
}

macro_rules! refused {
    ($input:expr, $path:expr, $pattern:pat $(if $guard:expr)?) => {{
        let error = refuse($input);
        assert!(matches!(&error, $pattern $(if $guard)?), "{error:?}");
        at(&error, &$path);
    }};
}

#[test]
fn the_unchanged_file_passes_in_any_order_of_fields() {
    let context = StageContext::unlimited(StageName::Parse);
    let shuffled = edited(|_| ());
    assert_ne!(shuffled, BARE);
    for text in [
        shuffled.clone(),
        wrap(BARE),
        wrap(&shuffled),
        format!(" \n\t{BARE}\r\n "),
        serde_json::to_string_pretty(&serde_json::from_str::<Value>(BARE).unwrap()).unwrap(),
    ] {
        let c1 = parse(text.as_bytes(), &Limits::default(), &Expected::default(), &context).unwrap();
        assert!(serde_json::to_string(&c1).unwrap() == BARE);
    }
}

#[test]
fn not_json_at_all() {
    for empty in ["", " \n\t "] {
        assert!(matches!(refuse(empty), C1Error::Empty));
    }
    for text in ["hello", "null", "[]", "7", "\"x\"", "\u{feff}{}", "}"] {
        refused!(text, "$", C1Error::Syntax { at, .. } if at.offset == 0);
    }
    refused!([0xff, 0xfe], "$", C1Error::Syntax { found, .. } if found == "the byte 0xff");
    refused!("{}", "$", C1Error::MissingField { field: "registered_proof", .. });
    refused!("{", "$", C1Error::UnexpectedEnd { .. });
    refused!("{x", "$", C1Error::Syntax { expected: "a field name or `}`" | "a field name", .. });
    refused!(format!("{BARE} x"), "$", C1Error::TrailingData { at, .. } if at.offset == BARE.len() as u64 + 1);
    refused!(format!("{BARE}{BARE}"), "$", C1Error::TrailingData { .. });
    refused!(BARE.replacen(",\"comm_r\"", ",,\"comm_r\"", 1), "$", C1Error::Syntax { expected: "a field name", .. });
    refused!(
        BARE.replacen("\"comm_d\"", "\"comm_\u{1}d\"", 1),
        "$",
        C1Error::Syntax { expected: "a string without control characters", .. }
    );
    let mut bytes = BARE.as_bytes().to_vec();
    bytes[2] = 0xff;
    refused!(bytes, "$", C1Error::Syntax { expected: "UTF-8", .. });
}

#[test]
fn names() {
    refused!(set("/registered_proof", json!("StackedDrg2KiBV9")), "$.registered_proof", C1Error::UnknownName { found, .. } if found == "StackedDrg2KiBV9");
    refused!(
        BARE.replacen("StackedDrg2KiBV1\":", "StackedDrg4KiBV1\":", 1),
        "$.vanilla_proofs",
        C1Error::UnknownName { found, .. } if found == "StackedDrg4KiBV1"
    );
    refused!(
        BARE.replacen("StackedDrg2KiBV1_1", "StackedDrg8MiBV1_1", 1),
        "$.vanilla_proofs.StackedDrg2KiBV1",
        C1Error::ShapeMismatch { found: "StackedDrg2KiBV1", .. }
    );
    // The same with the proofs before the name.
    let late = |name: &str| {
        let vanilla = &BARE[BARE.find("\"vanilla_proofs\"").unwrap()..BARE.find(",\"comm_r\"").unwrap()];
        format!("{{{vanilla},\"registered_proof\":\"{name}\"{}", &BARE[BARE.find(",\"comm_r\"").unwrap()..])
    };
    refused!(late("StackedDrg8MiBV1_1"), "$.registered_proof", C1Error::ShapeMismatch { .. });
    refused!(
        late("StackedDrg2KiBV1_2_Feat_NonInteractivePoRep"),
        "$.vanilla_proofs.StackedDrg2KiBV1",
        C1Error::Count { what: "partitions", expected: 13, found: 1, .. }
    );
    let context = StageContext::unlimited(StageName::Parse);
    parse(late("StackedDrg2KiBV1").as_bytes(), &Limits::default(), &Expected::default(), &context).unwrap();
}

#[test]
fn wrong_lengths() {
    let c = |below: &str| format!("{CHALLENGE}{below}");
    let path = "/data/Single/path/path";
    for (list, what, expected) in [
        (SHAPE.to_owned(), "partitions", 1),
        (format!("{SHAPE}/0"), "challenges", 2),
        (c(&format!("/comm_d_proofs{path}")), "levels of the path", 6),
        (c(&format!("/comm_r_last_proof{path}")), "levels of the path", 2),
        (c(&format!("/comm_d_proofs{path}/3/hashes")), "sibling hashes", 1),
        (c(&format!("/comm_r_last_proof{path}/1/hashes")), "sibling hashes", 7),
        (c("/replica_column_proofs/drg_parents"), "parents of the same layer", 6),
        (c("/replica_column_proofs/exp_parents"), "parents of the layer below", 8),
        (c("/replica_column_proofs/c_x/column/rows"), "layers of labels", 2),
        (c("/replica_column_proofs/exp_parents/7/column/rows"), "layers of labels", 2),
        (c("/labeling_proofs"), "layers of labels", 2),
        (c("/labeling_proofs/1/parents"), "parent labels", 37),
        (c("/encoding_proof/parents"), "parent labels", 37),
        ("/comm_r".to_owned(), "bytes", 32),
        (c("/encoding_proof/parents/36"), "bytes", 32),
        ("/ticket".to_owned(), "bytes", 32),
    ] {
        for by in [-1, 1] {
            let error = refuse(resize(&list, by));
            match &error {
                C1Error::Count { what: w, expected: e, found, .. } => {
                    assert_eq!((*w, *e, *found as i64), (what, expected, expected as i64 + i64::from(by)), "{error}");
                }
                // The layer number of the extra labelling is looked at before the list is known to be too long.
                _ => panic!("{list}: {error}"),
            }
            at(&error, &path_of(&list));
        }
    }
    refused!(set(SHAPE, json!([])), path_of(SHAPE), C1Error::Count { expected: 1, found: 0, .. });
}

#[test]
fn numbers_out_of_range_or_at_odds() {
    let c = |below: &str| format!("{CHALLENGE}{below}");
    for (pointer, to, limit) in [
        (c("/comm_d_proofs/data/Single/path/path/0/index"), 2u64, 2),
        (c("/comm_r_last_proof/data/Single/path/path/1/index"), 8, 8),
        (c("/replica_column_proofs/drg_parents/2/column/index"), 64, 64),
        (c("/labeling_proofs/0/node"), u64::MAX, 64),
    ] {
        refused!(set(&pointer, json!(to)), path_of(&pointer), C1Error::OutOfRange { limit: l, found, .. } if (*l, *found) == (limit, to));
    }
    refused!(set("/seed/31", json!(256)), "$.seed[31]", C1Error::OutOfRange { what: "a byte", limit: 256, found: 256, .. });

    let layer = c("/labeling_proofs/1/layer_index");
    refused!(set(&layer, json!(1)), path_of(&layer), C1Error::Inconsistent { what: "layer", expected: 2, found: 1, .. });
    let value: Value = serde_json::from_str(BARE).unwrap();
    let node = value.pointer(&c("/encoding_proof/node")).unwrap().as_u64().unwrap();
    for pointer in [c("/labeling_proofs/0/node"), c("/encoding_proof/node")] {
        let error = refuse(set(&pointer, json!(node ^ 1)));
        assert!(matches!(error, C1Error::Inconsistent { expected, found, .. } if (expected, found) == (node, node ^ 1)), "{error}");
        at(&error, &path_of(&pointer));
    }
    // A column whose number is not where its path leads.
    let column = c("/replica_column_proofs/c_x");
    let error = refuse(set(&format!("{column}/column/index"), json!(node ^ 1)));
    assert!(matches!(error, C1Error::Inconsistent { what: "a path to node", .. }), "{error}");
    at(&error, &format!("{}.inclusion_proof", path_of(&column)));
    let replica = c("/comm_r_last_proof/data/Single/path/path/0/index");
    refused!(
        set(&replica, json!((node % 8) ^ 1)),
        path_of(&c("/comm_r_last_proof")),
        C1Error::Inconsistent { expected, .. } if *expected == node
    );
}

#[test]
fn field_elements_are_canonical_and_raw_bytes_are_free() {
    // The modulus itself, least significant byte first.
    let mut bytes: Vec<u8> = vec![0x01, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xfe, 0x5b, 0xfe, 0xff, 0x02, 0xa4, 0xbd, 0x53];
    bytes.extend([0x05, 0xd8, 0xa1, 0x09, 0x08, 0xd8, 0x39, 0x33, 0x48, 0x7d, 0x9d, 0x29, 0x53, 0xa7, 0xed, 0x73]);
    let mut below = bytes.clone();
    below[0] = 0;
    let c = |below: &str| format!("{CHALLENGE}{below}");
    let context = StageContext::unlimited(StageName::Parse);
    for pointer in [
        "/comm_r".to_owned(),
        "/comm_d".to_owned(),
        "/replica_id".to_owned(),
        c("/comm_d_proofs/data/Single/root"),
        c("/comm_d_proofs/data/Single/leaf"),
        c("/comm_d_proofs/data/Single/path/path/5/hashes/0"),
        c("/comm_r_last_proof/data/Single/path/path/1/hashes/6"),
        c("/replica_column_proofs/c_x/column/rows/1"),
        c("/replica_column_proofs/drg_parents/5/inclusion_proof/data/Single/root"),
        c("/labeling_proofs/0/parents/36"),
        c("/encoding_proof/parents/0"),
    ] {
        for bad in [json!(bytes), json!(vec![255u8; 32])] {
            refused!(set(&pointer, bad), path_of(&pointer), C1Error::NotCanonical { found, .. } if found.len() == 64);
        }
        parse(set(&pointer, json!(below)).as_bytes(), &Limits::default(), &Expected::default(), &context).unwrap();
    }
    for pointer in ["/seed", "/ticket"] {
        parse(set(pointer, json!(vec![255u8; 32])).as_bytes(), &Limits::default(), &Expected::default(), &context).unwrap();
    }
}

#[test]
fn numbers_that_are_not_plain_integers() {
    let first = BARE.find("\"comm_r\":[").unwrap() + "\"comm_r\":[".len();
    let with = |text: &str| format!("{}{text}{}", &BARE[..first], &BARE[BARE[first..].find(',').unwrap() + first..]);
    for (text, found_text) in [
        ("-1", "a negative number"),
        ("01", "a number with a leading zero"),
        ("1.5", "a fraction"),
        ("1e1", "a fraction"),
        ("\"1\"", "a string"),
        ("null", "null"),
        ("true", "a boolean"),
        ("18446744073709551616", "a larger number"),
        ("[1]", "an array"),
        ("", "`,`"),
    ] {
        refused!(with(text), "$.comm_r[0]", C1Error::Syntax { at, found, .. } if at.offset == first as u64 && found == found_text);
    }
}

/// Removes and doubles every field of every object in turn.
#[test]
fn every_field_must_be_there_once() {
    fn visit(value: &Value, pointer: &str, found: &mut Vec<(String, String)>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    found.push((pointer.to_owned(), name.clone()));
                    visit(value, &format!("{pointer}/{name}"), found);
                }
            }
            // The items of a list are alike.
            Value::Array(items) => {
                if let Some(last) = items.last() {
                    visit(last, &format!("{pointer}/{}", items.len() - 1), found);
                }
            }
            _ => {}
        }
    }
    let value: Value = serde_json::from_str(BARE).unwrap();
    let mut fields = Vec::new();
    visit(&value, "", &mut fields);
    assert!(fields.len() > 60, "{}", fields.len());
    for (pointer, name) in fields {
        let without = edited(|value| {
            value.pointer_mut(&pointer).unwrap().as_object_mut().unwrap().remove(&name).unwrap();
        });
        let enumeration = name == "Single" || name.starts_with("StackedDrg");
        if name == "_h" {
            // A marker without content; files that lack it say the same.
            parse(without.as_bytes(), &Limits::default(), &Expected::default(), &StageContext::unlimited(StageName::Parse)).unwrap();
        } else if enumeration {
            refused!(without, path_of(&pointer), C1Error::Syntax { .. });
        } else {
            refused!(without, path_of(&pointer), C1Error::MissingField { field, .. } if *field == name);
        }

        let unique = "\u{1f300}";
        let doubled = edited(|value| {
            let fields = value.pointer_mut(&pointer).unwrap().as_object_mut().unwrap();
            let copy = fields[&name].clone();
            fields.insert(unique.to_owned(), copy);
        })
        .replace(&format!("\"{unique}\""), &format!("\"{name}\""));
        if enumeration {
            refused!(doubled, path_of(&pointer), C1Error::Syntax { expected: "`}` after the only field", .. });
        } else {
            refused!(doubled, format!("{}.{name}", path_of(&pointer)), C1Error::DuplicateField { .. });
        }
    }
}

#[test]
fn another_kind_of_inclusion_proof() {
    let pointer = format!("{CHALLENGE}/comm_r_last_proof/data");
    for kind in ["Sub", "Top"] {
        let text = set(&pointer, json!({kind: {}}));
        refused!(text, format!("{}.{kind}", path_of(&pointer)), C1Error::ProofKind { expected: "Single", found, .. } if *found == kind);
    }
    refused!(set(&pointer, json!({"Double": {}})), path_of(&pointer), C1Error::UnknownName { .. });
}

#[test]
fn wrappers() {
    let number = Expected { sector_number: Some(2), ..Expected::default() };
    let error = refuse_with(WRAPPED.as_bytes(), &Limits::default(), &number);
    assert!(matches!(error, C1Error::WrongSectorNumber { authority: Authority::Caller, expected: 2, found: 1, .. }), "{error}");
    at(&error, "$.SectorNum");
    let size = Expected { sector_size: Some(32 << 30), ..Expected::default() };
    let error = refuse_with(WRAPPED.as_bytes(), &Limits::default(), &size);
    assert!(matches!(error, C1Error::WrongSectorSize { authority: Authority::Caller, found: 2048, .. }), "{error}");
    at(&error, "$.registered_proof");
    assert_eq!(error.location().unwrap().document, Document::Phase1Out);
    let proof = Expected { seal_proof: SealProof::from_name("StackedDrg2KiBV1"), ..Expected::default() };
    for text in [WRAPPED, BARE] {
        let error = refuse_with(text.as_bytes(), &Limits::default(), &proof);
        assert!(matches!(error, C1Error::WrongSealProof { .. }), "{error}");
    }
    refused!(
        WRAPPED.replacen("\"SectorSize\":2048", "\"SectorSize\":8388608", 1),
        "$.SectorSize",
        C1Error::WrongSectorSize { authority: Authority::SealProof, expected: 2048, found: 8_388_608, .. }
    );
    refused!("{\"SectorNum\":1,\"SectorSize\":2048}", "$", C1Error::MissingField { field: "Phase1Out", .. });
    for field in ["SectorNum", "SectorSize"] {
        refused!(WRAPPED.replacen(field, "Other", 1), "$", C1Error::MissingField { field: f, .. } if *f == field);
    }
    refused!(WRAPPED.replacen('{', "{\"SectorSize\":2048,", 1), "$.SectorSize", C1Error::DuplicateField { .. });
    refused!(WRAPPED.replacen('{', "{\"comm_r\":[],", 1), "$.comm_r", C1Error::Count { .. });
    refused!(WRAPPED.replacen("\"SectorSize\"", "\"seed\":[],\"SectorSize\"", 1), "$.seed", C1Error::UnknownName { .. });
    refused!(WRAPPED.replacen(":1,", ":-1,", 1), "$.SectorNum", C1Error::Syntax { .. });
    refused!(format!("{WRAPPED}]"), "$", C1Error::TrailingData { .. });

    let error = refuse(wrap(&format!("{BARE}!")));
    assert!(matches!(error, C1Error::TrailingData { .. }), "{error}");
    assert_eq!(error.location().unwrap().document, Document::Phase1Out);
    assert!(error.to_string().contains("of the decoded Phase1Out"), "{error}");
    assert!(matches!(refuse(wrap("")), C1Error::UnexpectedEnd { at, .. } if at.document == Document::Phase1Out));
    assert!(matches!(refuse(wrap("nonsense")), C1Error::Syntax { at, .. } if at.document == Document::Phase1Out && at.offset == 0));
    refused!(wrap("").replacen("\"\"", "null", 1), "$.Phase1Out", C1Error::Syntax { expected: "a string of base64", .. });
}

#[test]
fn base64() {
    // One byte more than a multiple of three, so that there is padding.
    let file = wrap(&format!("{BARE} "));
    let start = file.find("\"Phase1Out\":\"").unwrap() + "\"Phase1Out\":\"".len();
    let end = file.rfind("\",\"SectorNum\"").unwrap();
    assert!(file[start..end].ends_with("=="));
    // A bad character is found at its own offset wherever it is: in the first groups, in the bulk, in the last group.
    for offset in [start, start + 1, start + 7, start + 50_001, start + 65_536, end - 7, end - 5] {
        for bad in ["!", " ", "\n", "-", "_", "=", "\u{7f}", "\u{e9}", "\\n", "\\u00e9"] {
            let text = format!("{}{bad}{}", &file[..offset], &file[offset + 1..]);
            refused!(text, "$.Phase1Out", C1Error::Base64 { at, .. } if at.offset == offset as u64);
        }
    }
    let inside = |text: &str| format!("{}{text}{}", &file[..start], &file[end..]);
    let good = &file[start..end];
    let padding = good.len() - good.trim_end_matches('=').len();
    for bad in [good.trim_end_matches('=').to_owned(), format!("{good}="), format!("{good}===="), format!("{good}A"), format!("{good}AAAA")]
    {
        let error = refuse(inside(&bad));
        assert!(matches!(error, C1Error::Base64 { .. }), "{error}");
        at(&error, "$.Phase1Out");
    }
    // Bits that no byte uses must be zero.
    let last = good.len() - padding - 1;
    let stray = format!("{}{}{}", &good[..last], char::from(good.as_bytes()[last] + 1), &good[last + 1..]);
    assert!(matches!(refuse(inside(&stray)), C1Error::Base64 { .. }));
    // JSON may write any character as an escape.
    let escaped = good.replace('=', "\\u003d").replace('/', "\\/").replacen('y', "\\u0079", 3);
    parse(inside(&escaped).as_bytes(), &Limits::default(), &Expected::default(), &StageContext::unlimited(StageName::Parse)).unwrap();
}

#[test]
fn limits() {
    let limit = |limits: Limits, text: &str| refuse_with(text.as_bytes(), &limits, &Expected::default());
    let named = |error: &C1Error, name: &str, max: u64| {
        assert!(matches!(error, C1Error::Limit { limit, max: m, .. } if *limit == name && *m == max), "{error}");
    };
    let d = Limits::default();
    let exact = Limits { max_input_bytes: BARE.len() as u64, ..d };
    let context = StageContext::unlimited(StageName::Parse);
    parse(BARE.as_bytes(), &exact, &Expected::default(), &context).unwrap();
    parse_reader(BARE.as_bytes(), &exact, &Expected::default(), &context).unwrap();
    let small = Limits { max_input_bytes: BARE.len() as u64 - 1, ..d };
    assert!(matches!(limit(small, BARE), C1Error::TooLarge { at_least: false, .. }));
    assert!(matches!(parse_reader(BARE.as_bytes(), &small, &Expected::default(), &context), Err(C1Error::TooLarge { at_least: true, .. })));
    named(&limit(Limits { max_decoded_bytes: 10_000, ..d }, BARE), "max_decoded_bytes", 10_000);
    named(&limit(Limits { max_partitions: 0, ..d }, BARE), "max_partitions", 0);
    named(&limit(Limits { max_depth: 10, ..d }, BARE), "max_depth", 10);
    parse(BARE.as_bytes(), &Limits { max_depth: 16, ..d }, &Expected::default(), &context).unwrap();

    let extra = |value: &str| BARE.replacen('{', &format!("{{\"extra\":{value},"), 1);
    parse(extra("[{\"a\":[1,-2.5e+3,true,false,null,\"x\\n\"]},[],{}]").as_bytes(), &d, &Expected::default(), &context).unwrap();
    let deep = |depth: usize| extra(&format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
    parse(deep(32).as_bytes(), &d, &Expected::default(), &context).unwrap();
    named(&limit(d, &deep(33)), "max_depth", 32);
    named(&limit(d, &extra(&"[".repeat(100_000))), "max_depth", 32);
    named(&limit(d, &extra(&format!("\"{}\"", "x".repeat(1025)))), "max_string_bytes", 1024);
    named(&limit(d, &extra(&format!("[{}0]", "0,".repeat(40_000)))), "max_ignored_bytes", 64 << 10);
    named(&limit(Limits { max_ignored_fields: 1, ..d }, &extra("1,\"other\":2")), "max_ignored_fields", 1);
    named(&limit(d, &set("/registered_proof", json!("x".repeat(2000)))), "max_string_bytes", 1024);
}

#[test]
fn memory_and_cancellation() {
    let parse_in = |budget, cancel: Cancel| {
        let ledger = Ledger::new(&[(Space::Host, budget)]);
        let context = StageContext::new(ledger.clone(), StageName::Parse, cancel);
        let result = parse(WRAPPED.as_bytes(), &Limits::default(), &Expected::default(), &context);
        if result.is_err() {
            assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
        }
        result
    };
    let error = parse_in(1000, Cancel::never()).unwrap_err();
    assert!(matches!(error, C1Error::Memory(AcquireError::ExceedsBudget { .. })), "{error}");
    assert_eq!(error.class(), ErrorClass::Fatal);
    let cancel = Cancel::new();
    cancel.cancel();
    let error = parse_in(1 << 30, cancel).unwrap_err();
    assert!(matches!(error, C1Error::Cancelled { .. }), "{error}");
    assert_eq!(error.class(), ErrorClass::Cancelled);
    // The exact size is enough.
    let owned: u64 = parse_in(1 << 30, Cancel::never()).unwrap().partitions.iter().map(pipeline_stage::Lease::bytes).sum();
    parse_in(owned, Cancel::never()).unwrap();
    assert!(matches!(parse_in(owned - 1, Cancel::never()), Err(C1Error::Memory(_))));
}

#[test]
fn a_reader_that_fails() {
    struct Fails(usize);
    impl std::io::Read for Fails {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            if self.0 >= BARE.len() / 2 {
                return Err(std::io::Error::other("the disk is gone"));
            }
            let count = (BARE.len() / 2 - self.0).min(out.len());
            out[..count].copy_from_slice(&BARE.as_bytes()[self.0..self.0 + count]);
            self.0 += count;
            Ok(count)
        }
    }
    let ledger = Ledger::new(&[(Space::Host, 1 << 30)]);
    let context = StageContext::new(ledger.clone(), StageName::Parse, Cancel::never());
    let error = parse_reader(Fails(0), &Limits::default(), &Expected::default(), &context).unwrap_err();
    assert!(matches!(&error, C1Error::Read { offset, .. } if *offset == BARE.len() as u64 / 2), "{error}");
    assert!(error.to_string().contains("the disk is gone"));
    assert_eq!(ledger.snapshot().in_use(Space::Host), 0);
}
