"""Who runs the work: a Dask cluster, an executor of `concurrent.futures`, or processes of our own."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from ..errors import InputError, WorkersLostError
from .sources import pieces
from .worker import joined_rows, limit_threads, slice_of_partition

__all__ = ["DaskEngine", "Engine", "ExecutorEngine", "Lost", "ProcessEngine", "engine_for", "is_dask_collection"]


#: Seconds that the result of a task that is done may take to arrive.
PATIENCE = 15.0
#: Seconds for which a cluster may be without any worker, after it had some: processes of this machine come back within seconds or never,
#: machines that were taken away are replaced in their time. Dask's `distributed.scheduler.no-workers-timeout` goes before.
ALONE_HERE, ALONE = 30.0, 600.0


class Lost(Exception):
    """A worker was lost before it answered; its run can be asked for again."""


class Engine:
    """Runs functions somewhere else."""

    #: Bytes of news that go with every call, or 8 (k + 1)² for k unknowns, if that is more; what is more goes to every worker once.
    small = 1 << 14

    @property
    def workers(self) -> int:
        """How many workers there are now, as far as it is known."""
        return os.cpu_count() or 1

    def submit(self, name: str, place: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """The future of a call. Calls of about the same `place`, from 0 to 1, go to the same worker where that can be chosen."""
        raise NotImplementedError

    def tell_all(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Calls a function in every worker, where that can be done; whoever is not reached asks later."""

    def result(self, future: Any, large: bool = False) -> Any:
        """The result of a future that is done; one that is large comes from the worker itself where it can be reached.

        Raises `Lost` where it can be asked for again, and `WorkersLostError` where that has been tried often enough.
        """
        return future.result()

    def stranded(self, future: Any) -> bool:
        """Whether a call waits for a worker that is gone."""
        return False

    def check(self) -> None:
        """Raises `WorkersLostError` where all workers are gone, and none comes."""

    def cancel(self, futures: Sequence[Any]) -> None:
        """Gives up what has been submitted."""
        for future in futures:
            future.cancel()

    def close(self, forget: Callable[[], None]) -> None:
        """Ends what belongs to the fit alone."""


class ExecutorEngine(Engine):
    """Any executor of `concurrent.futures`, which belongs to the caller."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    @property
    def workers(self) -> int:
        """As many as the executor says."""
        return int(getattr(self._executor, "_max_workers", None) or super().workers)

    def submit(self, name: str, place: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submits to the executor."""
        try:
            return self._executor.submit(function, *arguments)
        except BrokenExecutor:
            raise WorkersLostError(_BROKEN) from None

    def result(self, future: Any, large: bool = False) -> Any:
        """The result; a broken executor cannot be mended."""
        try:
            return future.result()
        except BrokenExecutor:
            raise WorkersLostError(_BROKEN) from None

    def close(self, forget: Callable[[], None]) -> None:
        """Forgets the fit here, where threads of this process are the workers."""
        forget()


_BROKEN = (
    "a process of the executor was lost, and with it the executor: give `executor` a number of processes, which are replaced, or a "
    "Dask client"
)


