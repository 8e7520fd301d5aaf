//! Mail: a message is stored, delivered and indexed in one transaction, or not at all (C1).
//!
//! `deliver` is the one way in; sending, replying and forwarding build a letter for it. `address`
//! finds whom a letter is for and who may not get it. The other files are one operation each.

pub mod acknowledge;
mod address;
mod apply;
pub mod attachment;
mod deliver;
pub mod event;
pub mod forward;
pub mod get;
pub mod inbox;
pub(crate) mod notice;
pub mod overdue;
pub mod read;
pub mod reply;
pub mod search;
pub mod send;
pub mod summary;
pub mod table;
pub mod thread;
pub mod threads;

pub(crate) use address::find_agent;

pub use acknowledge::Acknowledge;
pub use attachment::{GetAttachment, PutAttachment};
pub use deliver::{AttachmentRef, SentMessage, Skipped};
pub use forward::Forward;
pub use get::GetMessage;
pub use inbox::Inbox;
pub use overdue::OverdueAcks;
pub use read::ReadMessages;
pub use reply::Reply;
pub use search::Search;
pub use send::SendMessage;
pub use summary::ThreadSummary;
pub use thread::Thread;
pub use threads::Threads;

use comity_domain::limits::{BODY_BYTES_MAX, LABEL_BYTES_MAX, SUBJECT_BYTES_MAX};
use comity_domain::{Line, Text};

/// A message's subject.
pub type Subject = Line<SUBJECT_BYTES_MAX>;

/// A message's body.
pub type Body = Text<BODY_BYTES_MAX>;

/// A sender's own key for what belongs together.
pub type Topic = Line<LABEL_BYTES_MAX>;
