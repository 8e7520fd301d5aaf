//! What the log says of leases and locks, event by event, and whether it can be true (Q3).

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;

use super::glob::{Case, Glob};
use super::meet::common_path;

/// An event as the checker reads it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its number.
    pub seq: i64,
    /// Its kind.
    pub kind: String,
    /// Its payload.
    pub payload: String,
}

/// How a lease ended, and by which event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// The event's number.
    pub seq: i64,
    /// The word for how.
    pub how: &'static str,
}

/// A lease or a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The project.
    pub project: i64,
    /// The holder; nobody is the operator.
    pub agent: Option<i64>,
    /// Whether it is on a name.
    pub is_lock: bool,
    /// Whether nobody else may hold the same.
    pub exclusive: bool,
    /// The number of the granting event.
    pub fence: i64,
    /// When it was granted, on the lease clock.
    pub granted: i64,
    /// Until when it holds, on the lease clock.
    pub expires: i64,
    /// How it ended.
    pub ended: Option<End>,
    /// What it is on.
    pub(super) on: usize,
}

/// Everything that was granted, and how it ended.
#[derive(Default)]
pub struct History {
    seq: i64,
    /// The latest time on the lease clock.
    clock: i64,
    case: HashMap<i64, Case>,
    leases: HashMap<i64, Lease>,
    /// What has not ended, by project.
    open: HashMap<i64, BTreeSet<i64>>,
    patterns: Patterns,
    last_id: i64,
}

#[derive(Deserialize)]
struct Project {
    id: i64,
    settings: Settings,
}

#[derive(Deserialize)]
struct Settings {
    case_insensitive: bool,
}

#[derive(Deserialize)]
struct Row {
    id: i64,
    pattern: String,
}

#[derive(Deserialize)]
struct Files {
    project: i64,
    agent: i64,
    reservations: Vec<Row>,
    mode: String,
    granted: i64,
    expires: i64,
}

#[derive(Deserialize)]
struct Lock {
    id: i64,
    project: i64,
    agent: Option<i64>,
    name: String,
    granted: i64,
    expires: i64,
}

#[derive(Deserialize)]
struct Renewed {
    id: i64,
    project: i64,
    #[serde(rename = "renewed")]
    at: i64,
    expires: i64,
}

#[derive(Deserialize)]
struct Ended {
    id: i64,
    project: i64,
    agent: Option<i64>,
    pattern: String,
    fence: i64,
    #[serde(rename = "ended")]
    at: i64,
}

impl History {
    /// Takes in the next event; says what cannot be, if it is so.
    pub fn take(&mut self, entry: &Entry) -> Result<(), String> {
        if entry.seq <= self.seq {
            return Err(format!("event {} comes after {}", entry.seq, self.seq));
        }
        self.seq = entry.seq;
        let taken = match entry.kind.as_str() {
            "project_created" | "project_updated" => read(entry).map(|one| self.project(&one)),
            "files_reserved" => read(entry).and_then(|one| self.files(&one)),
            "lock_acquired" => read(entry).and_then(|one| self.lock(&one)),
            "lease_renewed" => read(entry).and_then(|one| self.renewed(&one)),
            "lease_released" => read(entry).and_then(|one| self.ended(&one, "released")),
            "lease_forced" => read(entry).and_then(|one| self.ended(&one, "forced")),
            "lease_retired" => read(entry).and_then(|one| self.ended(&one, "retired")),
            "lease_expired" => read(entry).and_then(|one| self.ended(&one, "expired")),
            _ => Ok(()),
        };
        taken.map_err(|what| format!("event {} ({}): {what}", entry.seq, entry.kind))
    }

    /// Returns the number of the last event that was taken in.
    pub fn seq(&self) -> i64 {
        self.seq
    }

    /// Returns all that was granted, by number.
    pub fn leases(&self) -> &HashMap<i64, Lease> {
        &self.leases
    }

    /// Counts the leases that ended in a way.
    pub fn count_ended(&self, how: &str) -> usize {
        let ended = self
            .leases
            .values()
            .filter_map(|lease| lease.ended.as_ref());
        ended.filter(|end| end.how == how).count()
    }

