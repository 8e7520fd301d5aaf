//! Full text in FTS5: our tokens, separated by spaces, under its plainest tokenizer.

use comity_domain::search::{Field, Indexed, Query, Sign, Term};

use crate::params;
use crate::store::search::{
    DiscoveryStatements, FullText, Kind, Statements, Words, discovery_filter, place, search_filter,
};
use crate::store::{Rows, Session, StoreError};

/// Stands where a place counts but its token is not indexed. No token of ours holds it: it is
/// neither a letter nor a digit.
const SKIPPED: &str = "\u{e000}";

/// FTS5.
pub(super) struct Fts5;

static STATEMENTS: Statements = Statements {
    ranked: concat!(
        "select m.id from message_text t join message m on m.id = t.rowid
     where message_text match ?1",
        search_filter!(),
        "order by bm25(message_text, 4.0, 1.0), m.id desc limit cast(?9 as bigint)"
    ),
    newest: concat!(
        "select m.id from message_text t join message m on m.id = t.rowid
     where message_text match ?1",
        search_filter!(),
        "order by t.rowid desc limit cast(?9 as bigint)"
    ),
    without: concat!(
        "select m.id from message m
     where m.id not in (select t.rowid from message_text t where message_text match ?1)",
        search_filter!(),
        "order by m.id desc limit cast(?9 as bigint)"
    ),
};

static DISCOVERIES: DiscoveryStatements = DiscoveryStatements {
    ranked: concat!(
        "select d.id from discovery_text t join discovery d on d.id = t.rowid
     where discovery_text match ?1",
        discovery_filter!(),
        "order by bm25(discovery_text, 4.0, 1.0), d.id limit cast(?7 as bigint)"
    ),
    without: concat!(
        "select d.id from discovery d
     where d.id not in (select t.rowid from discovery_text t where discovery_text match ?1)",
        discovery_filter!(),
        "order by d.id desc limit cast(?7 as bigint)"
    ),
};

impl FullText for Fts5 {
    fn notation(&self, query: &Query) -> String {
        let of = |sign: Sign| query.terms.iter().filter(move |term| term.sign == sign);
        let must: Vec<String> = of(Sign::Must).map(term).collect();
        let mut text = must.join(" AND ");
        for refused in of(Sign::MustNot) {
            text = format!("({text}) NOT {}", term(refused));
        }
        text
    }

    fn refused(&self, query: &Query) -> String {
        let terms: Vec<String> = query.terms.iter().map(term).collect();
        terms.join(" OR ")
    }

    fn statements(&self) -> &'static Statements {
        &STATEMENTS
    }

    fn discoveries(&self) -> &'static DiscoveryStatements {
        &DISCOVERIES
    }

    fn sum(&self, session: &mut dyn Session, of: Kind) -> Result<u128, StoreError> {
        let mut sum = 0_u128;
        let sql = match of {
            Kind::Message => "select doc, col, \"offset\", term from message_word",
            Kind::Discovery => "select doc, col, \"offset\", term from discovery_word",
        };
        session.each(sql, &[], &mut |mut row| {
            let (doc, col): (i64, String) = (row.take()?, row.take()?);
            let (offset, term): (i64, String) = (row.take()?, row.take()?);
            sum = sum.wrapping_add(place(doc, &format!("{col} {offset}"), &term));
            Ok(())
        })?;
        Ok(sum)
    }

    fn expected(&self, words: &Words) -> u128 {
        let mut sum = 0_u128;
        for (col, places) in [("subject", &words.subject), ("body", &words.body)] {
            for (token, offset) in places.iter().zip(0..) {
                let token = token.token().unwrap_or(SKIPPED);
                sum = sum.wrapping_add(place(words.id, &format!("{col} {offset}"), token));
            }
        }
        sum
    }

    fn add(&self, session: &mut dyn Session, words: &Words) -> Result<(), StoreError> {
        let sql = match words.of {
            Kind::Message => "insert into message_text (rowid, subject, body) values (?1, ?2, ?3)",
            Kind::Discovery => {
                "insert into discovery_text (rowid, subject, body) values (?1, ?2, ?3)"
            }
        };
        session.write(
            sql,
            params![words.id, &line(&words.subject), &line(&words.body)],
            Rows::Exactly(1),
        )
    }

    fn remove(&self, session: &mut dyn Session, words: &Words) -> Result<(), StoreError> {
        let sql = match words.of {
            Kind::Message => {
                "insert into message_text (message_text, rowid, subject, body)
                 values ('delete', ?1, ?2, ?3)"
            }
            Kind::Discovery => {
                "insert into discovery_text (discovery_text, rowid, subject, body)
                 values ('delete', ?1, ?2, ?3)"
            }
        };
        session.write(
            sql,
            params![words.id, &line(&words.subject), &line(&words.body)],
            Rows::Any,
        )
    }
}

/// Writes a term: tokens hold letters and digits only, so nothing in the quotes needs escaping.
fn term(term: &Term) -> String {
    let field = match term.field {
        Field::Any => "",
        Field::Subject => "subject : ",
    };
    let star = if term.prefix { " *" } else { "" };
    format!("{field}\"{}\"{star}", term.tokens.join(" "))
}

fn line(places: &[Indexed]) -> String {
    let tokens: Vec<&str> = places
        .iter()
        .map(|place| place.token().unwrap_or(SKIPPED))
        .collect();
    tokens.join(" ")
}
