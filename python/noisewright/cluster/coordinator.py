"""The calling process: asks for the sums of every pass, again where a worker is lost or slow, and hands them to the library."""

from __future__ import annotations

import functools
import math
import pickle
import queue
import statistics
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _core
from ..errors import InputError, NoisewrightError, WorkersLostError
from ..models import Model
from ..noises import NoiseLike, noise_request
from ..progress import Bar
from .engines import DaskEngine, DaskRows, Engine, Lost, engine_for, is_dask_collection
from .sources import Arrow, Files, Source, check_column, columns_of_file, count_file, count_fragment, expanded, format_of, needs
from .worker import Opening, Recipe, forget, inform, introduce, sum_run

__all__ = ["fit_on", "ratio_on"]

#: Rows of a run at least, its values at most, and how many runs a worker has in a pass between them. The result does not depend on these.
LEAST_RUN, MOST_VALUES, RUNS_PER_WORKER = 1 << 14, 1 << 22, 4
#: Times that one run is asked for again.
RETRIES = 4
#: A run that takes so many times the median, and so many seconds at least, is asked for once more elsewhere.
STRAGGLER = (4.0, 20.0)
#: Seconds between two looks at the clock.
TICK = 0.1


#: Columns that rows have beside the variables, in their order, and the arguments that name them.
Beside = tuple[str | None, str | None]
BESIDE = ("clusters", "weights")


class Workers:
    """The workers of one fit, as the library asks them."""

    def __init__(self, engine: Engine, recipe: Recipe, held: Sequence[DaskRows | None], bar: Bar) -> None:
        self._engine, self._recipe, self._held, self._bar = engine, recipe, held, bar
        #: The sample whose rows were read last.
        self.sample = 0
        self._pickled = _pickled(recipe)
        self._small = max(engine.small, 8 * (len(recipe.built().coordinates) + 1) ** 2)
        self._fit = uuid.uuid4().hex[:12]
        self._log: list[bytes] = []
        self._passes = 0
        self._stop = threading.Event()
        self._futures: list[Any] = []

    def sum(self, news: list[bytes], known: int, runs: list[tuple[int, int]], sample: int | None) -> list[bytes]:
        """The sum of every run at the step that the answers so far lead to."""
        self._log.extend(bytes(answer) for answer in news)
        self._passes += 1
        self.sample = self.sample if sample is None else sample
        tail = self._log[known:]
        small = sum(map(len, tail)) <= self._small and self._passes > 1
        if self._passes == 1:
            self._engine.tell_all(introduce, self._fit, len(self._log), Opening(self._pickled, self._log))
        elif not small:
            self._engine.tell_all(inform, self._fit, len(self._log), (known, tail))
        return _Pass(self, (known, tail if small else None), runs, sample).finish()

    def submit(self, number: int, attempt: int, of: _Pass, told: bool) -> Any:
        """The future of a run's sum; `told` says that the worker is told everything."""
        # With the call itself: what was put onto a cluster once would be gone with the worker that has it.
        opening = Opening(self._pickled, self._log) if told else None
        run = of.runs[number]
        held = None if of.sample is None else self._held[of.sample]
        rows = None if held is None else held.rows(run, self._recipe.columns(of.sample or 0))
        kind = "noise" if of.sample is None else ("rows", "second")[of.sample]
        name = f"noisewright-{kind}-{self._fit}-{self._passes}-{number}-{attempt}"
        future = self._engine.submit(
            name, number / len(of.runs), sum_run, self._fit, len(self._log), of.news, run, of.sample, opening, rows
        )
        self._futures.append(future)
        return future

    def result(self, future: Any) -> bytes | None:
        """The answer of a run; `None` from a worker that must be told more."""
        # The answers to the first step have rows in them.
        answer: bytes | None = self._engine.result(future, large=not self._log)
        return answer

    def stranded(self, future: Any) -> bool:
        """Whether a run waits for a worker that is gone."""
        return self._engine.stranded(future)

    def look(self) -> None:
        """Raises where no worker is left to wait for."""
        self._engine.check()

    def check(self) -> None:
        """Raises where the fit was ended."""
        if self._stop.is_set():
            raise KeyboardInterrupt

    def report(self, done: int, of: _Pass, rows: int) -> None:
        """Says how far the pass is."""
        speed = rows / max(time.monotonic() - of.begun, 1e-9)
        self._bar.note = f"pass {self._passes}, block {done} of {len(of.runs)}, {speed:.3g} rows/s"

    def pass_ended(self) -> None:
        """Lets go of the results of a pass."""
        self._futures.clear()

    def cancel(self) -> None:
        """Ends the fit: what was submitted is taken back."""
        self._stop.set()
        self._engine.cancel(list(self._futures))

    def close(self) -> None:
        """Lets the workers forget the fit."""
        self._engine.close(functools.partial(forget, self._fit))


