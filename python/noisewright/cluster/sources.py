"""Where the rows of a fit are: files in pieces, PyArrow datasets, partitions of Dask collections.

A source knows how many rows each of its pieces has, in order, and reads any range of rows. It is small, and goes to every worker
once; the workers read for themselves.
"""

from __future__ import annotations

import bisect
import glob
import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from ..arrays import Array
from ..errors import InputError, MissingLibraryError
from .cache import rows_read

__all__ = ["Arrow", "Files", "Source", "check_column", "columns_of_file", "count_file", "count_fragment", "expanded", "needs"]


T = TypeVar("T")


class Source(Protocol):
    """Rows in pieces."""

    #: Number of rows of each piece.
    counts: list[int]
    #: By which the cache knows it.
    identity: str

    def read(self, start: int, stop: int, names: Sequence[str]) -> list[list[Array]]:
        """The columns of these names from row `start` to `stop`, in as many pieces as they are in."""

    def place(self, row: int) -> str:
        """Where a row, counted from 0, is."""


def needs(library: str, what: str) -> Any:
    """A library that is an optional extra."""
    try:
        return __import__(library, fromlist=["_"])
    except ImportError:
        raise MissingLibraryError(f"{what} needs the library {library.split('.')[0]}: install it, on the workers too") from None


