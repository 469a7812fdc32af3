//! Number-theoretic transforms.
//!
//! A transform walks the tree of factors x^M - h^M = (x^(M/2) - h^(M/2))·(x^(M/2) + h^(M/2)): the remainders of a polynomial modulo both
//! factors cost one multiplication by h^(M/2) for each pair of coefficients, whatever the shift h is. So a coset costs nothing extra, the
//! input is in natural order, and the leaves, the values, come out in bit-reversed order. (The transform is that of lattice
//! cryptography; see Seiler, "Faster AVX2 optimized NTT multiplication for Ring-LWE lattice cryptography", section 2.)

pub mod naive;

mod kernel;
mod portable;
mod roots;

pub(crate) use portable::Transforms;
