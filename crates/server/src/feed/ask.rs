//! What a client says when it begins to follow.

use std::collections::BTreeSet;

use axum::http::HeaderMap;
use comity_domain::{Line, RunId, Seq};
use comity_kernel::Error;
use comity_kernel::event::{About, OpenWatch, Wanted};
use comity_kernel::project::ProjectRef;

use crate::http::{decoded, only_header};

/// The header in which a browser says what it saw last.
const LAST_EVENT_ID: &str = "Last-Event-ID";

/// Reads the query string and `Last-Event-ID`; both may say the same, not two things.
pub(super) fn stream(query: &str, headers: &HeaderMap) -> Result<OpenWatch, Error> {
    let mut watch = OpenWatch::default();
    for (name, value) in pairs(query)? {
        match name.as_str() {
            "since" => once(&mut watch.since, "since", place("since", &value)?)?,
            _ => want(&mut watch.wanted, &name, value)?,
        }
    }
    if let Some(last) = only_header(headers, LAST_EVENT_ID)? {
        let last = place(LAST_EVENT_ID, last)?;
        if watch.since.is_some_and(|since| since != last) {
            let rule = "must be the same as in `Last-Event-ID`, or left out";
            return Err(Error::invalid("since", rule));
        }
        watch.since = Some(last);
    }
    Ok(watch)
}

/// Adds to what is wanted what one parameter says of it.
fn want(wanted: &mut Wanted, name: &str, value: String) -> Result<(), Error> {
    match name {
        "project" => once(&mut wanted.project, name, project(&value)?),
        "run" => once(&mut wanted.run, name, run(&value)?),
        "kinds" => {
            wanted.kinds.insert(value);
            Ok(())
        }
        "subject" => {
            let about = About::parse(&value).map_err(|rule| Error::invalid(name, rule))?;
            once(&mut wanted.subject, name, about)
        }
        "actor" => {
            let actor = Line::parse(value).map_err(|rule| Error::invalid(name, rule))?;
            once(&mut wanted.actor, name, actor)
        }
        _ => {
            let known = ["since", "project", "run", "kinds", "subject", "actor"];
            Err(unknown(name, &known))
        }
    }
}

/// Reads the query string of a request that may only name a project.
pub(super) fn project_only(query: &str) -> Result<Option<ProjectRef>, Error> {
    let mut found = None;
    for (name, value) in pairs(query)? {
        match name.as_str() {
            "project" => once(&mut found, "project", project(&value)?)?,
            _ => return Err(unknown(&name, &["project"])),
        }
    }
    Ok(found)
}

fn pairs(query: &str) -> Result<Vec<(String, String)>, Error> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let text = |part: &str| decoded(&part.replace('+', " "));
            Ok((text(name)?, text(value)?))
        })
        .collect()
}

fn once<T>(place: &mut Option<T>, name: &str, value: T) -> Result<(), Error> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::invalid(name, "must be given once")),
    }
}

fn place(name: &str, text: &str) -> Result<Seq, Error> {
    match text.parse::<i64>() {
        Ok(number @ 0..) => Ok(Seq::new(number)),
        _ => Err(Error::invalid(name, "must be a sequence number")),
    }
}

fn project(text: &str) -> Result<ProjectRef, Error> {
    ProjectRef::parse(text).map_err(|rule| Error::invalid("project", rule))
}

fn run(text: &str) -> Result<RunId, Error> {
    match text.parse::<i64>() {
        Ok(number @ 1..) => Ok(RunId::new(number)),
        _ => Err(Error::invalid("run", "must be a positive whole number")),
    }
}

fn unknown(name: &str, known: &[&str]) -> Error {
    let known: BTreeSet<&str> = known.iter().copied().collect();
    let near = comity_domain::suggest::nearest(name, known.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    let name: String = name.chars().take(100).collect();
    Error::invalid(name, format!("is unknown{near}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn since(query: &str, last: Option<&'static str>) -> Result<Option<i64>, String> {
        let mut headers = HeaderMap::new();
        if let Some(last) = last {
            headers.insert(LAST_EVENT_ID, last.parse().unwrap());
        }
        let watch = stream(query, &headers).map_err(|error| error.to_string())?;
        Ok(watch.since.map(Seq::get))
    }

    #[test]
    fn the_last_event_seen_is_said_once_or_twice_the_same() {
        assert_eq!(since("", None), Ok(None));
        assert_eq!(since("since=7", None), Ok(Some(7)));
        assert_eq!(since("", Some("7")), Ok(Some(7)));
        assert_eq!(since("since=7", Some("7")), Ok(Some(7)));
        for (query, last) in [
            ("since=7", Some("8")),
            ("since=7&since=7", None),
            ("since=-1", None),
            ("since=x", None),
            ("", Some("x")),
            ("sinse=7", None),
            ("run=x", None),
            ("run=7&run=7", None),
            ("subject=rum:7", None),
            ("actor=", None),
        ] {
            assert!(since(query, last).is_err(), "{query} {last:?}");
        }
        let query = "kinds=a&kinds=b&project=web&run=7&subject=run:7&actor=operator";
        let wanted = stream(query, &HeaderMap::new()).unwrap().wanted;
        assert_eq!((wanted.kinds.len(), wanted.run.is_some()), (2, true));
        assert!(wanted.subject.is_some() && wanted.actor.is_some());
    }
}
