//! What a request names: literal paths and patterns, in the form in which leases are kept.

use comity_domain::limits::{PATTERNS_PER_CALL_MAX, ROOTLESS_PATTERNS_MAX};
use comity_domain::{LiteralPath, Pattern};

use crate::error::Error;

/// Puts together what a request names, each once, in its order.
pub(super) fn named(
    paths: &[LiteralPath],
    patterns: &[Pattern],
    path_pattern: Option<&Pattern>,
) -> Result<Vec<Pattern>, Error> {
    let paths = paths.iter().map(|path| ("paths", path.pattern()));
    let patterns = patterns.iter().chain(path_pattern);
    let all = paths.chain(patterns.map(|pattern| ("patterns", pattern)));
    let mut named: Vec<Pattern> = Vec::new();
    for (field, pattern) in all {
        if named.contains(pattern) {
            continue;
        }
        if named.len() == PATTERNS_PER_CALL_MAX {
            let rule = format!("must be at most {PATTERNS_PER_CALL_MAX} paths and patterns in all");
            return Err(Error::invalid(field, rule));
        }
        named.push(pattern.clone());
    }
    let rootless = named.iter().filter(|pattern| !pattern.begins_with_a_name());
    if rootless.count() > ROOTLESS_PATTERNS_MAX {
        let rule = format!(
            "must have at most {ROOTLESS_PATTERNS_MAX} that begin with a wildcard: each is compared \
             with every lease there is"
        );
        return Err(Error::invalid("patterns", rule));
    }
    Ok(named)
}

/// Does the same where something must be named.
pub(super) fn some_named(
    paths: &[LiteralPath],
    patterns: &[Pattern],
    path_pattern: Option<&Pattern>,
) -> Result<Vec<Pattern>, Error> {
    let named = named(paths, patterns, path_pattern)?;
    if named.is_empty() {
        let rule = "is missing: give `paths` (literal) or `patterns`, at least one";
        return Err(Error::invalid("paths", rule));
    }
    Ok(named)
}

/// Returns a pattern in the form in which it is compared in a project.
pub(super) fn compared(pattern: &Pattern, case_insensitive: bool) -> Pattern {
    if case_insensitive {
        return pattern.folded();
    }
    pattern.clone()
}
