//! The patterns that leases are taken on: their language, their canonical form, exact overlap.
//!
//! A pattern is relative to its project, with `/` between segments. `*` and `?` stay inside a
//! segment, a segment `**` is any number of components, zero included, `[a-z]` and `[!a-z]` are one
//! character, `{a,b}` is one of several, and `\` takes the meaning from one metacharacter. A pattern
//! without any of `* ? [ {` also covers everything below the path that it is, and so does one that
//! ends with `/`; every other pattern covers what it matches and nothing else.
//!
//! Two patterns overlap if and only if some path is covered by both (F12). A path is here any list
//! of names, and a name any text of characters that names can hold. The few of them that no file can
//! have, such as `.` or a name that NFC would write differently, count as well: that can only make
//! two patterns overlap that never meet, such as `[.]` and `?`.

mod alphabet;
mod branches;
mod canonical;
mod class;
mod ending;
mod fold;
mod index;
mod meet;
mod path;
mod piece;
mod places;
mod read;
mod rule;
mod segment;
mod wire;
mod write;

pub use canonical::Pattern;
pub use index::Index;
pub use rule::BadPattern;
pub use wire::LiteralPath;

#[cfg(test)]
mod tests;
