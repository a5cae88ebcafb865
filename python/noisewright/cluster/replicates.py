"""Replicates of a bootstrap, fitted wherever there is room: the rows are in memory, and go with the tasks."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..models import Model
from ..noises import NoiseLike, noise_request
from ..progress import Bar
from .engines import engine_for, is_dask_collection
from .mapping import map_on

__all__ = ["Replicates", "is_elsewhere"]

#: Replicates of a task at least, since every task makes the fit itself first; and tasks of a worker.
LEAST, TASKS_PER_WORKER = 25, 4

#: All unknowns of a replicate, or nothing where it has no answer.
Answer = list[float] | None


def is_elsewhere(data: Any) -> bool:
    """Whether data are names of files, or in the hands of PyArrow or Dask, rather than rows in memory."""
    if isinstance(data, str) or hasattr(data, "__fspath__") or hasattr(data, "get_fragments") or is_dask_collection(data):
        return True
    return isinstance(data, (list, tuple)) and any(isinstance(one, str) or hasattr(one, "__fspath__") for one in data)


@dataclass(frozen=True)
class _Fit:
    """All that makes a fit of rows in memory."""

    model: Model
    variables: Sequence[str]
    fixed: Mapping[str, float] | None
    constraints: Sequence[str]
    noise: NoiseLike
    #: The settings for the library, but for the noise.
    settings: dict[str, Any]
    #: The rows as the library takes them, and noise that was drawn elsewhere.
    rows: dict[str, Any]
    drawn: Any

    def replicates(self, first: int, last: int) -> list[Answer]:
        """The replicates of these numbers."""
        from ..fitting_arguments import constrained

        built = constrained(self.model._for({name: () for name in self.variables}), self.fixed, self.constraints)
        settings = {**self.settings, "noise": noise_request(self.noise)}
        rows = {name: _own(value) for name, value in self.rows.items()}
        drawn = None if self.drawn is None else tuple(_own(value) for value in self.drawn)
        return _core.fit_replicates(built, rows, settings, drawn, first, last)


def _own(value: Any) -> Any:
    """An array as the library takes it: what came through the network may lie anywhere in memory."""
    return np.require(value, requirements=["C", "ALIGNED"]) if isinstance(value, np.ndarray) else value


def _made(task: tuple[_Fit, int, int]) -> list[Answer]:
    """What a worker does."""
    fit, first, last = task
    return fit.replicates(first, last)


class Replicates:
    """Who makes the replicates of a bootstrap, as the library asks for them."""

    def __init__(
        self,
        executor: Any,
        model: Model,
        variables: Sequence[str],
        fixed: Mapping[str, float] | None,
        constraints: Sequence[str],
        noise: NoiseLike,
        settings: dict[str, Any],
        rows: dict[str, Any],
        drawn: Any,
    ) -> None:
        plain = {name: value for name, value in settings.items() if name != "noise"}
        self._executor = executor
        self._workers = engine_for(executor)[0].workers
        self._fit = _Fit(model, list(variables), fixed, list(constraints), noise, plain, rows, drawn)
        self._stop = threading.Event()

    def __call__(self, count: int) -> list[Answer]:
        """The answers of so many replicates, in order."""
        size = max(LEAST, -(-count // (TASKS_PER_WORKER * self._workers)))
        tasks = [(self._fit, first, min(first + size, count)) for first in range(0, count, size)]
        with Bar("bootstrap", False) as bar:
            found = map_on(self._executor, _made, tasks, "bootstrap", bar, self._stop)
        return [answer for some in found for answer in some]

    def stop(self) -> None:
        """Takes back what was submitted."""
        self._stop.set()
