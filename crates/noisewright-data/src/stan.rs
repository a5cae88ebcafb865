//! Stan CSV: the same rows as CSV, with a sampler whose comments say which of them are warm-up.

use crate::csv;
use crate::gather::Gathered;
use crate::input::Input;
use crate::{Error, Options, Result, Table};

/// Whether the first bytes of a text are Stan's: its version in the leading comments, or `lp__` as the first column.
pub(crate) fn recognised(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    for line in head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        match line.strip_prefix(b"#") {
            Some(comment) if comment.trim_ascii().starts_with(b"stan_version") => return true,
            Some(_) => {}
            None if line.is_empty() => {}
            None => return line == b"lp__" || line.starts_with(b"lp__,") || line.starts_with(b"\"lp__\""),
        }
    }
    false
}

/// Reads the draws of one Stan CSV file, those of the warm-up left out.
pub(crate) fn read(input: Input<'_>, options: &Options) -> Result<Table> {
    let file = input.file.clone();
    let mut run = Run::default();
    let mut rows = csv::open(input, options, &mut |comment| run.note(comment))?;
    rows.allow_comments();
    run.refuse_estimates(&file)?;
    let mut warmup = run.rows_before_draws();
    // Rows are counted with those of the warm-up, as messages about the file count them.
    let mut gathered = Gathered::new(rows.names().len(), true);
    loop {
        let mut adapted_after = None;
        let more = rows.advance(&mut |comment, passed| {
            if comment.trim_ascii().starts_with(b"Adaptation terminated") {
                adapted_after = Some(passed);
            }
        })?;
        // The mark is where adaptation really ended, whatever was planned.
        if let Some(passed) = adapted_after {
            gathered.clear();
            rows.forget_dropped();
            warmup = passed;
        }
        if !more {
            break;
        }
        if run.is_stan {
            rows.refuse_cut()?;
        }
        if rows.passed() > warmup {
            rows.take(&mut gathered)?;
        }
    }
    if rows.passed() > 0 && rows.passed() <= warmup {
        return Err(Error::OnlyWarmup { file, warmup: rows.passed() });
    }
    gathered.count(rows.passed(), rows.dropped());
    Ok(gathered.into_table(&file, rows.names().to_vec())?.into_stan_chain(&run.method))
}

/// What the leading comments say of the run that wrote the file.
#[derive(Debug, Default)]
struct Run {
    /// Whether Stan's version is there: files of others may have `lp__` too.
    is_stan: bool,
    method: String,
    algorithm: String,
    num_warmup: usize,
    save_warmup: bool,
    thin: usize,
}

impl Run {
    /// Takes note of a comment of the kind `num_warmup = 1000 (Default)`.
    fn note(&mut self, comment: &[u8]) {
        let comment = String::from_utf8_lossy(comment);
        let Some((key, rest)) = comment.split_once('=') else { return };
        let word = rest.split_whitespace().next().unwrap_or_default();
        match key.trim() {
            "stan_version_major" => self.is_stan = true,
            "method" => self.method = word.to_owned(),
            "algorithm" => self.algorithm = word.to_owned(),
            "num_warmup" => self.num_warmup = word.parse().unwrap_or(0),
            "save_warmup" => self.save_warmup = matches!(word, "1" | "true"),
            "thin" => self.thin = word.parse().unwrap_or(1),
            _ => {}
        }
    }

    /// An optimum or a test of gradients has the same look but is no sample.
    fn refuse_estimates(&self, file: &str) -> Result<()> {
        match self.method.as_str() {
            "optimize" | "diagnose" => {
                Err(Error::NotDraws { file: file.to_owned(), method: self.method.clone() })
            }
            _ => Ok(()),
        }
    }

    /// How many rows come before the first draw.
    fn rows_before_draws(&self) -> usize {
        match self.method.as_str() {
            // The first row of a variational fit is its mean.
            "variational" => 1,
            _ if self.algorithm == "fixed_param" || !self.save_warmup => 0,
            // Stan saves iterations 0, thin, 2 thin, … below num_warmup.
            _ => self.num_warmup.div_ceil(self.thin.max(1)),
        }
    }
}
