//! Structurally valid C1 files of any shape, with random canonical digests. Written from the format's description, not with the crate's types.

#![allow(dead_code, reason = "each test binary uses a part")]

use std::io::Write;

use c1_parse::SealProof;

/// What the digests are.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Digests {
    /// Random field elements.
    Random,
    /// Zeros, which make the shortest file.
    Zero,
}

struct Shape {
    data_levels: usize,
    base_levels: usize,
    sub: u64,
    top: u64,
    layers: usize,
    challenges: usize,
}

/// Writes the bare document.
pub(crate) fn c1(out: &mut impl Write, proof: SealProof, digests: Digests, seed: u64) {
    let name = proof.name();
    let has = |size: &str| name.starts_with(&format!("StackedDrg{size}V1"));
    let (data_levels, base_levels, sub, top) = if has("2KiB") {
        (6, 2, 0, 0)
    } else if has("8MiB") {
        (18, 6, 0, 0)
    } else if has("512MiB") {
        (24, 8, 0, 0)
    } else if has("32GiB") {
        (30, 9, 8, 0)
    } else {
        (31, 9, 8, 2)
    };
    let production = sub > 0;
    let partitions = match (production, name.ends_with("NonInteractivePoRep")) {
        (false, false) => 1,
        (false, true) => 13,
        (true, false) => 10,
        (true, true) => 126,
    };
    let shape =
        Shape { data_levels, base_levels, sub, top, layers: if production { 11 } else { 2 }, challenges: if production { 18 } else { 2 } };
    let key = &name[..name.find("V1").unwrap() + 2];
    let mut writer = Writer { out, digests, state: seed.max(1), line: Vec::new() };
    writer.text(&format!(r#"{{"registered_proof":"{name}","vanilla_proofs":{{"{key}":"#));
    writer.list(partitions, |w, _| w.list(shape.challenges, |w, _| w.challenge(&shape)));
    writer.text("}");
    for field in ["comm_r", "comm_d", "replica_id", "seed", "ticket"] {
        writer.text(&format!(r#","{field}":"#));
        writer.digest();
    }
    writer.text("}");
}

/// Writes the document in a wrapper.
pub(crate) fn wrapped(out: &mut impl Write, proof: SealProof, sector: u64, seed: u64) {
    write!(out, r#"{{"SectorNum":{sector},"Phase1Out":""#).unwrap();
    {
        let engine = &base64::engine::general_purpose::STANDARD;
        let mut encoder = base64::write::EncoderWriter::new(&mut *out, engine);
        c1(&mut encoder, proof, Digests::Random, seed);
        encoder.finish().unwrap();
    }
    write!(out, r#"","SectorSize":{}}}"#, proof.sector_size.bytes()).unwrap();
}

struct Writer<'a, W> {
    out: &'a mut W,
    digests: Digests,
    state: u64,
    line: Vec<u8>,
}

impl<W: Write> Writer<'_, W> {
    fn text(&mut self, text: &str) {
        self.out.write_all(text.as_bytes()).unwrap();
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn list(&mut self, count: usize, mut each: impl FnMut(&mut Self, usize)) {
        for i in 0..count {
            self.text(if i == 0 { "[" } else { "," });
            each(self, i);
        }
        self.text("]");
    }

    fn digest(&mut self) {
        let mut bytes = [0u8; 32];
        if self.digests == Digests::Random {
            for chunk in bytes.chunks_mut(8) {
                chunk.copy_from_slice(&self.random().to_le_bytes());
            }
            bytes[31] %= 0x73;
        }
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        for (i, byte) in bytes.into_iter().enumerate() {
            line.push(if i == 0 { b'[' } else { b',' });
            if byte >= 100 {
                line.push(b'0' + byte / 100);
            }
            if byte >= 10 {
                line.push(b'0' + byte / 10 % 10);
            }
            line.push(b'0' + byte % 10);
        }
        line.push(b']');
        self.out.write_all(&line).unwrap();
        self.line = line;
    }

    fn path(&mut self, arity: u64, levels: usize, node: &mut u64) {
        self.text(r#"{"path":"#);
        self.list(levels, |w, _| {
            w.text(r#"{"hashes":"#);
            w.list(arity as usize - 1, |w, _| w.digest());
            let index = *node % arity;
            *node /= arity;
            w.text(&format!(r#","index":{index}}}"#));
        });
        self.text("}");
    }

    fn data_proof(&mut self, shape: &Shape, mut node: u64) {
        self.text(r#"{"data":{"Single":{"root":"#);
        self.digest();
        self.text(r#","leaf":"#);
        self.digest();
        self.text(r#","path":"#);
        self.path(2, shape.data_levels, &mut node);
        self.text("}}}");
    }

    fn tree_proof(&mut self, shape: &Shape, mut node: u64) {
        if shape.sub == 0 {
            self.text(r#"{"data":{"Single":{"root":"#);
            self.digest();
            self.text(r#","leaf":"#);
            self.digest();
            self.text(r#","path":"#);
            self.path(8, shape.base_levels, &mut node);
            self.text("}}}");
            return;
        }
        self.text(if shape.top == 0 { r#"{"data":{"Sub":{"base_proof":"# } else { r#"{"data":{"Top":{"base_proof":"# });
        self.path(8, shape.base_levels, &mut node);
        self.text(r#","sub_proof":"#);
        self.path(shape.sub, 1, &mut node);
        if shape.top > 0 {
            self.text(r#","top_proof":"#);
            self.path(shape.top, 1, &mut node);
        }
        self.text(r#","root":"#);
        self.digest();
        self.text(r#","leaf":"#);
        self.digest();
        self.text("}}}");
    }

    fn column_proof(&mut self, shape: &Shape, node: u64) {
        self.text(&format!(r#"{{"column":{{"index":{node},"rows":"#));
        self.list(shape.layers, |w, _| w.digest());
        self.text(r#","_h":null},"inclusion_proof":"#);
        self.tree_proof(shape, node);
        self.text("}");
    }

    fn labels(&mut self, layer: usize, node: u64) {
        self.text(r#"{"parents":"#);
        self.list(37, |w, _| w.digest());
        self.text(&format!(r#","layer_index":{layer},"node":{node}}}"#));
    }

    fn challenge(&mut self, shape: &Shape) {
        let nodes = 1u64 << shape.data_levels;
        let node = self.random() % nodes;
        self.text(r#"{"comm_d_proofs":"#);
        self.data_proof(shape, node);
        self.text(r#","comm_r_last_proof":"#);
        self.tree_proof(shape, node);
        self.text(r#","replica_column_proofs":{"c_x":"#);
        self.column_proof(shape, node);
        for (name, count) in [("drg_parents", 6), ("exp_parents", 8)] {
            self.text(&format!(r#","{name}":"#));
            self.list(count, |w, _| {
                let parent = w.random() % nodes;
                w.column_proof(shape, parent);
            });
        }
        self.text(r#"},"labeling_proofs":"#);
        self.list(shape.layers, |w, layer| w.labels(layer + 1, node));
        self.text(r#","encoding_proof":"#);
        self.labels(shape.layers, node);
        self.text("}");
    }
}
