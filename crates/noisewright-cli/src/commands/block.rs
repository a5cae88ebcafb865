//! `noisewright block`: the sums over blocks of rows that a fit elsewhere asks for, from standard input to standard output.
//!
//! A request is a line of JSON, the answers that it names by their lengths, and the rows, if they are handed over: numbers of eight
//! bytes, least significant first, column after column, clusters and weights last. An answer is a line of JSON and as many bytes as it says.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::ops::Range;

use noisewright::fit::{FitOptions, Replica};
use noisewright::{Model, Points, Space};
use noisewright_data::{RowRanges, expand};
use serde_json::{Value, json};

use crate::arguments::{FitArguments, Global, RowArguments};
use crate::failure::{Failure, Outcome};
use crate::inputs;
use crate::progress::Progress;
use crate::rows::Wanted;

use super::fit::Plan;

/// Pieces of the rows that are shown in pictures, and rows of each, at most.
const THINNED: (usize, usize) = (64, 1024);

/// Rows in files, of which any range can be read.
pub(crate) struct SharedRows {
    pub(crate) files: RowRanges,
    pub(crate) dimension: usize,
    /// Whether a column of cluster numbers comes after the variables.
    pub(crate) clustered: bool,
    pub(crate) weighted: bool,
}

impl SharedRows {
    pub(crate) fn open(
        paths: &[std::path::PathBuf],
        space: &Space,
        arguments: &RowArguments,
    ) -> Outcome<Self> {
        if arguments.chains || arguments.chain_column.is_some() {
            return Err(Failure::Usage(
                "--workers takes rows not to be chains; leave it out to have them".into(),
            ));
        }
        let wanted = Wanted::new(space, arguments)?;
        let files = RowRanges::open(&expand(paths)?, &wanted.options)?;
        let (clustered, weighted) = (arguments.cluster.is_some(), arguments.weights.is_some());
        Ok(Self { files, dimension: space.dimension(), clustered, weighted })
    }

    /// Some rows that are spread evenly over the files, for pictures, and their weights.
    pub(crate) fn thinned(&self, space: &Space) -> Outcome<(Points, Option<Vec<f64>>)> {
        let rows = self.files.rows();
        let starts = (0..THINNED.0).map(|piece| piece * rows / THINNED.0);
        let columns = self.columns() + usize::from(self.weighted);
        let mut all = vec![Vec::new(); columns];
        for start in starts {
            let end = rows.min(start + THINNED.1.min(rows.div_ceil(THINNED.0)));
            let values = self.files.read(start..end)?;
            all.iter_mut().enumerate().for_each(|(j, column)| {
                column.extend_from_slice(&values[j * (end - start)..(j + 1) * (end - start)]);
            });
        }
        let weights = if self.weighted { all.pop() } else { None };
        all.truncate(self.dimension);
        Ok((Points::from_columns(space.names(), &all)?, weights))
    }

    /// Columns without the weights.
    fn columns(&self) -> usize {
        self.dimension + usize::from(self.clustered)
    }

    /// The values of some rows, column after column, and their weights.
    fn read(&self, rows: Range<usize>) -> Outcome<RunValues> {
        let count = rows.len();
        let mut values = self.files.read(rows)?;
        let weights = self.weighted.then(|| values.split_off(self.columns() * count));
        Ok((values, weights))
    }
}

/// What is asked for.
pub(crate) struct Request {
    /// The number of the first of the answers.
    pub(crate) known: usize,
    pub(crate) answers: Vec<Vec<u8>>,
    pub(crate) run: Range<usize>,
    /// Whether the rows are data.
    pub(crate) reads: bool,
}

impl Request {
    /// The line, and the bytes after it.
    pub(crate) fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        let lengths: Vec<usize> = self.answers.iter().map(Vec::len).collect();
        let line = json!({
            "known": self.known, "answers": lengths, "run": [self.run.start, self.run.end], "reads": self.reads,
        });
        writeln!(out, "{line}")?;
        self.answers.iter().try_for_each(|answer| out.write_all(answer))?;
        out.flush()
    }

    /// The next request, and the line that it came in; nothing at the end.
    fn read(input: &mut impl BufRead) -> Outcome<Option<(Self, Value)>> {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let wrong = || {
            Failure::NoAnswer(
                "standard input: a request must be a line of JSON with known, answers, run and reads".into(),
            )
        };
        let asked: Value = serde_json::from_str(&line).map_err(|_| wrong())?;
        let number = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
        let list =
            |name: &str| -> Option<Vec<usize>> { asked[name].as_array()?.iter().map(number).collect() };
        let (Some(known), Some(lengths), Some(run), Some(reads)) =
            (number(&asked["known"]), list("answers"), list("run"), asked["reads"].as_bool())
        else {
            return Err(wrong());
        };
        let [start, end] = run[..] else { return Err(wrong()) };
        let mut answers = Vec::new();
        for length in lengths {
            answers.push(bytes(input, length)?);
        }
        Ok(Some((Self { known, answers, run: start..end, reads }, asked)))
    }
}

/// So many bytes, for which no more room is made than there are.
pub(crate) fn bytes(input: &mut impl BufRead, length: usize) -> Outcome<Vec<u8>> {
    use std::io::Read;
    let mut found = Vec::new();
    input.by_ref().take(length as u64).read_to_end(&mut found)?;
    if found.len() < length {
        return Err(Failure::NoAnswer("standard input ends in the middle of a request".into()));
    }
    Ok(found)
}

