//! Who acts: an agent by its token, or the operator by right of the data directory.

use std::io::IsTerminal as _;
use std::path::Path;

use comity_domain::suggest::nearest;
use comity_domain::{AgentName, ProjectKey, TokenSecret};
use comity_kernel::Error;
use comity_kernel::project::ProjectRef;

use crate::globals::{Globals, variable};
use crate::place;
use crate::token_file::{self, TokenFile};

/// The acting party.
#[derive(Clone, Debug)]
pub(crate) enum Who {
    /// The person who owns the data directory.
    Operator,
    /// Whoever the token belongs to.
    Token(TokenSecret),
}

/// Chooses who acts: flags first, then the environment, then whoever sits at the terminal.
pub(crate) fn choose(globals: &Globals, directory: &Path) -> Result<Who, Error> {
    let by_name = |name: &AgentName| {
        let file = file_of(name, globals.project.as_ref(), directory)?;
        token_file::read(&file.path).map(Who::Token)
    };
    if let Some(name) = &globals.agent {
        return by_name(name);
    }
    if globals.operator {
        return Ok(Who::Operator);
    }
    if let Some(name) = named(globals)? {
        return by_name(&name);
    }
    if let Some(token) = token_given()? {
        return Ok(Who::Token(token));
    }
    if std::io::stdin().is_terminal() {
        return Ok(Who::Operator);
    }
    Err(Error::Forbidden {
        reason: "nobody is named: say `--as AGENT`, or `--operator` to act as the person who owns this directory".to_owned(),
    })
}

/// Returns the agent that the options or the environment name.
pub(crate) fn named(globals: &Globals) -> Result<Option<AgentName>, Error> {
    if let Some(name) = &globals.agent {
        return Ok(Some(name.clone()));
    }
    let parsed = variable("COMITY_AS").map(|name| AgentName::parse(&name));
    parsed
        .transpose()
        .map_err(|rule| Error::invalid("COMITY_AS", rule))
}

/// Returns the token that the environment holds.
pub(crate) fn token_given() -> Result<Option<TokenSecret>, Error> {
    let parse = |token: String| TokenSecret::parse(token.trim()).ok_or(Error::Unauthorized);
    variable("COMITY_TOKEN").map(parse).transpose()
}

/// Tells whether the operator's right may be used: said so, or sitting at the terminal.
pub(crate) fn is_operator(globals: &Globals) -> bool {
    globals.operator || std::io::stdin().is_terminal()
}

/// Finds the token file of a name. The same name in several projects is several agents, and a
/// guess would act as the wrong one: then the project decides.
pub(crate) fn file_of(
    name: &AgentName,
    project: Option<&ProjectRef>,
    directory: &Path,
) -> Result<TokenFile, Error> {
    let mut files = token_file::named(directory, name);
    if let Some(project) = project {
        files = of_project(files, project);
    } else if files.len() > 1
        && let Ok(current) = place::current_project()
    {
        let all = files.clone();
        files.retain(|file| is_slug_of(&file.slug, &current.slug()));
        if files.is_empty() {
            files = all;
        }
    }
    match files.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(missing(name, directory)),
        several => {
            let slugs: Vec<_> = several.iter().map(|file| file.slug.as_str()).collect();
            let slugs = slugs.join("`, `");
            Err(Error::Forbidden {
                reason: format!(
                    "several projects have an agent `{name}`: say `--project` with one of `{slugs}`"
                ),
            })
        }
    }
}

/// Says that there is no token of this name, and which one is close.
fn missing(name: &AgentName, directory: &Path) -> Error {
    let files = token_file::list(directory);
    let near = nearest(name, files.iter().map(|file| file.name.as_str()));
    // The name itself, in a project that is not meant, is no help.
    let near = near.filter(|near| !near.eq_ignore_ascii_case(name));
    Error::NotFound {
        kind: "token file of agent",
        name: name.to_string(),
        near: near.map(ToOwned::to_owned),
    }
}

/// Keeps the files of a project that is given by its slug, or else by its key.
fn of_project(files: Vec<TokenFile>, project: &ProjectRef) -> Vec<TokenFile> {
    let same = |file: &TokenFile| file.slug == **project;
    if let Some(exact) = files.iter().find(|file| same(file)) {
        return vec![exact.clone()];
    }
    let named = place::named_project(project);
    let Some(key) = named.ok().and_then(|named| ProjectKey::parse(&named).ok()) else {
        return Vec::new();
    };
    let fits = |file: &TokenFile| is_slug_of(&file.slug, &key.slug());
    files.into_iter().filter(fits).collect()
}

/// Tells whether a slug can be that of a key: `web`, or numbered because `web` was taken.
pub(crate) fn is_slug_of(slug: &str, wanted: &str) -> bool {
    let Some(rest) = slug.strip_prefix(wanted) else {
        return false;
    };
    let number = rest.strip_prefix('-').unwrap_or_default();
    rest.is_empty() || (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(slugs: &[&str], project: &str) -> Result<String, Error> {
        let directory = tempfile::tempdir().unwrap();
        for slug in slugs {
            let project = directory.path().join("agents").join(slug);
            std::fs::create_dir_all(&project).unwrap();
            std::fs::write(project.join("Blue.token"), "").unwrap();
        }
        let name = AgentName::parse("blue").unwrap();
        let project = ProjectRef::parse(project).unwrap();
        file_of(&name, Some(&project), directory.path()).map(|file| file.slug)
    }

    // E5: never a guess between identities
    #[test]
    fn the_project_decides_between_agents_of_one_name() {
        assert_eq!(found(&["web", "api"], "web").unwrap(), "web");
        assert_eq!(found(&["web", "web-2"], "web-2").unwrap(), "web-2");
        assert_eq!(found(&["web-2", "api"], "/srv/web").unwrap(), "web-2");
        assert_eq!(found(&["website", "web"], "/srv/web").unwrap(), "web");
        let error = found(&["web", "web-2", "api"], "/srv/web").unwrap_err();
        assert!(error.to_string().contains("`web`, `web-2`"), "{error}");
        let error = found(&["api"], "web").unwrap_err();
        assert!(matches!(error, Error::NotFound { .. }), "{error}");
    }
}
