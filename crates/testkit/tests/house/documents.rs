//! Rules about documents: what they claim is there.

use std::collections::BTreeSet;

use comity_kernel::error::CODES;

use super::{read, root};

#[test]
fn every_error_code_has_its_paragraph() {
    let page = read("docs/errors.md");
    let sections: Vec<_> = page.split("\n### `").skip(1).collect();
    let described: BTreeSet<_> = sections
        .iter()
        .map(|section| section.split('`').next().expect("a code"))
        .collect();
    let known: BTreeSet<_> = CODES.iter().map(|code| code.word).collect();
    assert_eq!(described, known);
    for section in sections {
        assert!(section.len() > 120, "too short to help: {section}");
    }
    for code in CODES {
        let row = format!("{}", code.status);
        let section = page
            .split(&format!("### `{}`", code.word))
            .nth(1)
            .expect("a section");
        let section = section.split("\n### ").next().expect("its text");
        assert!(
            section.contains(&row),
            "{} does not name its status {row}",
            code.word
        );
    }
}

/// The codes of a guarantee, and the tests it points to by name and file.
type Guarantee = (Vec<String>, Vec<(String, String)>);

/// The rows of `docs/guarantees.md`.
fn guarantees() -> Vec<Guarantee> {
    let page = read("docs/guarantees.md");
    page.lines()
        .filter(|line| line.starts_with("| ") && line.contains("](../"))
        .map(|line| {
            let mut cells = line.trim_matches('|').split(" | ");
            let codes = cells
                .next()
                .expect("codes")
                .split_whitespace()
                .map(ToOwned::to_owned)
                .collect();
            let tests = cells
                .last()
                .expect("tests")
                .split('[')
                .skip(1)
                .map(test)
                .collect();
            (codes, tests)
        })
        .collect()
}

/// Reads `` `name`](../path) ``.
fn test(link: &str) -> (String, String) {
    let (name, rest) = link.split_once("](../").expect("a link");
    let (path, _) = rest.split_once(')').expect("a path");
    (name.trim_matches('`').to_owned(), path.to_owned())
}

/// The comment lines right above a test.
fn cited_at(text: &str, name: &str) -> Option<String> {
    let lines: Vec<_> = text.lines().collect();
    let at = lines
        .iter()
        .position(|line| line.contains(&format!("fn {name}(")))?;
    let above = lines[..at].iter().rev().take_while(|line| {
        let line = line.trim_start();
        line.starts_with("//") || line.starts_with("#[")
    });
    Some(above.map(|line| line.trim().to_owned() + " ").collect())
}

#[test]
fn every_guarantee_is_cited_by_its_test() {
    let rows = guarantees();
    assert!(rows.len() > 40, "only {} rows were understood", rows.len());
    for (codes, tests) in rows {
        assert!(!tests.is_empty(), "{codes:?}");
        let mut cited = String::new();
        for (name, path) in tests {
            let above = cited_at(&read(&path), &name);
            cited += &above.unwrap_or_else(|| panic!("{path} has no test `{name}`"));
        }
        for code in codes {
            let words = cited.split(|c: char| !c.is_alphanumeric() && c != '.');
            assert!(
                words
                    .into_iter()
                    .any(|word| word.trim_end_matches('.') == code),
                "{code} is not cited: {cited}"
            );
        }
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let pages = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/glossary.md",
        "docs/archive.md",
        "docs/runs.md",
        "docs/errors.md",
        "docs/guarantees.md",
        "docs/adding-a-command.md",
        "docs/decisions/README.md",
    ];
    for page in pages {
        let folder = root().join(page).parent().expect("a folder").to_owned();
        for link in read(page).split("](").skip(1) {
            let target = link.split([')', '#']).next().expect("a target");
            if target.is_empty() || target.contains("://") {
                continue;
            }
            assert!(folder.join(target).exists(), "{page}: {target}");
        }
    }
}
