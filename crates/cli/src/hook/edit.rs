//! What a client program says of an edit.

use std::path::PathBuf;

use comity_domain::json;
use comity_kernel::Error;
use serde_json::{Map, Value};

/// Where client programs put the arguments of a tool.
const ARGUMENTS: [&str; 4] = ["tool_input", "input", "arguments", "args"];
/// What they call a file that is written.
const FILE: [&str; 4] = ["file_path", "notebook_path", "absolute_path", "path"];
/// What they call several.
const FILES: [&str; 3] = ["paths", "file_paths", "files"];
/// Parts of the names of tools that only look.
const LOOKING: [&str; 6] = ["read", "view", "grep", "glob", "search", "list"];
/// How a line of a patch begins that names a file.
const PATCHED: [&str; 4] = [
    "*** Add File: ",
    "*** Update File: ",
    "*** Delete File: ",
    "*** Move to: ",
];

/// An edit that is about to be made.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Edit {
    /// The files, as the client program names them.
    pub(super) files: Vec<PathBuf>,
    /// The directory that it works in.
    pub(super) directory: Option<PathBuf>,
}

impl Edit {
    /// Reads what came on stdin; a tool that writes no file is an edit of none.
    pub(super) fn read(input: &[u8]) -> Result<Self, Error> {
        let Value::Object(said) = json::parse(input)? else {
            return Err(not_understood("it is no object"));
        };
        let directory = text(&said, "cwd").map(PathBuf::from);
        let tool = text(&said, "tool_name").or_else(|| text(&said, "tool"));
        if tool.is_some_and(only_looks) {
            return Ok(Self::default());
        }
        let arguments = ARGUMENTS.iter().find_map(|name| said.get(*name));
        let files = match arguments {
            Some(Value::Object(arguments)) => files(arguments),
            // Some send the arguments as the text that the model wrote.
            Some(Value::String(written)) => match json::parse(written.as_bytes()) {
                Ok(Value::Object(arguments)) => files(&arguments),
                _ => patched(written),
            },
            Some(_) => return Err(not_understood("the tool's input is no object")),
            None => files(&said),
        };
        Ok(Self { files, directory })
    }
}

fn not_understood(why: &str) -> Error {
    Error::NotJson {
        reason: format!("what the client program says is not understood: {why}"),
    }
}

fn only_looks(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    tool == "ls" || LOOKING.iter().any(|part| tool.contains(part))
}

fn files(arguments: &Map<String, Value>) -> Vec<PathBuf> {
    let single = FILE.iter().filter_map(|name| text(arguments, name));
    let lists = FILES
        .iter()
        .filter_map(|name| arguments.get(*name)?.as_array());
    let listed = lists.flatten().filter_map(Value::as_str);
    let mut files: Vec<_> = single.chain(listed).map(PathBuf::from).collect();
    files.extend(
        arguments
            .values()
            .filter_map(Value::as_str)
            .flat_map(patched),
    );
    files.sort();
    files.dedup();
    files
}

/// Finds the files of a patch; what is none has none.
fn patched(text: &str) -> Vec<PathBuf> {
    if !text.trim_start().starts_with("*** Begin Patch") {
        return Vec::new();
    }
    let named = |line: &str| {
        let mut begins = PATCHED.iter();
        begins.find_map(|begin| line.strip_prefix(begin).map(|name| name.trim().into()))
    };
    text.lines().filter_map(named).collect()
}

fn text<'a>(said: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    let text = said.get(name)?.as_str()?;
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn files_of(said: &Value) -> Vec<String> {
        let edit = Edit::read(said.to_string().as_bytes()).unwrap();
        let shown = edit.files.iter().map(|file| file.display().to_string());
        shown.collect()
    }

    #[test]
    fn client_programs_say_it_in_several_ways() {
        for (said, files) in [
            (
                json!({ "tool_name": "Edit", "tool_input": { "file_path": "/w/a", "old_string": "x" } }),
                vec!["/w/a"],
            ),
            (
                json!({ "tool_name": "NotebookEdit", "tool_input": { "notebook_path": "n.ipynb" } }),
                vec!["n.ipynb"],
            ),
            (
                json!({ "tool": "write_file", "args": { "absolute_path": "/w/b", "content": "c" } }),
                vec!["/w/b"],
            ),
            (
                json!({ "input": { "paths": ["b", "a", "b"] } }),
                vec!["a", "b"],
            ),
            (json!({ "arguments": "{\"path\":\"a\"}" }), vec!["a"]),
            (json!({ "path": "a" }), vec!["a"]),
            (
                json!({ "tool_name": "apply_patch", "tool_input": { "command":
                    "*** Begin Patch\n*** Update File: src/a\n*** Move to: src/b\n@@\n-x\n*** End Patch" } }),
                vec!["src/a", "src/b"],
            ),
            (
                json!({ "tool_name": "Read", "tool_input": { "file_path": "a" } }),
                vec![],
            ),
            (
                json!({ "tool_name": "Bash", "tool_input": { "command": "ls" } }),
                vec![],
            ),
        ] {
            assert_eq!(files_of(&said), files, "{said}");
        }
        let edit = Edit::read(br#"{"cwd":"/w","tool_input":{"file_path":"a"}}"#).unwrap();
        assert_eq!(edit.directory, Some(PathBuf::from("/w")));
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for said in ["", "[]", "{", r#"{"tool_input":[]}"#] {
            assert!(Edit::read(said.as_bytes()).is_err(), "{said}");
        }
    }
}
