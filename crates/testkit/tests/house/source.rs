//! Rules about source files.

use super::rust_files;

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const FILE_LINES_USUAL: usize = 200;

/// The functions of a formatted file: where each begins, and how many lines it has.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<_> = text.lines().collect();
    let begins = |line: &str| {
        let code = line.trim_start();
        let bare = code
            .trim_start_matches("pub ")
            .trim_start_matches("pub(crate) ")
            .trim_start_matches("pub(super) ")
            .trim_start_matches("const ")
            .trim_start_matches("async ");
        bare.starts_with("fn ")
    };
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| begins(line)) {
        let indent = line.len() - line.trim_start().len();
        let end = format!("{}}}", " ".repeat(indent));
        // A declaration without a body ends with its line or its list of arguments.
        let body = lines[at..]
            .iter()
            .position(|line| line.ends_with('{') || line.ends_with(';'));
        let Some(body) = body.filter(|body| lines[at + body].ends_with('{')) else {
            continue;
        };
        let length = lines[at + body..].iter().position(|line| *line == end);
        found.push((at + 1, body + length.unwrap_or(0) + 1));
    }
    found
}

#[test]
fn functions_are_measured() {
    let text =
        "fn a(\n    b: u8,\n) {\n    c();\n}\n\nfn d();\n\n    pub fn e() {\n        f();\n    }\n";
    assert_eq!(functions(text), [(1, 5), (9, 3)]);
}

#[test]
fn files_and_functions_keep_their_size() {
    let mut lengths = Vec::new();
    for (path, text) in rust_files("crates") {
        let lines = text.lines().count();
        lengths.push(lines);
        assert!(
            lines <= FILE_LINES_MAX,
            "{} has {lines} lines",
            path.display()
        );
        for (at, length) in functions(&text) {
            assert!(
                length <= FUNCTION_LINES_MAX,
                "{}:{at} has {length} lines",
                path.display()
            );
        }
    }
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(
        median <= FILE_LINES_USUAL,
        "the median file has {median} lines"
    );
}

/// The product's own lines of the kernel: tests may do as they like.
fn kernel_lines() -> Vec<(String, String)> {
    let product = |(path, text): (std::path::PathBuf, String)| {
        let path = path.to_string_lossy().into_owned();
        let product = text.split("#[cfg(test)]").next().unwrap_or_default();
        let lines = product.lines().map(ToOwned::to_owned).collect::<Vec<_>>();
        lines.into_iter().map(move |line| (path.clone(), line))
    };
    rust_files("crates/kernel/src")
        .into_iter()
        .filter(|(path, _)| !path.components().any(|part| part.as_os_str() == "tests"))
        .flat_map(product)
        .collect()
}

// S9: values are bound, never formatted into statements
#[test]
fn no_statement_is_built_by_formatting() {
    for (path, line) in kernel_lines() {
        for word in ["select ", "insert ", "update ", "delete "] {
            let built = line.contains("format!(") && line.contains(&format!("\"{word}"));
            // Names of tables come from the schema itself, quoted; there is nothing to bind.
            let quoted = line.contains("select count(*) from \\\"{}\\\"");
            assert!(!built || quoted, "{path}: {line}");
        }
    }
}

// A14 F14: numbers are counted on in one way, which knows of epochs
#[test]
fn the_next_number_is_found_in_one_way() {
    for (path, line) in kernel_lines() {
        let counted = line.contains("max(id) + 1") || line.contains("max(id), 0) + 1");
        assert!(!counted || path.ends_with("epoch/mod.rs"), "{path}: {line}");
    }
}

// A4: errors are judged by code, never by their text
#[test]
fn no_error_is_judged_by_its_text() {
    for (path, line) in kernel_lines() {
        for judged in [
            "to_string().contains(",
            "message().contains(",
            "to_string().starts_with(",
        ] {
            assert!(!line.contains(judged), "{path}: {line}");
        }
    }
}

// 3.2: no statement reads a clock; the one of PostgreSQL is read beside the head
#[test]
fn no_statement_reads_a_clock() {
    for (path, line) in kernel_lines() {
        let clocks = [
            " now()",
            "(now()",
            "current_timestamp",
            "datetime(",
            "julianday(",
            "strftime(",
        ];
        let read = clocks.iter().any(|clock| line.contains(clock));
        assert!(!read, "{path}: {line}");
        let beside_the_head = path.contains("store/postgres");
        assert!(
            !line.contains("clock_timestamp()") || beside_the_head,
            "{path}: {line}"
        );
    }
}
