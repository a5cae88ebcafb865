"""A progress bar for what takes a while: tqdm's, where it is installed and somebody is looking."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

__all__ = ["Bar"]

#: Seconds before anything is shown.
PATIENCE = 2.0


class Bar:
    """Shows how far a call is, from its third second on.

    `shown` is `True`, `False`, or `None` for a bar when standard error is a terminal or a notebook runs.
    """

    def __init__(self, what: str, shown: bool | None = None) -> None:
        self._what = what
        self._start = time.monotonic()
        self._bar: Any = None
        self._wanted = _looking() if shown is None else shown
        #: What is being done at the moment, where that is known.
        self.note = ""

    def __call__(self, share: float) -> None:
        """Called by the library every few hundredths of a second."""
        if not self._wanted or time.monotonic() - self._start < PATIENCE:
            return
        if self._bar is None:
            self._bar = self._open()
        if self._bar is not None:
            self._bar.n = round(100 * share)
            self._bar.set_description(f"{self._what}, {self.note}" if self.note else self._what, refresh=False)
            self._bar.refresh()

    def _open(self) -> Any:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self._wanted = False
            return None
        form = "{desc} {percentage:3.0f}% |{bar}| {elapsed}"
        return tqdm(total=100, desc=self._what, bar_format=form, leave=False)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()


def _looking() -> bool:
    stderr = sys.stderr
    return "ipykernel" in sys.modules or bool(stderr is not None and stderr.isatty())
