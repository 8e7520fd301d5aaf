//! Dispatches: work handed to whoever claims it, settled once and for ever.

pub(crate) mod apply;
pub mod event;
