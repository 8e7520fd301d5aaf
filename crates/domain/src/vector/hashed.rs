//! The built-in embedder: words and pieces of words, hashed into 384 buckets.
//!
//! It knows nothing of meaning. Texts that say nearly the same in nearly the same words come out
//! near each other, which is what finding duplicates wants, without a model or a network.
//!
//! What it makes of a text is fixed for ever under the name [`MODEL`]; a change of anything here
//! is another name. Counts are whole numbers, and the last step uses only operations that every
//! machine rounds alike, so the same text gives the same bytes everywhere.

use std::collections::HashMap;

use super::{Embedding, ModelId, narrow};
use crate::search::tokens;

/// The name of this space of vectors.
pub const MODEL: &str = "hashed-1";

/// Returns the name as a type.
pub fn model() -> ModelId {
    ModelId::known(MODEL)
}

/// The numbers of each vector.
pub const DIMENSION: usize = 384;

/// What a word weighs by its length in characters: short ones are in every text.
const WORD: [i64; 9] = [0, 2, 2, 2, 6, 9, 11, 12, 13];
/// What a word with a digit weighs at least: numbers and versions tell texts apart.
const NUMBER: i64 = 10;
/// What two words beside each other weigh, in hundredths of what they weigh together.
const PAIR_PERCENT: i64 = 20;
/// What a piece of a word weighs, in hundredths of the word.
const PIECE_PERCENT: i64 = 12;
/// Characters of a piece of a word, with a mark at both ends of the word.
const PIECES: [usize; 2] = [3, 4];

/// Makes a vector of a text.
pub fn embed(text: &str) -> Embedding {
    let mut features: HashMap<u64, Feature> = HashMap::new();
    let mut before: Option<(String, i64)> = None;
    for token in tokens(text) {
        let weight = weight(&token);
        count(&mut features, b'w', token.as_bytes(), weight * 100);
        for piece in pieces(&token) {
            count(
                &mut features,
                b'p',
                piece.as_bytes(),
                weight * PIECE_PERCENT,
            );
        }
        if let Some((first, other)) = &before {
            let pair = format!("{first} {token}");
            count(
                &mut features,
                b'b',
                pair.as_bytes(),
                (other + weight) * PAIR_PERCENT,
            );
        }
        before = Some((token, weight));
    }
    let mut buckets = [0_i64; DIMENSION];
    for (hash, feature) in features {
        add(
            &mut buckets,
            hash,
            feature.weight * logarithm(feature.times),
        );
    }
    if buckets.iter().all(|bucket| *bucket == 0) {
        // No words, or words that cancel out: then the text as a whole.
        add(&mut buckets, hash(b't', text.trim().as_bytes()), 1);
    }
    scaled(&buckets)
}

/// What a word weighs.
fn weight(token: &str) -> i64 {
    let most = WORD.len() - 1;
    let weight = WORD.get(token.chars().count().min(most)).copied();
    let weight = weight.unwrap_or_default();
    if token.contains(|c: char| c.is_numeric()) {
        return weight.max(NUMBER);
    }
    weight
}

/// Something that was counted in a text.
struct Feature {
    weight: i64,
    times: i64,
}

fn count(features: &mut HashMap<u64, Feature>, kind: u8, bytes: &[u8], weight: i64) {
    let feature = features.entry(hash(kind, bytes));
    let feature = feature.or_insert(Feature {
        weight: 0,
        times: 0,
    });
    // Of two that fall together the heavier counts, whichever comes first.
    feature.weight = feature.weight.max(weight);
    feature.times += 1;
}

/// Cuts a word into its overlapping pieces.
fn pieces(token: &str) -> Vec<String> {
    let marked: Vec<char> = ['<']
        .into_iter()
        .chain(token.chars())
        .chain(['>'])
        .collect();
    let of = |length: usize| marked.windows(length).map(String::from_iter);
    PIECES.into_iter().flat_map(of).collect()
}

/// Sixteen times the logarithm to base 2 of a count, plus 16; straight between powers of two.
fn logarithm(times: i64) -> i64 {
    let power = times.max(1).ilog2();
    let below = 1_i64 << power;
    16 * (1 + i64::from(power)) + 16 * (times - below) / below
}

/// FNV-1a of 64 bits over the kind and the bytes, then the last step of `SplitMix64`, which lets
/// every bit depend on every other.
fn hash(kind: u8, bytes: &[u8]) -> u64 {
    let each = [kind].into_iter().chain(bytes.iter().copied());
    let fnv = each.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Adds to one bucket or takes away from it: the top bit says which of the two, the rest which
/// bucket.
fn add(buckets: &mut [i64; DIMENSION], hash: u64, weight: i64) {
    let signed = if hash >> 63 == 0 { weight } else { -weight };
    let at = (hash & (u64::MAX >> 1)) % (DIMENSION as u64);
    let bucket = usize::try_from(at).ok().and_then(|at| buckets.get_mut(at));
    if let Some(bucket) = bucket {
        *bucket += signed;
    }
}

/// Scales the buckets to length one.
#[expect(
    clippy::cast_precision_loss,
    reason = "a bucket is far below 2^53: ten thousand words of at most 13 * 100 * 240 each"
)]
fn scaled(buckets: &[i64; DIMENSION]) -> Embedding {
    let squares: f64 = buckets
        .iter()
        .map(|&bucket| (bucket as f64) * (bucket as f64))
        .sum();
    let norm = squares.sqrt();
    Embedding(
        buckets
            .iter()
            .map(|&bucket| narrow(bucket as f64 / norm))
            .collect(),
    )
}

#[cfg(test)]
mod tests;
