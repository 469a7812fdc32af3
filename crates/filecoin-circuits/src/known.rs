//! The sizes of the official circuits, known without compiling them.

use c1_parse::SectorSize;

use crate::identity::circuit_name;

/// The sizes of a circuit. All seal proofs of a sector size share one circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownCircuit {
    /// Our name.
    pub name: &'static str,
    /// Public inputs of a partition, ONE included.
    pub inputs: u64,
    /// Auxiliary variables.
    pub auxiliary: u64,
    /// Constraints, without the rows of the inputs.
    pub constraints: u64,
    /// Variables of the A query: all inputs, then the auxiliary variables that A uses.
    pub a_query: u64,
    /// Variables of the B query: those that B uses.
    pub b_query: u64,
    /// Bytes of the compiled circuit.
    pub compiled_bytes: u64,
}

/// What compiling the circuit of a sector size gives, for those who plan before they compile. Whoever has the compiled circuit asks it instead.
#[must_use]
pub fn known_circuit(size: SectorSize) -> KnownCircuit {
    let [inputs, auxiliary, constraints, a_query, b_query, compiled_bytes] = match size {
        SectorSize::KiB2 => [40, 2_685_673, 2_687_921, 2_674_948, 685_522, 45_841_032],
        SectorSize::MiB8 => [40, 3_842_449, 3_844_929, 3_815_036, 1_011_290, 65_816_472],
        SectorSize::MiB512 => [40, 4_420_837, 4_423_433, 4_385_080, 1_174_174, 75_803_808],
        SectorSize::GiB32 => [328, 130_169_893, 130_278_541, 129_753_620, 33_112_282, 2_215_145_296],
        SectorSize::GiB64 => [328, 131_076_643, 131_185_849, 130_637_870, 33_386_944, 2_231_203_824],
    };
    KnownCircuit { name: circuit_name(size), inputs, auxiliary, constraints, a_query, b_query, compiled_bytes }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// What bellperson recorded of the blank circuits.
    #[test]
    fn sizes_are_those_of_the_library() {
        for size in SectorSize::ALL.into_iter().filter(|size| *size != SectorSize::GiB64) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../bench-data/shapes/porep-{}.json", size.bytes()));
            let shape: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            let number = |key: &str| shape[key].as_u64().unwrap();
            let known = known_circuit(size);
            assert_eq!((known.auxiliary, known.constraints), (number("aux"), number("constraints_circuit")), "{size}");
            assert_eq!(known.inputs, number("constraints_total_incl_input_rows") - number("constraints_circuit"), "{size}");
            assert_eq!(known.a_query, known.inputs + number("a_aux_density"), "{size}");
            assert_eq!(known.b_query, number("b_input_density") + number("b_aux_density"), "{size}");
        }
    }

    /// The lengths of the published parameter files, which follow from the sizes.
    #[test]
    fn sizes_fit_the_official_parameters() {
        let published = [1_114_707_768, 1_429_027_896, 1_988_841_144, 47_373_928_632, 47_624_967_288];
        for (size, bytes) in SectorSize::ALL.into_iter().zip(published) {
            let known = known_circuit(size);
            let h = (known.constraints + known.inputs).next_power_of_two() - 1;
            let g1 = 3 + known.inputs + h + known.auxiliary + known.a_query + known.b_query;
            assert_eq!(96 * g1 + 192 * (3 + known.b_query) + 6 * 4, bytes, "{size}");
        }
    }
}
