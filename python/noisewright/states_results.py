"""What is found of many states at once: constants, means, surfaces, energies and their convergence."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from .arrays import Array, names_of
from .errors import InputError
from .results import Column, Estimate, Panel, Result, columns_of

__all__ = ["ConvergenceResult", "EnergiesResult", "ExpectationsResult", "StatesResult", "SurfaceResult"]


@dataclass(frozen=True, repr=False, eq=False)
class StatesResult(Result):
    """Log-normalizers of many states relative to one of them, with their covariance."""

    #: Every state by its name: `log_z`, `se`, `draws`, `ess`, `inefficiency`.
    states: dict[str, dict[str, Any]]
    names: list[str]
    reference: str
    log_z: Array
    se: Array
    #: `log_z` of the second state less that of the first, by row and column, and its `se`.
    differences: dict[str, Array]
    covariance: Array
    overlap: Array
    ess: Array
    inefficiency: Array
    #: The names of the states that hang together.
    groups: list[list[str]]
    dependence: str
    converged: bool
    warnings: list[str]
    #: The names of the warnings for programs.
    warning_codes: list[str]

    @property
    def difference_se(self) -> Array:
        """The standard errors of `differences`."""
        return self.differences["se"]

    def difference(self, first: int | str, second: int | str) -> tuple[float, float]:
        """`log Z` of the second state less that of the first, and its standard error."""
        i, j = (self.names.index(state) if isinstance(state, str) else state for state in (first, second))
        return float(self.log_z[j] - self.log_z[i]), float(self.difference_se[i, j])

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("state", None), ("log Z", 6), ("se", 3), ("effective draws", 4)]
        rows: list[list[Any]] = [
            [name, float(z), float(se), float(n)]
            for name, z, se, n in zip(self.names, self.log_z, self.se, self.ess)
        ]
        return f"{len(rows)} states", columns, rows, self.warnings

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        columns = zip(self.log_z, self.se, self.ess)
        return self.names, [{"log_z": float(z), "se": float(s), "ess": float(n)} for z, s, n in columns]

    def _panels(self) -> list[Panel]:
        at = np.arange(len(self.names), dtype=float)
        kept = np.isfinite(self.log_z) & np.isfinite(self.se)
        z, reach = self.log_z[kept], 1.96 * self.se[kept]
        columns = [at[kept].tolist(), z.tolist(), (z - reach).tolist(), (z + reach).tolist()]
        return [(("state", "linear"), ("log Z", "linear"), [("points", "log Z", columns)])]

    def expectation(self, values: Any, at: int | str = 0) -> Any:
        """The mean of an observable under a state, sampled or not, with its interval of 95 %: see `expectations`.

        Args:
            values: one value for every draw; or several such columns by name, for a dictionary of means.
            at: the state, by number or name.

        >>> import numpy as np
        >>> import noisewright as nw
        >>> x = np.random.default_rng(1).normal(size=2000)
        >>> states = nw.log_z_states(np.stack([-x**2 / 2, -((x - 0.5) ** 2) / 2]), [2000, 0], independent=True)
        >>> mean = states.expectation(x, at=1)
        >>> bool(mean.lower < 0.5 < mean.upper)
        True
        """
        from .states import expectations_of

        table, pool = self._draws
        found = expectations_of(table, pool, values, [at], False)
        reach = NormalDist().inv_cdf(0.975) * found.se
        ends = zip(found.observables, floats(found.values), floats(found.se), floats(reach))
        means = {name: Estimate(mean, se, se, 0.0, mean - r, mean + r) for name, mean, se, r in ends}
        return means if names_of(values) is not None else next(iter(means.values()))

    def surface(self, coordinates: Any, at: int | str = 0, **options: Any) -> SurfaceResult:
        """The free energy along one or two coordinates under a state: `surface` with the draws of these states.

        Args:
            coordinates: one or two columns by name with one value for every draw, or one such column.
            at: the state, by number or name.
            options: `bins`, `kernel`, `bandwidth`, `splines`, `degree`, `reference` of `surface`.
        """
        from .states import surface_of

        table, pool = self._draws
        return surface_of(table, pool, coordinates, at, **options)

    @property
    def _draws(self) -> tuple[Array, dict[str, Any]]:
        kept = vars(self).get("_kept")
        if kept is None:
            raise InputError("these states are without their draws: call `expectations` or `surface` with them")
        return kept  # type: ignore[no-any-return]

    def plot_overlap(self, ax: Any = None) -> Any:
        """Draws the overlap matrix with matplotlib: what one wants is a band along the diagonal without gaps."""
        from .plotting import heat_map

        edges = np.arange(len(self.names) + 1) - 0.5
        axes = heat_map(ax, edges, edges, self.overlap, ("draws of state", "as seen by state"), "share", (0.0, 1.0))
        axes.invert_yaxis()
        return axes

    def __repr__(self) -> str:
        return f"<log Z of {len(self.names)} states>"


@dataclass(frozen=True, repr=False, eq=False)
class ExpectationsResult(Result):
    """Means of observables under states, each observable under every state in turn, with their joint covariance."""

    observables: list[str]
    #: The name of the state of every mean.
    states: list[str]
    values: Array
    se: Array
    covariance: Array
    #: The standard error of every difference between two of the means.
    difference_se: Array
    ess: Array
    warnings: list[str]
    #: The names of the warnings for programs.
    warning_codes: list[str]

    def __getitem__(self, key: tuple[str, int | str]) -> tuple[float, float]:
        """The mean of an observable under a state and its standard error: `result["x", "u_1"]`."""
        at = self._at(key)
        return float(self.values[at]), float(self.se[at])

    def difference(self, first: tuple[str, int | str], second: tuple[str, int | str]) -> tuple[float, float]:
        """The second mean less the first, and the standard error of the difference, which knows that both rest on the same draws."""
        i, j = self._at(first), self._at(second)
        return float(self.values[j] - self.values[i]), float(self.difference_se[i, j])

    def _at(self, key: tuple[str, int | str]) -> int:
        name, state = key
        own = [at for at, observable in enumerate(self.observables) if observable == name]
        if isinstance(state, str):
            own = [at for at in own if self.states[at] == state]
            state = 0
        if not -len(own) <= state < len(own):
            raise KeyError(key)
        return own[state]

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("observable", None), ("state", None), ("mean", 7), ("se", 3), ("ess", 4)]
        rows = [list(row) for row in zip(self.observables, self.states, *map(floats, (self.values, self.se, self.ess)))]
        return "expectations", columns, rows, self.warnings

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        _, columns, rows, _ = self._table()
        names = [name for name, _ in columns]
        return [str(at) for at in range(len(rows))], [dict(zip(names, row)) for row in rows]

    def _panels(self) -> list[Panel]:
        panels: list[Panel] = []
        for name in dict.fromkeys(self.observables):
            own = np.array([observable == name for observable in self.observables])
            mean, reach = self.values[own], 1.96 * self.se[own]
            columns = columns_of(np.arange(len(mean)), mean, mean - reach, mean + reach)
            panels.append((("state", "linear"), (name, "linear"), [("points", name, columns)]))
        return panels

    def __repr__(self) -> str:
        return f"<means of {len(set(self.observables))} observables under {len(set(self.states))} states>"


@dataclass(frozen=True, repr=False, eq=False)
class SurfaceResult(Result):
    """The free energy `-ln p` along one or two coordinates, in units of kT; rows are cells of the first of two."""

    coordinates: list[str]
    state: str
    #: `histogram`, `kernel` or `spline`.
    smoothing: str
    bandwidths: Array | None
    #: B-splines along every coordinate.
    splines: list[int] | None
    #: `lowest`, `point` or `normalized`.
    reference: str
    #: The edges and the centres of the cells along every coordinate.
    edges: list[Array]
    centres: list[Array]
    free_energy: Array
    #: Infinite for cells that rest on fewer than five effective draws.
    se: Array
    draws: Array
    ess: Array
    warnings: list[str]
    #: The names of the warnings for programs.
    warning_codes: list[str]

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [(name, 5) for name in self.coordinates]
        columns += [("free energy", 6), ("se", 3), ("draws", 6), ("ess", 4)]
        places = [grid.ravel() for grid in np.meshgrid(*self.centres, indexing="ij")]
        values = (np.asarray(cells).ravel() for cells in (self.free_energy, self.se, self.draws, self.ess))
        rows = [list(row) for row in zip(*map(floats, (*places, *values)))]
        return f"free energy along {' and '.join(self.coordinates)} in {self.state}", columns, rows, self.warnings

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        _, columns, rows, _ = self._table()
        names = [name for name, _ in columns]
        return [str(at) for at in range(len(rows))], [dict(zip(names, row)) for row in rows]

    def _panels(self) -> list[Panel]:
        if len(self.coordinates) == 2:
            return []
        f, reach = self.free_energy, 1.96 * self.se
        columns = columns_of(self.centres[0], f, f - reach, f + reach)
        return [((self.coordinates[0], "linear"), ("free energy / kT", "linear"), [("points", "free energy", columns)])]

    def plot(self, ax: Any = None) -> Any:
        """Draws the surface with matplotlib: a band along one coordinate, a map along two; gives the axes."""
        if len(self.coordinates) == 1:
            return super().plot(ax)
        from .plotting import heat_map

        shown = np.where(np.isfinite(self.free_energy), self.free_energy, np.nan)
        return heat_map(ax, self.edges[0], self.edges[1], shown.T, self.coordinates, "free energy / kT")

    def __repr__(self) -> str:
        return f"<free energy along {', '.join(self.coordinates)} in {np.size(self.free_energy)} cells>"


@dataclass(frozen=True, repr=False, eq=False)
class EnergiesResult(Result):
    """Mean reduced energies and entropies of all states relative to the reference: `entropy = energy + log Z`."""

    names: list[str]
    energy: Array
    energy_se: Array
    entropy: Array
    entropy_se: Array

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("state", None), ("energy", 6), ("se", 3), ("entropy", 6), ("se", 3)]
        numbers = map(floats, (self.energy, self.energy_se, self.entropy, self.entropy_se))
        return "energies and entropies", columns, [list(row) for row in zip(self.names, *numbers)], []

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        fields = ("energy", "energy_se", "entropy", "entropy_se")
        rows = zip(*(floats(getattr(self, field)) for field in fields))
        return self.names, [dict(zip(fields, row)) for row in rows]

    def __repr__(self) -> str:
        return f"<energies and entropies of {len(self.names)} states>"


@dataclass(frozen=True, repr=False, eq=False)
class ConvergenceResult(Result):
    """log Z of all states from growing shares of every chain: one row per share and one column per state."""

    names: list[str]
    share: Array
    forward: Array
    forward_se: Array
    backward: Array
    backward_se: Array

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("share", 3), ("forward", 6), ("se", 3), ("backward", 6), ("se", 3)]
        numbers = (self.share, *(part[:, -1] for part in self._parts()))
        rows = [list(row) for row in zip(*map(floats, numbers))]
        return f"log Z of {self.names[-1]} from parts of the draws", columns, rows, []

    def _parts(self) -> tuple[Array, Array, Array, Array]:
        return self.forward, self.forward_se, self.backward, self.backward_se

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        _, _, rows, _ = self._table()
        fields = ("share", "forward", "forward_se", "backward", "backward_se")
        return [str(at) for at in range(len(rows))], [dict(zip(fields, row)) for row in rows]

    def _panels(self) -> list[Panel]:
        forward, forward_se, backward, backward_se = (part[:, -1] for part in self._parts())
        series = [
            ("points", name, columns_of(self.share, z, z - 1.96 * se, z + 1.96 * se))
            for name, z, se in (("forward", forward, forward_se), ("backward", backward, backward_se))
        ]
        return [(("share of every chain", "linear"), (f"log Z of {self.names[-1]}", "linear"), series)]

    def __repr__(self) -> str:
        return f"<log Z from {len(self.share)} parts of the draws, forward and backward>"


def floats(values: Any) -> list[float]:
    return [float(value) for value in values]
