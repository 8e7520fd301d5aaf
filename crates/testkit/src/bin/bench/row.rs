//! One result: what was measured, against what, and whether that is enough.

use std::fmt;

use serde_json::json;

use crate::pairs::{Pairs, Series};

/// One line of the report.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The median of what was measured, in `unit`.
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    /// The median of what it is measured against, in `unit`.
    pub(crate) floor: Option<f64>,
    /// The median of `value / floor`, each pair measured side by side.
    pub(crate) ratio: Option<f64>,
    /// The least and the greatest of what is judged.
    pub(crate) spread: (f64, f64),
    pub(crate) target: Target,
    /// Under which circumstances.
    pub(crate) note: String,
}

/// What the ratio must be, or the value where there is nothing to compare with.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// It is told, not judged.
    Reported,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(bound) => write!(f, ">= {bound}"),
            Self::AtMost(bound) => write!(f, "<= {bound}"),
            Self::Reported => f.write_str("-"),
        }
    }
}

impl Row {
    pub(crate) const HEADER: &'static str =
        "row                            value unit         floor  ratio      min..max  target  ok";

    /// Judges a ratio.
    pub(crate) fn compared(
        name: &'static str,
        unit: &'static str,
        pairs: &Pairs,
        target: Target,
        note: String,
    ) -> Self {
        let ratios = pairs.ratios();
        Self {
            name,
            value: pairs.kernel.median(),
            unit,
            floor: Some(pairs.floor.median()),
            ratio: Some(ratios.median()),
            spread: ratios.range(),
            target,
            note,
        }
    }

    /// Judges a value as it stands.
    pub(crate) fn absolute(
        name: &'static str,
        unit: &'static str,
        values: &Series,
        target: Target,
        note: String,
    ) -> Self {
        Self {
            name,
            value: values.median(),
            unit,
            floor: None,
            ratio: None,
            spread: values.range(),
            target,
            note,
        }
    }

    pub(crate) fn is_ok(&self) -> bool {
        let judged = self.ratio.unwrap_or(self.value);
        match self.target {
            Target::AtLeast(bound) => judged >= bound,
            Target::AtMost(bound) => judged <= bound,
            Target::Reported => true,
        }
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let (least, greatest) = self.spread;
        json!({
            "name": self.name,
            "value": rounded(self.value),
            "unit": self.unit,
            "floor": self.floor.map(rounded),
            "ratio": self.ratio.map(rounded),
            "target": self.target.to_string(),
            "ok": self.is_ok(),
            "spread": [rounded(least), rounded(greatest)],
            "note": self.note,
        })
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number =
            |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.1}"));
        let ratio = self
            .ratio
            .map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        let (least, greatest) = self.spread;
        write!(
            f,
            "{:<26} {:>9} {:<8} {:>9} {ratio:>6} {:>13} {:>7}  {}\n  {}",
            self.name,
            number(Some(self.value)),
            self.unit,
            number(self.floor),
            format!("{least:.2}..{greatest:.2}"),
            self.target.to_string(),
            if self.is_ok() { "yes" } else { "NO" },
            self.note,
        )
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}