/// Bytes of rows that a worker keeps for the next pass, unless `NOISEWRIGHT_CACHE_BYTES` says how many.
const CACHE_BYTES: usize = 1 << 27;

/// Rows of runs, as many as fit: passes go over the same runs in the same order, so that what is here stays, and what does not fit
/// is read again.
struct Kept {
    runs: HashMap<Range<usize>, RunValues>,
    /// Numbers that there is room for.
    room: usize,
}

/// Values of a run, column after column, and its weights.
type RunValues = (Vec<f64>, Option<Vec<f64>>);

impl Kept {
    fn new() -> Self {
        let most = std::env::var("NOISEWRIGHT_CACHE_BYTES").ok().and_then(|bytes| bytes.parse().ok());
        Self { runs: HashMap::new(), room: most.unwrap_or(CACHE_BYTES) / 8 }
    }

    fn get(&mut self, files: &SharedRows, run: Range<usize>) -> Outcome<RunValues> {
        if let Some(known) = self.runs.get(&run) {
            return Ok(known.clone());
        }
        let found = files.read(run.clone())?;
        let numbers = found.0.len() + found.1.as_ref().map_or(0, Vec::len);
        if numbers <= self.room {
            self.room -= numbers;
            self.runs.insert(run, found.clone());
        }
        Ok(found)
    }
}

/// The fit whose sums are taken.
struct Fit {
    model: Model,
    options: FitOptions,
    rows: Option<SharedRows>,
    kept: Kept,
    dimension: usize,
    clustered: bool,
    weighted: bool,
    /// Number of rows in all.
    count: usize,
    replica: Option<Replica>,
}

pub(crate) fn run(arguments: &FitArguments, rows: Option<usize>, global: &Global) -> Outcome<()> {
    // A worker is started with all that was typed for its fit, and leaves the output to that.
    let plan = Plan::new(arguments, global)?;
    let problem = inputs::model_problem(&arguments.model, arguments.start.as_deref(), global)?;
    let options = plan.options(&problem.model, &Progress::new(true, ""))?;
    let space = problem.model.space();
    let handed = arguments.data.iter().all(|path| path.as_os_str() == "-");
    let files = if handed { None } else { Some(SharedRows::open(&arguments.data, space, &arguments.rows)?) };
    let count = match (&files, rows) {
        (Some(files), _) => files.files.rows(),
        (None, Some(count)) => count,
        (None, None) => {
            return Err(Failure::Usage(
                "--rows must say how many rows there are in all, where they come by standard input".into(),
            ));
        }
    };
    let (clustered, weighted) = (arguments.rows.cluster.is_some(), arguments.rows.weights.is_some());
    let dimension = space.dimension();
    let (model, kept) = (problem.model, Kept::new());
    let mut fit =
        Fit { model, options, rows: files, kept, dimension, clustered, weighted, count, replica: None };
    let (mut input, mut out) = (std::io::stdin().lock(), std::io::stdout().lock());
    while let Some((request, asked)) = Request::read(&mut input)? {
        let given = match (&fit.rows, request.reads) {
            (None, true) => Some(fit.handed(&mut input, request.run.len())?),
            _ => None,
        };
        match fit.answer(&request, given)? {
            Some(answer) => {
                writeln!(out, "{}", json!({ "bytes": answer.len(), "run": asked["run"] }))?;
                out.write_all(&answer)?;
            }
            None => writeln!(out, "{}", json!({ "needs": "log", "run": asked["run"] }))?,
        }
        out.flush()?;
    }
    Ok(())
}

impl Fit {
    /// Rows that come with their request.
    fn handed(&self, input: &mut impl BufRead, rows: usize) -> Outcome<RunValues> {
        let columns = self.dimension + usize::from(self.clustered);
        let all = columns + usize::from(self.weighted);
        let raw = bytes(input, all.saturating_mul(rows).saturating_mul(8))?;
        let number = |bytes: &[u8]| f64::from_le_bytes(bytes.try_into().unwrap_or_default());
        let mut values: Vec<f64> = raw.chunks_exact(8).map(number).collect();
        let weights = self.weighted.then(|| values.split_off(columns * rows));
        Ok((values, weights))
    }

    /// The answer to a request; nothing where the log up to there is needed.
    fn answer(&mut self, request: &Request, given: Option<RunValues>) -> Outcome<Option<Vec<u8>>> {
        let step = request.known + request.answers.len();
        let at = self.replica.as_ref().map(Replica::step);
        if request.known == 0 && at.is_none_or(|at| at > step) {
            let shape = (self.dimension, self.count);
            let (model, options) = (self.model.clone(), self.options.clone());
            self.replica = Some(if self.clustered {
                Replica::start_clustered(model, options, shape, |work| work())?
            } else {
                Replica::start(model, options, shape, |work| work())?
            });
        }
        let Some(replica) =
            self.replica.as_mut().filter(|replica| (request.known..=step).contains(&replica.step()))
        else {
            return Ok(None);
        };
        replica.advance(&request.answers[replica.step() - request.known..])?;
        let (values, weights) = match (&self.rows, given, request.reads) {
            (_, Some(given), _) => given,
            (Some(files), None, true) => self.kept.get(files, request.run.clone())?,
            _ => (Vec::new(), None),
        };
        Ok(Some(replica.sum(request.run.clone(), values, weights)?))
    }
}
