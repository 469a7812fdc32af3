//! The lease: a buffer and the permit that pays for it, in one object.

use std::ops::{Deref, DerefMut};

use crate::permit::Permit;
use crate::{Label, Space};

/// A buffer that knows how many bytes it really owns (its capacity, not its length).
pub trait OwnedBytes {
    /// Heap bytes owned by this value.
    fn owned_bytes(&self) -> u64;
}

impl<T: Copy> OwnedBytes for Vec<T> {
    fn owned_bytes(&self) -> u64 {
        (self.capacity() as u64) * (size_of::<T>() as u64)
    }
}

impl<T: Copy> OwnedBytes for Box<[T]> {
    fn owned_bytes(&self) -> u64 {
        size_of_val::<[T]>(self) as u64
    }
}

/// A buffer that can be read through its lease.
pub trait Buffer: OwnedBytes {
    /// What is read: a slice for a vector, so that nobody reaches its capacity.
    type Contents: ?Sized;
    /// The contents.
    fn contents(&self) -> &Self::Contents;
}

/// A buffer whose contents can be changed through its lease, without changing how many bytes it owns.
pub trait BufferMut: Buffer {
    /// The contents. What is done with them must leave [`owned_bytes`](OwnedBytes::owned_bytes) as it is; debug builds check that
    /// whenever the lease is handed on.
    fn contents_mut(&mut self) -> &mut Self::Contents;
}

impl<T: Copy> Buffer for Vec<T> {
    type Contents = [T];
    fn contents(&self) -> &[T] {
        self
    }
}

impl<T: Copy> BufferMut for Vec<T> {
    fn contents_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: Copy> Buffer for Box<[T]> {
    type Contents = [T];
    fn contents(&self) -> &[T] {
        self
    }
}

impl<T: Copy> BufferMut for Box<[T]> {
    fn contents_mut(&mut self) -> &mut [T] {
        self
    }
}

/// Something whose bytes are attributed to a stage: a lease, or a message that carries leases.
pub trait Accounted<S: Label> {
    /// Moves the attribution of every buffer inside to `stage`.
    fn attribute_to(&mut self, stage: S);
}

/// The buffer owns more than its permit stands for. Buffer and permit were dropped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {class} buffer of {actual} bytes was made under a permit for {permitted} bytes")]
pub struct OversizedBuffer {
    /// Class of the permit.
    pub class: &'static str,
    /// Bytes the buffer owns.
    pub actual: u64,
    /// Bytes the permit stood for.
    pub permitted: u64,
}

/// A buffer and its permit. The buffer is freed first, then the permit is returned.
///
/// Reading goes through [`Buffer`], changing through [`BufferMut`]: what a lease hands out cannot outgrow the permit.
#[derive(Debug)]
pub struct Lease<B: OwnedBytes, C: Label, S: Label> {
    // Fields drop in this order; see the test `the_buffer_is_freed_before_its_permit`.
    buffer: B,
    permit: Permit<C, S>,
}

impl<B: OwnedBytes, C: Label, S: Label> Lease<B, C, S> {
    /// Makes a buffer under `permit`; the permit shrinks to what the buffer really owns.
    ///
    /// # Errors
    /// [`OversizedBuffer`] when the buffer owns more than the permit allows.
    pub fn try_new(mut permit: Permit<C, S>, make: impl FnOnce() -> B) -> Result<Self, OversizedBuffer> {
        let buffer = make();
        let actual = buffer.owned_bytes();
        if actual > permit.bytes() {
            return Err(OversizedBuffer { class: permit.class().name(), actual, permitted: permit.bytes() });
        }
        permit.shrink_to(actual);
        Ok(Self { buffer, permit })
    }

    /// Turns the buffer into another one that owns no more than this lease pays for; the permit shrinks to what it owns.
    ///
    /// # Errors
    /// [`OversizedBuffer`] when the new buffer owns more; both are dropped then.
    pub fn try_map<D: OwnedBytes>(self, convert: impl FnOnce(B) -> D) -> Result<Lease<D, C, S>, OversizedBuffer> {
        let Self { buffer, permit } = self;
        Lease::try_new(permit, || convert(buffer))
    }
}

impl<B: OwnedBytes, C: Label, S: Label> Lease<B, C, S> {
    /// The permit's bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.permit.bytes()
    }

    /// The stage the bytes are attributed to.
    #[must_use]
    pub fn stage(&self) -> S {
        self.permit.stage()
    }

    /// Where the bytes live.
    #[must_use]
    pub fn space(&self) -> Space {
        self.permit.space()
    }

    /// What the bytes are.
    #[must_use]
    pub fn class(&self) -> C {
        self.permit.class()
    }

    /// Moves the attribution to another stage.
    pub fn attribute_to(&mut self, stage: S) {
        debug_assert!(self.buffer.owned_bytes() <= self.permit.bytes(), "a {} buffer outgrew its permit", self.permit.class().name());
        self.permit.attribute_to(stage);
    }

    /// The buffer holds something of another class from now on.
    pub fn reclassify(&mut self, class: C) {
        self.permit.reclassify(class);
    }
}

impl<B: OwnedBytes, C: Label, S: Label> Accounted<S> for Lease<B, C, S> {
    fn attribute_to(&mut self, stage: S) {
        self.attribute_to(stage);
    }
}

impl<B: Buffer, C: Label, S: Label> Deref for Lease<B, C, S> {
    type Target = B::Contents;
    fn deref(&self) -> &B::Contents {
        self.buffer.contents()
    }
}

impl<B: BufferMut, C: Label, S: Label> DerefMut for Lease<B, C, S> {
    fn deref_mut(&mut self) -> &mut B::Contents {
        self.buffer.contents_mut()
    }
}
