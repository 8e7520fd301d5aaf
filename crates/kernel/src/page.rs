//! Keyset pages: every list is one.

use comity_domain::limits::{PAGE_BYTES_MAX, PAGE_DEFAULT, PAGE_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

/// How many items a page may have: 1 to 500, 50 unless said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Limit(#[schemars(range(min = 1, max = PAGE_MAX))] u32);

/// Where the page before ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[schemars(inline, with = "String")]
pub struct After(i64);

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Page<T> {
    /// The items, in a stable order.
    pub items: Vec<T>,
    /// What to pass as `after` for the next page; null at the end.
    pub next: Option<String>,
}

impl Default for Limit {
    fn default() -> Self {
        Self(PAGE_DEFAULT)
    }
}

impl Limit {
    /// The largest page.
    pub const MOST: Self = Self(PAGE_MAX);

    /// Returns the number.
    pub const fn get(self) -> usize {
        self.0 as usize
    }

    /// Returns one more than fits: whether it comes tells whether there is a next page.
    pub fn and_one(self) -> i64 {
        i64::from(self.0) + 1
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            limit @ 1..=PAGE_MAX => Ok(Self(limit)),
            _ => Err(de::Error::custom(format!(
                "must be between 1 and {PAGE_MAX}"
            ))),
        }
    }
}

impl After {
    /// Starts behind an item.
    pub const fn item(id: i64) -> Self {
        Self(id)
    }

    /// Returns the key of the last item seen; 0 at the start.
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl Serialize for After {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for After {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.parse() {
            Ok(key) if key >= 0 => Ok(Self(key)),
            _ => Err(de::Error::custom("must be the `next` of the page before")),
        }
    }
}

impl<T> Page<T> {
    /// Cuts a list that was read with [`Limit::and_one`].
    pub fn cut(mut items: Vec<T>, limit: Limit, key: impl Fn(&T) -> i64) -> Self {
        let more = items.len() > limit.get();
        items.truncate(limit.get());
        let last = items.last().filter(|_| more);
        Self {
            next: last.map(|item| key(item).to_string()),
            items,
        }
    }
}

impl<T> Page<T> {
    /// Reads a page piece by piece, and ends it early when it holds too many bytes.
    pub(crate) fn gather<E>(
        limit: Limit,
        start: i64,
        mut read: impl FnMut(i64, i64) -> Result<Vec<T>, E>,
        key: impl Fn(&T) -> i64,
        bytes: impl Fn(&T) -> usize,
    ) -> Result<Self, E> {
        let (mut items, mut held, mut from) = (Vec::new(), 0, start);
        while items.len() <= limit.get() {
            let wanted = (limit.get() + 1 - items.len()).min(PIECE);
            let piece = read(from, i64::try_from(wanted).unwrap_or(i64::MAX))?;
            let Some(last) = piece.last() else { break };
            from = key(last);
            held += piece.iter().map(&bytes).sum::<usize>();
            let whole = piece.len() == wanted;
            items.extend(piece);
            if held > PAGE_BYTES_MAX && whole && items.len() <= limit.get() {
                let next = items.last().map(|item| key(item).to_string());
                return Ok(Self { items, next });
            }
            if !whole {
                break;
            }
        }
        Ok(Self::cut(items, limit, key))
    }
}

/// Items that are read at a time.
const PIECE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_knows_whether_there_is_another() {
        let limit: Limit = serde_json::from_str("2").unwrap();
        let key = |item: &i64| *item;
        assert_eq!(Page::cut(vec![1, 2], limit, key).next, None);
        assert_eq!(
            Page::cut(vec![1, 2, 3], limit, key).next.as_deref(),
            Some("2")
        );
        assert!(serde_json::from_str::<Limit>("0").is_err());
        assert!(serde_json::from_str::<Limit>("501").is_err());
        assert!(serde_json::from_str::<After>("\"-1\"").is_err());
    }
}
