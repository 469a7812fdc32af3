//! What the caller knows about a sector, and whether a C1 file is of that sector.

use std::str::FromStr;

use c1_parse::{C1, Expected, SectorSize};
use clap::Args;
use filecoin_circuits::Statement;

use crate::exit::{Exit, Failure};

/// Flags that say which sector is expected. A file of another sector is refused before anything costly.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Expected sector")]
pub(crate) struct SectorArgs {
    /// Refuse a C1 file of another miner, for instance 1000 or f01000
    #[arg(long, value_name = "ID")]
    pub(crate) miner_id: Option<MinerId>,
    /// Refuse a C1 file of another sector
    #[arg(long, value_name = "NUMBER")]
    pub(crate) sector_number: Option<u64>,
    /// Refuse a C1 file of another sector size: 2KiB, 8MiB, 512MiB, 32GiB or 64GiB
    #[arg(long, value_name = "SIZE", value_parser = parse_sector_size)]
    pub(crate) sector_size: Option<SectorSize>,
}

/// Reads a sector size, as `2KiB` or in bytes.
pub(crate) fn parse_sector_size(text: &str) -> Result<SectorSize, String> {
    let known = SectorSize::ALL.into_iter().find(|size| size.to_string() == text || size.bytes().to_string() == text);
    known.ok_or_else(|| format!("expected {}", SectorSize::ALL.map(|size| size.to_string()).join(", ")))
}

/// The number of a miner's identity address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MinerId(pub(crate) u64);

impl FromStr for MinerId {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.strip_prefix("f0").or_else(|| text.strip_prefix("t0")).unwrap_or(text);
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        match digits.parse() {
            Ok(id) if plain => Ok(Self(id)),
            _ => Err("expected a number, for instance 1000, f01000 or t01000".to_owned()),
        }
    }
}

impl SectorArgs {
    /// What the parser can compare by itself.
    pub(crate) fn expected(&self) -> Expected {
        Expected { sector_size: self.sector_size.map(SectorSize::bytes), sector_number: self.sector_number, ..Expected::default() }
    }

    /// Compares what only the replica id tells: the miner, and the sector number of a bare file.
    ///
    /// # Errors
    /// [`Exit::Data`] for another sector, [`Exit::Usage`] when what is known does not suffice to tell.
    pub(crate) fn check(&self, name: &str, c1: &C1) -> Result<(), Failure> {
        let number = c1.sector.map(|sector| sector.number).or(self.sector_number);
        match (self.miner_id, number) {
            (None, _) if self.sector_number.is_none() || c1.sector.is_some() => Ok(()),
            (None, _) => Err(Failure::new(
                Exit::Usage,
                format!(
                    "{name}: a bare C1 names no sector, so --sector-number can only be checked together with --miner-id: give both or none"
                ),
            )),
            (Some(_), None) => Err(Failure::new(
                Exit::Usage,
                format!(
                    "{name}: a bare C1 names no sector, so --miner-id can only be checked together with --sector-number: give both or none"
                ),
            )),
            (Some(miner), Some(number)) => {
                Statement::from(c1).check_sector(miner.0, number).map_err(|error| Failure::from_part(name, &error, Exit::Data))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn miners_and_sizes_are_read_exactly() {
        for text in ["1000", "f01000", "t01000"] {
            assert_eq!(text.parse(), Ok(MinerId(1000)));
        }
        for text in ["", "f0", "f1abc", "-1", "+1", "18446744073709551616", "1000 "] {
            assert!(text.parse::<MinerId>().is_err(), "{text:?}");
        }
        assert_eq!(parse_sector_size("2KiB"), Ok(SectorSize::KiB2));
        assert_eq!(parse_sector_size("34359738368"), Ok(SectorSize::GiB32));
        assert!(parse_sector_size("32 GiB").unwrap_err().contains("32GiB"));
    }
}
