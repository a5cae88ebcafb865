"""Many states at once: their normalizing constants from pooled draws (MBAR), and what the draws say of any of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from . import _core
from .arrays import Array, column, names_of, vector
from .checks import number, positive, whole
from .errors import InputError, NoisewrightWarning
from .progress import Bar
from .results import Column, Estimate, Panel, Result, Rows, columns_of

__all__ = [
    "ConvergenceResult",
    "EnergiesResult",
    "ExpectationsResult",
    "StatesResult",
    "SurfaceResult",
    "convergence",
    "energies",
    "equilibration",
    "expectations",
    "log_z_states",
    "mbar",
    "surface",
]


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
        >>> x = np.random.default_rng(1).normal(size=2000)
        >>> states = log_z_states(np.stack([-x**2 / 2, -((x - 0.5) ** 2) / 2]), [2000, 0], independent=True)
        >>> mean = states.expectation(x, at=1)
        >>> bool(mean.lower < 0.5 < mean.upper)
        True
        """
        table, pool = self._draws
        found = _expectations(table, pool, values, [at], False)
        reach = NormalDist().inv_cdf(0.975) * found.se
        ends = zip(found.observables, _floats(found.values), _floats(found.se), _floats(reach))
        means = {name: Estimate(mean, se, se, 0.0, mean - r, mean + r) for name, mean, se, r in ends}
        return means if names_of(values) is not None else next(iter(means.values()))

    def surface(self, coordinates: Any, at: int | str = 0, **options: Any) -> SurfaceResult:
        """The free energy along one or two coordinates under a state: `surface` with the draws of these states.

        Args:
            coordinates: one or two columns by name with one value for every draw, or one such column.
            at: the state, by number or name.
            options: `bins`, `kernel`, `bandwidth`, `splines`, `degree`, `reference` of `surface`.
        """
        table, pool = self._draws
        return _surface(table, pool, coordinates, at, **options)

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
        rows = [list(row) for row in zip(self.observables, self.states, *map(_floats, (self.values, self.se, self.ess)))]
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
        rows = [list(row) for row in zip(*map(_floats, (*places, *values)))]
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
        numbers = map(_floats, (self.energy, self.energy_se, self.entropy, self.entropy_se))
        return "energies and entropies", columns, [list(row) for row in zip(self.names, *numbers)], []

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        fields = ("energy", "energy_se", "entropy", "entropy_se")
        rows = zip(*(_floats(getattr(self, field)) for field in fields))
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
        rows = [list(row) for row in zip(*map(_floats, numbers))]
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


def log_z_states(
    log_f: Any,
    counts: Sequence[int] | None = None,
    *,
    origin: Sequence[int] | None = None,
    chains: Sequence[int] | None = None,
    reference: int = 0,
    reference_log_z: float = 0.0,
    independent: bool = False,
    names: Sequence[str] | None = None,
    progress: bool | None = None,
) -> StatesResult:
    """Log-normalizers of many states from pooled draws of them (MBAR).

    Args:
        log_f: one row per state and one column per draw: the log-density of every draw under every state; or a `u_nk` frame
            of alchemlyb, which holds reduced potentials and tells the states, their names and the chains itself.
        counts: how many draws come from each state, the draws being in that order;
        origin: or the state of every draw, numbered from 0.
        chains: a label of the Markov chain for every draw.
        reference: the state whose log-normalizer is known,
        reference_log_z: and its value.
        independent: the draws are independent; otherwise the standard errors allow for autocorrelation.
        names: the names of the states.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import numpy as np
    >>> x = np.random.default_rng(1).normal(size=2000)
    >>> wide = np.concatenate([x[:1000], 2 * x[1000:]])
    >>> result = log_z_states(np.stack([-wide**2 / 2, -wide**2 / 8]), [1000, 1000])
    >>> bool(abs(result.log_z[1] - np.log(2)) < 4 * result.se[1])
    True
    """
    table, pool = _pool(log_f, counts, origin, chains, reference, reference_log_z, independent, names)
    with Bar("log Z of states", progress) as bar:
        answer = _core.log_z_states(table, pool, bar)
    if not answer["converged"]:
        warnings.warn("log_z_states did not converge", NoisewrightWarning, stacklevel=2)
    result = StatesResult(**answer)
    # What is asked of the same draws next needs them; they are no part of the result.
    object.__setattr__(result, "_kept", (table, pool))
    return result