class _Pass:
    """One sum over all runs of blocks, in whatever order their answers come."""

    def __init__(
        self, workers: Workers, news: tuple[int, list[bytes] | None], runs: list[tuple[int, int]], sample: int | None
    ) -> None:
        self.runs, self.sample, self.news = runs, sample, news
        self.begun = time.monotonic()
        self._workers = workers
        self._done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._answers: list[bytes | None] = [None] * len(runs)
        self._attempts = [0] * len(runs)
        self._asked = [0.0] * len(runs)
        self._futures: list[Any] = [None] * len(runs)
        self._lost = [0] * len(runs)
        self._seconds: list[float] = []

    def _ask(self, number: int, told: bool = False) -> None:
        self._attempts[number] += 1
        self._asked[number] = time.monotonic()
        future = self._futures[number] = self._workers.submit(number, self._attempts[number], self, told)
        future.add_done_callback(lambda done: self._done.put((number, done)))

    def finish(self) -> list[bytes]:
        """Asks for all runs, and waits for their answers."""
        for number in range(len(self.runs)):
            self._ask(number)
        left, rows = len(self.runs), 0
        while left:
            self._workers.check()
            try:
                number, future = self._done.get(timeout=TICK)
            except queue.Empty:
                self._hurry(left)
                continue
            if self._answers[number] is None and self._take(number, future):
                left -= 1
                start, stop = self.runs[number]
                rows += stop - start
                self._workers.report(len(self.runs) - left, self, rows)
        self._workers.pass_ended()
        return [answer for answer in self._answers if answer is not None]

    def _take(self, number: int, future: Any) -> bool:
        """Whether a future is the answer of its run; if not, it is asked for again."""
        try:
            answer = self._workers.result(future)
        except Lost:
            self._ask_after_a_loss(number)
            return False
        if answer is None:
            self._ask(number, told=True)
            return False
        self._answers[number] = answer
        self._seconds.append(time.monotonic() - self._asked[number])
        return True

    def _ask_after_a_loss(self, number: int) -> None:
        """Asks once more for what a lost worker left, if that has not been tried often enough.

        Counted here, since every question is a new task, whose own count of lost workers begins anew.
        """
        self._lost[number] += 1
        if self._lost[number] > RETRIES:
            start, stop = self.runs[number]
            raise WorkersLostError(
                f"{self._lost[number]} workers in a row were lost while they summed over rows {start + 1} to {stop}: they may be out of "
                "memory, or what they compute ends the process"
            ) from None
        self._ask(number, told=True)

    def _hurry(self, left: int) -> None:
        """Asks once more for what takes far longer than the rest did, or was forgotten on the way."""
        self._workers.look()
        few = self._seconds and left <= len(self.runs) // 2
        most = max(STRAGGLER[0] * statistics.median(self._seconds), STRAGGLER[1]) if few else math.inf
        for number in (number for number, answer in enumerate(self._answers) if answer is None):
            late = time.monotonic() - self._asked[number] > most and self._attempts[number] <= RETRIES
            if self._workers.stranded(self._futures[number]):
                self._ask_after_a_loss(number)
            elif late:
                self._ask(number, told=True)


def fit_on(
    executor: Any,
    model: Model,
    data: Any,
    *,
    weights: str | None,
    clusters: str | None,
    format: str | None,
    storage_options: Mapping[str, Any] | None,
    noise: NoiseLike,
    settings: dict[str, Any],
    fixed: Mapping[str, float] | None,
    constraints: Sequence[str],
    bar: Bar,
) -> tuple[dict[str, Any], _core.Model]:
    """What the library answers for a fit on workers, and the model with its variables."""
    plain = {name: value for name, value in settings.items() if name != "noise"}
    options = dict(storage_options or {})
    return _on_workers(executor, model, [data], (clusters, weights), (format, options), (noise, plain, fixed, constraints), bar)


