//! Two things measured side by side: within a repetition they take turns many times a second, so
//! that whatever else the machine does hits both.

/// How often each is measured.
pub(crate) const REPETITIONS: usize = 3;

/// What one thing measured, repetition by repetition.
pub(crate) struct Series(Vec<f64>);

/// Two things measured in the same repetitions.
pub(crate) struct Pairs {
    pub(crate) kernel: Series,
    pub(crate) floor: Series,
}

impl Series {
    /// Measures one thing.
    pub(crate) fn measure(one: impl FnMut() -> f64) -> Self {
        Self(std::iter::repeat_with(one).take(REPETITIONS).collect())
    }

    pub(crate) fn median(&self) -> f64 {
        let sorted = self.sorted();
        sorted[sorted.len() / 2]
    }

    /// Returns the least and the greatest.
    pub(crate) fn range(&self) -> (f64, f64) {
        let sorted = self.sorted();
        (sorted[0], sorted[sorted.len() - 1])
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

impl FromIterator<f64> for Series {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

impl Pairs {
    /// Pairs what was measured in the same repetitions.
    pub(crate) fn new(kernel: Series, floor: Series) -> Self {
        Self { kernel, floor }
    }

    /// Measures both, repetition by repetition.
    pub(crate) fn measure(both: impl FnMut() -> (f64, f64)) -> Self {
        let pairs = std::iter::repeat_with(both).take(REPETITIONS);
        let (kernel, floor): (Vec<_>, Vec<_>) = pairs.unzip();
        Self::new(Series(kernel), Series(floor))
    }

    /// Returns the ratio of each pair.
    pub(crate) fn ratios(&self) -> Series {
        let pairs = self.kernel.0.iter().zip(&self.floor.0);
        pairs.map(|(kernel, floor)| kernel / floor).collect()
    }
}