#: The name under which chemists know it.
mbar = log_z_states


def expectations(
    log_f: Any,
    observables: Any,
    counts: Sequence[int] | None = None,
    *,
    origin: Sequence[int] | None = None,
    chains: Sequence[int] | None = None,
    states: Sequence[int | str] | None = None,
    independent: bool = False,
    names: Sequence[str] | None = None,
    progress: bool | None = None,
) -> ExpectationsResult:
    """Means of observables under any state, sampled or not, from pooled draws of several.

    Args:
        log_f, counts, origin, chains, independent, names: as for `log_z_states`; a state without draws has 0 of them.
        observables: columns by name (a dictionary or a data frame) with one value for every draw, or one such column.
        states: the states under which the means are asked for, by number or name; all by default.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import numpy as np
    >>> x = np.random.default_rng(1).normal(size=2000)
    >>> log_f = np.stack([-x**2 / 2, -((x - 0.5) ** 2) / 2])
    >>> mean, se = expectations(log_f, {"x": x}, [2000, 0])["x", 1]
    >>> bool(abs(mean - 0.5) < 4 * se)
    True
    """
    table, pool = _pool(log_f, counts, origin, chains, 0, 0.0, independent, names)
    return _expectations(table, pool, observables, range(len(table)) if states is None else states, progress)


def _expectations(
    table: Array, pool: dict[str, Any], observables: Any, states: Sequence[int | str], progress: bool | None
) -> ExpectationsResult:
    labels, values = _columns(observables, "observables", table.shape[1])
    under = [_state(state, pool["names"], "states") for state in states]
    with Bar("expectations", progress) as bar:
        answer = _core.state_expectations(table, pool, labels, values, under, bar)
    return ExpectationsResult(**answer)


def surface(
    log_f: Any,
    coordinates: Any,
    counts: Sequence[int] | None = None,
    *,
    origin: Sequence[int] | None = None,
    chains: Sequence[int] | None = None,
    state: int | str = 0,
    bins: Any = None,
    kernel: bool = False,
    bandwidth: Any = None,
    splines: Any = None,
    degree: int = 3,
    reference: Any = "lowest",
    independent: bool = False,
    names: Sequence[str] | None = None,
    progress: bool | None = None,
) -> SurfaceResult:
    """The free energy `-ln p` along one or two coordinates under any state: a potential of mean force.

    Umbrella windows are unbiased by giving the unbiased state too, with 0 draws, and asking for it.

    Args:
        log_f, counts, origin, chains, independent, names: as for `log_z_states`.
        coordinates: one or two columns by name with one value for every draw, or one such column.
        state: the state, by number or name.
        bins: the number of cells, or their edges, for both coordinates or a list with one entry for each; 50 along one
            coordinate and 30 along each of two by default.
        kernel: a normal kernel about the centre of each cell instead of a histogram,
        bandwidth: with this standard deviation, one for both coordinates or one for each; Silverman's rule by default.
        splines: a free energy of so many B-splines along each coordinate instead, that of the highest weighted likelihood between
            the outermost edges; `"auto"` for the number with the smallest expected loss on other draws.
        degree: of their polynomials.
        reference: what is zero: the `"lowest"` cell, `"normalized"` for −ln of the density itself, or the cell at a point.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import numpy as np
    >>> x = np.random.default_rng(1).normal(size=4000)
    >>> found = surface(-(x**2)[np.newaxis] / 2, {"x": x}, [4000], bins=[-1.5, -0.5, 0.5, 1.5])
    >>> bool(abs(found.free_energy[0] - np.log(0.3829249 / 0.2417303)) < 4 * found.se[0])
    True
    """
    table, pool = _pool(log_f, counts, origin, chains, 0, 0.0, independent, names)
    how = {"bins": bins, "kernel": kernel, "bandwidth": bandwidth, "splines": splines, "degree": degree, "reference": reference}
    return _surface(table, pool, coordinates, state, progress=progress, **how)


