//! The files that hold tokens: `agents/<project slug>/<name>.token` and `tokens/<id>.token`.

use std::path::{Path, PathBuf};

use clap_complete::CompletionCandidate;
use comity_domain::{AgentName, Slug, TokenSecret};
use comity_kernel::Error;
use comity_kernel::command::Issued;
use comity_kernel::datadir::DataDir;
use serde_json::Value;

use crate::globals::data_variable;
use crate::place;

/// One agent's token file.
#[derive(Clone, Debug)]
pub(crate) struct TokenFile {
    pub(crate) slug: String,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

/// Lists the token files of agents below a data directory, in the order of their names.
pub(crate) fn list(directory: &Path) -> Vec<TokenFile> {
    let mut found: Vec<_> = entries(&directory.join("agents"))
        .iter()
        .flat_map(|project| entries(project))
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(".token")?;
            let slug = path.parent()?.file_name()?.to_str()?;
            Some(TokenFile {
                slug: slug.to_owned(),
                name: name.to_owned(),
                path: path.clone(),
            })
        })
        .collect();
    found.sort_by(|a, b| (&a.slug, &a.name).cmp(&(&b.slug, &b.name)));
    found
}

/// Lists the token files of a name, one per project that has it; case does not matter.
pub(crate) fn named(directory: &Path, name: &AgentName) -> Vec<TokenFile> {
    let mut found = list(directory);
    found.retain(|file| file.name.eq_ignore_ascii_case(name));
    found
}

/// Finds the token file of an agent of a project.
pub(crate) fn of_agent(directory: &Path, slug: &str, name: &AgentName) -> Option<TokenFile> {
    let mut files = named(directory, name).into_iter();
    files.find(|file| file.slug == slug)
}

/// Finds the file that holds a token.
pub(crate) fn of_token(directory: &Path, token: &TokenSecret) -> Option<TokenFile> {
    let holds =
        |file: &TokenFile| read(&file.path).is_ok_and(|kept| kept.reveal() == token.reveal());
    list(directory).into_iter().find(holds)
}

/// Reads a token.
pub(crate) fn read(path: &Path) -> Result<TokenSecret, Error> {
    let unusable = |what: String| Error::Unusable { what };
    let shown = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| unusable(format!("`{shown}` cannot be read: {error}")))?;
    TokenSecret::parse(text.trim()).ok_or_else(|| unusable(format!("`{shown}` holds no token")))
}

/// Takes a new token out of an answer and puts it into its owner's file (S18).
pub(crate) fn keep(mut answer: Value, data: &DataDir) -> Result<Value, Error> {
    let Some(secret) = take_secret(&mut answer) else {
        return Ok(answer);
    };
    let issued = issued(&answer, &secret).ok_or_else(|| Error::Unusable {
        what: "the answer holds a token that is none, or names no owner".to_owned(),
    })?;
    let file = data.keep_token(&issued)?;
    if let Value::Object(answer) = &mut answer {
        answer.insert("token_file".to_owned(), serde_json::to_value(file)?);
    }
    Ok(answer)
}

/// Removes the secret: an agent's stands beside it, a token's inside its entry.
fn take_secret(answer: &mut Value) -> Option<String> {
    let taken = match answer.get_mut("token")? {
        Value::Object(token) => token.remove("secret")?,
        Value::String(_) => answer.as_object_mut()?.remove("token")?,
        _ => return None,
    };
    taken.as_str().map(ToOwned::to_owned)
}

/// Reads whose token it is. What a server says of its owner is checked: it becomes a path.
fn issued(answer: &Value, secret: &str) -> Option<Issued> {
    let text = |pointer: &str| answer.pointer(pointer).and_then(Value::as_str);
    let registered = text("/agent/project").zip(text("/agent/name"));
    let rotated = text("/project").zip(text("/agent"));
    let owner = |(slug, name): (&str, &str)| {
        let name = AgentName::parse(name).ok()?.to_string();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let good = !slug.is_empty() && slug.chars().all(plain);
        good.then(|| (Slug::from_stored(slug.to_owned()), name))
    };
    let agent = match registered.or(rotated) {
        Some(named) => Some(owner(named)?),
        None => None,
    };
    let secret = TokenSecret::parse(secret)?;
    Some(Issued { secret, agent })
}

/// Names of agents for a shell's completion, from the files alone.
pub(crate) fn agents() -> Vec<CompletionCandidate> {
    candidates(|file| file.name)
}

/// Slugs of projects for a shell's completion, from the files alone.
pub(crate) fn projects() -> Vec<CompletionCandidate> {
    candidates(|file| file.slug)
}

fn candidates(part: fn(TokenFile) -> String) -> Vec<CompletionCandidate> {
    let directory = place::data_directory(data_variable().as_deref()).unwrap_or_default();
    let mut names: Vec<_> = list(&directory).into_iter().map(part).collect();
    names.sort();
    names.dedup();
    names.into_iter().map(CompletionCandidate::new).collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECRET: &str = concat!(
        "comity_7_",
        "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
    );

    fn kept(answer: Value) -> (Result<Value, Error>, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::open(&directory.path().join("data")).unwrap();
        (keep(answer, &data), directory)
    }

    // S18
    #[test]
    fn every_way_to_get_a_token_ends_in_a_file() {
        let registered = json!({ "agent": { "project": "web", "name": "Blue" }, "token": SECRET });
        let rotated = json!({ "agent": "Blue", "project": "web", "token": { "secret": SECRET } });
        let created = json!({ "token": { "id": 7, "secret": SECRET } });
        for (answer, file) in [
            (registered, "agents/web/Blue.token"),
            (rotated, "agents/web/Blue.token"),
            (created, "tokens/7.token"),
        ] {
            let (answer, directory) = kept(answer);
            let answer = answer.unwrap();
            assert!(!answer.to_string().contains(SECRET), "{answer}");
            let path = directory.path().join("data").join(file);
            assert_eq!(answer["token_file"], json!(path));
            assert_eq!(read(&path).unwrap().reveal(), SECRET);
        }
    }

    // S18, S5: a server's word is not a path
    #[test]
    fn a_hostile_owner_gets_no_file() {
        for (project, name) in [
            ("../..", "Blue"),
            ("web", "../Blue"),
            ("", "Blue"),
            ("web", ""),
        ] {
            let answer = json!({ "agent": { "project": project, "name": name }, "token": SECRET });
            let (answer, directory) = kept(answer);
            let error = answer.unwrap_err().to_string();
            assert!(
                error.contains("names no owner") && !error.contains(SECRET),
                "{error}"
            );
            assert!(list(&directory.path().join("data")).is_empty());
        }
    }
}
