"""What calls on many states are given, checked for the library: log-densities, where the draws come from, cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import Array, column, names_of, vector
from .checks import number, whole
from .errors import InputError

__all__ = ["from_u_nk", "is_u_nk", "read_bins", "read_columns", "read_pool", "read_splines", "read_state"]

#: Distinct whole numbers are found by a table of them where that has at most so many places for each.
DENSE = 16


def read_pool(
    log_f: Any,
    counts: Sequence[int] | None,
    origin: Sequence[int] | None,
    chains: Sequence[int] | None,
    reference: int,
    reference_log_z: float,
    independent: bool,
    names: Sequence[str] | None,
) -> tuple[Array, dict[str, Any]]:
    """The log-densities, and where the draws come from, for the library."""
    if is_u_nk(log_f):
        if counts is not None or origin is not None:
            raise InputError("a `u_nk` frame tells the states of its rows itself: leave `counts` and `origin` out")
        log_f, origin, own_chains, own_names = from_u_nk(log_f)
        chains = chains if chains is not None or independent else own_chains
        names = own_names if names is None else names
    table = _states(log_f)
    if (counts is None) == (origin is None):
        raise InputError("`counts` or `origin` must be given, and not both")
    labels = [f"{k}" for k in range(len(table))] if names is None else [str(name) for name in names]
    if len(labels) != len(table):
        raise InputError(f"`names` has {len(labels)} names for {len(table)} states")
    known = whole(reference, "reference")
    if known >= len(table) > 0:
        raise InputError(f"`reference` is {known}, and must be the number of a state, from 0 to {len(table) - 1}")
    if origin is not None and counts is None:
        counts = _counts(origin, len(table))
    return table, {
        "counts": None if counts is None else [whole(count, "counts") for count in counts],
        "origin": None if origin is None or counts is not None else _whole_numbers(origin, "origin"),
        "chains": None if chains is None else _numbered(np.asarray(chains)),
        "reference": known,
        "reference_log_z": number(reference_log_z, "reference_log_z"),
        "independent": bool(independent),
        "names": labels,
    }


def _counts(origin: Any, states: int) -> list[int] | None:
    """Numbers of draws, where the draws stand state after state: they are handed over in a fraction of the time."""
    array = np.asarray(origin)
    if array.ndim != 1 or array.dtype.kind not in "iu" or array.size == 0 or array[0] < 0 or array[-1] >= states:
        return None
    return np.bincount(array, minlength=states).tolist() if (array[1:] >= array[:-1]).all() else None


def _whole_numbers(values: Any, argument: str) -> list[int]:
    array = np.asarray(values)
    if array.ndim == 1 and array.dtype.kind in "iu" and (array.size == 0 or array.min() >= 0):
        return array.tolist()  # type: ignore[no-any-return]
    return [whole(value, argument) for value in values]


def is_u_nk(data: Any) -> bool:
    """Whether it is a frame of reduced potentials as alchemlyb has them: the times and the states of the rows in its index."""
    return getattr(getattr(data, "index", None), "nlevels", 1) > 1 and hasattr(data, "columns")


def from_u_nk(u_nk: Any) -> tuple[Array, Any, Any, list[str]]:
    """Log-densities, the state and the chain of every row, and the names of the states of a `u_nk` frame.

    The first level of the index is the time, the others the state that a row was sampled in. A time that is not later
    than that of the row before begins another chain.
    """
    places = {_key(state): k for k, state in enumerate(u_nk.columns)}
    codes, sampled = _sampled(u_nk.index)
    unknown = next((state for state in sampled if state not in places), None)
    if unknown is not None:
        shown = unknown[0] if len(unknown) == 1 else unknown
        raise InputError(f"`u_nk` has rows of the state {shown}, which is none of its columns")
    origin = np.array([places[state] for state in sampled], dtype=np.int64)[codes]
    chains = _chains_of(origin, np.asarray(u_nk.index.get_level_values(0)), len(places))
    table = np.negative(u_nk.to_numpy(dtype=np.float64).T, order="C")
    return table, origin, chains, [str(state) for state in u_nk.columns]


def _sampled(index: Any) -> tuple[Any, list[tuple[Any, ...]]]:
    """The place of every row's state among those that rows were sampled in, and these.

    From the codes of the levels: labels of several levels are not put together for every row.
    """
    # A missing label has the code −1.
    codes = [np.asarray(each, dtype=np.int64) + 1 for each in index.codes[1:]]
    sizes = [len(level) + 1 for level in index.levels[1:]]
    if math.prod(sizes) <= DENSE * len(index):
        present, place = _distinct(np.ravel_multi_index(codes, sizes))
        found: Any = np.unravel_index(present, sizes)
    else:
        found, place = np.unique(np.stack(codes), axis=1, return_inverse=True)
    named = [[None, *level.tolist()] for level in index.levels[1:]]
    return place, list(zip(*([labels[code] for code in each] for labels, each in zip(named, found))))


def _distinct(values: Any) -> tuple[Any, Any]:
    """The distinct ones of whole numbers from 0 on, and the place of every one among them."""
    if values.size == 0 or values.max() > DENSE * values.size:
        return np.unique(values, return_inverse=True)
    # In proportion to the numbers, without sorting them.
    is_there = np.zeros(int(values.max()) + 1, dtype=bool)
    is_there[values] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[values]


def _chains_of(origin: Any, times: Any, states: int) -> Any:
    """The chain of every row among those of its state: a time that is not later than the one before begins another."""
    if (origin[1:] >= origin[:-1]).all():
        order: Any = slice(None)
    else:
        # Sixteen bits are sorted in proportion to their number.
        order = np.argsort(origin.astype(np.int16) if states < 2**15 else origin, kind="stable")
    ordered, t = origin[order], times[order]
    begins = np.ones(len(t), dtype=bool)
    begins[1:] = ordered[1:] != ordered[:-1]
    later = np.zeros(len(t), dtype=np.int64)
    later[1:] = (t[1:] <= t[:-1]) & ~begins[1:]
    since = np.cumsum(later)
    chains = np.empty(len(t), dtype=np.int64)
    chains[order] = since - since[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    return chains


def _numbered(labels: Any) -> list[int]:
    """Labels of any kind as numbers from 0 on, in their order."""
    if labels.ndim == 1 and labels.dtype.kind in "iu" and labels.size and labels.min() >= 0:
        return _distinct(labels)[1].tolist()  # type: ignore[no-any-return]
    return np.unique(labels, return_inverse=True)[1].tolist()  # type: ignore[no-any-return]


def _key(state: Any) -> tuple[Any, ...]:
    """A state as the index and the columns of a frame both have it."""
    return tuple(state) if isinstance(state, (tuple, list)) else (state,)


def read_columns(data: Any, argument: str, draws: int) -> tuple[list[str], Array]:
    """Columns by name, one row each."""
    names = names_of(data)
    if names is None:
        names, data = [argument.removesuffix("s")], {argument.removesuffix("s"): data}
    columns = [column(data[name], argument, name) for name in names]
    for name, values in zip(names, columns):
        if len(values) != draws:
            raise InputError(f"`{argument}` has {len(values)} values of `{name}` for {draws} draws")
    if not columns:
        raise InputError(f"`{argument}` is empty, and must have at least one column")
    return names, np.stack(columns)


def read_state(state: int | str, names: list[str], argument: str) -> int:
    if isinstance(state, str):
        if state not in names:
            raise InputError(f"`{argument}`: `{state}` is none of the states {', '.join(names)}")
        return names.index(state)
    at = whole(state, argument)
    if at >= len(names):
        raise InputError(f"`{argument}` is {at}, and must be the number of a state, from 0 to {len(names) - 1}")
    return at


def read_bins(bins: Any, coordinates: int) -> dict[str, Any]:
    """Numbers of cells or edges for every coordinate: a number or edges for all, or a list of them."""
    if bins is None:
        return {"counts": [], "edges": []}
    each = list(bins) if np.ndim(bins) > 0 or isinstance(bins, (list, tuple)) else [bins]
    nested = any(np.ndim(entry) > 0 for entry in each)
    if np.ndim(bins) == 0:
        return {"counts": [whole(bins, "bins")], "edges": []}
    if not nested and coordinates == 2 and len(each) == 2:
        return {"counts": [whole(count, "bins") for count in each], "edges": []}
    if not nested:
        each = [each]
    if any(np.ndim(entry) == 0 for entry in each):
        raise InputError("`bins` must be numbers of cells or edges, not both")
    return {"counts": [], "edges": [[number(edge, "bins") for edge in along] for along in each]}


def read_splines(splines: Any) -> list[int] | None:
    """Their numbers; an empty list for as many as serve best."""
    if splines is None or (isinstance(splines, str) and splines == "auto"):
        return None if splines is None else []
    if isinstance(splines, str):
        raise InputError(f"`splines` must be numbers or `auto`, not {splines!r}")
    return [whole(count, "splines") for count in np.atleast_1d(splines)]


def _states(log_f: Any) -> Array:
    if isinstance(log_f, (list, tuple)):
        columns = [vector(row, "log_f", str(k)) for k, row in enumerate(log_f)]
        if columns and any(len(column) != len(columns[0]) for column in columns):
            raise InputError("`log_f` must have the same number of values for every state")
        return np.stack(columns) if columns else np.empty((0, 0))
    array = np.asarray(log_f)
    if np.ma.isMaskedArray(log_f) or array.ndim != 2 or array.dtype.kind not in "fiub":
        raise InputError(
            f"`log_f` has the shape {array.shape} and holds {array.dtype}, and must have one row of numbers per state and "
            "one column per draw"
        )
    return np.ascontiguousarray(array, dtype=np.float64)
