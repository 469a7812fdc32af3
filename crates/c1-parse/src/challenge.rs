//! The proof of one challenge.

use crate::inclusion::inclusion_proof;
use crate::lexer::{Lexer, Step};
use crate::proof::{ChallengeProof, Column, ColumnProof, LabelingProof, ReplicaColumnProof};
use crate::{C1Error, DRG_PARENTS, Digest, EXP_PARENTS, LABELING_PARENTS, SectorSize};

/// One challenge of a sector of this size.
pub(crate) fn challenge_proof(lexer: &mut Lexer<'_>, size: SectorSize) -> Result<ChallengeProof, C1Error> {
    const FIELDS: &[&str] = &["comm_d_proofs", "comm_r_last_proof", "replica_column_proofs", "labeling_proofs", "encoding_proof"];
    let (mut data, mut replica, mut columns, mut labels, mut encoding) = (None, None, None, None, None);
    lexer.object(FIELDS, |lexer, field| {
        match field {
            0 => data = Some(inclusion_proof(lexer, size.data_tree())?),
            1 => replica = Some(inclusion_proof(lexer, size.tree())?),
            2 => columns = Some(replica_column_proof(lexer, size)?),
            3 => {
                let mut proofs = Vec::with_capacity(size.layers());
                lexer.array("layers of labels", size.layers(), |lexer, layer| {
                    proofs.push(labeling_proof(lexer, size, layer + 1)?);
                    Ok(())
                })?;
                labels = Some(proofs);
            }
            _ => encoding = Some(labeling_proof(lexer, size, size.layers())?),
        }
        Ok(())
    })?;
    let proof = ChallengeProof {
        comm_d_proofs: lexer.require(data, FIELDS[0])?,
        comm_r_last_proof: lexer.require(replica, FIELDS[1])?,
        replica_column_proofs: lexer.require(columns, FIELDS[2])?,
        labeling_proofs: lexer.require(labels, FIELDS[3])?,
        encoding_proof: lexer.require(encoding, FIELDS[4])?,
    };
    same_node(lexer, &proof)?;
    Ok(proof)
}

/// Everything in a challenge is about the node that the data path leads to.
fn same_node(lexer: &Lexer<'_>, proof: &ChallengeProof) -> Result<(), C1Error> {
    let node = proof.comm_d_proofs.leaf_index();
    let check = |steps: &[Step], what: &'static str, found: u64| {
        if found == node {
            return Ok(());
        }
        Err(C1Error::Inconsistent { at: lexer.below(lexer.offset(), steps), what, expected: node, found })
    };
    check(&[Step::Key("comm_r_last_proof")], "a path to node", proof.comm_r_last_proof.leaf_index())?;
    let column = [Step::Key("replica_column_proofs"), Step::Key("c_x"), Step::Key("column"), Step::Key("index")];
    check(&column, "node", u64::from(proof.replica_column_proofs.c_x.column.index))?;
    for (i, labeling) in proof.labeling_proofs.iter().enumerate() {
        check(&[Step::Key("labeling_proofs"), Step::Index(i), Step::Key("node")], "node", labeling.node)?;
    }
    check(&[Step::Key("encoding_proof"), Step::Key("node")], "node", proof.encoding_proof.node)
}

fn replica_column_proof(lexer: &mut Lexer<'_>, size: SectorSize) -> Result<ReplicaColumnProof, C1Error> {
    const FIELDS: &[&str] = &["c_x", "drg_parents", "exp_parents"];
    let (mut own, mut drg, mut exp) = (None, None, None);
    lexer.object(FIELDS, |lexer, field| {
        match field {
            0 => own = Some(column_proof(lexer, size)?),
            1 => drg = Some(column_proofs(lexer, size, "parents of the same layer", DRG_PARENTS)?),
            _ => exp = Some(column_proofs(lexer, size, "parents of the layer below", EXP_PARENTS)?),
        }
        Ok(())
    })?;
    Ok(ReplicaColumnProof {
        c_x: lexer.require(own, FIELDS[0])?,
        drg_parents: lexer.require(drg, FIELDS[1])?,
        exp_parents: lexer.require(exp, FIELDS[2])?,
    })
}

