//! One of the two samples as blocks of rows: kept, drawn anew or read again, always in the same order.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use noisewright_numerics::gram::Columns;
use noisewright_numerics::kernels::all_finite;
use noisewright_numerics::parallel::{self, current_num_threads};
use noisewright_numerics::summation::try_blocked;

use super::data::{Data, Source, check_weights, total};
use super::data_rows::SomeRows;
use super::distributed::{Host, Partial, once_by, reduce_by};
use super::loss_terms::Class;
use super::options::Draws;
use super::stream::{Elsewhere, ReadRows};
use crate::noise::draw_block;
use crate::noise::quiet::QuietDraws;
use crate::run::{Context, Purpose};
use crate::{Error, Noise, Points, Result, View};

/// Rows that are summed together, and drawn from one random stream.
pub(crate) const BLOCK: usize = noisewright_numerics::random::BLOCK;
/// Rows that are evaluated together: their scores stay in the second-level cache.
pub(crate) const CHUNK: usize = 512;
/// Blocks of a stream that are held at once, for the threads to share.
const HELD_BLOCKS: usize = 32;

/// Noise points up to which the coordinator of other processes sums by itself: asking them would take longer.
pub(crate) const FEW_DRAWN: usize = 1 << 17;

/// A sample: data or noise.
pub(crate) struct SampleBlocks<'a> {
    pub(crate) class: Class,
    pub(crate) rows: usize,
    /// The sum of the weights.
    pub(crate) total: f64,
    pub(crate) feed: RowSource<'a>,
    /// Points of every replicate of quiet noise, one replicate after the other.
    pub(crate) replicate_points: Option<usize>,
    /// What a linear model needs to know of each block, once it has been computed.
    pub(crate) kept: Option<Vec<KeptBlock<'a>>>,
    /// Who sums over noise, where other processes do.
    host: Option<&'a dyn Host>,
}

/// Where the rows come from.
pub(crate) enum RowSource<'a> {
    /// In memory, with the noise's log-density.
    Memory { points: HeldPoints<'a>, weights: Option<&'a [f64]>, log_noise: Vec<f64> },
    /// Drawn whenever they are needed.
    Drawn { noise: Arc<dyn Noise>, context: Context, quiet: Option<QuietDraws<Arc<dyn Noise>>> },
    /// Read whenever they are needed, or with other processes.
    Elsewhere {
        source: Elsewhere<'a>,
        /// The noise, unless the rows are one of the two samples of a ratio.
        noise: Option<Arc<dyn Noise>>,
        /// Rows that are held, spread over all.
        some: Data<'a>,
    },
}

/// Points of one's own or of somebody else's.
pub(crate) enum HeldPoints<'a> {
    Borrowed(View<'a>),
    Owned(Points),
    Shared(Arc<Points>),
    /// Those of given draws.
    Given(Arc<Draws>),
}

impl HeldPoints<'_> {
    pub(crate) fn view(&self) -> View<'_> {
        match self {
            Self::Borrowed(view) => *view,
            Self::Owned(points) => points.view(),
            Self::Shared(points) => points.view(),
            Self::Given(draws) => draws.points.view(),
        }
    }
}

/// One block's features and offsets, chunk after chunk, each column-major.
pub(crate) struct KeptBlock<'a> {
    pub(crate) columns: Vec<f64>,
    pub(crate) offset: Vec<f64>,
    pub(crate) weights: Option<&'a [f64]>,
}

/// Some rows of a linear model's sample: their features, and the energy at zero less the log-density of the noise.
pub(crate) struct FeatureView<'s> {
    pub(crate) columns: Columns<'s>,
    pub(crate) offset: &'s [f64],
    /// How many times each row counts.
    pub(crate) weights: Option<&'s [f64]>,
    /// The number of the first of them in the sample.
    pub(crate) first_row: usize,
}

