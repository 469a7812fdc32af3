//! `params`: proving parameters made, checked, imported, exported, listed.

use std::path::{Path, PathBuf};

use c1_parse::SectorSize;
use groth16_srs::{Digest, ImportChecks, KeyInfo, Origin, Progress, ProvingKey, export_to, import};
use pipeline_stage::StageName;
use serde_json::{Value as Json, json};

use crate::cli::ParamsCommand;
use crate::config::{Bytes, Config};
use crate::exit::{Exit, Failure};
use crate::input::parse_digest;
use crate::output::{Bar, OutFile, Report, Table, create_folder};
use crate::session::Session;
use crate::store::{self, KeyRequest, Listed};

/// Carries out what needs memory and threads; listing does not.
///
/// # Errors
/// Each command's own.
pub(crate) fn run(command: ParamsCommand, session: &Session<'_>) -> Result<Report, Failure> {
    match command {
        ParamsCommand::Setup { circuit, seed, force } => set_up(circuit.sector_size, KeyRequest { seed, replace: force }, session),
        ParamsCommand::Check { file, sector_size, points } => check(file, sector_size, points, session),
        ParamsCommand::Import { file, circuit, digest, without_digest, points, force } => {
            let vouched = if without_digest { None } else { Some(expected_digest(circuit.sector_size, digest)?) };
            let checks = match vouched {
                None => ImportChecks::Full,
                Some(digest) if points => ImportChecks::FullAndDigest(digest),
                Some(digest) => ImportChecks::DigestInsteadOfSubgroup(digest),
            };
            import_official(&file, circuit.sector_size, checks, force, session)
        }
        ParamsCommand::Export { file, circuit, verifying_key } => export(&file, circuit.sector_size, verifying_key, session),
        ParamsCommand::List => list(session.config),
    }
}

fn hear(bar: &Bar) -> impl FnMut(Progress) + '_ {
    |progress| {
        bar.step(progress.step);
        bar.set(progress.done, progress.total);
    }
}

fn set_up(size: SectorSize, request: KeyRequest, session: &Session<'_>) -> Result<Report, Failure> {
    let circuit = store::open_or_compile(session, size)?;
    let wanted = store::wanted(&circuit)?;
    let path = store::key_path(session, &wanted)?;
    if wanted.counts.is_production_size() && !session.config.accept_development_parameters.value {
        return Err(Failure::new(
            Exit::Usage,
            format!(
                "development parameters for sectors of {size} are worthless on a real network: import the official ones, or give \
                 --accept-development-parameters for tests"
            ),
        ));
    }
    if !request.replace && path.exists() {
        return Err(Failure::new(
            Exit::CannotCreate,
            format!(
                "{}: these parameters are there already; proofs made with them no longer verify once they are replaced: give --force to do so",
                path.display()
            ),
        ));
    }
    store::set_up(session, &circuit, &wanted, &path, request)?;
    let info = ProvingKey::inspect(&path).map_err(|error| Failure::from_part("proving parameters", &error, Exit::Internal))?;
    Ok(Report::new(format!("{}\n", path.display()), key_fields(&path, &info)))
}

fn key_fields(path: &Path, info: &KeyInfo) -> Json {
    json!({
        "file": path.display().to_string(),
        "circuit": info.circuit.identity.name(),
        "circuit_hash": hex::encode(info.circuit.identity.hash()),
        "origin": info.origin.to_string(),
        "official": info.origin.is_official(),
        "bytes": info.file_bytes,
    })
}

/// Every key, usable or not.
///
/// # Errors
/// What reading the folder gives.
pub(crate) fn list(config: &Config) -> Result<Report, Failure> {
    let folder = config.params_dir()?;
    let listed = store::list_keys(folder)?;
    let mut table = Table::new(["parameters", "circuit", "origin", "size"]);
    let mut entries = Vec::new();
    for Listed { path, found } in &listed {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        match found {
            Ok(info) => {
                table.row([name, info.circuit.identity.name().to_owned(), short_origin(info.origin), Bytes(info.file_bytes).to_string()]);
                entries.push(key_fields(path, info));
            }
            Err(problem) => {
                table.row([name, "unusable".to_owned(), problem.clone(), "-".to_owned()]);
                entries.push(json!({ "file": path.display().to_string(), "problem": problem }));
            }
        }
    }
    let text =
        if table.is_empty() { format!("no parameters in {}\n", folder.display()) } else { format!("{}:\n{table}", folder.display()) };
    Ok(Report::new(text, json!({ "folder": folder.display().to_string(), "parameters": entries })))
}

/// The origin in a word or two, for tables.
pub(crate) fn short_origin(origin: Origin) -> String {
    match origin {
        Origin::Development(_) => "development".to_owned(),
        Origin::Official { digest } => format!("official {digest}"),
        Origin::Imported { digest } => format!("unvouched {digest}"),
    }
}

