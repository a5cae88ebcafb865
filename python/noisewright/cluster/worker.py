"""What runs in a worker: a replica of the fit, led by the log of its sums, sums over runs of rows that the worker reads itself."""

from __future__ import annotations

import ctypes
import os
import pickle
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..arrays import Array
from ..errors import InputError
from ..models import Model
from ..noises import NoiseLike, noise_request
from .cache import rows_read
from .sources import Files, Source

__all__ = ["Opening", "Recipe", "forget", "inform", "introduce", "joined_rows", "limit_threads", "slice_of_partition", "sum_run"]

#: Fits that a worker remembers.
REMEMBERED = 2


@dataclass(frozen=True)
class Recipe:
    """All that makes a fit, and where its rows are."""

    model: Model
    #: The variables, after them the column of clusters and that of weights, if there are any.
    names: list[str]
    clustered: bool
    weighted: bool
    fixed: Mapping[str, float] | None
    constraints: Sequence[str]
    noise: NoiseLike
    #: The settings for the library, but for the noise.
    settings: dict[str, Any]
    #: Rows of the data, or of both samples of a ratio.
    rows: tuple[int, int]
    #: Where the worker reads them; `None` where they are handed over, or there is no second sample.
    sources: tuple[Source | None, Source | None]
    #: Whether it is the ratio of two samples that is fitted.
    ratio: bool = False
    version: str = _core.VERSION

    @property
    def variables(self) -> list[str]:
        """The variables alone."""
        return self.names[: len(self.names) - self.clustered - self.weighted]

    def columns(self, sample: int) -> list[str]:
        """The columns of a sample: the second of a ratio has variables only."""
        return self.variables if sample else self.names

    def built(self) -> _core.Model:
        """The model with its variables and constraints."""
        from ..fitting_arguments import constrained

        return constrained(self.model._for({name: () for name in self.variables}), self.fixed, self.constraints)

    def replica(self) -> _core.Replica:
        """A new replica of the fit."""
        if self.version != _core.VERSION:
            raise InputError(f"a worker has noisewright {_core.VERSION}, and the fit is one of noisewright {self.version}: install the same version everywhere")
        settings = {**self.settings, "noise": noise_request(self.noise)}
        return _core.Replica(self.built(), (len(self.variables), self.rows, self.clustered), settings, self.ratio)


@dataclass(frozen=True)
class Opening:
    """What a worker needs that has not been at this fit yet: the recipe, pickled, and the whole log."""

    recipe: bytes
    log: list[bytes]


#: Bytes of freed memory that a worker of Dask keeps while it has a part in a fit, and the largest allocation that is kept.
KEPT, LARGEST = 1 << 26, 1 << 25
#: The C library's numbers of the two (`malloc.h`), and what it has for the second by itself.
TRIM_THRESHOLD, MMAP_THRESHOLD, USUAL_LARGEST = -1, -3, 1 << 17


def _keep_memory(keep: bool) -> None:
    """Lets the C library keep what is freed. Dask has its workers give back all but 64 kB at once (`MALLOC_TRIM_THRESHOLD_`): every block of
    a fit would have it from the system anew, page by page, which took as long as the sums."""
    try:
        library = ctypes.CDLL(None)
        trimmed = int(os.environ["MALLOC_TRIM_THRESHOLD_"])
        library.mallopt(TRIM_THRESHOLD, KEPT if keep else trimmed)
        library.mallopt(MMAP_THRESHOLD, LARGEST if keep else USUAL_LARGEST)
        if not keep:
            library.malloc_trim(0)
    except (KeyError, ValueError, TypeError, AttributeError, OSError):
        # It is not set, or this is another C library.
        return


class _Session:
    """A worker's part in one fit."""

    def __init__(self, opening: Opening) -> None:
        self.recipe: Recipe = pickle.loads(opening.recipe)
        self.replica = self.recipe.replica()
        # The sum must be taken at the step that was asked for, whatever other threads do.
        self.lock = threading.Lock()


_sessions: OrderedDict[str, _Session] = OrderedDict()
_lock = threading.Lock()


