//! Full text in a `tsvector` of our tokens with their places; subjects have weight A.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comity_domain::search::{Field, Query, Sign, Term};

use crate::params;
use crate::store::search::{
    DiscoveryStatements, FullText, Kind, Statements, Words, discovery_filter, place, search_filter,
};
use crate::store::{Rows, Session, StoreError};

/// PostgreSQL's own full text.
pub(super) struct TsVector;

static STATEMENTS: Statements = Statements {
    ranked: concat!(
        "select m.id from message_text t join message m on m.id = t.message_id
     where t.tokens @@ cast(cast(?1 as text) as tsquery)",
        search_filter!(),
        "order by ts_rank(t.tokens, cast(cast(?1 as text) as tsquery)) desc, m.id desc
     limit cast(?9 as bigint)"
    ),
    newest: concat!(
        "select m.id from message_text t join message m on m.id = t.message_id
     where t.tokens @@ cast(cast(?1 as text) as tsquery)",
        search_filter!(),
        "order by m.id desc limit cast(?9 as bigint)"
    ),
    without: concat!(
        "select m.id from message_text t join message m on m.id = t.message_id
     where not (t.tokens @@ cast(cast(?1 as text) as tsquery))",
        search_filter!(),
        "order by m.id desc limit cast(?9 as bigint)"
    ),
};

static DISCOVERIES: DiscoveryStatements = DiscoveryStatements {
    ranked: concat!(
        "select d.id from discovery_text t join discovery d on d.id = t.discovery_id
     where t.tokens @@ cast(cast(?1 as text) as tsquery)",
        discovery_filter!(),
        "order by ts_rank(t.tokens, cast(cast(?1 as text) as tsquery)) desc, d.id
     limit cast(?7 as bigint)"
    ),
    without: concat!(
        "select d.id from discovery_text t join discovery d on d.id = t.discovery_id
     where not (t.tokens @@ cast(cast(?1 as text) as tsquery))",
        discovery_filter!(),
        "order by d.id desc limit cast(?7 as bigint)"
    ),
};

/// Every word of every message with its place.
const MESSAGE_WORDS: &str = "select t.message_id, w.lexeme, cast(p.at as bigint),
        case p.weight when 'A' then 'A' else '' end
     from message_text t, unnest(t.tokens) w, unnest(w.positions, w.weights) p (at, weight)";

/// Every word of every discovery with its place.
const DISCOVERY_WORDS: &str = "select t.discovery_id, w.lexeme, cast(p.at as bigint),
        case p.weight when 'A' then 'A' else '' end
     from discovery_text t, unnest(t.tokens) w, unnest(w.positions, w.weights) p (at, weight)";

impl FullText for TsVector {
    fn notation(&self, query: &Query) -> String {
        let of = |sign: Sign| query.terms.iter().filter(move |term| term.sign == sign);
        let mut terms: Vec<String> = of(Sign::Must).map(term).collect();
        terms.extend(of(Sign::MustNot).map(|refused| format!("!{}", term(refused))));
        terms.join(" & ")
    }

    fn refused(&self, query: &Query) -> String {
        let terms: Vec<String> = query.terms.iter().map(term).collect();
        terms.join(" | ")
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
            Kind::Message => MESSAGE_WORDS,
            Kind::Discovery => DISCOVERY_WORDS,
        };
        session.each(sql, &[], &mut |mut row| {
            let (id, token): (i64, String) = (row.take()?, row.take()?);
            let (at, weight): (i64, String) = (row.take()?, row.take()?);
            sum = sum.wrapping_add(place(id, &format!("{at}{weight}"), &token));
            Ok(())
        })?;
        Ok(sum)
    }

    fn expected(&self, words: &Words) -> u128 {
        let places = places(words);
        let sums = places.map(|(token, at)| place(words.id, &at, token));
        sums.fold(0, u128::wrapping_add)
    }

    fn add(&self, session: &mut dyn Session, words: &Words) -> Result<(), StoreError> {
        let sql = match words.of {
            Kind::Message => {
                "insert into message_text (message_id, tokens)
                 values (?1, cast(cast(?2 as text) as tsvector))"
            }
            Kind::Discovery => {
                "insert into discovery_text (discovery_id, tokens)
                 values (?1, cast(cast(?2 as text) as tsvector))"
            }
        };
        session.write(sql, params![words.id, &vector(words)], Rows::Exactly(1))
    }

    fn remove(&self, session: &mut dyn Session, words: &Words) -> Result<(), StoreError> {
        let sql = match words.of {
            Kind::Message => "delete from message_text where message_id = ?1",
            Kind::Discovery => "delete from discovery_text where discovery_id = ?1",
        };
        session.write(sql, params![words.id], Rows::Exactly(1))
    }
}

/// Writes a term: tokens hold letters and digits only, so nothing in the quotes needs escaping.
fn term(term: &Term) -> String {
    let weight = match term.field {
        Field::Any => "",
        Field::Subject => "A",
    };
    let last = term.tokens.len().saturating_sub(1);
    let token = |(at, token): (usize, &String)| {
        let star = if term.prefix && at == last { "*" } else { "" };
        let label = format!("{star}{weight}");
        match label.as_str() {
            "" => format!("'{token}'"),
            label => format!("'{token}':{label}"),
        }
    };
    let tokens: Vec<String> = term.tokens.iter().enumerate().map(token).collect();
    format!("({})", tokens.join(" <-> "))
}

/// The places of a text's tokens. The body begins a place after the subject's end, so that no
/// phrase spans both.
fn places(words: &Words) -> impl Iterator<Item = (&str, String)> {
    let body_from = words.subject.len() + 2;
    let subject = words
        .subject
        .iter()
        .zip(1..)
        .map(|(place, at)| (place, at, "A"));
    let body = words
        .body
        .iter()
        .zip(body_from..)
        .map(|(place, at)| (place, at, ""));
    let places = subject.chain(body);
    places.filter_map(|(place, at, weight)| Some((place.token()?, format!("{at}{weight}"))))
}

fn vector(words: &Words) -> String {
    let mut tokens: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (token, place) in places(words) {
        tokens.entry(token).or_default().push(place);
    }
    let mut text = String::new();
    for (token, places) in tokens {
        // Writing to a string cannot fail.
        let _ = write!(text, "'{token}':{} ", places.join(","));
    }
    text
}