fn check(file: Option<PathBuf>, size: Option<SectorSize>, points: bool, session: &Session<'_>) -> Result<Report, Failure> {
    let paths = match (file, size) {
        (Some(file), _) => vec![file],
        (None, Some(size)) => vec![store::stored_key(session, size)?.path().to_owned()],
        (None, None) => store::list_keys(session.config.params_dir()?)?.into_iter().map(|listed| listed.path).collect(),
    };
    let (mut text, mut entries, mut failures) = (String::new(), Vec::new(), Vec::new());
    for path in paths {
        match check_one(&path, points, session) {
            Ok(()) => {
                text.push_str(&format!("{}: sound\n", path.display()));
                entries.push(json!({ "file": path.display().to_string(), "sound": true }));
            }
            Err(failure) if failure.cancelled => return Err(failure),
            Err(failure) => {
                entries.push(json!({ "file": path.display().to_string(), "sound": false, "problem": failure.message }));
                failures.push(failure);
            }
        }
    }
    if entries.is_empty() {
        text = format!("no parameters in {}\n", session.config.params_dir()?.display());
    }
    let mut report = Report::new(text, json!({ "parameters": entries, "points_checked": points }));
    report.failures = failures;
    Ok(report)
}

fn check_one(path: &Path, points: bool, session: &Session<'_>) -> Result<(), Failure> {
    let context = session.context(StageName::Setup);
    let part = |error| Failure::from_part("parameters", &error, Exit::Data);
    let key = ProvingKey::open_any(path, &context).map_err(part)?;
    let bar = session.bars.bytes("check");
    key.verify_checksums(&mut hear(&bar), &context).map_err(part)?;
    if points {
        key.verify_points(&mut hear(&bar), &context).map_err(part)?;
    }
    Ok(())
}

/// The digest that an official file of this circuit must have.
fn expected_digest(size: SectorSize, given: Option<Digest>) -> Result<Digest, Failure> {
    if let Some(digest) = given {
        return Ok(digest);
    }
    let identity = filecoin_circuits::identity(store::seal_proof_of(size))
        .map_err(|error| Failure::from_part(format!("circuit of {size}"), &error, Exit::Internal))?;
    let published = identity.params.digest.and_then(|digest| parse_digest(digest).ok());
    published.ok_or_else(|| {
        Failure::new(
            Exit::Usage,
            format!(
                "no digest of {} is known: give --digest, or --without-digest to import a file that nobody vouches for",
                identity.params.name
            ),
        )
    })
}

fn import_official(file: &Path, size: SectorSize, checks: ImportChecks, force: bool, session: &Session<'_>) -> Result<Report, Failure> {
    // A file that is not there is told before the circuit is compiled.
    std::fs::File::open(file).map_err(|error| Failure::reading(file, &error))?;
    let circuit = store::open_or_compile(session, size)?;
    let wanted = store::wanted(&circuit)?;
    let path = store::key_path(session, &wanted)?;
    let folder = session.config.params_dir()?;
    create_folder(folder)?;
    let _lock = store::lock_folder(session, folder)?;
    if !force && path.exists() {
        return Err(Failure::new(
            Exit::CannotCreate,
            format!("{}: parameters are there already: give --force to replace them", path.display()),
        ));
    }
    let bar = session.bars.bytes("import");
    import(file, &wanted, checks, &path, &mut hear(&bar), &session.context(StageName::Setup))
        .map_err(|error| Failure::from_part("import", &error, Exit::Data))?;
    let info = ProvingKey::inspect(&path).map_err(|error| Failure::from_part("proving parameters", &error, Exit::Internal))?;
    Ok(Report::new(format!("{}: {}\n", path.display(), info.origin), key_fields(&path, &info)))
}

fn export(file: &Path, size: SectorSize, verifying_key: bool, session: &Session<'_>) -> Result<Report, Failure> {
    let key = store::stored_key(session, size)?;
    if verifying_key {
        let out = OutFile::create(file)?;
        out.commit(&key.verifying_key().to_bytes())?;
        return Ok(Report::new(format!("{}\n", file.display()), json!({ "file": file.display().to_string(), "kind": "verifying_key" })));
    }
    let bar = session.bars.bytes("export");
    let digest = export_to(&key, file, &mut hear(&bar), &session.context(StageName::Setup))
        .map_err(|error| Failure::from_part("export", &error, Exit::Io))?;
    Ok(Report::new(
        format!("{}: digest {digest}\n", file.display()),
        json!({ "file": file.display().to_string(), "kind": "parameters", "digest": digest.to_string() }),
    ))
}