class ProcessEngine(Engine):
    """Processes of our own, each with a place, and replaced when lost."""

    #: Losses one after the other, without a sum in between, that are borne.
    PATIENCE = 4

    def __init__(self, count: int) -> None:
        self._count = count
        self._threads = max(1, (os.cpu_count() or 1) // count)
        self._pools: list[ProcessPoolExecutor | None] = [None] * count
        #: Where a call was submitted: the place, and the process that was there.
        self._of: dict[Any, tuple[int, ProcessPoolExecutor | None]] = {}
        self._lost = 0
        # A fit is ended by another thread than the one that submits: no process may be begun after that.
        self._lock, self._closed = threading.Lock(), False

    @property
    def workers(self) -> int:
        """As many as were asked for."""
        return self._count

    def _pool(self, slot: int) -> ProcessPoolExecutor:
        pool = self._pools[slot]
        if pool is None:
            # A fork would inherit locks of this process's threads.
            pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=limit_threads, initargs=(self._threads,))
            self._pools[slot] = pool
        return pool

    def submit(self, name: str, place: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submits to the process of that place."""
        slot = min(int(place * self._count), self._count - 1)
        with self._lock:
            if self._closed:
                raise KeyboardInterrupt
            try:
                future = self._pool(slot).submit(function, *arguments)
            except BrokenExecutor:
                self._pools[slot] = None
                future = self._pool(slot).submit(function, *arguments)
            self._of[future] = (slot, self._pools[slot])
        return future

    def tell_all(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Calls it in every process."""
        told = [self.submit("", slot / self._count, function, *arguments) for slot in range(self._count)]
        for future in told:
            # Whoever was lost asks later.
            with contextlib.suppress(Lost):
                self.result(future)

    def result(self, future: Any, large: bool = False) -> Any:
        """The result; the process of one that was lost is replaced."""
        slot, pool = self._of.pop(future)
        try:
            answer = future.result()
        except (BrokenExecutor, CancelledError):
            if self._pools[slot] is pool:
                # Once for all calls that waited for this process.
                self._pools[slot] = None
                self._lost += 1
            if self._lost > self.PATIENCE:
                raise WorkersLostError(
                    f"{self._lost} worker processes in a row were lost before they had summed over their rows: they may be out of "
                    "memory, or what they compute ends the process; try fewer processes, or smaller row groups"
                ) from None
            raise Lost from None
        self._lost = 0
        return answer

    def close(self, forget: Callable[[], None]) -> None:
        """Ends the processes."""
        with self._lock:
            self._closed = True
            pools, self._pools = self._pools, [None] * self._count
        for pool in pools:
            if pool is not None:
                # `shutdown` forgets them.
                processes = list((getattr(pool, "_processes", None) or {}).values())
                pool.shutdown(wait=False, cancel_futures=True)
                for process in processes:
                    process.terminate()


class DaskEngine(Engine):
    """A Dask cluster by its client."""

    # The calls of all workers pass through one scheduler.
    small = 1 << 8

    def __init__(self, client: Any) -> None:
        self._client = client
        self._addresses: list[str] = []
        self._refreshed = -math.inf
        #: When there was a worker.
        self._seen: float | None = None
        #: Whether the workers can be reached from here, as far as it is known.
        self._direct = True
        #: The worker that a task was meant for.
        self._near: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

    @property
    def workers(self) -> int:
        """Those that are connected now."""
        return max(1, len(self._connected()))

    def _connected(self) -> list[str]:
        """The addresses of the workers, asked for once a second at most."""
        if time.monotonic() - self._refreshed > 1.0:
            self._addresses = sorted(self._client.nthreads())
            self._refreshed = time.monotonic()
            if self._addresses:
                self._seen = self._refreshed
        return self._addresses

    def submit(self, name: str, place: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Submits, with a worker of that place preferred, because it may have kept the rows."""
        addresses = self._connected()
        near = addresses[min(int(place * len(addresses)), len(addresses) - 1)] if addresses else None
        future = self._client.submit(
            function, *arguments, key=name, pure=False, workers=near, allow_other_workers=near is not None
        )
        if near is not None:
            self._near[future] = near
        return future

    def stranded(self, future: Any) -> bool:
        """Dask keeps a task waiting for the worker that it was meant for, if all workers were gone at the time."""
        return self._near.get(future, None) not in (None, *self._connected())

    def check(self) -> None:
        """Raises where all workers have been gone for long. For the first ones a cluster may take its time."""
        if self._connected() or self._seen is None:
            return
        alone = _alone(self._client)
        if time.monotonic() - self._seen > alone:
            raise WorkersLostError(
                f"all workers of the cluster were lost, and for {alone:.0f} s none has come in their place: they may be out of memory, or "
                "what they compute ends the process; Dask's `distributed.scheduler.no-workers-timeout` waits longer"
            )

    def tell_all(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Calls it in every worker. What is told goes to the workers themselves, and by way of the scheduler only where they cannot be reached."""
        # Whoever is being replaced at the moment asks later.
        with contextlib.suppress(Exception):
            if not self._tell_directly(function, arguments):
                self._client.run(function, *arguments, on_error="ignore")

    def _tell_directly(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> bool:
        """Whether it could be told without the scheduler."""
        from distributed import wait

        addresses = self._connected()
        if not self._direct or not addresses:
            return False
        try:
            told = self._client.scatter([arguments], direct=True, hash=False, workers=addresses[:1], timeout=PATIENCE)[0]
        except Exception:
            self._direct = False
            return False
        # From worker to worker, as what a task depends on.
        name = f"noisewright-told-{uuid.uuid4().hex[:12]}"
        futures = [
            self._client.submit(_told, function, told, key=f"{name}-{number}", pure=False, workers=[address])
            for number, address in enumerate(addresses)
        ]
        try:
            wait(futures, timeout=PATIENCE)
        finally:
            self._client.cancel([future for future in futures if not future.done()], force=True)
        return True

    def result(self, future: Any, large: bool = False) -> Any:
        """The result; a task whose workers died too often is not tried again."""
        from distributed import KilledWorker
        from distributed import TimeoutError as TooLate

        try:
            # A result that is lost with its worker before it is fetched is computed again, and may wait for that worker.
            if large and self._direct:
                fetch = functools.partial(self._client.gather, future, direct=True, asynchronous=True)
                return self._client.sync(fetch, callback_timeout=PATIENCE)
            return future.result(timeout=PATIENCE)
        except KilledWorker:
            raise WorkersLostError(
                f"{_allowed()} workers in a row were lost while they summed over the same rows: they may be out "
                "of memory, or what they compute ends the process; on machines that are often taken away raise "
                "Dask's `distributed.scheduler.allowed-failures`"
            ) from None
        except (CancelledError, TimeoutError, TooLate, OSError) as error:
            if type(error).__module__.startswith("noisewright"):
                raise
            raise Lost from None
        except Exception as error:
            if type(error).__name__ in ("FutureCancelledError", "CommClosedError", "FuturesCancelledError"):
                raise Lost from None
            raise

    def cancel(self, futures: Sequence[Any]) -> None:
        """Takes the tasks back from the scheduler."""
        with contextlib.suppress(Exception):
            self._client.cancel(list(futures), force=True)

    def close(self, forget: Callable[[], None]) -> None:
        """Lets the workers forget the fit."""
        with contextlib.suppress(Exception):
            self._client.run(forget, on_error="ignore")

    def partitions(self, collection: Any) -> DaskRows:
        """The partitions of a Dask collection, computed where they are."""
        return DaskRows(self._client, collection)


def _told(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """What a worker is told, where it has come by itself."""
    function(*arguments)


def _alone(client: Any) -> float:
    """Seconds for which a client's cluster may be without workers."""
    import dask
    from distributed import LocalCluster

    asked = dask.config.get("distributed.scheduler.no-workers-timeout", None)
    if asked is not None:
        return float(dask.utils.parse_timedelta(asked))
    return ALONE_HERE if isinstance(client.cluster, LocalCluster) else ALONE


def _allowed() -> int:
    import dask

    return int(dask.config.get("distributed.scheduler.allowed-failures", 3)) + 1


class DaskRows:
    """Rows in partitions on a Dask cluster; only slices at the ends of runs move, from worker to worker."""

    def __init__(self, client: Any, collection: Any) -> None:
        self._client = client
        self._parts = client.compute([part for part in _delayed(collection)])
        self.counts: list[int] = client.gather(client.map(len, self._parts, pure=False))
        self.columns = [str(name) for name in collection.columns] if hasattr(collection, "columns") else None
        self.width = None if self.columns is not None else (1 if collection.ndim == 1 else collection.shape[1])
        self._runs: dict[tuple[int, int], Any] = {}

    def rows(self, run: tuple[int, int], names: Sequence[str]) -> Any:
        """The future of a run's rows, kept on the cluster for the next pass."""
        if run not in self._runs:
            slices = [
                self._client.submit(slice_of_partition, self._parts[piece], list(names), low, high, pure=False)
                for piece, low, high in pieces(self.counts, *run)
            ]
            self._runs[run] = self._client.submit(joined_rows, *slices, pure=False)
        return self._runs[run]

    def place(self, row: int) -> str:
        """Partition and row."""
        piece, low, _ = next(pieces(self.counts, row, row + 1))
        return f"partition {piece}, row {low + 1}"


def _delayed(collection: Any) -> list[Any]:
    if hasattr(collection, "to_delayed") and hasattr(collection, "columns"):
        return list(collection.to_delayed())
    # An array: all columns of a row in one chunk.
    if collection.ndim == 2:
        collection = collection.rechunk({1: -1})
    return list(collection.to_delayed().ravel())


def is_dask_collection(data: Any) -> bool:
    """Whether data are a data frame or an array of Dask."""
    return hasattr(data, "__dask_graph__") and hasattr(data, "to_delayed")


def engine_for(executor: Any) -> tuple[Engine, bool]:
    """The engine of an `executor=`, and whether it is ours to close."""
    if isinstance(executor, bool):
        raise InputError("`executor` must be a Dask client, an executor of concurrent.futures or a number of processes, not a truth value")
    if isinstance(executor, int):
        if executor < 1:
            raise InputError(f"`executor` must be at least one process, not {executor}")
        return ProcessEngine(executor), True
    if isinstance(executor, Executor) and not hasattr(executor, "_client"):
        return ExecutorEngine(executor), False
    # A client, or the executor of one.
    client = getattr(executor, "_client", executor)
    if hasattr(client, "scheduler_info") and hasattr(client, "submit"):
        if getattr(client, "asynchronous", False):
            raise InputError("`executor`: the Dask client is asynchronous; give one that is not")
        return DaskEngine(client), False
    raise InputError(f"`executor` must be a Dask client, an executor of concurrent.futures or a number of processes, not {type(executor).__name__}")
