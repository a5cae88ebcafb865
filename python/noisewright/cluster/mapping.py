"""The same call for many items, wherever there is room for it: simulations, sweeps over designs."""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..errors import WorkersLostError
from ..progress import Bar
from .engines import Engine, Lost, engine_for

__all__ = ["map_on"]

T = TypeVar("T")

#: Times that one item is asked for again.
RETRIES = 4
#: Seconds between two looks whether an item waits for a worker that is gone.
TICK = 1.0


def map_on(
    executor: Any, function: Callable[..., T], items: Sequence[Any], what: str, bar: Bar, stop: threading.Event | None = None
) -> list[T]:
    """`[function(item) for item in items]` by a Dask client, an executor, so many processes, or here where it is `None`; `stop` ends it."""
    if executor is None:
        found = []
        for number, item in enumerate(items):
            found.append(function(item))
            bar((number + 1) / len(items))
        return found
    engine, _ = engine_for(executor)
    mapping = _Mapping(engine, function, items, what)
    try:
        return mapping.finish(bar, stop)
    except BaseException:
        engine.cancel(mapping.futures)
        raise
    finally:
        engine.close(_nothing)


def _nothing() -> None:
    """What workers are to forget: nothing."""


class _Mapping:
    """Calls whose answers come in any order."""

    def __init__(self, engine: Engine, function: Callable[..., Any], items: Sequence[Any], what: str) -> None:
        self._engine, self._function, self._items = engine, function, items
        self._name = f"noisewright-{what}-{uuid.uuid4().hex[:12]}"
        self._done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self._lost = [0] * len(items)
        self.futures: list[Any] = [None] * len(items)

    def _ask(self, number: int) -> None:
        name = f"{self._name}-{number}-{self._lost[number]}"
        future = self._engine.submit(name, number / len(self._items), self._function, self._items[number])
        self.futures[number] = future
        future.add_done_callback(lambda done: self._done.put((number, done)))

    def finish(self, bar: Bar, stop: threading.Event | None = None) -> list[Any]:
        """Asks for all, and again for what is lost."""
        answers: dict[int, Any] = {}
        for number in range(len(self._items)):
            self._ask(number)
        while len(answers) < len(self._items):
            if stop is not None and stop.is_set():
                raise KeyboardInterrupt
            try:
                number, future = self._done.get(timeout=TICK)
            except queue.Empty:
                for open_one in (n for n in range(len(self._items)) if n not in answers):
                    if self._engine.stranded(self.futures[open_one]):
                        self._again(open_one)
                continue
            if number in answers or future is not self.futures[number]:
                continue
            try:
                answers[number] = self._engine.result(future)
            except Lost:
                self._again(number)
            bar(len(answers) / len(self._items))
        return [answers[number] for number in range(len(self._items))]

    def _again(self, number: int) -> None:
        self._lost[number] += 1
        if self._lost[number] > RETRIES:
            raise WorkersLostError(f"the workers that had part {number + 1} of {len(self._items)} were lost {self._lost[number]} times")
        self._ask(number)
