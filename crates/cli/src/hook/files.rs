//! Which project the files of an edit are in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use comity_domain::LiteralPath;

use super::edit::Edit;
use super::identity::Identity;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::ground::{self, Ground};
use crate::place;

/// Files of one project.
pub(super) struct Files {
    /// The project, and where it is.
    pub(super) ground: Ground,
    /// The files, from its root.
    pub(super) paths: Vec<LiteralPath>,
}

/// Sorts the files by the project that they can be in; those of no project of the agent are left.
pub(super) fn in_projects(
    edit: &Edit,
    globals: &Globals,
    identity: &Identity,
) -> Result<Vec<Files>, Failure> {
    let here = match &edit.directory {
        Some(directory) => directory.clone(),
        None => place::here()?,
    };
    let mut projects: BTreeMap<String, Files> = BTreeMap::new();
    for file in &edit.files {
        let Some((ground, inside)) = place_of(&here.join(file), &here, globals, identity) else {
            continue;
        };
        let path = ground::literal(&inside)?;
        let name = ground.project.to_string();
        let files = projects.entry(name).or_insert_with(|| Files {
            ground,
            paths: Vec::new(),
        });
        files.paths.push(path);
    }
    Ok(projects.into_values().collect())
}

/// Finds the project of a file: that of the directory the agent works in, or the file's own.
fn place_of(
    file: &Path,
    here: &Path,
    globals: &Globals,
    identity: &Identity,
) -> Option<(Ground, PathBuf)> {
    let named = globals.project.as_ref();
    let own = file.parent().filter(|_| named.is_none());
    for start in [Some(here), own].into_iter().flatten() {
        let Ok(ground) = Ground::at(start, named) else {
            continue;
        };
        let token_file = identity.file.as_ref();
        let is_own = named.is_some() || token_file.is_none_or(|file| ground.may_be(&file.slug));
        let inside = ground.inside(file);
        let inside = inside.filter(|inside| is_own && !inside.as_os_str().is_empty());
        if let Some(inside) = inside {
            return Some((ground, inside));
        }
    }
    None
}
