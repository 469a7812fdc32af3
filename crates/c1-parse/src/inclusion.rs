//! Inclusion proofs and their paths.

use crate::lexer::Lexer;
use crate::proof::{InclusionPath, InclusionProof, MAX_LEVELS};
use crate::{C1Error, Digest, TreeShape};

const KINDS: &[&str] = &["Single", "Sub", "Top"];

/// A proof in a tree of this shape.
pub(crate) fn inclusion_proof(lexer: &mut Lexer<'_>, tree: TreeShape) -> Result<InclusionProof, C1Error> {
    let expected = match (tree.sub_arity, tree.top_arity) {
        (0, _) => 0,
        (_, 0) => 1,
        _ => 2,
    };
    let mut data = None;
    lexer.object(&["data"], |lexer, _| {
        data = Some(lexer.variant(KINDS, |lexer, kind| {
            if kind != expected {
                return Err(C1Error::ProofKind { at: lexer.here(), expected: KINDS[expected], found: KINDS[kind] });
            }
            match kind {
                0 => single(lexer, tree),
                1 => sub(lexer, tree),
                _ => top(lexer, tree),
            }
        })?);
        Ok(())
    })?;
    lexer.require(data, "data")
}

fn single(lexer: &mut Lexer<'_>, tree: TreeShape) -> Result<InclusionProof, C1Error> {
    let (mut root, mut leaf, mut path) = (None, None, None);
    lexer.object(&["root", "leaf", "path"], |lexer, field| {
        match field {
            0 => root = Some(lexer.field_element()?),
            1 => leaf = Some(lexer.field_element()?),
            _ => path = Some(inclusion_path(lexer, tree.base_arity, tree.base_levels)?),
        }
        Ok(())
    })?;
    Ok(InclusionProof::Single {
        root: lexer.require(root, "root")?,
        leaf: lexer.require(leaf, "leaf")?,
        path: lexer.require(path, "path")?,
    })
}

fn sub(lexer: &mut Lexer<'_>, tree: TreeShape) -> Result<InclusionProof, C1Error> {
    let (mut root, mut leaf, mut base_proof, mut sub_proof) = (None, None, None, None);
    lexer.object(&["base_proof", "sub_proof", "root", "leaf"], |lexer, field| {
        match field {
            0 => base_proof = Some(inclusion_path(lexer, tree.base_arity, tree.base_levels)?),
            1 => sub_proof = Some(inclusion_path(lexer, tree.sub_arity, 1)?),
            2 => root = Some(lexer.field_element()?),
            _ => leaf = Some(lexer.field_element()?),
        }
        Ok(())
    })?;
    Ok(InclusionProof::Sub {
        base_proof: lexer.require(base_proof, "base_proof")?,
        sub_proof: lexer.require(sub_proof, "sub_proof")?,
        root: lexer.require(root, "root")?,
        leaf: lexer.require(leaf, "leaf")?,
    })
}

fn top(lexer: &mut Lexer<'_>, tree: TreeShape) -> Result<InclusionProof, C1Error> {
    let (mut root, mut leaf, mut base_proof, mut sub_proof, mut top_proof) = (None, None, None, None, None);
    lexer.object(&["base_proof", "sub_proof", "top_proof", "root", "leaf"], |lexer, field| {
        match field {
            0 => base_proof = Some(inclusion_path(lexer, tree.base_arity, tree.base_levels)?),
            1 => sub_proof = Some(inclusion_path(lexer, tree.sub_arity, 1)?),
            2 => top_proof = Some(inclusion_path(lexer, tree.top_arity, 1)?),
            3 => root = Some(lexer.field_element()?),
            _ => leaf = Some(lexer.field_element()?),
        }
        Ok(())
    })?;
    Ok(InclusionProof::Top {
        base_proof: lexer.require(base_proof, "base_proof")?,
        sub_proof: lexer.require(sub_proof, "sub_proof")?,
        top_proof: lexer.require(top_proof, "top_proof")?,
        root: lexer.require(root, "root")?,
        leaf: lexer.require(leaf, "leaf")?,
    })
}

fn inclusion_path(lexer: &mut Lexer<'_>, arity: usize, levels: usize) -> Result<InclusionPath, C1Error> {
    let siblings_per_level = arity.saturating_sub(1);
    let mut siblings: Vec<Digest> = Vec::with_capacity(levels * siblings_per_level);
    let mut positions = [0u8; MAX_LEVELS];
    let mut path = None;
    lexer.object(&["path"], |lexer, _| {
        lexer.array("levels of the path", levels, |lexer, level| {
            let (mut hashes, mut index) = (None, None);
            lexer.object(&["hashes", "index"], |lexer, field| {
                if field == 0 {
                    hashes = Some(lexer.array("sibling hashes", siblings_per_level, |lexer, _| {
                        siblings.push(lexer.field_element()?);
                        Ok(())
                    })?);
                } else {
                    let offset = lexer.offset();
                    let found = lexer.unsigned()?;
                    if found >= arity as u64 {
                        return Err(C1Error::OutOfRange { at: lexer.at(offset), what: "a path index", limit: arity as u64, found });
                    }
                    index = Some(found as u8);
                }
                Ok(())
            })?;
            lexer.require(hashes, "hashes")?;
            positions[level] = lexer.require(index, "index")?;
            Ok(())
        })?;
        path = Some(());
        Ok(())
    })?;
    lexer.require(path, "path")?;
    Ok(InclusionPath { siblings, positions, levels: levels as u8, arity: arity as u8 })
}
