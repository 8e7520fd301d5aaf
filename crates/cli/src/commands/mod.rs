//! One file per command; each translates and delegates.

pub(crate) mod backup;
pub(crate) mod call;
pub(crate) mod doctor;
pub(crate) mod serve;
