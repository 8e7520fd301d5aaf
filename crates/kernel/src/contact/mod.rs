//! Contacts: who asked whether it may write to whom, and the answers.

pub mod answer;
mod apply;
pub mod event;
pub mod list;
pub mod request;
pub mod table;

pub use answer::AnswerContact;
pub use list::ListContacts;
pub use request::RequestContact;
pub use table::Contact;
