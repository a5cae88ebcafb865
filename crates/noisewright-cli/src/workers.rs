//! Worker processes of a fit: this program again as `noisewright block`, each with a share of the rows, replaced when lost.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, BufWriter, Read};
use std::ops::Range;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use noisewright::fit::{PassRequest, Workers};
use noisewright::{Error, Result};
use serde_json::Value;

use crate::commands::block::{Request, SharedRows};
use crate::failure::{Failure, Outcome};
use crate::rows;

/// Rows of a run at least, its values at most, and the runs of a worker in a pass between them.
const LEAST_RUN: usize = 1 << 14;
const MOST_VALUES: usize = 1 << 22;
const RUNS_PER_WORKER: usize = 4;
/// Losses of a worker one after the other, without a sum in between, that are borne.
const PATIENCE: usize = 4;

/// Processes that sum over the rows of files.
pub(crate) struct Processes {
    rows: SharedRows,
    /// How a worker is started: a program and its first arguments.
    program: Vec<OsString>,
    /// The arguments of `noisewright block`.
    arguments: Vec<OsString>,
    workers: Vec<Mutex<Option<Process>>>,
    passes: AtomicUsize,
}

/// One process, and its pipes.
struct Process {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already; either way its end is waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Processes {
    /// So many workers, none of them started yet.
    pub(crate) fn new(rows: SharedRows, count: usize, command: Option<&str>) -> Outcome<Self> {
        let program = match command {
            Some(command) => command.split_whitespace().map(OsString::from).collect(),
            None => vec![std::env::current_exe()?.into_os_string()],
        };
        if program.is_empty() {
            return Err(Failure::Usage("--worker-command must name a program".into()));
        }
        // The workers parse what was typed for the fit, whose settings are theirs.
        let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        if let Some(word) = arguments.iter_mut().find(|word| *word == "fit") {
            *word = "block".into();
        }
        let workers = (0..count).map(|_| Mutex::new(None)).collect();
        Ok(Self { rows, program, arguments, workers, passes: AtomicUsize::new(0) })
    }

    /// The data files, in words.
    pub(crate) fn files(&self) -> String {
        self.rows.files.sources().collect::<Vec<_>>().join(", ")
    }

    /// Passes over the rows so far.
    pub(crate) fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    /// The failure of a fit, with the file where the library knows only the row.
    pub(crate) fn failure(&self, error: Error) -> Failure {
        // What a worker says of itself stands alone.
        if let Error::External { source } = &error {
            return Failure::NoAnswer(source.to_string());
        }
        rows::in_rows(error, &self.files(), |row| {
            self.rows.files.place(row).unwrap_or_else(|| format!("row {}", row + 1))
        })
    }

    fn start(&self) -> std::io::Result<Process> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = (cores / self.workers.len()).max(1).to_string();
        let mut child = Command::new(&self.program[0])
            .args(&self.program[1..])
            .args(&self.arguments)
            .env("RAYON_NUM_THREADS", threads)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let pipe = || std::io::Error::other("a worker has no pipe");
        let input = BufWriter::new(child.stdin.take().ok_or_else(pipe)?);
        let output = BufReader::new(child.stdout.take().ok_or_else(pipe)?);
        Ok(Process { child, input, output })
    }

    /// The answers of one worker to its runs, one after the other.
    fn share(&self, worker: usize, pass: &PassRequest<'_>, runs: &[Range<usize>]) -> Result<Vec<Vec<u8>>> {
        let mut slot = self.workers[worker].lock().unwrap_or_else(PoisonError::into_inner);
        let mut lost = 0;
        let mut answers = Vec::with_capacity(runs.len());
        while let Some(run) = runs.get(answers.len()) {
            match self.ask(&mut slot, pass, run) {
                Ok(answer) => {
                    answers.push(answer);
                    lost = 0;
                }
                Err(Ask::Refused(sentence)) => return Err(external(sentence)),
                Err(Ask::Lost) => {
                    *slot = None;
                    lost += 1;
                    if lost > PATIENCE {
                        return Err(external(format!(
                            "{lost} worker processes in a row were lost before they had summed over rows {} to {}",
                            run.start + 1,
                            run.end
                        )));
                    }
                }
            }
        }
        Ok(answers)
    }

