"""Rows that a process has read, kept for the next pass as far as they fit."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

__all__ = ["CACHE_BYTES", "Cache", "rows_read"]

#: Bytes of rows that a process keeps, unless the environment variable `NOISEWRIGHT_CACHE_BYTES` says how many.
CACHE_BYTES = 1 << 27


class Cache:
    """The arrays that were used last, up to a number of bytes.

    >>> cache = Cache(most=100)
    >>> import numpy as np
    >>> [int(cache.get(key, lambda: np.zeros(5))[0]) for key in "abca"], cache.read
    ([0, 0, 0, 0], 4)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: OrderedDict[Hashable, Any] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        #: How many arrays were read.
        self.read = 0

    def get(self, key: Hashable, read: Callable[[], Any]) -> Any:
        """The array of a key, read if it is not here."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        array = read()
        with self._lock:
            self.read += 1
            if key not in self._held and array.nbytes <= self._most:
                self._held[key] = array
                self._bytes += array.nbytes
            while self._bytes > self._most:
                _, oldest = self._held.popitem(last=False)
                self._bytes -= oldest.nbytes
        return array


_cache: Cache | None = None


def rows_read() -> Cache:
    """The cache of this process."""
    global _cache
    if _cache is None:
        _cache = Cache(int(os.environ.get("NOISEWRIGHT_CACHE_BYTES", CACHE_BYTES)))
    return _cache