impl KeptBlock<'_> {
    /// The chunks of the block of this number, whose features are so many.
    pub(crate) fn chunks(&self, index: usize, width: usize) -> impl Iterator<Item = FeatureView<'_>> {
        self.offset.chunks(CHUNK).enumerate().map(move |(chunk, offset)| {
            let (start, rows) = (chunk * CHUNK, offset.len());
            let columns = &self.columns[start * width..(start + rows) * width];
            FeatureView {
                columns: Columns::new(columns, rows, width, rows),
                offset,
                weights: self.weights.map(|w| &w[start..start + rows]),
                first_row: index * BLOCK + start,
            }
        })
    }
}

/// One block as it is.
pub(crate) struct RawBlock<'r> {
    /// Its number.
    pub(crate) index: usize,
    pub(crate) points: View<'r>,
    pub(crate) weights: Option<&'r [f64]>,
    /// Which cluster each row belongs to, where that was read with the rows.
    pub(crate) clusters: Option<&'r [f64]>,
    pub(crate) log_noise: &'r [f64],
}

impl<'a> SampleBlocks<'a> {
    /// Rows in memory, with the log-density of the noise at each.
    pub(crate) fn memory(
        class: Class,
        points: HeldPoints<'a>,
        weights: Option<&'a [f64]>,
        log_noise: Vec<f64>,
    ) -> Self {
        let rows = points.view().rows();
        let total = weights.map_or(rows as f64, total);
        Self::new(class, rows, total, RowSource::Memory { points, weights, log_noise })
    }

    /// Noise that is drawn block by block.
    pub(crate) fn drawn(noise: Arc<dyn Noise>, context: &Context, rows: usize) -> Self {
        let feed = RowSource::Drawn { noise, context: context.clone(), quiet: None };
        Self::new(Class::Noise, rows, rows as f64, feed)
    }

    /// Quiet noise that is drawn block by block: so many replicates of so many points.
    ///
    /// # Errors
    /// When the noise cannot be drawn quietly.
    pub(crate) fn quiet(
        noise: Arc<dyn Noise>,
        context: &Context,
        (replicates, points): (usize, usize),
    ) -> Result<Self> {
        let rows = replicates * points;
        let draws = QuietDraws::new(noise.clone(), replicates, points, context.seed(), Purpose::QuietNoise)?;
        let feed = RowSource::Drawn { noise, context: context.clone(), quiet: Some(draws) };
        let side = Self::new(Class::Noise, rows, rows as f64, feed);
        Ok(Self { replicate_points: Some(points), ..side })
    }