def _surface(
    table: Array,
    pool: dict[str, Any],
    coordinates: Any,
    state: int | str,
    *,
    bins: Any = None,
    kernel: bool = False,
    bandwidth: Any = None,
    splines: Any = None,
    degree: int = 3,
    reference: Any = "lowest",
    progress: bool | None = None,
) -> SurfaceResult:
    labels, values = _columns(coordinates, "coordinates", table.shape[1])
    if bandwidth is not None and not kernel:
        raise InputError("`bandwidth` is that of a kernel, and `kernel` is not asked for: leave it out")
    if kernel and splines is not None:
        raise InputError("`kernel` and `splines` are two ways to smooth: choose one")
    cells = {
        **_bins(bins, len(labels)),
        "kernel": bool(kernel),
        "bandwidths": None if bandwidth is None else [positive(h, "bandwidth") for h in np.atleast_1d(bandwidth)],
        "splines": _splines(splines),
        "degree": whole(degree, "degree"),
        "normalized": isinstance(reference, str) and reference == "normalized",
        "point": None if isinstance(reference, str) else [number(x, "reference") for x in np.atleast_1d(reference)],
    }
    if isinstance(reference, str) and reference not in ("lowest", "normalized"):
        raise InputError(f"`reference` must be `lowest`, `normalized` or a point, not {reference!r}")
    at = _state(state, pool["names"], "state")
    with Bar("surface", progress) as bar:
        answer = _core.state_surface(table, pool, labels, values, at, cells, bar)
    for name in ("edges", "centres"):
        answer[name] = [np.asarray(along) for along in answer[name]]
    return SurfaceResult(**answer)


def energies(
    log_f: Any,
    counts: Sequence[int] | None = None,
    *,
    origin: Sequence[int] | None = None,
    chains: Sequence[int] | None = None,
    reference: int = 0,
    independent: bool = False,
    names: Sequence[str] | None = None,
    progress: bool | None = None,
) -> EnergiesResult:
    """Mean reduced energies `u = -log f` and entropies of all states relative to one, with their errors.

    With reduced potentials these are the enthalpies and entropies of pymbar's `compute_entropy_and_enthalpy`, in kT and k.

    Args:
        log_f, counts, origin, chains, reference, independent, names: as for `log_z_states`.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import numpy as np
    >>> x = np.random.default_rng(1).normal(size=2000)
    >>> wide = np.concatenate([x[:1000], 2 * x[1000:]])
    >>> found = energies(np.stack([-wide**2 / 2, -wide**2 / 8]), [1000, 1000])
    >>> bool(abs(found.entropy[1] - np.log(2)) < 4 * found.entropy_se[1])
    True
    """
    table, pool = _pool(log_f, counts, origin, chains, reference, 0.0, independent, names)
    with Bar("energies", progress) as bar:
        answer = _core.state_energies(table, pool, bar)
    return EnergiesResult(names=pool["names"], **answer)


