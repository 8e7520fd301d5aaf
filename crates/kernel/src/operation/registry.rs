//! Every operation, part by part.

mod care;
mod discoveries;
mod files;
mod log;
mod people;
mod work;

use super::surface::Operation;
use crate::error::Error;

const PARTS: [&[Operation]; 6] = [
    people::OPERATIONS,
    files::OPERATIONS,
    work::OPERATIONS,
    log::OPERATIONS,
    discoveries::OPERATIONS,
    care::OPERATIONS,
];

#[expect(
    clippy::indexing_slicing,
    reason = "the compiler runs it, and refuses a wrong index"
)]
const COUNT: usize = {
    let (mut count, mut part) = (0, 0);
    while part < PARTS.len() {
        count += PARTS[part].len();
        part += 1;
    }
    count
};

/// Every operation of the kernel, in the order of the documentation.
#[expect(
    clippy::indexing_slicing,
    reason = "the compiler runs it, and refuses a wrong index"
)]
pub const OPERATIONS: &[Operation] = &{
    let mut all = [PARTS[0][0]; COUNT];
    let (mut at, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut nth = 0;
        while nth < PARTS[part].len() {
            all[at] = PARTS[part][nth];
            at += 1;
            nth += 1;
        }
        part += 1;
    }
    all
};

/// Finds an operation, or a name that is close.
pub fn find(name: &str) -> Result<&'static Operation, Error> {
    let found = OPERATIONS.iter().find(|operation| operation.name == name);
    found.ok_or_else(|| Error::NotFound {
        kind: "operation",
        name: name.to_owned(),
        near: comity_domain::suggest::nearest(name, OPERATIONS.iter().map(|known| known.name))
            .map(ToOwned::to_owned),
    })
}
