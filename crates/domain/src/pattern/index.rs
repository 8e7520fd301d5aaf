//! An index of patterns: which of many overlap with one.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use super::canonical::Pattern;
use super::ending::Ending;
use super::path::Part;
use super::segment::Segment;

/// Patterns by the names that they begin with, each under a key.
///
/// Two patterns can only overlap if the names that one begins with are the first of the other's, so
/// a question follows its own names down and then looks at what lies below. A copy shares
/// everything, and a change to it copies only the way to what changes.
#[derive(Clone, Debug)]
pub struct Index<K> {
    /// All patterns in a row, for questions that begin with no name: memory is then read in order,
    /// and a pattern only if it may end as the question does.
    row: Arc<Vec<(K, Ending, Pattern)>>,
    /// Where each stands in the row.
    places: Arc<HashMap<K, usize>>,
    root: Arc<Node<K>>,
}

#[derive(Clone, Debug)]
struct Node<K> {
    /// The patterns that have no further name to begin with.
    here: Vec<(K, Pattern)>,
    below: BTreeMap<Arc<str>, Arc<Node<K>>>,
}

impl<K> Default for Index<K> {
    fn default() -> Self {
        Self {
            row: Arc::default(),
            places: Arc::default(),
            root: Arc::default(),
        }
    }
}

impl<K> Default for Node<K> {
    fn default() -> Self {
        Self {
            here: Vec::new(),
            below: BTreeMap::new(),
        }
    }
}

impl<K: Copy + Ord + Hash> Index<K> {
    /// Makes an index of nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a pattern under a key, in place of the one that was there.
    pub fn insert(&mut self, key: K, pattern: Pattern) {
        self.remove(key);
        let mut node = Arc::make_mut(&mut self.root);
        for name in pattern.cover().parts().iter().map_while(Part::name) {
            if !node.below.contains_key(name) {
                node.below.insert(name.into(), Arc::default());
            }
            let Some(below) = node.below.get_mut(name) else {
                return;
            };
            node = Arc::make_mut(below);
        }
        node.here.push((key, pattern.clone()));
        Arc::make_mut(&mut self.places).insert(key, self.row.len());
        let ending = Ending::of(pattern.cover());
        Arc::make_mut(&mut self.row).push((key, ending, pattern));
    }

    /// Takes out the pattern under a key; returns whether there was one.
    pub fn remove(&mut self, key: K) -> bool {
        let Some(place) = self.places.get(&key).copied() else {
            return false;
        };
        let (row, places) = (
            Arc::make_mut(&mut self.row),
            Arc::make_mut(&mut self.places),
        );
        // The last takes the place of the one that goes.
        let (.., pattern) = row.swap_remove(place);
        places.remove(&key);
        if let Some((moved, ..)) = row.get(place) {
            places.insert(*moved, place);
        }
        Arc::make_mut(&mut self.root).remove(key, pattern.cover().parts());
        true
    }

    /// Gives the keys of all patterns that overlap with one, in ascending order.
    pub fn overlapping(&self, query: &Pattern) -> Vec<K> {
        self.overlapping_among(query, |_| true)
    }

    /// Does the same among some keys: the patterns of the others are not even compared.
    pub fn overlapping_among(&self, query: &Pattern, among: impl Fn(K) -> bool) -> Vec<K> {
        let mut found = Vec::new();
        if query.begins_with_a_name() {
            let parts = query.cover().parts();
            self.root.find(query, parts, &among, &mut found);
        } else {
            let wanted = Ending::of(query.cover());
            let hits = self.row.iter().filter(|(key, ending, pattern)| {
                ending.may_meet(wanted) && among(*key) && pattern.overlaps(query)
            });
            found.extend(hits.map(|(key, ..)| *key));
        }
        found.sort_unstable();
        found
    }

    /// Returns how many patterns there are.
    pub fn len(&self) -> usize {
        self.row.len()
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }
}

#[cfg(test)]
impl<K> Index<K> {
    /// Returns whether no empty node is left.
    pub(super) fn is_pruned(&self) -> bool {
        self.root.here.is_empty() && self.root.below.is_empty()
    }
}

impl<K: Copy + Ord> Node<K> {
    /// Takes out what is under `key` at the end of the names of `parts`, and what is empty then.
    fn remove(&mut self, key: K, parts: &[Part]) {
        let Some((name, rest)) = parts
            .split_first()
            .and_then(|(part, rest)| part.name().zip(Some(rest)))
        else {
            self.here.retain(|&(other, _)| other != key);
            return;
        };
        let Some(below) = self.below.get_mut(name) else {
            return;
        };
        let node = Arc::make_mut(below);
        node.remove(key, rest);
        if node.here.is_empty() && node.below.is_empty() {
            self.below.remove(name);
        }
    }

    /// Finds what overlaps at and below a node that the names so far lead to.
    fn find(
        &self,
        query: &Pattern,
        parts: &[Part],
        among: &impl Fn(K) -> bool,
        found: &mut Vec<K>,
    ) {
        let hits = self
            .here
            .iter()
            .filter(|(key, pattern)| among(*key) && pattern.overlaps(query));
        found.extend(hits.map(|&(key, _)| key));
        match parts {
            [] => {}
            [Part::Deep, ..] => {
                for node in self.below.values() {
                    node.find(query, parts, among, found);
                }
            }
            [Part::One(Segment::Name(name)), rest @ ..] => {
                if let Some(node) = self.below.get(&**name) {
                    node.find(query, rest, among, found);
                }
            }
            [Part::One(segment), rest @ ..] => {
                for (_, node) in self.below.iter().filter(|(name, _)| segment.has(name)) {
                    node.find(query, rest, among, found);
                }
            }
        }
    }
}