def convergence(
    log_f: Any,
    counts: Sequence[int] | None = None,
    *,
    origin: Sequence[int] | None = None,
    chains: Sequence[int] | None = None,
    parts: int = 10,
    reference: int = 0,
    independent: bool = False,
    names: Sequence[str] | None = None,
    progress: bool | None = None,
) -> ConvergenceResult:
    """log Z of all states from the first and from the last 1/parts, 2/parts, … of the draws of every chain.

    Where the two disagree by more than their errors, the chains have not come to equilibrium or are too short.

    Args:
        log_f, counts, origin, chains, reference, independent, names: as for `log_z_states`.
        parts: how many parts.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import numpy as np
    >>> x = np.random.default_rng(1).normal(size=2000)
    >>> wide = np.concatenate([x[:1000], 2 * x[1000:]])
    >>> found = convergence(np.stack([-wide**2 / 2, -wide**2 / 8]), [1000, 1000], parts=4)
    >>> found.forward.shape, bool(found.forward[-1, 1] == found.backward[-1, 1])
    ((4, 2), True)
    """
    table, pool = _pool(log_f, counts, origin, chains, reference, 0.0, independent, names)
    with Bar("convergence", progress) as bar:
        answer = _core.state_convergence(table, pool, whole(parts, "parts"), bar)
    return ConvergenceResult(names=pool["names"], **{name: np.asarray(values) for name, values in answer.items()})


def equilibration(
    log_f: Any,
    counts: Sequence[int] | None = None,
    *,
    origin: Sequence[int] | None = None,
    chains: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    progress: bool | None = None,
) -> Rows:
    """Where every chain has come to equilibrium: a record for each with `state`, `chain`, `draws`, `start`, `inefficiency`, `ess`.

    The draws of a chain from `start` on are worth the most independent draws, `ess` of them (Chodera 2016).

    Args:
        log_f, counts, origin, chains, names: as for `log_z_states`.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import numpy as np
    >>> x = np.random.default_rng(1).normal(size=2000)
    >>> x[:100] += 3
    >>> found = equilibration(np.stack([-(x**2) / 2, -((x - 1) ** 2) / 2]), [1000, 1000])
    >>> found[0]["state"], bool(50 < found[0]["start"] < 300)
    ('0', True)
    """
    table, pool = _pool(log_f, counts, origin, chains, 0, 0.0, False, names)
    with Bar("equilibration", progress) as bar:
        return Rows(_core.state_equilibration(table, pool, bar))


def _pool(
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
        "chains": None if chains is None else [int(n) for n in np.unique(np.asarray(chains), return_inverse=True)[1]],
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
    codes, sampled = u_nk.index.droplevel(0).factorize()
    unknown = next((state for state in sampled if _key(state) not in places), None)
    if unknown is not None:
        raise InputError(f"`u_nk` has rows of the state {unknown}, which is none of its columns")
    origin = np.array([places[_key(state)] for state in sampled], dtype=np.int64)[codes]
    chains = np.zeros(len(origin), dtype=np.int64)
    times = np.asarray(u_nk.index.get_level_values(0))
    for k in range(len(places)):
        rows = np.flatnonzero(origin == k)
        chains[rows[1:]] = np.cumsum(times[rows[1:]] <= times[rows[:-1]])
    table = -np.ascontiguousarray(u_nk.to_numpy(dtype=np.float64).T)
    return table, origin, chains, [str(state) for state in u_nk.columns]


def _key(state: Any) -> tuple[Any, ...]:
    """A state as the index and the columns of a frame both have it."""
    return tuple(state) if isinstance(state, (tuple, list)) else (state,)


def _columns(data: Any, argument: str, draws: int) -> tuple[list[str], Array]:
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


def _state(state: int | str, names: list[str], argument: str) -> int:
    if isinstance(state, str):
        if state not in names:
            raise InputError(f"`{argument}`: `{state}` is none of the states {', '.join(names)}")
        return names.index(state)
    at = whole(state, argument)
    if at >= len(names):
        raise InputError(f"`{argument}` is {at}, and must be the number of a state, from 0 to {len(names) - 1}")
    return at


def _bins(bins: Any, coordinates: int) -> dict[str, Any]:
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


def _splines(splines: Any) -> list[int] | None:
    """Their numbers; an empty list for as many as serve best."""
    if splines is None or (isinstance(splines, str) and splines == "auto"):
        return None if splines is None else []
    if isinstance(splines, str):
        raise InputError(f"`splines` must be numbers or `auto`, not {splines!r}")
    return [whole(count, "splines") for count in np.atleast_1d(splines)]


def _floats(values: Any) -> list[float]:
    return [float(value) for value in values]


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
