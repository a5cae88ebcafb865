"""What every result has: attributes, a summary, a dictionary, a table, a picture, and a page in notebooks."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from html import escape
from typing import Any, ClassVar

import numpy as np

from . import _core
from .errors import MissingLibraryError

__all__ = ["Estimate", "Result"]

#: A panel of a figure for the library: two axes (label, kind) and series (kind, label, columns).
Panel = tuple[tuple[str, str], tuple[str, str], list[tuple[str, str, list[list[float]]]]]
#: The heading of a column and its digits, `None` for text.
Column = tuple[str, "int | None"]

_STYLE = (
    "<style>.nw-result{max-width:720px}.nw-result .nw-table table{border-collapse:collapse}"
    ".nw-result caption{text-align:left;font-weight:600;padding:.3em 0}"
    ".nw-result th,.nw-result td{padding:.15em .8em .15em 0;text-align:right}"
    ".nw-result th:first-child,.nw-result td:first-child{text-align:left}"
    ".nw-result .nw-note{margin:.2em 0;opacity:.75}</style>"
)


@dataclass(frozen=True)
class Estimate:
    """An estimate with its standard error, the error's two parts, and a confidence interval."""

    estimate: float
    se: float
    se_data: float
    se_noise: float
    lower: float
    upper: float
    #: Degrees of freedom of the standard error, whose Student quantile makes the interval.
    degrees_of_freedom: float = float("inf")
    at_bound: bool = False
    #: Whether it was held at this value, and not estimated.
    fixed: bool = False

    def __float__(self) -> float:
        return self.estimate

    def __getitem__(self, name: str) -> Any:
        """The same numbers by name, as in the command's JSON."""
        return by_name(self, name)


class Result:
    """What all results share; each adds attributes under the names of the command's JSON."""

    #: Attributes that `to_dict` leaves out.
    _hidden: ClassVar[frozenset[str]] = frozenset()

    def __post_init__(self) -> None:
        freeze(vars(self))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """After pickling or copying: arrays are to be read only again."""
        vars(self).update(state)
        freeze(state)

    def summary(self) -> str:
        """The result as a table of text.

        >>> import noisewright as nw
        >>> model = nw.Model.from_formula("-(x - m)^2/2", variables="x", parameters={"m": 0.0})
        >>> "Cramér–Rao" in nw.error(model, noise="normal(0, 1)").summary()
        True
        """
        title, columns, rows, notes = self._table()
        text, _ = _core.table(title, columns, rows, [])
        return "\n".join([text.rstrip("\n"), *notes]) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """The result as plain dictionaries, lists and numbers, as the command's JSON has it."""
        named = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {name: plain(value) for name, value in named.items() if name not in self._hidden}

    def to_frame(self) -> Any:
        """The result's main table as a pandas data frame."""
        try:
            import pandas
        except ImportError:
            raise MissingLibraryError("`to_frame` needs pandas: pip install pandas") from None
        index, rows = self._frame()
        frame = pandas.DataFrame(rows, index=pandas.Index(index))
        return frame

    def plot(self, ax: Any = None) -> Any:
        """Draws the result with matplotlib, which is an optional extra; gives the axes."""
        from .plotting import draw

        return draw(self._panels(), ax)

    def _repr_html_(self) -> str:
        title, columns, rows, notes = self._table()
        _, table = _core.table(title, columns, rows, [])
        words = "".join(f'<p class="nw-note">{escape(note)}</p>' for note in notes)
        panels = self._panels()
        picture = _core.figure(panels, title) if panels else ""
        from .labs import link

        return f'{_STYLE}<div class="nw-result">{table}{words}{picture}{link(self)}</div>'

    def __str__(self) -> str:
        return self.summary()

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        """Title, columns, rows and the sentences below."""
        raise NotImplementedError

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        """The labels and the rows of the main table."""
        raise NotImplementedError

    def _panels(self) -> list[Panel]:
        """The panels of the picture."""
        return []


class Rows(list):  # type: ignore[type-arg]
    """A list of records as in the command's JSON; a name instead of a number gives that field of all of them as an array.

    >>> rows = Rows([{"t": 0.0, "exchange": None}, {"t": 1.0, "exchange": 0.5}])
    >>> rows[1]["exchange"], rows["t"].tolist(), rows["exchange"].tolist()
    (0.5, [0.0, 1.0], [nan, 0.5])
    """

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            return np.array([np.nan if record[key] is None else record[key] for record in self], dtype=float)
        return super().__getitem__(key)


def by_name(record: Any, name: str) -> Any:
    """A field of a record by its name."""
    if name not in {field.name for field in fields(record)}:
        raise KeyError(name)
    return getattr(record, name)


def freeze(value: Any) -> None:
    """Makes the arrays of a result read only, as the result itself is."""
    if isinstance(value, np.ndarray):
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        for entry in value.values():
            freeze(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            freeze(entry)


def plain(value: Any) -> Any:
    """A value as JSON can have it."""
    if isinstance(value, np.ndarray):
        return [plain(entry) for entry in value.tolist()]
    if isinstance(value, (np.floating, np.integer, np.bool_)):
        return value.item()
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def columns_of(*arrays: Any) -> list[list[float]]:
    """Arrays as the lists that a figure takes, without the places where one of them is not finite."""
    stacked = np.vstack([np.asarray(array, dtype=float) for array in arrays])
    kept = stacked[:, np.isfinite(stacked).all(axis=0)]
    return [[float(entry) for entry in row] for row in kept]


def percent(share: float, digits: int = 3) -> str:
    """A share in per cent."""
    return f"{100 * share:.{digits}g} %" if math.isfinite(share) else "–"


def compared(error: float, other: float, what: str) -> str:
    """How many points fewer or more than with something else, in a sentence."""
    if not (math.isfinite(error) and math.isfinite(other) and other > 0):
        return ""
    saved = 1 - error / other
    if abs(saved) < 1e-4:
        return f"The same error as {what}."
    if saved > 0:
        return f"The same error as {what} with {percent(saved)} fewer points."
    return f"It needs {percent(-saved)} more points than {what} for the same error."


def short(words: str) -> str:
    """Words with every long number rounded to six significant digits and long lists shortened, for people.

    >>> short("normal(0.05980392156862743, 4)")
    'normal(0.0598039, 4)'
    >>> short("histogram([0, 1, 2, 3, 4, 5, 6, 7, 8, 9], [0.5, 0.5])")
    'histogram([0, 1, …, 9], [0.5, 0.5])'
    """
    words = re.sub(r"\d+\.\d{6,}(?:e[-+]?\d+)?", lambda number: f"{float(number[0]):.6g}", words)
    return re.sub(r"\[([^\[\]]*)\]", _elided, words)


def _elided(found: re.Match[str]) -> str:
    """A list of many numbers, such as the edges of a histogram, by its first two and its last."""
    entries = found[1].split(", ")
    return found[0] if len(entries) <= 8 else f"[{entries[0]}, {entries[1]}, …, {entries[-1]}]"


def sentences(lines: Sequence[str]) -> list[str]:
    """Those lines that say something."""
    return [line for line in lines if line]