fn column_proofs(lexer: &mut Lexer<'_>, size: SectorSize, what: &'static str, count: usize) -> Result<Vec<ColumnProof>, C1Error> {
    let mut proofs = Vec::with_capacity(count);
    lexer.array(what, count, |lexer, _| {
        proofs.push(column_proof(lexer, size)?);
        Ok(())
    })?;
    Ok(proofs)
}

fn column_proof(lexer: &mut Lexer<'_>, size: SectorSize) -> Result<ColumnProof, C1Error> {
    const FIELDS: &[&str] = &["column", "inclusion_proof"];
    let (mut column, mut inclusion) = (None, None);
    lexer.object(FIELDS, |lexer, field| {
        match field {
            0 => column = Some(self::column(lexer, size)?),
            _ => inclusion = Some(inclusion_proof(lexer, size.tree())?),
        }
        Ok(())
    })?;
    let proof = ColumnProof { column: lexer.require(column, FIELDS[0])?, inclusion_proof: lexer.require(inclusion, FIELDS[1])? };
    let (expected, found) = (u64::from(proof.column.index), proof.inclusion_proof.leaf_index());
    if found != expected {
        let at = lexer.below(lexer.offset(), &[Step::Key("inclusion_proof")]);
        return Err(C1Error::Inconsistent { at, what: "a path to node", expected, found });
    }
    Ok(proof)
}

fn column(lexer: &mut Lexer<'_>, size: SectorSize) -> Result<Column, C1Error> {
    const FIELDS: &[&str] = &["index", "rows", "_h"];
    let (mut index, mut rows) = (None, None);
    lexer.object(FIELDS, |lexer, field| {
        match field {
            0 => index = Some(node(lexer, size)? as u32),
            1 => rows = Some(field_elements(lexer, "layers of labels", size.layers())?),
            _ => lexer.null()?,
        }
        Ok(())
    })?;
    Ok(Column { index: lexer.require(index, FIELDS[0])?, rows: lexer.require(rows, FIELDS[1])? })
}

fn labeling_proof(lexer: &mut Lexer<'_>, size: SectorSize, layer: usize) -> Result<LabelingProof, C1Error> {
    const FIELDS: &[&str] = &["parents", "layer_index", "node"];
    let (mut parents, mut layer_index, mut at_node) = (None, None, None);
    lexer.object(FIELDS, |lexer, field| {
        match field {
            0 => parents = Some(field_elements(lexer, "parent labels", LABELING_PARENTS)?),
            1 => {
                let offset = lexer.offset();
                let (expected, found) = (layer as u64, lexer.unsigned()?);
                if found != expected {
                    return Err(C1Error::Inconsistent { at: lexer.at(offset), what: "layer", expected, found });
                }
                layer_index = Some(layer as u32);
            }
            _ => at_node = Some(node(lexer, size)?),
        }
        Ok(())
    })?;
    Ok(LabelingProof {
        parents: lexer.require(parents, FIELDS[0])?,
        layer_index: lexer.require(layer_index, FIELDS[1])?,
        node: lexer.require(at_node, FIELDS[2])?,
    })
}

/// A node of a layer: below 2^31 for every sector size.
fn node(lexer: &mut Lexer<'_>, size: SectorSize) -> Result<u64, C1Error> {
    let offset = lexer.offset();
    let found = lexer.unsigned()?;
    if found >= size.nodes() {
        return Err(C1Error::OutOfRange { at: lexer.at(offset), what: "a node", limit: size.nodes(), found });
    }
    Ok(found)
}

fn field_elements(lexer: &mut Lexer<'_>, what: &'static str, count: usize) -> Result<Vec<Digest>, C1Error> {
    let mut elements = Vec::with_capacity(count);
    lexer.array(what, count, |lexer, _| {
        elements.push(lexer.field_element()?);
        Ok(())
    })?;
    Ok(elements)
}