    /// Returns the numbers of leases that are active at a time and in the way of somebody who
    /// wants a pattern, in order.
    pub fn in_the_way(&mut self, wanted: &Want<'_>, now: i64) -> Vec<i64> {
        let case = self.case_of(wanted.project);
        let on = self.patterns.number(wanted.pattern, case);
        let open = self.open.get(&wanted.project);
        let ids: Vec<i64> = open.into_iter().flatten().copied().collect();
        let is_in_the_way = |id: &i64| {
            let lease = &self.leases[id];
            !lease.is_lock
                && lease.expires > now
                && lease.agent != wanted.agent
                && (lease.exclusive || wanted.exclusive)
                && self.patterns.meet(lease.on, on)
        };
        ids.into_iter().filter(is_in_the_way).collect()
    }

    fn case_of(&self, project: i64) -> Case {
        self.case.get(&project).copied().unwrap_or(Case::Matters)
    }

    fn project(&mut self, project: &Project) {
        let case = if project.settings.case_insensitive {
            Case::Folded
        } else {
            Case::Matters
        };
        self.case.insert(project.id, case);
    }

    /// Time on the lease clock never goes back (3.2).
    fn at(&mut self, now: i64) -> Result<(), String> {
        if now < self.clock {
            return Err(format!("the lease clock went from {} to {now}", self.clock));
        }
        self.clock = now;
        Ok(())
    }

    fn files(&mut self, files: &Files) -> Result<(), String> {
        self.at(files.granted)?;
        if files.reservations.is_empty() {
            return Err("a grant of nothing".to_owned());
        }
        let exclusive = match files.mode.as_str() {
            "exclusive" => true,
            "shared" => false,
            other => return Err(format!("a mode `{other}`")),
        };
        let case = self.case_of(files.project);
        for row in &files.reservations {
            let lease = Lease {
                project: files.project,
                agent: Some(files.agent),
                is_lock: false,
                exclusive,
                fence: self.seq,
                granted: files.granted,
                expires: files.expires,
                ended: None,
                on: self.patterns.number(&row.pattern, case),
            };
            self.grant(row.id, lease, &row.pattern)?;
        }
        Ok(())
    }

    fn lock(&mut self, lock: &Lock) -> Result<(), String> {
        self.at(lock.granted)?;
        let lease = Lease {
            project: lock.project,
            agent: lock.agent,
            is_lock: true,
            exclusive: true,
            fence: self.seq,
            granted: lock.granted,
            expires: lock.expires,
            ended: None,
            on: self.patterns.name(&lock.name),
        };
        self.grant(lock.id, lease, &lock.name)
    }

    /// F1, and F6: nobody else has it, and its holder has it not yet.
    fn grant(&mut self, id: i64, new: Lease, what: &str) -> Result<(), String> {
        if id <= self.last_id {
            return Err(format!("number {id} after {}", self.last_id));
        }
        self.last_id = id;
        if new.expires <= new.granted {
            return Err(format!("lease {id} ends before it begins"));
        }
        let open = self.open.entry(new.project).or_default();
        for other_id in open.iter() {
            let other = &self.leases[other_id];
            if other.expires <= new.granted || other.is_lock != new.is_lock {
                continue;
            }
            if other.agent == new.agent && (other.exclusive != new.exclusive || other.on != new.on)
            {
                continue;
            }
            let is_same = other.on == new.on;
            if other.agent == new.agent {
                return Err(format!("lease {id} on `{what}` is {other_id} again"));
            }
            let meet = is_same || (!new.is_lock && self.patterns.meet(other.on, new.on));
            if (other.exclusive || new.exclusive) && meet {
                let other_on = self.patterns.text(other.on);
                return Err(format!(
                    "lease {id} on `{what}` was granted while {other_id} on `{other_on}` was active"
                ));
            }
        }
        open.insert(id);
        self.leases.insert(id, new);
        Ok(())
    }

