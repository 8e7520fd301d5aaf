//! How the archive stands, for people, with the next step.

use comity_kernel::archive::{ArchiveState, ArchiveStatus, Rebuilt, Retried, Verified};

use super::ago::ago;

/// Shows how the archive stands.
pub(crate) fn status(status: &ArchiveStatus) -> String {
    let since = |time: &Option<comity_domain::Timestamp>| time.map(|time| ago(&time.to_string()));
    let mut rows = vec![
        ("state", state(status.state).to_owned()),
        ("through", format!("event {}", status.through)),
        ("behind", events(status.lag)),
    ];
    rows.extend(since(&status.oldest_at).map(|oldest| ("oldest", oldest)));
    rows.extend(since(&status.degraded_since).map(|since| ("since", since)));
    if !status.detail.is_empty() {
        rows.push(("why", status.detail.clone()));
    }
    if !status.repository.is_empty() {
        rows.push(("repository", status.repository.clone()));
    }
    if status.redacted_since_rebuild > 0 {
        let held = events(status.redacted_since_rebuild);
        rows.push(("redacted", format!("it may still hold the words of {held}")));
    }
    if status.quarantined_count > 0 {
        rows.push(("quarantine", files(status.quarantined_count)));
    }
    let mut lines: Vec<_> = rows
        .into_iter()
        .map(|(name, text)| format!("{name:10}  {text}"))
        .collect();
    lines.extend(
        status
            .quarantined
            .iter()
            .map(|one| format!("  event {}  {}: {}", one.seq, one.path, one.reason)),
    );
    lines.extend(next(status).map(|next| format!("{:10}  {next}", "next")));
    lines.join("\n")
}

fn state(state: ArchiveState) -> &'static str {
    match state {
        ArchiveState::Following => "following the log",
        ArchiveState::Degraded => "degraded; it is tried again",
        ArchiveState::Stopped => "STOPPED; it needs you",
        ArchiveState::Resting => "resting; no server runs",
        ArchiveState::Off => "off",
    }
}

/// What to do now, where the state does not say it.
fn next(status: &ArchiveStatus) -> Option<String> {
    let text = match status.state {
        ArchiveState::Resting if status.lag > 0 => "`comity archive sync`, or `comity serve`",
        ArchiveState::Following | ArchiveState::Resting if status.quarantined_count > 0 => {
            "`comity archive retry`, once the reason is gone"
        }
        ArchiveState::Following | ArchiveState::Resting if status.redacted_since_rebuild > 0 => {
            "`comity archive rebuild`, then remove the old one that it keeps"
        }
        ArchiveState::Following | ArchiveState::Resting if status.through.get() > 0 => {
            return Some(format!("`git -C {} log --stat`", status.repository));
        }
        ArchiveState::Following
        | ArchiveState::Degraded
        | ArchiveState::Stopped
        | ArchiveState::Resting
        | ArchiveState::Off => return None,
    };
    Some(text.to_owned())
}

/// Shows that everything is archived.
pub(crate) fn synced(status: &ArchiveStatus, server: Option<&str>) -> String {
    let done = format!(
        "archived up to event {} in {}",
        status.through, status.repository
    );
    match server {
        Some(server) => format!("{done}\nthe server at {server} does so by itself"),
        None => done,
    }
}

/// Shows what a comparison found.
pub(crate) fn verified(verified: &Verified) -> String {
    let compared = format!(
        "{} and {} up to event {}",
        events(verified.events),
        files(verified.files),
        verified.through
    );
    if verified.ok && verified.outdated > 0 {
        return format!(
            "the archive says what the log says: {compared}\n\
             {} still hold what was redacted since: `comity archive rebuild`",
            verified.outdated
        );
    }
    if verified.ok {
        return format!("the archive says what the log says: {compared}");
    }
    let mut lines = vec![format!("compared {compared}; the archive DIFFERS:")];
    lines.extend(verified.differences.iter().map(|one| format!("  {one}")));
    lines.join("\n")
}

/// Shows what was made anew.
pub(crate) fn rebuilt(rebuilt: &Rebuilt) -> String {
    let made = format!(
        "made anew up to event {} in {} commits",
        rebuilt.through, rebuilt.commits
    );
    match &rebuilt.old {
        Some(old) => format!("{made}\nthe old one is kept as {old}"),
        None => made,
    }
}

/// Shows what became of the quarantine.
pub(crate) fn retried(retried: &Retried) -> String {
    let written = format!("written: {}", files(retried.written));
    match retried.left {
        0 => format!("{written}; nothing is left in quarantine"),
        left => format!(
            "{written}; still in quarantine: {} (`comity archive status` says why)",
            files(left)
        ),
    }
}

fn events(count: i64) -> String {
    counted(count, "event")
}

fn files(count: i64) -> String {
    counted(count, "file")
}

fn counted(count: i64, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use comity_domain::{Seq, Timestamp};
    use comity_kernel::archive::Quarantined;

    use super::*;

    fn resting() -> ArchiveStatus {
        ArchiveStatus {
            state: ArchiveState::Resting,
            detail: String::new(),
            repository: "/data/archive.git".to_owned(),
            through: Seq::new(7),
            lag: 1,
            oldest_at: None,
            redacted_since_rebuild: 0,
            degraded_since: None,
            quarantined_count: 0,
            quarantined: Vec::new(),
        }
    }

    #[test]
    fn the_next_step_follows_from_the_state() {
        assert_eq!(
            status(&resting()),
            "state       resting; no server runs\n\
             through     event 7\n\
             behind      1 event\n\
             repository  /data/archive.git\n\
             next        `comity archive sync`, or `comity serve`"
        );
        let whole = ArchiveStatus {
            state: ArchiveState::Following,
            lag: 0,
            ..resting()
        };
        let said = status(&whole);
        assert!(
            said.ends_with("`git -C /data/archive.git log --stat`"),
            "{said}"
        );
        let poisoned = ArchiveStatus {
            quarantined_count: 1,
            quarantined: vec![Quarantined {
                seq: Seq::new(3),
                path: "a.md".to_owned(),
                reason: "no".to_owned(),
                since: Timestamp::from_micros(0),
            }],
            ..whole
        };
        let said = status(&poisoned);
        assert!(
            said.contains("quarantine  1 file\n  event 3  a.md: no\n"),
            "{said}"
        );
        assert!(said.ends_with("once the reason is gone"), "{said}");
    }

    #[test]
    fn what_stopped_it_is_said() {
        let stopped = ArchiveStatus {
            state: ArchiveState::Stopped,
            detail: "somebody was here: look".to_owned(),
            redacted_since_rebuild: 0,
            degraded_since: Some(Timestamp::from_micros(0)),
            ..resting()
        };
        let said = status(&stopped);
        assert!(
            said.starts_with("state       STOPPED; it needs you\n"),
            "{said}"
        );
        assert!(
            said.contains("\nwhy         somebody was here: look\n"),
            "{said}"
        );
        assert!(said.contains("\nsince       "), "{said}");
    }
}
