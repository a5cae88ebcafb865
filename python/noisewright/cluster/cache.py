"""Rows that a process has read, kept for the next pass as far as they fit."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from typing import Any

__all__ = ["CACHE_BYTES", "Cache", "rows_read"]

#: Bytes of rows that a process keeps, unless the environment variable `NOISEWRIGHT_CACHE_BYTES` says how many.
CACHE_BYTES = 1 << 27
#: Sources whose arrays are kept: the two samples of a ratio.
SOURCES = 2


class Cache:
    """Arrays of one source after the other, up to a number of bytes.

    Passes go over the same rows in the same order. If the array that was used longest ago made room for a new one, rows that are more than fit
    would never be found here; so what is here stays, and what does not fit is read again. Arrays of a source that is no longer read go.

    >>> cache = Cache(most=100)
    >>> import numpy as np
    >>> [int(cache.get(("file", key), lambda: np.zeros(5))[0]) for key in "abcabc"], cache.read
    ([0, 0, 0, 0, 0, 0], 4)
    """

    def __init__(self, most: int) -> None:
        #: Bytes that it keeps at most.
        self.most = most
        self._held: dict[Hashable, Any] = {}
        #: The sources that were read last, the latest at the end.
        self._sources: list[Hashable] = []
        self._bytes = 0
        self._lock = threading.Lock()
        #: How many arrays were read.
        self.read = 0

    def get(self, key: tuple[Hashable, Hashable], read: Callable[[], Any]) -> Any:
        """The array of a key, which is a source and a place there; read if it is not here."""
        with self._lock:
            self._use(key[0])
            if key in self._held:
                return self._held[key]
        array = read()
        with self._lock:
            self.read += 1
            if key not in self._held and self._bytes + array.nbytes <= self.most:
                self._held[key] = array
                self._bytes += array.nbytes
        return array

    def _use(self, source: Hashable) -> None:
        """Lets go of sources that were read before the last few."""
        if source in self._sources:
            return
        self._sources.append(source)
        for old in self._sources[:-SOURCES]:
            self._release(old)

    def _release(self, source: Hashable) -> None:
        self._sources.remove(source)
        for key in [key for key in self._held if isinstance(key, tuple) and key[0] == source]:
            self._bytes -= self._held.pop(key).nbytes

    def release(self, ended: Callable[[Hashable], bool]) -> None:
        """Lets go of the sources of which it is said that they are not read any more, so that there is room for others."""
        with self._lock:
            for source in [source for source in self._sources if ended(source)]:
                self._release(source)


_cache: Cache | None = None


def rows_read() -> Cache:
    """The cache of this process."""
    global _cache
    if _cache is None:
        _cache = Cache(int(os.environ.get("NOISEWRIGHT_CACHE_BYTES", CACHE_BYTES)))
    return _cache