def ratio_on(
    executor: Any,
    model: Model,
    samples: Sequence[Any],
    *,
    weights: str | None,
    format: str | None,
    storage_options: Mapping[str, Any] | None,
    settings: dict[str, Any],
    bar: Bar,
) -> tuple[dict[str, Any], _core.Model]:
    """The same for the ratio of two samples."""
    plain = {name: value for name, value in settings.items() if name != "noise"}
    options = dict(storage_options or {})
    return _on_workers(executor, model, list(samples), (None, weights), (format, options), ("auto", plain, None, ()), bar)


def _on_workers(
    executor: Any,
    model: Model,
    samples: list[Any],
    beside: Beside,
    reading: tuple[str | None, dict[str, Any]],
    settings: tuple[NoiseLike, dict[str, Any], Mapping[str, float] | None, Sequence[str]],
    bar: Bar,
) -> tuple[dict[str, Any], _core.Model]:
    """A fit of one sample, or a ratio of two."""
    engine, _ = engine_for(executor)
    workers: Workers | None = None
    sources: list[Any] = []
    noise, plain, fixed, constraints = settings
    try:
        variables: list[str] = []
        for number, data in enumerate(samples):
            source, found = _source(engine, data, model, (None, None) if number else beside, *reading)
            sources.append(source)
            if number and found != variables:
                raise InputError(f"the second sample has the columns {', '.join(found)}, and the first {', '.join(variables)}")
            variables = found
        names, clustered = variables + _given(beside), beside[0] is not None
        counts = [sum(source.counts) for source in sources] + [0]
        held = [source if isinstance(source, DaskRows) else None for source in sources]
        read = [source if own is None else None for source, own in zip(sources, held)] + [None]
        rows, ratio = (counts[0], counts[1]), len(samples) > 1
        weighted = beside[1] is not None
        recipe = Recipe(model, names, clustered, weighted, fixed, constraints, noise, plain, rows, (read[0], read[1]), ratio)
        workers = Workers(engine, recipe, held, bar)
        built = recipe.built()
        run = run_rows(max(rows), engine.workers, len(names))
        handed = {**plain, "noise": noise_request(noise)}
        return _core.fit_distributed(built, (len(variables), rows, run, clustered), handed, workers, ratio, bar), built
    except NoisewrightError as error:
        sample = 0 if workers is None else workers.sample
        _name_row(error, sources[sample] if sample < len(sources) else None)
        raise
    except BaseException:
        if workers is not None:
            workers.cancel()
        raise
    finally:
        if workers is not None:
            workers.close()
        else:
            engine.close(lambda: None)