    /// F9 F15: it holds still, and longer from now on.
    fn renewed(&mut self, renewed: &Renewed) -> Result<(), String> {
        self.at(renewed.at)?;
        let id = renewed.id;
        let lease = self.leases.get_mut(&id).ok_or("an unknown lease")?;
        if lease.project != renewed.project {
            return Err(format!("lease {id} is of another project"));
        }
        if let Some(end) = &lease.ended {
            return Err(format!("lease {id} ended at {} already", end.seq));
        }
        if renewed.at >= lease.expires {
            return Err(format!(
                "lease {id} was renewed at {} and had expired at {}",
                renewed.at, lease.expires
            ));
        }
        if renewed.expires <= lease.expires {
            return Err(format!("lease {id} was not made longer"));
        }
        lease.expires = renewed.expires;
        Ok(())
    }

    /// F15: one end, as what it is, and in its time.
    fn ended(&mut self, ended: &Ended, how: &'static str) -> Result<(), String> {
        self.at(ended.at)?;
        let (id, seq) = (ended.id, self.seq);
        let lease = self.leases.get_mut(&id).ok_or("an unknown lease")?;
        if let Some(end) = &lease.ended {
            return Err(format!("lease {id} ended at {} already", end.seq));
        }
        let said = (ended.project, ended.agent, ended.fence);
        if said != (lease.project, lease.agent, lease.fence) {
            return Err(format!("lease {id} is not {said:?}"));
        }
        let on = if lease.is_lock {
            self.patterns.name(&ended.pattern)
        } else {
            let case = self.case.get(&lease.project).copied();
            let case = case.unwrap_or(Case::Matters);
            self.patterns.number(&ended.pattern, case)
        };
        // Under another rule about case it has another number; nothing was held then.
        if on != lease.on && lease.expires > ended.at {
            return Err(format!("lease {id} is not on `{}`", ended.pattern));
        }
        let was_up = ended.at >= lease.expires;
        if was_up != (how == "expired") {
            return Err(format!(
                "lease {id}, good until {}, was {how} at {}",
                lease.expires, ended.at
            ));
        }
        lease.ended = Some(End { seq, how });
        if let Some(open) = self.open.get_mut(&lease.project) {
            open.remove(&id);
        }
        Ok(())
    }
}

/// What somebody wants.
#[derive(Clone, Copy, Debug)]
pub struct Want<'a> {
    /// The project.
    pub project: i64,
    /// Who; nobody is in the way of itself.
    pub agent: Option<i64>,
    /// The pattern, in canonical form.
    pub pattern: &'a str,
    /// Whether nobody else may hold the same.
    pub exclusive: bool,
}

fn read<'a, T: Deserialize<'a>>(entry: &'a Entry) -> Result<T, String> {
    serde_json::from_str(&entry.payload).map_err(|error| format!("{error}: {}", entry.payload))
}

/// Patterns by number, and what is known of each pair.
#[derive(Default)]
struct Patterns {
    numbers: HashMap<(String, Option<Case>), usize>,
    known: Vec<(String, Glob)>,
    pairs: std::cell::RefCell<HashMap<(usize, usize), bool>>,
}

impl Patterns {
    fn number(&mut self, text: &str, case: Case) -> usize {
        let folded = match case {
            Case::Matters => text.to_owned(),
            Case::Folded => text.to_ascii_lowercase(),
        };
        self.numbered(text, (folded, Some(case)), case)
    }

    /// A lock's name is no pattern: it only equals itself.
    fn name(&mut self, name: &str) -> usize {
        self.numbered(name, (name.to_owned(), None), Case::Matters)
    }

    fn numbered(&mut self, text: &str, key: (String, Option<Case>), case: Case) -> usize {
        let known = &mut self.known;
        *self.numbers.entry(key).or_insert_with(|| {
            known.push((text.to_owned(), Glob::read(text, case)));
            known.len() - 1
        })
    }

    fn text(&self, number: usize) -> &str {
        &self.known[number].0
    }

    fn meet(&self, left: usize, right: usize) -> bool {
        let pair = (left.min(right), left.max(right));
        let mut pairs = self.pairs.borrow_mut();
        *pairs.entry(pair).or_insert_with(|| {
            let (left, right) = (&self.known[left].1, &self.known[right].1);
            common_path(left, right).is_some()
        })
    }
}
