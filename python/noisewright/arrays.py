"""Arrays in: NumPy, pandas, polars, PyArrow, dictionaries and lists become columns of double precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .checks import shown
from .errors import InputError

__all__ = ["Array", "column", "labels", "names_of", "of_rows", "points", "rows_of", "vector", "without"]

Array = npt.NDArray[np.float64]

#: Integers up to here, 2^53, are all numbers of double precision.
_EXACT = 1 << 53


def points(data: Any, variables: Sequence[str], argument: str = "data") -> Array:
    """The values of `variables`, one row per variable, in double precision and contiguous.

    Columns with names are taken by name, arrays by position. Nothing is copied where the layout allows: an array in
    Fortran order, or of one variable.

    >>> points([[1, 2], [3, 4], [5, 6]], ["x", "y"])
    array([[1., 3., 5.],
           [2., 4., 6.]])
    """
    names = names_of(data)
    if names is not None:
        return _by_name(data, names, variables, argument)
    array = _array(data, argument)
    if array.ndim == 1 and len(variables) == 1:
        array = array[:, np.newaxis]
    if array.ndim != 2 or array.shape[1] != len(variables):
        raise InputError(
            f"`{argument}` has the shape {array.shape}, and must have one row per point and one column for each of "
            f"{_listed(variables)}"
        )
    _not_empty(array.shape[0], argument)
    out = np.ascontiguousarray(array.T, dtype=np.float64)
    for values, name in zip(out, variables):
        _finite(values, argument, name)
    return out


def names_of(data: Any) -> list[str] | None:
    """The names of the columns, where the data have names."""
    if type(data).__name__ == "LazyFrame" and hasattr(data, "collect"):
        raise InputError("a LazyFrame holds no values yet: call `.collect()` on it first")
    if isinstance(data, Mapping):
        return [str(name) for name in data]
    if isinstance(data, np.ndarray):
        return None if data.dtype.names is None else list(data.dtype.names)
    columns = getattr(data, "column_names", None)
    if columns is None and getattr(data, "ndim", 2) == 2:
        columns = getattr(data, "columns", None)
    if columns is None:
        schema = getattr(data, "schema", None)
        columns = getattr(schema, "names", None)
    if columns is None or callable(columns):
        return None
    return [str(name) for name in columns]


def rows_of(data: Any) -> int | None:
    """The number of columns that data without names have; `None` where they have names."""
    if names_of(data) is not None:
        return None
    shape = np.shape(data)
    return 1 if len(shape) < 2 else int(shape[1])


def column(values: Any, argument: str, name: str | None = None) -> Array:
    """One column in double precision, every value of it finite."""
    out = vector(values, argument, name)
    _finite(out, argument, name)
    return out


def vector(values: Any, argument: str, name: str | None = None) -> Array:
    """One contiguous column in double precision; infinities and NaN are left to whoever takes it.

    >>> vector(np.arange(3, dtype=np.int8), "log_f_data")
    array([0., 1., 2.])
    """
    array = _array(values, argument, name)
    if array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim != 1:
        raise InputError(f"{_what(argument, name)} has the shape {array.shape}, and must be one-dimensional")
    return np.ascontiguousarray(array, dtype=np.float64)


def _by_name(data: Any, names: list[str], variables: Sequence[str], argument: str) -> Array:
    missing = [name for name in variables if name not in names]
    if missing:
        raise InputError(
            f"`{argument}` has no column {_listed(missing)}; its columns are {_listed(names) or 'none'}"
        )
    positions = {str(name): name for name in (data if isinstance(data, Mapping) else _labels(data))}
    columns = [column(_pick(data, positions[name]), argument, name) for name in variables]
    for name, values in zip(variables, columns):
        if len(values) != len(columns[0]):
            raise InputError(
                f"`{argument}` has {len(columns[0])} values of `{variables[0]}` but {len(values)} of `{name}`"
            )
    _not_empty(len(columns[0]), argument)
    if len(columns) == 1:
        return columns[0][np.newaxis, :]
    return np.stack(columns)


def _named(data: Any, name: str, argument: str) -> Any:
    names = names_of(data)
    if names is None:
        raise InputError(f"`{argument}`: the data have no column {name!r}; their columns have no names")
    if name not in names:
        raise InputError(f"`{argument}`: the data have no column {name!r}; their columns are {_listed(names) or 'none'}")
    return _pick(data, next(label for label in (data if isinstance(data, Mapping) else _labels(data)) if str(label) == name))


def without(data: Any, beside: Mapping[str, Any], variables: Sequence[str] | None) -> Any:
    """The data, or their names, less the columns that arguments name: those are no variables of a model.

    >>> list(without({"x": [1.0], "n": [2.0]}, {"weights": "n", "clusters": None}, None))
    ['x']
    """
    taken = {values: argument for argument, values in beside.items() if isinstance(values, str)}
    for name, argument in taken.items():
        if name in (variables or ()):
            raise InputError(f"`{argument}`: column `{name}` is a variable of the model")
    names = names_of(data)
    if not taken or names is None:
        return data
    return {name: () for name in names if name not in taken}


def _labels(data: Any) -> Any:
    if isinstance(data, np.ndarray):
        return data.dtype.names
    names = getattr(data, "column_names", None)
    if names is None:
        names = getattr(data, "columns", None)
    return data.schema.names if names is None or callable(names) else names


def _pick(data: Any, label: Any) -> Any:
    if hasattr(data, "column_names") and hasattr(data, "column"):
        return data.column(label)
    return data[label]


def _array(values: Any, argument: str, name: str | None = None) -> npt.NDArray[Any]:
    """Any column or table as an array of real numbers."""
    what = _what(argument, name)
    if np.ma.isMaskedArray(values):
        return _unmasked(values, what)
    array = _converted(values, what)
    if array.dtype.kind in "iu":
        _exact(array, what)
    if array.dtype.kind in "fiub":
        return array
    if array.dtype.kind == "O":
        return _from_objects(array, what)
    kinds = {"c": "complex numbers", "U": "text", "S": "text", "T": "text", "M": "dates", "m": "times"}
    raise InputError(f"{what} holds {kinds.get(array.dtype.kind, 'values')}, and must hold real numbers")


def _exact(array: npt.NDArray[Any], what: str) -> None:
    """Refuses integers that double precision would round."""
    if array.dtype.itemsize < 8 or array.size == 0:
        return
    large = (array > _EXACT) | (array < -_EXACT) if array.dtype.kind == "i" else array > np.uint64(_EXACT)
    for position in np.flatnonzero(large):
        value = int(array.reshape(-1)[position])
        if int(float(value)) != value:
            row = int(position) // (array.shape[1] if array.ndim > 1 else 1) + 1
            raise InputError(
                f"row {row} of {what} is the integer {value}, which is beyond 2^53 and would lose digits: "
                "store it as a float or rescale it"
            )


def _converted(values: Any, what: str) -> npt.NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    try:
        if hasattr(values, "to_numpy"):
            return _to_numpy(values)
        if hasattr(values, "detach") and hasattr(values, "cpu"):
            values = values.detach().cpu()
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} cannot be read as an array of numbers: {error}") from error


def _to_numpy(values: Any) -> npt.NDArray[Any]:
    """A column of pandas, polars or PyArrow, missing values as NaN."""
    module = type(values).__module__.partition(".")[0]
    if module == "pandas":
        kind = getattr(getattr(values, "dtype", None), "kind", "O")
        if kind in "iu" and not values.isna().any():
            return np.asarray(values.to_numpy(dtype=np.int64 if kind == "i" else np.uint64))
        if kind in "fiub":
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(values.to_numpy())
    if module == "pyarrow" and type(values).__name__ != "ChunkedArray":
        return np.asarray(values.to_numpy(zero_copy_only=False))
    return np.asarray(values.to_numpy())


def _from_objects(array: npt.NDArray[Any], what: str) -> npt.NDArray[Any]:
    """Numbers that are stored as Python objects."""
    flat = array.reshape(-1)
    for position, value in enumerate(flat):
        if value is None or isinstance(value, (str, bytes, complex)) or not hasattr(value, "__float__"):
            row = position // (array.shape[1] if array.ndim > 1 else 1) + 1
            raise InputError(f"row {row} of {what} is {shown(value)}, and must be a real number")
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} cannot be read as an array of numbers: {error}") from None


def _unmasked(values: Any, what: str) -> npt.NDArray[Any]:
    mask = np.ma.getmaskarray(values)
    if mask.any():
        row = int(np.argwhere(mask)[0][0]) + 1
        raise InputError(f"row {row} of {what} is masked; leave out or fill in the masked values")
    return _array(np.ma.getdata(values), what.strip("`"))


def _finite(values: Array, argument: str, name: str | None) -> None:
    if not np.isfinite(values).all():
        row = int(np.argmin(np.isfinite(values)))
        raise InputError(f"row {row + 1} of {_what(argument, name)} is {values[row]}, and must be a finite number")


def of_rows(values: Any, data: Any, argument: str) -> Any:
    """A column beside the data, or the one of the data that is named; where both have the index of pandas, it must be the same one."""
    if isinstance(values, str):
        return _named(data, values, argument)
    index, other = getattr(data, "index", None), getattr(values, "index", None)
    if index is None or not hasattr(index, "equals") or not hasattr(other, "equals") or index.equals(other):
        return values
    raise InputError(
        f"`{argument}` has another index than `data`: align it with `{argument}.reindex(data.index)`, or pass "
        f"`{argument}.to_numpy()` if its order is that of the rows"
    )


def labels(values: Any, rows: int, argument: str) -> list[int]:
    """Labels of rows as numbers, in the order of the labels.

    >>> labels(["b", "a", "b"], 3, "clusters")
    [1, 0, 1]
    """
    # A list of several kinds would become one of text.
    kind = object if isinstance(values, (list, tuple)) else None
    array = np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values, dtype=kind)
    if array.ndim != 1 or len(array) != rows:
        raise InputError(f"`{argument}` has the shape {array.shape}, and must have one label for each of the {rows} rows")
    missing = [value is None or value != value for value in array.tolist()]
    if any(missing):
        raise InputError(f"row {missing.index(True) + 1} of `{argument}` has no label")
    try:
        return [int(number) for number in np.unique(array, return_inverse=True)[1]]
    except TypeError:
        kinds = sorted({type(value).__name__ for value in array.tolist()})
        raise InputError(f"`{argument}` holds labels of several kinds, {' and '.join(kinds)}: use one kind") from None


def _not_empty(rows: int, argument: str) -> None:
    if rows == 0:
        raise InputError(f"`{argument}` is empty, and must have at least one row")


def _what(argument: str, name: str | None) -> str:
    return f"`{argument}`" if name is None else f"column `{name}` of `{argument}`"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
