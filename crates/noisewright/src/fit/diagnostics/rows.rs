//! The rows of a fitted contrast as the diagnostics see them: scores and log ratios, block by block.

use noisewright_numerics::gram::Columns;
use noisewright_numerics::summation::blocked;

use crate::Result;
use crate::fit::distributed::Partial;

/// Some rows of one side.
#[derive(Clone, Copy)]
pub(crate) struct Block<'a> {
    /// Data rather than noise.
    pub(crate) data: bool,
    /// Number of rows.
    pub(crate) rows: usize,
    /// The number of the first of them in its side.
    pub(crate) first_row: usize,
    /// `ψ = ∇_β log p`.
    pub(crate) score: Columns<'a>,
    /// `g = log p − log p_n − log ν`.
    pub(crate) log_ratio: &'a [f64],
    /// Frequencies of the rows, where they are not all one.
    pub(crate) weights: Option<&'a [f64]>,
}

impl<'a> Block<'a> {
    /// The columns of the score.
    pub(crate) fn columns(&self) -> impl Iterator<Item = &'a [f64]> {
        let score = self.score;
        (0..score.columns()).map(move |j| score.column(j))
    }

    /// 1 for data, −1 for noise.
    pub(crate) fn sign(&self) -> f64 {
        if self.data { 1.0 } else { -1.0 }
    }

    /// The frequency of one row.
    pub(crate) fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |w| w[row])
    }
}

/// Rows that can be passed over again and again, on all threads, with a result that does not depend on their number.
pub(crate) trait Rows: Sync {
    /// Number of coordinates of β, the columns of the score.
    fn coordinates(&self) -> usize;

    /// Hands all rows of both sides to `add`, in blocks that begin with `new` and are joined in a fixed order.
    ///
    /// # Errors
    /// When the rows cannot be computed.
    fn gather<T: Send + Partial>(
        &self,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &Block<'_>) + Sync,
        join: impl Fn(T, T) -> T + Sync,
    ) -> Result<T>;
}

/// Some of the coordinates, the others being held.
pub(crate) struct Part<'a, R> {
    /// All of them.
    pub(crate) rows: &'a R,
    /// Which.
    pub(crate) free: &'a [usize],
}

impl<R: Rows> Rows for Part<'_, R> {
    fn coordinates(&self) -> usize {
        self.free.len()
    }

    fn gather<T: Send + Partial>(
        &self,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &Block<'_>) + Sync,
        join: impl Fn(T, T) -> T + Sync,
    ) -> Result<T> {
        let some = |total: &mut T, block: &Block<'_>| {
            let kept: Vec<f64> =
                self.free.iter().flat_map(|j| block.score.column(*j).iter().copied()).collect();
            let score = Columns::new(&kept, block.rows, self.free.len(), block.rows);
            add(total, &Block { score, ..*block });
        };
        self.rows.gather(new, some, join)
    }
}

/// Weighted points as rows of noise, their scores measured from the data's mean: what maximum likelihood compares.
pub(crate) struct Centred<'a> {
    /// The statistics of every point, one column after another.
    pub(crate) statistics: &'a [f64],
    /// Their means over the data.
    pub(crate) means: &'a [f64],
    /// Number of points.
    pub(crate) points: usize,
}

impl Rows for Centred<'_> {
    fn coordinates(&self) -> usize {
        self.means.len()
    }

    fn gather<T: Send + Partial>(
        &self,
        new: impl Fn() -> T + Sync,
        add: impl Fn(&mut T, &Block<'_>) + Sync,
        join: impl Fn(T, T) -> T + Sync,
    ) -> Result<T> {
        const BLOCK: usize = 4096;
        let block = |range: std::ops::Range<usize>| {
            let columns = self.statistics.chunks(self.points).zip(self.means);
            let score: Vec<f64> = columns
                .flat_map(|(column, mean)| column[range.clone()].iter().map(move |t| t - mean))
                .collect();
            let mut out = new();
            let rows = range.len();
            let score = Columns::new(&score, rows, self.means.len(), rows);
            let first_row = range.start;
            add(&mut out, &Block { data: false, rows, first_row, score, log_ratio: &[], weights: None });
            out
        };
        Ok(blocked(self.points, BLOCK, block, join).unwrap_or_else(new))
    }
}
