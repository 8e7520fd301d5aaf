//! Leases and locks, and who is in the way of one.

use serde_json::Value;

use super::ago::{ago, length};
use super::field::{field, is, list};
use super::listing::{columns, cut, listing};

/// Holders that are shown one by one.
const HOLDERS_MAX: usize = 10;

/// Writes leases that were granted or renewed.
pub(crate) fn held(answer: &Value) -> String {
    let titles = ["lease", "path", "mode", "for", "fence"];
    let row = |lease: &Value| {
        vec![
            field(lease, "id"),
            cut(&field(lease, "path_pattern")),
            mode(lease),
            left(lease),
            field(lease, "fence"),
        ]
    };
    columns(&titles, list(answer, "reservations").iter().map(row))
}

/// Writes leases that ended, a line for each.
pub(crate) fn ended(how: &str, answer: &Value) -> String {
    let one = answer.get("reservation").into_iter();
    let all = list(answer, "reservations").iter().chain(one);
    let line = |lease: &Value| {
        let (id, path) = (field(lease, "id"), field(lease, "path_pattern"));
        format!("{how} {id} {path}")
    };
    let lines: Vec<_> = all.map(line).collect();
    if lines.is_empty() {
        return "none held".to_owned();
    }
    lines.join("\n")
}

/// Writes a page of leases of a project.
pub(crate) fn page(page: &Value) -> String {
    let titles = ["lease", "held by", "path", "mode", "for", "why"];
    listing(page, &titles, |lease| {
        let left = if is(lease, "is_active") {
            left(lease)
        } else {
            field(lease, "ended")
        };
        vec![
            field(lease, "id"),
            field(lease, "held_by"),
            cut(&field(lease, "path_pattern")),
            mode(lease),
            left,
            cut(&field(lease, "reason")),
        ]
    })
}

/// Writes a page of locks.
pub(crate) fn locks(page: &Value) -> String {
    let titles = ["lock", "held by", "for", "fence", "why"];
    listing(page, &titles, lock_row)
}

/// Writes one lock.
pub(crate) fn lock(answer: &Value) -> String {
    let titles = ["lock", "held by", "for", "fence", "why"];
    columns(&titles, answer.get("lock").into_iter().map(lock_row))
}

fn lock_row(lock: &Value) -> Vec<String> {
    vec![
        cut(&field(lock, "name")),
        field(lock, "held_by"),
        left(lock),
        field(lock, "fence"),
        cut(&field(lock, "reason")),
    ]
}

/// Writes who holds what somebody wants: who, what, why, how long, and when it was last heard of.
pub(crate) fn holders(error: &Value) -> Option<String> {
    let found = ["conflicts", "holders"].map(|name| list(error, name));
    let found = found.into_iter().find(|found| !found.is_empty())?;
    let titles = ["held by", "lease", "what", "for", "last seen", "why"];
    let row = |one: &Value| {
        vec![
            field(one, "held_by"),
            field(one, "reservation_id"),
            cut(&field(one, "pattern")),
            left(one),
            ago(&field(one, "holder_last_seen")),
            cut(&field(one, "reason")),
        ]
    };
    let mut text = columns(&titles, found.iter().take(HOLDERS_MAX).map(row));
    if let Some(more) = found
        .len()
        .checked_sub(HOLDERS_MAX)
        .filter(|more| *more > 0)
    {
        text = format!("{text}\nand {more} more");
    }
    Some(text)
}

/// Says in a sentence who is in the way.
pub(crate) fn in_the_way(answer: &Value) -> String {
    match list(answer, "conflicts") {
        [] => "it is held by others".to_owned(),
        [one] => format!(
            "`{}` is held by `{}`",
            field(one, "pattern"),
            field(one, "held_by")
        ),
        [first, more @ ..] => format!(
            "`{}` is held by `{}`, and {} more are in the way",
            field(first, "pattern"),
            field(first, "held_by"),
            more.len()
        ),
    }
}

/// Returns the next step of somebody who wants files that others hold.
pub(crate) fn next_step(error: &Value) -> Option<String> {
    let first = list(error, "conflicts").first()?;
    let (id, left) = (field(first, "reservation_id"), left(first));
    Some(format!(
        "work on something else, ask for it with `comity ask-release {id} --reason WHY`, or wait with `--wait 60s`; it ends in {left} unless renewed"
    ))
}

/// Returns the next step of somebody who wants a lock that another has.
pub(crate) fn next_step_for_lock(error: &Value) -> Option<String> {
    let first = list(error, "conflicts").first()?;
    let (holder, left) = (field(first, "held_by"), left(first));
    Some(format!(
        "wait with `--wait 60s`, or write to its holder with `comity mail send {holder}`; it ends in {left} unless renewed"
    ))
}

fn mode(lease: &Value) -> String {
    let word = if is(lease, "exclusive") {
        "exclusive"
    } else {
        "shared"
    };
    word.to_owned()
}

fn left(lease: &Value) -> String {
    let left_ms = lease.get("ttl_remaining_ms").and_then(Value::as_i64);
    length(left_ms.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn conflict(id: i64) -> Value {
        json!({
            "reservation_id": id, "held_by": "Green", "pattern": "src/\u{1b}[2J", "reason": "a\nb",
            "ttl_remaining_ms": 1_740_500, "holder_last_seen": null, "exclusive": true
        })
    }

    #[test]
    fn holders_are_a_table_that_harms_no_terminal() {
        let error = json!({ "error": "reservation_conflict", "conflicts": [conflict(7)] });
        let shown = [
            "held by  lease  what           for  last seen  why",
            "Green    7      src/\\u{1b}[2J  29m             a\\nb",
        ];
        assert_eq!(holders(&error).unwrap(), shown.join("\n"));
        let next = next_step(&error).unwrap();
        assert!(
            next.contains("`comity ask-release 7 --reason WHY`"),
            "{next}"
        );
        let many: Vec<_> = (0..12).map(conflict).collect();
        let many = holders(&json!({ "holders": many })).unwrap();
        assert!(many.ends_with("\nand 2 more"), "{many}");
        assert_eq!(holders(&json!({ "error": "x" })), None);
    }

    #[test]
    fn leases_say_what_and_how_long() {
        let lease = json!({
            "id": 7, "path_pattern": "src/a.rs", "exclusive": false, "ttl_remaining_ms": 59_000,
            "fence": 12
        });
        let shown = "lease  path      mode    for  fence\n7      src/a.rs  shared  59s  12";
        assert_eq!(held(&json!({ "reservations": [lease] })), shown);
        let released = json!({ "reservation": lease });
        assert_eq!(ended("ended", &released), "ended 7 src/a.rs");
        assert_eq!(
            ended("released", &json!({ "reservations": [] })),
            "none held"
        );
    }
}
