//! One file per command; each translates and delegates.

pub(crate) mod agent;
pub(crate) mod backup;
pub(crate) mod call;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod contact;
pub(crate) mod doctor;
pub(crate) mod fleet;
pub(crate) mod guard;
pub(crate) mod health;
pub(crate) mod init;
pub(crate) mod join;
pub(crate) mod mail;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod paging;
pub(crate) mod project;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod token;
pub(crate) mod wait;
