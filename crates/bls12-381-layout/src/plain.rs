//! Views between slices of plain values and bytes.

use blstrs::{G1Affine, G2Affine, Scalar};

use crate::{Fp, Fp2};

/// A type without padding whose every bit pattern is a valid value in the sense of memory safety.
///
/// A bit pattern can still be meaningless (a limb pattern above the modulus, a point off the curve): whoever reads bytes from outside checks that.
///
/// # Safety
/// The type must be `Copy`, free of padding and of uninitialised bytes, and valid for every bit pattern, the all-zero one included.
pub unsafe trait Plain: Copy + Send + Sync + 'static {}

// SAFETY: primitive integers have no padding and no invalid bit pattern.
unsafe impl Plain for u8 {}
// SAFETY: as for u8.
unsafe impl Plain for u16 {}
// SAFETY: as for u8.
unsafe impl Plain for u32 {}
// SAFETY: as for u8.
unsafe impl Plain for u64 {}
// SAFETY: an array of four u64.
unsafe impl Plain for [u64; 4] {}
// SAFETY: `repr(transparent)` over blst_fr, four u64.
unsafe impl Plain for Scalar {}
// SAFETY: `repr(transparent)` over blst_fp, six u64.
unsafe impl Plain for Fp {}
// SAFETY: `repr(transparent)` over blst_fp2, two blst_fp.
unsafe impl Plain for Fp2 {}
// SAFETY: `repr(transparent)` over blst_p1_affine, two blst_fp.
unsafe impl Plain for G1Affine {}
// SAFETY: `repr(transparent)` over blst_p2_affine, two blst_fp2.
unsafe impl Plain for G2Affine {}

const _: () = {
    assert!(size_of::<Scalar>() == 32);
    assert!(size_of::<Fp>() == 48);
    assert!(size_of::<G1Affine>() == 96);
    assert!(size_of::<G2Affine>() == 192);
};

/// Bytes that cannot be viewed as values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// The length is no multiple of the value's size.
    #[error("{found} bytes are no whole number of {size}-byte values")]
    Length {
        /// Size of one value in bytes.
        size: usize,
        /// Bytes given.
        found: usize,
    },
    /// The address is not aligned for the value.
    #[error("the bytes start {offset} bytes past a multiple of {align}, the alignment that is needed")]
    Alignment {
        /// Alignment that is needed.
        align: usize,
        /// Distance from the last aligned address.
        offset: usize,
    },
}

/// The bytes of a slice of plain values, in memory order.
#[must_use]
pub fn as_bytes<T: Plain>(values: &[T]) -> &[u8] {
    // SAFETY: `Plain` has no padding, so all bytes are initialised; the length is that of the same allocation.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// The bytes of a slice of plain values, to be written.
#[must_use]
pub fn as_bytes_mut<T: Plain>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as for `as_bytes`; any bytes written form valid values, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// Bytes as a slice of plain values. Says nothing about whether the values mean anything.
///
/// # Errors
/// [`LayoutError`] when length or alignment do not fit.
pub fn from_bytes<T: Plain>(bytes: &[u8]) -> Result<&[T], LayoutError> {
    let size = size_of::<T>();
    if !bytes.len().is_multiple_of(size) {
        return Err(LayoutError::Length { size, found: bytes.len() });
    }
    let align = align_of::<T>();
    let offset = bytes.as_ptr() as usize % align;
    if offset != 0 {
        return Err(LayoutError::Alignment { align, offset });
    }
    // SAFETY: length and alignment are checked above; every bit pattern is valid for a `Plain` type.
    Ok(unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), bytes.len() / size) })
}

/// A vector of `len` all-zero values. The pages come zeroed from the kernel and are not touched before they are used.
#[must_use]
pub fn zeroed_vec<T: Plain>(len: usize) -> Vec<T> {
    if len == 0 {
        return Vec::new();
    }
    let Ok(layout) = std::alloc::Layout::array::<T>(len) else {
        // The same outcome as `Vec::with_capacity` for an impossible size.
        std::alloc::handle_alloc_error(std::alloc::Layout::new::<T>())
    };
    // SAFETY: the layout has a non-zero size, since `len` > 0 and no `Plain` type is zero-sized.
    let pointer = unsafe { std::alloc::alloc_zeroed(layout) };
    if pointer.is_null() {
        std::alloc::handle_alloc_error(layout);
    }
    // SAFETY: the allocation is that of a vector of this type and capacity, and all-zero values are valid.
    unsafe { Vec::from_raw_parts(pointer.cast(), len, len) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_length_and_alignment_are_told() {
        let values = [1u64, 2, 3];
        let bytes = as_bytes(&values);
        assert_eq!(from_bytes::<u64>(bytes).unwrap(), &values);
        assert_eq!(from_bytes::<u64>(&bytes[..23]), Err(LayoutError::Length { size: 8, found: 23 }));
        assert_eq!(from_bytes::<u64>(&bytes[3..11]), Err(LayoutError::Alignment { align: 8, offset: 3 }));
    }

    #[test]
    fn zeroed_scalars_are_zero() {
        use ff::Field;
        assert!(zeroed_vec::<Scalar>(1000).iter().all(|s| *s == Scalar::ZERO));
        assert!(zeroed_vec::<Scalar>(0).is_empty());
    }
}
