//! The labels of the prover's ledger.

use buffer_accounting::labels;

labels! {
    /// What a large buffer is.
    pub enum Class {
        /// C1 bytes and the vanilla proofs decoded from them.
        VanillaProof => "vanilla_proof",
        /// Compact witnesses.
        Witness => "witness",
        /// A·w, B·w, C·w over the domain, and their transforms.
        Evaluations => "evaluations",
        /// Coefficients of the quotient polynomial h.
        HPoly => "h_poly",
        /// Twiddles and other scratch of a transform.
        NttScratch => "ntt_scratch",
        /// Sections of proving keys.
        SrsSection => "srs_section",
        /// Buckets and scratch of multi-scalar multiplications.
        MsmBuckets => "msm_buckets",
        /// Compiled circuits.
        CompiledCircuit => "compiled_circuit",
        /// Bounce buffers between files, host and device.
        Staging => "staging",
        /// Proofs of partitions that wait for their siblings.
        PartialProof => "partial_proof",
        /// Slabs that wait for their next user.
        Idle => "idle",
        /// Bytes set aside for a stage whose buffers are not made yet.
        Reserved => "reserved",
    }
}

labels! {
    /// Who holds a buffer: a stage, or the queue in front of one.
    pub enum StageName {
        /// In front of parsing.
        QueuedParse => "queued_parse",
        /// Bytes to vanilla proofs.
        Parse => "parse",
        /// In front of synthesis.
        QueuedSynth => "queued_synth",
        /// Vanilla proof to compact witness.
        Synth => "synth",
        /// In front of the transforms.
        QueuedNtt => "queued_ntt",
        /// Witness to h coefficients.
        Ntt => "ntt",
        /// In front of the sums.
        QueuedMsm => "queued_msm",
        /// The multi-scalar multiplications.
        Msm => "msm",
        /// In front of finalisation.
        QueuedFinalize => "queued_finalize",
        /// Blinding, encoding, verification, partition order.
        Finalize => "finalize",
        /// Set-up, compilation and loading of keys, outside any job.
        Setup => "setup",
    }
}
