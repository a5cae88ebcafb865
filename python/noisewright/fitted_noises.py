"""Noises that results hold: fitted to data, made from a model, or designed; they keep their density when pickled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from . import _core, domains
from .arrays import Array, names_of, points
from .checks import whole
from .domains import DomainLike
from .errors import InputError, NoisewrightError
from .files import write_whole
from .noises import Noise, _parts, _variables
from .results import freeze, plain, short

__all__ = ["DesignedNoise", "FittedNoise"]


class FittedNoise(Noise):
    """A noise that a result holds: it can be drawn from, evaluated, and used again."""

    def __init__(
        self, built: _core.Noise, where: list[domains.Words] | None = None, model: str | None = None
    ) -> None:
        self._built = built
        self._dimension = built.dimension
        #: The domains of its variables and the text of the model that it may be made from, to build it again.
        self._where = where if where is not None else [("real", []) for _ in range(built.dimension)]
        self._model = model

    @property
    def words(self) -> str:
        """The noise in the words of the command, where it has such."""
        return self._built.words

    @property
    def dimension(self) -> int:
        """The number of variables."""
        return self._built.dimension

    def _terms(self, built: list[_core.Noise] | None) -> list[tuple[float | str | None, str]]:
        if built is None:
            return _parts(self.words)
        built.append(self._built)
        return [(None, f'file("built:{len(built) - 1}")')]

    def log_density(self, x: Any, *, domain: DomainLike = None) -> Array:
        """The normalized log-density at points, one row each."""
        variables = names_of(x) or _variables(self.dimension)
        return self._built.log_density(points(x, variables, "x"))

    def sample(
        self,
        n: int,
        *,
        seed: int = 0,
        dimension: int | None = None,
        domain: DomainLike = None,
        quiet: bool = False,
    ) -> Array:
        """`n` draws, one row each (a vector where there is one variable)."""
        draws = self._built.sample(whole(n, "n"), whole(seed, "seed"), bool(quiet))
        return np.ascontiguousarray(draws[0] if len(draws) == 1 else draws.T)

    def __copy__(self) -> FittedNoise:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> FittedNoise:
        # It cannot be changed, so that it is its own copy.
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self._built.saved(), self.words, self._where, self._model)

    def __repr__(self) -> str:
        return f"<noise {short(self.words)}>"


class DesignedNoise(FittedNoise):
    """A noise that `design` found: `kind` says how, `details` and `grid` hold its numbers.

    It can be drawn from, used as `noise=` of a fit, saved, and pickled where its model can.
    """

    def __init__(
        self, built: _core.Noise, kind: str, details: Mapping[str, Any], grid: Any, record: str | None
    ) -> None:
        super().__init__(built)
        self.kind = kind
        self.details = dict(details)
        self.grid = grid
        freeze([self.details, grid])
        self._record = record

    def save(self, path: str | Path) -> None:
        """Writes the noise to a file that the command reads too, as `file("FILE")` or `sample --design FILE`."""
        if self._record is None:
            raise InputError("this noise belongs to a model of functions, which cannot be saved in a file")
        write_whole(path, json.dumps(json.loads(self._record), indent=2))

    @staticmethod
    def load(path: str | Path) -> DesignedNoise:
        """A noise that was saved by `save` or by `noisewright design --out`."""
        text = Path(path).read_text(encoding="utf-8")
        return DesignedNoise(_core.noise_from_record(text), "saved", {}, None, text)

    def __getitem__(self, name: str) -> Any:
        """The same by name, as in the command's JSON."""
        return self._fields()[name]

    def to_dict(self) -> dict[str, Any]:
        """The noise as plain dictionaries, lists and numbers, as the command's JSON has it."""
        fields: dict[str, Any] = plain(self._fields())
        return fields

    def _fields(self) -> dict[str, Any]:
        return {"kind": self.kind, **self.details, **({} if self.grid is None else {"grid": self.grid})}

    def __reduce__(self) -> tuple[Any, ...]:
        if self._record is None:
            return super().__reduce__()
        return _designed_again, (self._record, self.kind, self.details, self.grid)


class LostNoise(Noise):
    """What is left of a pickled noise that belonged to a model of functions: its words, and no density."""

    def _terms(self, built: list[_core.Noise] | None) -> list[tuple[float | str | None, str]]:
        return super()._terms(built) if built is None else self._lost()

    def log_density(self, x: Any, *, domain: DomainLike = None) -> Array:
        """Refuses: the density is not known any more."""
        self._lost()

    def sample(
        self,
        n: int,
        *,
        seed: int = 0,
        dimension: int | None = None,
        domain: DomainLike = None,
        quiet: bool = False,
    ) -> Array:
        """Refuses: the density is not known any more."""
        self._lost()

    def _lost(self) -> NoReturn:
        raise InputError(
            f"the noise `{short(self.words)}` was made from a model of functions, which a pickle does not keep: fit again"
        )


def _restored(saved: str | None, words: str, where: list[domains.Words], model: str | None) -> Noise:
    """A noise after pickling, with the density that it had."""
    if saved is None:
        return LostNoise(words)
    try:
        return FittedNoise(_core.noise_from_saved(saved, _variables(len(where)), where, model), where, model)
    except NoisewrightError:
        if model is not None:
            raise
        return LostNoise(words)


def _designed_again(record: str, kind: str, details: dict[str, Any], grid: Any) -> DesignedNoise:
    return DesignedNoise(_core.noise_from_record(record), kind, details, grid, record)
