//! Looks for what the code's own check must never let happen: two leases in each other's way (F1).

use comity_domain::{LeaseTime, Pattern};

use super::table::compared;
use crate::error::Error;
use crate::params;
use crate::tx::Read;

/// Finds a lease that has not exactly the one event of its end (F15).
pub(crate) const WRONG_ENDS: &str = "select id from (
        select id, case when ended_seq is null then 0 else 1 end as ends, 1 as is_row from reservation
        union all
        select subject_id, -count(*), 0 from event where subject_type = ?1
        and kind in ('lease_released', 'lease_forced', 'lease_retired', 'lease_expired')
        group by subject_id) counted
    group by id having max(is_row) = 1 and sum(ends) <> 0 limit 1";

/// A lease as far as it can be in another's way.
struct Held {
    id: i64,
    kind: String,
    project: i64,
    agent: i64,
    key: Key,
    exclusive: bool,
}

enum Key {
    Files(Pattern),
    Name(String),
}

impl Held {
    fn is_in_the_way_of(&self, other: &Self) -> bool {
        let meet = || match (&self.key, &other.key) {
            (Key::Files(own), Key::Files(other)) => own.overlaps(other),
            (Key::Name(own), Key::Name(other)) => own == other,
            _ => false,
        };
        self.project == other.project
            && self.agent != other.agent
            && (self.exclusive || other.exclusive)
            && meet()
    }
}

/// Compares every lease that is active at a time with every other: rows and patterns alone, none of
/// the memory and none of the statements that decide.
pub(crate) fn overlaps(read: &mut impl Read, now: LeaseTime) -> Result<String, Error> {
    let held = read.rows(
        "select r.id, r.kind, r.project_id, coalesce(r.agent_id, 0), r.pattern, r.exclusive,
            p.case_insensitive
         from reservation r join project p on p.id = r.project_id
         where r.ended_at is null and r.expires_lease_us > ?1
         order by r.project_id, r.id",
        params![now],
        |row| {
            let (id, kind): (i64, String) = (row.take()?, row.take()?);
            let (project, agent) = (row.take()?, row.take()?);
            let (pattern, exclusive): (String, bool) = (row.take()?, row.take()?);
            let case_insensitive = row.take()?;
            let key = match kind.as_str() {
                "lock" => Key::Name(pattern),
                _ => Key::Files(compared(&pattern, case_insensitive)?),
            };
            Ok(Held {
                id,
                kind,
                project,
                agent,
                key,
                exclusive,
            })
        },
    )?;
    for (at, one) in held.iter().enumerate() {
        let after = held.iter().skip(at + 1);
        let same_project = after.take_while(|other| other.project == one.project);
        if let Some(other) = same_project
            .into_iter()
            .find(|other| one.is_in_the_way_of(other))
        {
            return Err(Error::Damaged {
                what: format!(
                    "{} {} and {} overlap, and both are active",
                    one.kind, one.id, other.id
                ),
            });
        }
    }
    Ok(format!(
        "{} are active, none in the way of another",
        held.len()
    ))
}
