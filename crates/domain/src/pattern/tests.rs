//! Tests of the language as a whole.

mod pairs;
