//! Projects: what agents work on together.

mod apply;
pub mod ensure;
pub mod event;
pub mod list;
pub mod status;
pub mod table;
pub mod update;

pub use ensure::{EnsureProject, EnsuredProject};
pub use list::ListProjects;
pub use status::{ProjectStatus, ProjectStatusQuery};
pub use table::{Project, ProjectRef};
pub use update::UpdateProject;