def _session(fit: str, step: int, opening: Opening | None) -> _Session | None:
    with _lock:
        session = _sessions.get(fit)
        if opening is not None and (session is None or session.replica.step > step):
            _keep_memory(True)
            session = _sessions[fit] = _Session(opening)
        if session is not None:
            _sessions.move_to_end(fit)
        while len(_sessions) > REMEMBERED:
            _sessions.popitem(last=False)
        return session


def sum_run(
    fit: str,
    step: int,
    news: tuple[int, list[bytes] | None],
    run: tuple[int, int],
    sample: int | None,
    opening: Opening | None = None,
    rows: Array | None = None,
) -> bytes | None:
    """The sum over a run of rows at a step of the fit; `None` where the worker must be told more, by an opening.

    `sample` says which of the samples the rows are read of; `None` for noise. `news` are the answers to the steps from a number on that a worker may not know yet.
    """
    session = _session(fit, step, opening)
    if session is None or not _can_follow(session, step, news, opening):
        return None
    recipe = session.recipe
    source = None if sample is None or rows is not None else recipe.sources[sample]
    names = recipe.columns(sample or 0)
    # What came through the network may lie anywhere in memory.
    read: list[list[Array]] = [list(np.require(rows, dtype=float, requirements=["ALIGNED"]))] if rows is not None else []
    spans = source.spans(*run, len(names)) if isinstance(source, Files) else None
    if source is not None and spans is None:
        read = source.read(*run, names)
    with session.lock:
        if not _can_follow(session, step, news, opening):
            return None
        known = session.replica.step
        if known < step:
            session.replica.advance(opening.log[known:step] if opening is not None else (news[1] or [])[known - news[0] :])
        weighted = recipe.weighted and sample == 0
        if source is not None and spans is not None:
            of_files: bytes | None = session.replica.sum_files(run, spans, names, weighted)
            if of_files is not None:
                return of_files
            # PyArrow reads what the library does not take for itself, or says why it cannot.
            read = source.read(*run, names)
        answer: bytes = session.replica.sum(run, read, weighted)
        return answer


def introduce(fit: str, step: int, opening: Opening) -> None:
    """Tells a worker all there is to know about a fit at a step."""
    session = _session(fit, step, opening)
    assert session is not None
    with session.lock:
        session.replica.advance(opening.log[session.replica.step : step])


def inform(fit: str, step: int, news: tuple[int, list[bytes]]) -> None:
    """Tells a worker the answers to the steps from a number on, if it has been at the fit so far; whoever has not asks for all."""
    with _lock:
        session = _sessions.get(fit)
    if session is None:
        return
    with session.lock:
        if _can_follow(session, step, news, None):
            session.replica.advance(news[1][session.replica.step - news[0] :])


def _can_follow(session: _Session, step: int, news: tuple[int, list[bytes] | None], opening: Opening | None) -> bool:
    known = session.replica.step
    if known == step:
        return True
    return known < step and (opening is not None or (news[1] is not None and known >= news[0]))


def forget(fit: str) -> None:
    """Ends a worker's part in a fit, and lets go of the rows that it has kept."""
    with _lock:
        session = _sessions.pop(fit, None)
        if session is not None and not _sessions:
            _keep_memory(False)
    if session is not None:
        identities = {source.identity for source in session.recipe.sources if source is not None}
        rows_read().release(lambda source: isinstance(source, tuple) and source[0] in identities)


def limit_threads(threads: int) -> None:
    """How many threads the library takes in a process that has not used it yet."""
    os.environ.setdefault("RAYON_NUM_THREADS", str(threads))


def slice_of_partition(partition: Any, names: Sequence[str], low: int, high: int) -> Array:
    """Some rows of a partition of a Dask collection, one row of the array per column."""
    part = partition[low:high] if isinstance(partition, np.ndarray) else partition.iloc[low:high]
    if isinstance(part, np.ndarray):
        return np.ascontiguousarray(part.reshape(len(part), -1).T, dtype=float)
    return np.ascontiguousarray(np.stack([part[name].to_numpy(dtype=float, na_value=np.nan) for name in names]))


def joined_rows(*slices: Array) -> Array:
    """Slices of partitions one after the other."""
    return slices[0] if len(slices) == 1 else np.concatenate(slices, axis=1)
