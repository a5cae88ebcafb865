"""The examples that ship with the package: models, and data where there are some."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from .arrays import Array
from .errors import InputError, NoAnswerError
from .models import Model

__all__ = ["Example", "example_names", "load_example"]


@dataclass(frozen=True, eq=False)
class Example:
    """An example: its name, its model, and its data (one row per point); either is `None` where there is none.

    It unpacks as `model, data = load_example(name)`. `files` holds every data file of the example as columns by name.
    """

    name: str
    model: Model | None
    data: Array | None
    files: dict[str, dict[str, Array]]

    @property
    def names(self) -> list[str]:
        """The names of the data's columns."""
        return list(next(iter(self.files.values()))) if self.model is None else self.model.variables or []

    def to_frame(self) -> Any:
        """The data as a pandas data frame."""
        import pandas

        if self.data is None:
            raise NoAnswerError(f"the example {self.name} has no data")
        return pandas.DataFrame(self.data, columns=self.names)

    def __iter__(self) -> Any:
        return iter((self.model, self.data))


def example_names() -> list[str]:
    """The names that `load_example` takes.

    >>> "old-faithful" in example_names()
    True
    """
    return [name for name, _, _ in _core.examples()]


def load_example(name: str) -> Example:
    """An example that ships with the package.

    Args:
        name: one of `example_names()`.

    >>> model, data = load_example("old-faithful")
    >>> data.shape, list(model.parameters)
    ((272, 1), ['t1', 't2', 't3', 't4'])
    >>> load_example("umbrella").names[:2]
    ['state', 'u_0']
    """
    found = {key: (model, files) for key, model, files in _core.examples()}
    if name not in found:
        near = difflib.get_close_matches(str(name), found, 1)
        advice = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(found)}"
        raise InputError(f"`name`: there is no example {name!r}; {advice}")
    text, listed = found[name]
    model = None if text is None else Model._from_text(text)
    files = {file: _columns(csv) for file, csv in listed}
    variables = list(next(iter(files.values()))) if model is None else model.variables or []
    fitting = [columns for columns in files.values() if all(name in columns for name in variables)]
    data = np.column_stack([fitting[0][name] for name in variables]) if fitting else None
    return Example(name, model, data, files)


def _columns(csv: str) -> dict[str, Array]:
    """The columns of a file with a header; comments begin with `#`."""
    lines = [line for line in csv.splitlines() if line.strip() and not line.startswith("#")]
    values = np.array([[float(entry) for entry in line.split(",")] for line in lines[1:]])
    return dict(zip((entry.strip() for entry in lines[0].split(",")), values.T))