    /// The same drawn once and held in memory.
    ///
    /// # Errors
    /// When they do not fit, or it is cancelled.
    pub(crate) fn hold(self) -> Result<Self> {
        let RowSource::Drawn { noise, .. } = &self.feed else { return Ok(self) };
        let (d, rows) = (noise.dimension(), self.rows);
        let gather = |raw: RawBlock<'_>| {
            let columns = (0..d).map(|j| raw.points.column(j).to_vec()).collect::<Vec<_>>();
            Ok((columns, raw.log_noise.to_vec()))
        };
        let join = |mut a: (Vec<Vec<f64>>, Vec<f64>), b: (Vec<Vec<f64>>, Vec<f64>)| {
            a.0.iter_mut().zip(b.0).for_each(|(a, b)| a.extend(b));
            a.1.extend(b.1);
            a
        };
        let (columns, log_noise) = self.reduce(gather, join)?.unwrap_or_default();
        let points = HeldPoints::Owned(Points::unnamed(d, rows, columns.concat()));
        Ok(Self { feed: RowSource::Memory { points, weights: None, log_noise }, ..self })
    }

    fn new(class: Class, rows: usize, total: f64, feed: RowSource<'a>) -> Self {
        Self { class, rows, total, feed, replicate_points: None, kept: None, host: None }
    }

    /// The same noise, summed over by others where there are any.
    pub(crate) fn by(self, host: Option<&'a dyn Host>) -> Self {
        Self { host, ..self }
    }

    /// Rows that are read block by block; their number and the sum of their weights are known from a first pass.
    pub(crate) fn elsewhere(
        class: Class,
        source: Elsewhere<'a>,
        noise: Option<Arc<dyn Noise>>,
        (rows, total): (usize, f64),
        some: Data<'a>,
    ) -> Self {
        Self::new(class, rows, total, RowSource::Elsewhere { source, noise, some })
    }

    /// The weights, where the rows are in memory and have any.
    pub(crate) fn weights(&self) -> Option<&'a [f64]> {
        match &self.feed {
            RowSource::Memory { weights, .. } => *weights,
            _ => None,
        }
    }

    /// Who sums over the rows, where other processes do.
    pub(crate) fn host(&self) -> Option<&'a dyn Host> {
        match &self.feed {
            RowSource::Elsewhere { source, .. } => source.host(),
            _ => self.host,
        }
    }

    /// At most `limit` rows of data, the same ones wherever they are; `None` for rows that are drawn.
    pub(crate) fn spread(&self, limit: usize) -> Option<SomeRows<'_>> {
        match &self.feed {
            RowSource::Memory { points, weights, .. } => {
                Some(SomeRows::of_all(points.view(), *weights, limit))
            }
            RowSource::Elsewhere { some, .. } => Some(SomeRows::of_held(some.points, some.weights, limit)),
            RowSource::Drawn { .. } => None,
        }
    }

    /// Reduces the rows block by block, in a tree that depends on their number only.
    pub(crate) fn reduce<T: Send + Partial>(
        &self,
        map: impl Fn(RawBlock<'_>) -> Result<T> + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> Result<Option<T>> {
        match (&self.feed, self.host) {
            (RowSource::Elsewhere { source, noise, .. }, _) => {
                source.reduce_read(self.rows, &combine, |index, read| {
                    map_read(noise.as_deref(), index, read, &map)
                })
            }
            (RowSource::Drawn { .. }, Some(host)) if self.rows > FEW_DRAWN => {
                let block = |index: usize, points: View<'_>, _: Option<&[f64]>| {
                    self.map_block(index * BLOCK..index * BLOCK + points.rows(), &map)
                };
                reduce_by(host, (self.rows, None), &combine, block)
            }
            (_, host) => {
                once_by(host, || try_blocked(self.rows, BLOCK, |range| self.map_block(range, &map), &combine))
            }
        }
    }

    /// One block of rows in memory, or drawn.
    fn map_block<T>(&self, range: Range<usize>, map: impl Fn(RawBlock<'_>) -> Result<T>) -> Result<T> {
        let index = range.start / BLOCK;
        match &self.feed {
            RowSource::Memory { points, weights, log_noise } => map(RawBlock {
                index,
                points: points.view().slice(range.clone()),
                weights: weights.map(|w| &w[range.clone()]),
                clusters: None,
                log_noise: &log_noise[range],
            }),
            RowSource::Drawn { noise, context, quiet } => {
                context.check()?;
                let (seed, rows) = (context.seed(), range.len());
                let values = match quiet {
                    Some(quiet) => quiet.draw(range),
                    None => draw_block(noise.as_ref(), Purpose::FitNoise, seed, index, rows),
                };
                let points = View::new(noise.dimension(), rows, &values);
                let mut log_noise = vec![0.0; rows];
                noise.log_density(points, &mut log_noise);
                map(RawBlock { index, points, weights: None, clusters: None, log_noise: &log_noise })
            }
            RowSource::Elsewhere { .. } => Err(Error::internal("rows that are elsewhere are asked for here")),
        }
    }

    /// The same over the blocks that a linear model keeps.
    pub(crate) fn reduce_kept<T: Send>(
        kept: &[KeptBlock<'a>],
        map: impl Fn(usize, &KeptBlock<'a>) -> Result<T> + Sync,
        combine: impl Fn(T, T) -> T + Sync,
    ) -> Result<Option<T>> {
        try_blocked(kept.len(), 1, |range| map(range.start, &kept[range.start]), combine)
    }
}

/// One block of data that were read, with the log-density of the noise; zero where there is none.
fn map_read<T>(
    noise: Option<&dyn Noise>,
    index: usize,
    read: ReadRows<'_>,
    map: impl Fn(RawBlock<'_>) -> Result<T>,
) -> Result<T> {
    let ReadRows { points, weights, clusters } = read;
    let mut log_noise = vec![0.0; points.rows()];
    if let Some(noise) = noise {
        noise.log_density(points, &mut log_noise);
    }
    if !all_finite(&log_noise) {
        let counts = |row: usize| weights.is_none_or(|w| w[row] > 0.0);
        let missed = log_noise.iter().enumerate().position(|(row, l)| !l.is_finite() && counts(row));
        if let Some(row) = missed {
            return Err(Error::NoiseMissesData { row: index * BLOCK + row + 1 });
        }
    }
    map(RawBlock { index, points, weights, clusters, log_noise: &log_noise })
}

/// A block of a stream: its values, column-major, and its weights.
pub(crate) struct Owned {
    index: usize,
    rows: usize,
    values: Vec<f64>,
    weights: Option<Vec<f64>>,
}

/// Reduces a stream of known length in the same tree as rows in memory, a few blocks at a time on all threads.
pub(crate) fn reduce_stream<T: Send>(
    source: &dyn Source,
    rows: usize,
    combine: &(impl Fn(T, T) -> T + Sync),
    map: impl Fn(usize, View<'_>, Option<&[f64]>) -> Result<T> + Sync,
) -> Result<Option<T>> {
    let mut ends = vec![0usize; rows.div_ceil(BLOCK)];
    count_ends(0..ends.len(), &mut ends);
    let mut stack: Vec<T> = Vec::new();
    let columns = columns(source);
    let mut finish = |blocks: &mut Vec<Owned>| -> Result<()> {
        let leaves = map_blocks(columns, blocks, &map);
        for (block, leaf) in blocks.drain(..).zip(leaves) {
            stack.push(leaf?);
            for _ in 0..ends.get(block.index).copied().unwrap_or(0) {
                if let (Some(right), Some(left)) = (stack.pop(), stack.pop()) {
                    stack.push(combine(left, right));
                }
            }
        }
        Ok(())
    };
    let found = for_each_fixed(source, &mut finish)?;
    if found != rows {
        return Err(Error::Shape { what: "rows in a second reading of the data", expected: rows, found });
    }
    Ok(stack.pop())
}

/// How many columns are read: the variables, and cluster numbers where there are any.
pub(crate) fn columns(source: &dyn Source) -> usize {
    source.dimension() + usize::from(source.has_clusters())
}

/// What a function makes of some blocks of so many columns, on all threads.
pub(crate) fn map_blocks<T: Send>(
    columns: usize,
    blocks: &[Owned],
    map: impl Fn(usize, View<'_>, Option<&[f64]>) -> Result<T> + Sync,
) -> Vec<Result<T>> {
    let leaf = |b: &Owned| map(b.index, View::new(columns, b.rows, &b.values), b.weights.as_deref());
    match blocks {
        // Here, where it was read, and not in another thread.
        [block] => vec![leaf(block)],
        _ => parallel::map(blocks, leaf),
    }
}

/// How many nodes of the tree of `blocked` end with each leaf.
fn count_ends(leaves: Range<usize>, ends: &mut [usize]) {
    if leaves.len() < 2 {
        return;
    }
    ends[leaves.end - 1] += 1;
    let middle = leaves.start + leaves.len().div_ceil(2);
    count_ends(leaves.start..middle, ends);
    count_ends(middle..leaves.end, ends);
}

/// Reads a source and hands it on as blocks of [`BLOCK`] rows, a few at a time; returns the number of rows. With several threads one of
/// them reads ahead.
pub(crate) fn for_each_fixed(
    source: &dyn Source,
    finish: &mut dyn FnMut(&mut Vec<Owned>) -> Result<()>,
) -> Result<usize> {
    if current_num_threads() < 2 {
        // Each block is summed while it is in the cache.
        return read_blocks(source, 1, finish);
    }
    let (send, receive) = sync_channel::<Vec<Owned>>(1);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            // Where nobody takes the blocks any more, why is known there.
            let hand_on = &mut |blocks: &mut Vec<Owned>| {
                send.send(std::mem::take(blocks)).map_err(|_| Error::Cancelled)
            };
            read_blocks(source, HELD_BLOCKS, hand_on)
        });
        let finished = receive.iter().try_for_each(|mut blocks| finish(&mut blocks));
        drop(receive);
        let read = reader.join().map_err(|_| Error::internal("the thread that reads broke down"))?;
        finished.and(read)
    })
}

/// Reads a source and hands it on as blocks, so many at a time, in one thread.
fn read_blocks(
    source: &dyn Source,
    at_once: usize,
    finish: &mut dyn FnMut(&mut Vec<Owned>) -> Result<()>,
) -> Result<usize> {
    let mut filler = Filler::new(columns(source));
    source.for_each_block(&mut |points, weights| {
        filler.check(points, weights)?;
        let mut start = 0;
        while start < points.rows() {
            start += filler.take(points.slice(start..points.rows()), weights.map(|w| &w[start..]));
            if filler.done.len() == at_once {
                finish(&mut filler.done)?;
            }
        }
        Ok(())
    })?;
    filler.close();
    finish(&mut filler.done)?;
    Ok(filler.rows)
}

/// Gathers rows into blocks of a fixed size.
struct Filler {
    /// Columns of the rows.
    columns: usize,
    done: Vec<Owned>,
    /// Rows so far.
    rows: usize,
    /// The open block, with room for a whole one in every column once it has rows, and how many it has.
    values: Vec<f64>,
    held: usize,
    weights: Option<Vec<f64>>,
}

impl Filler {
    fn new(columns: usize) -> Self {
        Self { columns, done: Vec::new(), rows: 0, values: Vec::new(), held: 0, weights: None }
    }

    fn check(&self, points: View<'_>, weights: Option<&[f64]>) -> Result<()> {
        if points.columns() != self.columns {
            let (expected, found) = (self.columns, points.columns());
            return Err(Error::Shape { what: "columns of data", expected, found });
        }
        match weights {
            // A block may well have no weight at all; what else is wrong is said.
            Some(w) if w.iter().any(|w| *w != 0.0) => check_weights(w, points.rows()),
            _ => Ok(()),
        }
    }

    /// Takes as many rows as the open block has room for.
    fn take(&mut self, points: View<'_>, weights: Option<&[f64]>) -> usize {
        let held = self.held;
        let count = points.rows().min(BLOCK - held);
        if count == BLOCK {
            self.take_block(points.slice(0..BLOCK), weights.map(|w| &w[..BLOCK]));
            return count;
        }
        // Room for a block in every column, which blocks that come whole do not need.
        self.values.resize(self.columns * BLOCK, 0.0);
        for (j, column) in self.values.chunks_exact_mut(BLOCK).enumerate() {
            column[held..held + count].copy_from_slice(&points.column(j)[..count]);
        }
        if let Some(weights) = weights {
            let own = self.weights.get_or_insert_with(|| vec![1.0; held]);
            own.extend_from_slice(&weights[..count]);
        } else if let Some(own) = &mut self.weights {
            own.resize(held + count, 1.0);
        }
        (self.rows, self.held) = (self.rows + count, held + count);
        if self.held == BLOCK {
            self.close();
        }
        count
    }

    /// Takes a whole block of rows.
    fn take_block(&mut self, points: View<'_>, weights: Option<&[f64]>) {
        let mut values = Vec::with_capacity(self.columns * BLOCK);
        (0..self.columns).for_each(|j| values.extend_from_slice(points.column(j)));
        let index = self.rows / BLOCK;
        self.rows += BLOCK;
        self.done.push(Owned { index, rows: BLOCK, values, weights: weights.map(<[f64]>::to_vec) });
    }

    /// Ends the open block.
    fn close(&mut self) {
        let rows = std::mem::take(&mut self.held);
        if rows > 0 {
            let index = (self.rows - 1) / BLOCK;
            let mut values = std::mem::take(&mut self.values);
            if rows < BLOCK {
                values = values.chunks_exact(BLOCK).flat_map(|column| &column[..rows]).copied().collect();
            }
            self.done.push(Owned { index, rows, values, weights: self.weights.take() });
        }
    }
}