def pieces(counts: Sequence[int], start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """The pieces that rows from `start` to `stop` are in, and from where to where in each.

    >>> list(pieces([10, 5, 20], 8, 17))
    [(0, 8, 10), (1, 0, 5), (2, 0, 2)]
    """
    ends = np.cumsum(counts).tolist()
    piece = bisect.bisect_right(ends, start)
    while piece < len(ends) and start < stop:
        before = ends[piece] - counts[piece]
        end = min(stop, ends[piece])
        yield piece, start - before, end - before
        start, piece = end, piece + 1


@dataclass(frozen=True)
class Columns:
    """The columns of a piece, as they were read: joining them would take memory that large files make noticeable."""

    values: list[Array]

    @property
    def nbytes(self) -> int:
        """Bytes of all of them."""
        return sum(column.nbytes for column in self.values)


def _sliced(source: Any, start: int, stop: int, names: Sequence[str]) -> list[list[Array]]:
    """A range of rows from pieces that are kept as far as they fit."""
    key = (source.identity, tuple(names))
    found = []
    for piece, low, high in pieces(source.counts, start, stop):
        columns = rows_read().get((key, piece), partial(source.piece, piece, names)).values
        rows = len(columns[0])
        if rows != source.counts[piece]:
            raise InputError(f"{source.name(piece)} has changed since the fit began: it has {rows} rows instead of {source.counts[piece]}")
        found.append([column[low:high] for column in columns])
    return found


def _place(source: Any, row: int) -> str:
    piece, low, _ = next(pieces(source.counts, row, row + 1))
    return f"{source.name(piece)}, row {low + 1}"


@dataclass
class Files:
    """Parquet, CSV and NPY files, on disk or wherever fsspec finds them; the pieces of Parquet files are their row groups."""

    paths: list[str]
    format: str
    options: dict[str, Any]
    #: Pieces of each file, and rows of each piece.
    groups: list[list[int]] = field(default_factory=list)
    identity: str = ""

    @property
    def counts(self) -> list[int]:
        """Rows of every piece of every file."""
        return [rows for file in self.groups for rows in file]

    def _file(self, piece: int) -> tuple[str, int]:
        for path, file in zip(self.paths, self.groups):
            if piece < len(file):
                return path, piece
            piece -= len(file)
        raise IndexError(piece)

    def name(self, piece: int) -> str:
        """The file, and the row group in it."""
        path, group = self._file(piece)
        return f"{path}, row group {group}" if self.format == "parquet" else path

    def piece(self, piece: int, names: Sequence[str]) -> Columns:
        """All rows of a piece."""
        path, group = self._file(piece)
        return _readable(path, lambda: _READERS[self.format](path, group, names, self.options))

    def read(self, start: int, stop: int, names: Sequence[str]) -> list[list[Array]]:
        """The columns of these names from row `start` to `stop`."""
        return _sliced(self, start, stop, names)

    def spans(self, start: int, stop: int, columns: int) -> list[tuple[str, int, list[int]]] | None:
        """The files on disk that have the rows from `start` to `stop`: each with the row at which they begin there and the rows of all its
        row groups, for the library to read. `None` where it cannot, or where the cache has room for all rows of this many columns."""
        local = self.format == "parquet" and not any("://" in path for path in self.paths)
        if not local or 8 * columns * sum(self.counts) <= rows_read().most:
            return None
        found = pieces([sum(groups) for groups in self.groups], start, stop)
        return [(self.paths[file], low, self.groups[file]) for file, low, high in found if low < high]

    def place(self, row: int) -> str:
        """File, row group and row."""
        return _place(self, row)


@dataclass
class Arrow:
    """A PyArrow dataset, with the filter that was asked for; its pieces are the row groups of its fragments."""

    fragments: list[Any]
    filter: Any
    counts: list[int]
    identity: str = ""

    def name(self, piece: int) -> str:
        """The file of a fragment, and its row group."""
        fragment = self.fragments[piece]
        groups = getattr(fragment, "row_groups", None)
        return f"{fragment.path}, row group {groups[0].id}" if groups else str(fragment.path)

    def piece(self, piece: int, names: Sequence[str]) -> Columns:
        """The rows of a piece that pass the filter; reading is pushed down to it."""
        fragment = self.fragments[piece]
        return _readable(self.name(piece), lambda: _numbers(fragment.to_table(columns=list(names), filter=self.filter, use_threads=False), names))

    def read(self, start: int, stop: int, names: Sequence[str]) -> list[list[Array]]:
        """The columns of these names from row `start` to `stop`."""
        return _sliced(self, start, stop, names)

    def place(self, row: int) -> str:
        """Fragment, row group and row."""
        return _place(self, row)


def _readable(name: str, read: Callable[[], T]) -> T:
    """What was read, or one sentence that names the file."""
    try:
        return read()
    except (InputError, MissingLibraryError):
        raise
    except FileNotFoundError:
        raise InputError(f"{name}: there is no such file, or no such bucket") from None
    except PermissionError:
        raise InputError(f"{name}: access is denied; check the credentials that the workers have") from None
    except Exception as error:
        # Of a long reason the first line says what it is.
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise InputError(f"{name} cannot be read: {reason}") from None


def opened(path: str, options: dict[str, Any]) -> Any:
    """A file for random access, local or by fsspec."""
    if "://" not in path:
        return open(path, "rb")
    fsspec = needs("fsspec", f"the address {path}")
    return fsspec.open(path, "rb", **options).open()


def expanded(data: Any, options: dict[str, Any]) -> list[str]:
    """The files of paths and patterns, in the order of their names."""
    given = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    found: list[str] = []
    for path in (os.fspath(one) for one in given):
        if not isinstance(path, str):
            raise InputError("`data`: the path of a file must be text")
        if not any(mark in path for mark in "*?["):
            found.append(path)
            continue
        if "://" in path:
            fsspec = needs("fsspec", f"the address {path}")
            files: list[str] = _readable(path, partial(_matches, fsspec, path, options))
        else:
            files = sorted(glob.glob(path, recursive=True))
        if not files:
            raise InputError(f"`data`: no file is named like {path}")
        found.extend(files)
    if not found:
        raise InputError("`data`: there are no files")
    return found


def _matches(fsspec: Any, path: str, options: dict[str, Any]) -> Any:
    system, pattern = fsspec.core.url_to_fs(path, **options)
    return sorted(system.unstrip_protocol(name) for name in system.glob(pattern))


def format_of(path: str, format: str | None) -> str:
    """The format of a file, by its name unless it is given."""
    ending = path.rsplit(".", 1)[-1].lower()
    found = format or {"parquet": "parquet", "pq": "parquet", "csv": "csv", "npy": "npy"}.get(ending)
    if found not in _READERS:
        raise InputError(f"`data`: {path} must be a Parquet, CSV or NPY file for `executor`; say which with `format`")
    return found


def count_file(path: str, format: str, names: Sequence[str], options: dict[str, Any]) -> list[int]:
    """The rows of every piece of a file, whose columns are checked; run by a worker."""

    def counted() -> list[int]:
        columns, rows = _SHAPES[format](path, options)
        for name in names if columns is not None else []:
            check_column(path, name, columns or [])
        return rows

    return _readable(path, counted)


def check_column(where: str, name: str, columns: Sequence[str]) -> None:
    """Refuses a column that is not there."""
    if name not in columns:
        raise InputError(f"{where} has no column `{name}`; its columns are {', '.join(columns)}")


def count_fragment(fragment: Any, condition: Any, name: str) -> int:
    """The rows of a fragment, or of its row group, that pass a filter; run by a worker."""
    # `count_rows` of one row group counts those of the whole file.
    groups = getattr(fragment, "row_groups", None)
    if condition is None and groups:
        return sum(group.num_rows for group in groups)
    return int(fragment.to_table(columns=[name], filter=condition, use_threads=False).num_rows)


def columns_of_file(path: str, format: str, options: dict[str, Any]) -> list[str] | None:
    """The names of a file's columns; `None` where they have none."""
    return _readable(path, lambda: _SHAPES[format](path, options)[0])


def _numbers(table: Any, names: Sequence[str]) -> Columns:
    """Columns of a table of Arrow as numbers, with NaN for what is missing; not copied where they are numbers already."""
    found = []
    for name in names:
        column = table.column(name)
        try:
            values = column.to_numpy()
            if values.dtype != np.float64:
                numbers = np.empty(len(values))
                numbers[:] = values
                values = numbers
        except (TypeError, ValueError):
            raise InputError(f"column `{name}` must hold numbers, not {column.type}") from None
        found.append(values)
    return Columns(found)


def _parquet(path: str, options: dict[str, Any]) -> Any:
    parquet = needs("pyarrow.parquet", "a Parquet file")
    # What is read through a file of Python's is put into new memory of the system every time: three times the CPU time of the path.
    return parquet.ParquetFile(opened(path, options) if "://" in path else path)


def _parquet_shape(path: str, options: dict[str, Any]) -> tuple[list[str], list[int]]:
    with _parquet(path, options) as file:
        metadata = file.metadata
        return list(file.schema_arrow.names), [metadata.row_group(g).num_rows for g in range(metadata.num_row_groups)]


def _parquet_piece(path: str, group: int, names: Sequence[str], options: dict[str, Any]) -> Columns:
    with _parquet(path, options) as file:
        return _numbers(file.read_row_group(group, columns=list(names), use_threads=False), names)


def _npy(path: str, options: dict[str, Any]) -> Any:
    if "://" not in path:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    else:
        with opened(path, options) as file:
            rows = np.load(io.BytesIO(file.read()), allow_pickle=False)
    return rows.reshape(-1, 1) if rows.ndim == 1 else rows


def _npy_shape(path: str, options: dict[str, Any]) -> tuple[list[str] | None, list[int]]:
    return None, [len(_npy(path, options))]


def _npy_piece(path: str, _: int, names: Sequence[str], options: dict[str, Any]) -> Columns:
    rows = _npy(path, options)
    if rows.shape[1] != len(names):
        raise InputError(f"{path} has {rows.shape[1]} columns, and must have one for each of {', '.join(names)}")
    return Columns(list(np.ascontiguousarray(rows.T, dtype=float)))


def _csv(path: str, names: Sequence[str] | None, options: dict[str, Any]) -> Any:
    csv = needs("pyarrow.csv", "a CSV file with `executor`")
    with opened(path, options) as file:
        convert = csv.ConvertOptions(include_columns=None if names is None else list(names))
        return csv.read_csv(file, csv.ReadOptions(use_threads=False), convert_options=convert)


def _csv_shape(path: str, options: dict[str, Any]) -> tuple[list[str], list[int]]:
    table = _csv(path, None, options)
    return list(table.column_names), [table.num_rows]


def _csv_piece(path: str, _: int, names: Sequence[str], options: dict[str, Any]) -> Columns:
    return _numbers(_csv(path, names, options), names)


_READERS = {"parquet": _parquet_piece, "npy": _npy_piece, "csv": _csv_piece}
_SHAPES: dict[str, Callable[..., tuple[list[str] | None, list[int]]]] = {
    "parquet": _parquet_shape,
    "npy": _npy_shape,
    "csv": _csv_shape,
}
