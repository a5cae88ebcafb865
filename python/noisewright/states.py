"""Many states at once: their normalizing constants from pooled draws (MBAR), and what the draws say of any of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core
from .arrays import Array
from .checks import number, positive, whole
from .errors import InputError, NoisewrightWarning
from .progress import Bar
from .results import Rows
from .states_arguments import from_u_nk, is_u_nk, read_bins, read_columns, read_pool, read_splines, read_state
from .states_results import ConvergenceResult, EnergiesResult, ExpectationsResult, StatesResult, SurfaceResult

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
    "from_u_nk",
    "is_u_nk",
    "log_z_neighbours",
    "log_z_states",
    "mbar",
    "surface",
]


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
    table, pool = read_pool(log_f, counts, origin, chains, reference, reference_log_z, independent, names)
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


def log_z_neighbours(
    log_f: Any,
    counts: Sequence[int] | None = None,
    *,
    origin: Sequence[int] | None = None,
    chains: Sequence[int] | None = None,
    independent: bool = False,
    names: Sequence[str] | None = None,
    progress: bool | None = None,
) -> list[StatesResult]:
    """Every state with the next one, from the draws of the two alone (BAR): a result of two states for each pair.

    Log-densities under other states are not looked at and may be NaN; so may those of a draw under either state of a pair, which
    is then left out of that pair.

    Args:
        log_f, counts, origin, chains, independent, names: as for `log_z_states`.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import numpy as np
    >>> x = np.random.default_rng(1).normal(size=2000)
    >>> wide = np.concatenate([x[:1000], 2 * x[1000:]])
    >>> [step] = log_z_neighbours(np.stack([-wide**2 / 2, -wide**2 / 8]), [1000, 1000])
    >>> bool(abs(step.log_z[1] - np.log(2)) < 4 * step.se[1])
    True
    """
    table, pool = read_pool(log_f, counts, origin, chains, 0, 0.0, independent, names)
    with Bar("log Z of neighbours", progress) as bar:
        answers = _core.log_z_neighbours(table, pool, bar)
    if not all(answer["converged"] for answer in answers):
        warnings.warn("log_z_neighbours did not converge", NoisewrightWarning, stacklevel=2)
    return [StatesResult(**answer) for answer in answers]


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
    table, pool = read_pool(log_f, counts, origin, chains, 0, 0.0, independent, names)
    return expectations_of(table, pool, observables, range(len(table)) if states is None else states, progress)


def expectations_of(
    table: Array, pool: dict[str, Any], observables: Any, states: Sequence[int | str], progress: bool | None
) -> ExpectationsResult:
    """Means of observables under states of a pool of draws."""
    labels, values = read_columns(observables, "observables", table.shape[1])
    under = [read_state(state, pool["names"], "states") for state in states]
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
    table, pool = read_pool(log_f, counts, origin, chains, 0, 0.0, independent, names)
    how = {"bins": bins, "kernel": kernel, "bandwidth": bandwidth, "splines": splines, "degree": degree, "reference": reference}
    return surface_of(table, pool, coordinates, state, progress=progress, **how)


def surface_of(
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
    """The free energy along coordinates under a state of a pool of draws."""
    labels, values = read_columns(coordinates, "coordinates", table.shape[1])
    if bandwidth is not None and not kernel:
        raise InputError("`bandwidth` is that of a kernel, and `kernel` is not asked for: leave it out")
    if kernel and splines is not None:
        raise InputError("`kernel` and `splines` are two ways to smooth: choose one")
    cells = {
        **read_bins(bins, len(labels)),
        "kernel": bool(kernel),
        "bandwidths": None if bandwidth is None else [positive(h, "bandwidth") for h in np.atleast_1d(bandwidth)],
        "splines": read_splines(splines),
        "degree": whole(degree, "degree"),
        "normalized": isinstance(reference, str) and reference == "normalized",
        "point": None if isinstance(reference, str) else [number(x, "reference") for x in np.atleast_1d(reference)],
    }
    if isinstance(reference, str) and reference not in ("lowest", "normalized"):
        raise InputError(f"`reference` must be `lowest`, `normalized` or a point, not {reference!r}")
    at = read_state(state, pool["names"], "state")
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
    table, pool = read_pool(log_f, counts, origin, chains, reference, 0.0, independent, names)
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
    table, pool = read_pool(log_f, counts, origin, chains, reference, 0.0, independent, names)
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
    table, pool = read_pool(log_f, counts, origin, chains, 0, 0.0, False, names)
    with Bar("equilibration", progress) as bar:
        return Rows(_core.state_equilibration(table, pool, bar))