def run_rows(rows: int, workers: int, columns: int) -> int:
    """Rows of a run, at most: a few runs for every worker, so that none waits long for another, but no task of nothing."""
    return min(max(rows // (RUNS_PER_WORKER * workers), LEAST_RUN), MOST_VALUES // columns)


def _name_row(error: NoisewrightError, source: Any) -> None:
    """Says of a row that is wrong where it is."""
    row = getattr(error, "row", None)
    if row is not None and source is not None:
        error.args = (f"{source.place(row - 1)}: {error}",)


def _pickled(recipe: Recipe) -> bytes:
    try:
        import cloudpickle as how
    except ImportError:
        how = pickle  # type: ignore[assignment]
    try:
        return bytes(how.dumps(recipe))
    except Exception as error:
        raise InputError(
            f"the model or the noise cannot be sent to the workers ({error}): define its functions in a module, or install cloudpickle"
        ) from None


def _source(
    engine: Engine, data: Any, model: Model, beside: Beside, format: str | None, options: dict[str, Any]
) -> tuple[Any, list[str]]:
    """Where the rows are, and the variables that they have."""
    if is_dask_collection(data):
        if not isinstance(engine, DaskEngine):
            raise InputError("`data` are a Dask collection, and `executor` must be the client of its cluster")
        held = engine.partitions(data)
        columns = held.columns
        for argument, column in zip(BESIDE, beside):
            if columns is None and column is not None:
                raise InputError(f"`{argument}`: a Dask array has no column names; give a data frame")
        return held, _variables(model, columns, beside, "the data frame", held.width)
    if type(data).__module__.startswith("pyarrow") and hasattr(data, "get_fragments"):
        return _dataset(engine, data, model, beside)
    listed = isinstance(data, (list, tuple)) and all(isinstance(path, str) or hasattr(path, "__fspath__") for path in data)
    if not (isinstance(data, str) or hasattr(data, "__fspath__") or (listed and data)):
        raise InputError(
            "`executor` is for rows in files, given by paths or patterns, for PyArrow datasets and for Dask collections: leave it out "
            "for rows in memory, or ask for a `bootstrap`, whose samples it then fits"
        )
    paths = expanded(data, options)
    kind = format_of(paths[0], format)
    columns = columns_of_file(paths[0], kind, options)
    variables = _variables(model, columns, beside, paths[0], None)
    names = variables + _given(beside)
    source = Files(paths, kind, options, identity=uuid.uuid4().hex)
    counted = [
        engine.submit(f"noisewright-footer-{source.identity}-{number}", number / len(paths), count_file, path, kind, names, options)
        for number, path in enumerate(paths)
    ]
    source.groups = [
        _retried(engine, future, functools.partial(count_file, path, kind, names, options)) for future, path in zip(counted, paths)
    ]
    return source, variables


def _retried(engine: Engine, future: Any, here: Callable[[], Any]) -> Any:
    """What a worker counted; what a lost worker leaves open is counted here."""
    try:
        return engine.result(future)
    except Lost:
        return here()


def _dataset(engine: Engine, data: Any, model: Model, beside: Beside) -> tuple[Source, list[str]]:
    """A PyArrow dataset, whose filter, if it has one, is that of `dataset.filter(…)`."""
    datasets = needs("pyarrow.dataset", "a PyArrow dataset")
    variables = _variables(model, list(data.schema.names), beside, "the dataset", None)
    # `Dataset.filter` keeps its expression here.
    condition = getattr(data, "_scan_options", {}).get("filter")
    if condition is not None:
        # A filtered dataset does not give its fragments: its files are asked once more.
        where = {"schema": data.schema, "format": data.format, "filesystem": data.filesystem, "partitioning": data.partitioning}
        data = datasets.dataset(data.files, **where)
    fragments = [
        group
        for fragment in data.get_fragments(filter=condition)
        for group in (fragment.split_by_row_group(condition) if hasattr(fragment, "split_by_row_group") else [fragment])
    ]
    counted = [
        engine.submit(f"noisewright-count-{uuid.uuid4().hex}", number / len(fragments), count_fragment, fragment, condition, variables[0])
        for number, fragment in enumerate(fragments)
    ]
    counts = [
        _retried(engine, future, functools.partial(count_fragment, fragment, condition, variables[0]))
        for future, fragment in zip(counted, fragments)
    ]
    kept = [(fragment, count) for fragment, count in zip(fragments, counts) if count]
    source = Arrow([fragment for fragment, _ in kept], condition, [count for _, count in kept], uuid.uuid4().hex)
    return source, variables


def _given(beside: Beside) -> list[str]:
    """The columns beside the variables that there are."""
    return [column for column in beside if column is not None]


def _variables(model: Model, columns: list[str] | None, beside: Beside, where: str, width: int | None) -> list[str]:
    """The model's variables, which must be columns."""
    if model.variables is not None:
        names = list(model.variables)
    elif columns is not None:
        names = [name for name in columns if name not in beside]
    else:
        raise InputError("`model` must name its variables, since the columns of the data have no names")
    for argument, column in zip(BESIDE, beside):
        if column is not None and column in names:
            raise InputError(f"`{argument}`: column `{column}` is a variable of the model")
    if None not in beside and beside[0] == beside[1]:
        raise InputError(f"`weights`: column `{beside[1]}` is that of `clusters`")
    for name in [*names, *_given(beside)]:
        if columns is not None:
            check_column(where, name, columns)
    if width is not None and width != len(names):
        raise InputError(f"the data have {width} columns, and must have one for each of {', '.join(names)}")
    return names
