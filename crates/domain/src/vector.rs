//! Vectors that stand for texts, and how near two of them are (J11).
//!
//! A vector from outside is checked once. How near two vectors are is defined here alone: both are
//! scaled to length one and rounded to `f32`, and the cosine of what that gives is summed up in
//! `f64`, one component after the other. [`quick`] is the same in `f32`, with a bound on how far
//! it may be off, so that a scan can look at everything quickly and at few rows exactly.

pub mod hashed;
mod wire;

#[cfg(test)]
mod tests;

use crate::limits::EMBEDDING_DIMENSION_MAX;

pub use wire::{ModelId, PackedEmbedding};

/// Bytes of one component.
const COMPONENT_BYTES: usize = size_of::<f32>();

/// A vector that stands for a text: finite numbers, not all of them zero.
#[derive(Clone, Debug, PartialEq)]
pub struct Embedding(Vec<f32>);

/// No component is a NaN.
impl Eq for Embedding {}

impl Embedding {
    /// Checks the components; the error is the rule they break.
    pub fn new(components: Vec<f32>) -> Result<Self, String> {
        check_dimension(components.len())?;
        if let Some(at) = components
            .iter()
            .position(|component| !component.is_finite())
        {
            return Err(format!(
                "must hold finite numbers; number {} is not",
                at + 1
            ));
        }
        if components.iter().all(|component| *component == 0.0) {
            return Err("must not be zero in every place: it has no direction".to_owned());
        }
        Ok(Self(components))
    }

    /// Reads the bytes of a vector whose dimension is known: `f32`, little-endian.
    pub fn from_le_bytes(bytes: &[u8], dimension: usize) -> Result<Self, String> {
        let (components, rest) = bytes.as_chunks::<COMPONENT_BYTES>();
        if !rest.is_empty() {
            return Err(format!(
                "must be a multiple of {COMPONENT_BYTES} bytes, not {}",
                bytes.len()
            ));
        }
        if components.len() != dimension {
            return Err(format!(
                "must hold {dimension} numbers, not {}",
                components.len()
            ));
        }
        Self::new(components.iter().copied().map(f32::from_le_bytes).collect())
    }

    /// Returns the bytes as they are stored and sent: `f32`, little-endian.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        let bytes = self.0.iter().map(|component| component.to_le_bytes());
        bytes.flatten().collect()
    }

    /// Returns the number of components.
    pub fn dimension(&self) -> usize {
        self.0.len()
    }

    /// Returns the components.
    pub fn components(&self) -> &[f32] {
        &self.0
    }

    /// Scales the vector to length one.
    pub fn unit(&self) -> Unit {
        let norm = squares(&self.0).sqrt();
        Unit(
            self.0
                .iter()
                .map(|&component| narrow(f64::from(component) / norm))
                .collect(),
        )
    }

    /// Returns how near two vectors are, from -1 to 1; nothing for different dimensions.
    pub fn cosine(&self, other: &Self) -> Option<f64> {
        self.unit().cosine(other.unit().components())
    }
}

/// A vector of length one, but for rounding.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit(Vec<f32>);

impl Unit {
    /// Returns the components.
    pub fn components(&self) -> &[f32] {
        &self.0
    }

    /// Returns how near another vector of length one is, from -1 to 1; nothing for different
    /// dimensions.
    ///
    /// It is 1 for the same vector and does not hang on which of the two is asked: the root of a
    /// square is the number itself, and products commute.
    pub fn cosine(&self, other: &[f32]) -> Option<f64> {
        if self.0.len() != other.len() {
            return None;
        }
        let pairs = self.0.iter().zip(other);
        let dot: f64 = pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum();
        let norms = (squares(&self.0) * squares(other)).sqrt();
        // The negative zero is another number to whoever sorts.
        Some((dot / norms).clamp(-1.0, 1.0) + 0.0)
    }
}

/// Sums up the squares of the components. They can neither overflow nor vanish: the largest `f32`
/// squared is far below the largest `f64`, and the smallest one far above the smallest.
fn squares(components: &[f32]) -> f64 {
    let squares = components
        .iter()
        .map(|&component| f64::from(component).powi(2));
    squares.sum()
}

/// Rounds to the nearest `f32`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding is what is wanted; the caller checks or knows the range"
)]
fn narrow(number: f64) -> f32 {
    number as f32
}

fn check_dimension(dimension: usize) -> Result<(), String> {
    match dimension {
        0 => Err("must hold at least one number".to_owned()),
        1..=EMBEDDING_DIMENSION_MAX => Ok(()),
        _ => Err(format!(
            "must hold at most {EMBEDDING_DIMENSION_MAX} numbers, not {dimension}"
        )),
    }
}

/// Partial sums of [`quick`]: a compiler makes four registers of them.
const LANES: usize = 16;

/// Multiplies two vectors of length one in `f32`; [`slack`] bounds the error.
///
/// Component `i` is added to sum `i % 16` and the sums in the order of their numbers, so what it
/// gives hangs on nothing but the vectors.
pub fn quick(a: &[f32], b: &[f32]) -> f32 {
    let (a_chunks, a_rest) = a.as_chunks::<LANES>();
    let (b_chunks, b_rest) = b.as_chunks::<LANES>();
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a_chunks.iter().zip(b_chunks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    for ((sum, a), b) in sums.iter_mut().zip(a_rest).zip(b_rest) {
        *sum += a * b;
    }
    sums.iter().sum()
}

/// Returns how far [`quick`] may be from [`Unit::cosine`] for vectors of a dimension.
///
/// A sum of `n` products of components of two vectors of length one is off by at most
/// `n * 2^-24`, with `n` the additions that a product goes through; twice that is granted for the
/// lengths, which are not quite one, and for products too small for an `f32`.
pub fn slack(dimension: usize) -> f32 {
    let additions = dimension.div_ceil(LANES) + LANES + 1;
    // At most 273: exact.
    let additions = u16::try_from(additions).unwrap_or(u16::MAX);
    f32::from(additions) * f32::EPSILON
}