    /// One answer of a worker, which is started if it is not there.
    fn ask(
        &self,
        slot: &mut Option<Process>,
        pass: &PassRequest<'_>,
        run: &Range<usize>,
    ) -> std::result::Result<Vec<u8>, Ask> {
        let mut known = if slot.is_some() { pass.known } else { 0 };
        let process = match slot {
            Some(process) => process,
            None => slot.insert(self.start().map_err(|error| {
                let program = self.program[0].to_string_lossy();
                Ask::Refused(format!("the worker `{program}` cannot be started: {error}"))
            })?),
        };
        loop {
            let answers = pass.log[known..].to_vec();
            let request = Request { known, answers, run: run.clone(), reads: pass.sample.is_some() };
            request.write(&mut process.input).map_err(|_| Ask::Lost)?;
            let mut line = String::new();
            if process.output.read_line(&mut line).map_err(|_| Ask::Lost)? == 0 {
                return Err(process.end());
            }
            let said: Value = serde_json::from_str(&line)
                .map_err(|_| Ask::Refused("a worker answered what was not asked".into()))?;
            if let Some(length) = said["bytes"].as_u64().and_then(|length| usize::try_from(length).ok()) {
                return crate::commands::block::bytes(&mut process.output, length).map_err(|_| Ask::Lost);
            }
            if known == 0 {
                return Err(Ask::Refused(
                    "a worker cannot follow the fit: it must be the same version of noisewright".into(),
                ));
            }
            known = 0;
        }
    }
}

/// Why there is no answer.
enum Ask {
    /// The process is gone, and may be replaced.
    Lost,
    /// There will be none, and why.
    Refused(String),
}

impl Process {
    /// How a process ended that closed its pipe: by itself, having said why, or by a signal.
    fn end(&mut self) -> Ask {
        let mut said = String::new();
        let read = self.child.stderr.take().map(|mut stderr| stderr.read_to_string(&mut said));
        let ended =
            self.child.wait().is_ok_and(|status| status.code().is_some_and(|code| code == 1 || code == 2));
        match said.trim().strip_prefix("error: ").filter(|_| ended && matches!(read, Some(Ok(_)))) {
            Some(sentence) => Ask::Refused(sentence.to_owned()),
            None => Ask::Lost,
        }
    }
}

fn external(sentence: String) -> Error {
    Error::external(std::io::Error::other(sentence))
}

impl Workers for Processes {
    fn dimension(&self) -> usize {
        self.rows.dimension
    }

    fn has_clusters(&self) -> bool {
        self.rows.clustered
    }

    fn rows(&self) -> usize {
        self.rows.files.rows()
    }

    fn run_rows(&self) -> usize {
        let even = self.rows() / (RUNS_PER_WORKER * self.workers.len());
        even.max(LEAST_RUN).min(MOST_VALUES / self.dimension().max(1))
    }

    fn sum(&self, pass: &PassRequest<'_>) -> Result<Vec<Vec<u8>>> {
        if pass.sample.is_some() {
            self.passes.fetch_add(1, Ordering::Relaxed);
        }
        let count = self.workers.len();
        let share = |worker: usize| {
            &pass.runs[worker * pass.runs.len() / count..(worker + 1) * pass.runs.len() / count]
        };
        thread::scope(|scope| {
            let asked: Vec<_> = (0..count)
                .map(|worker| scope.spawn(move || self.share(worker, pass, share(worker))))
                .collect();
            let mut answers = Vec::with_capacity(pass.runs.len());
            for one in asked {
                let found = one.join().map_err(|_| external("a thread of a worker broke down".into()))?;
                answers.extend(found?);
            }
            Ok(answers)
        })
    }
}
