"""alchemlyb's estimators on this library: `from noisewright.alchemlyb import MBAR` in place of `from alchemlyb.estimators import MBAR`.

The free energies are those of alchemlyb to the solver's rounding. Its errors take the rows for independent, and so do these with
`independent=True`; by default they allow for autocorrelation, so that nothing need be subsampled first.

>>> import numpy as np, pandas as pd
>>> x = np.random.default_rng(1).normal(size=2000)
>>> x[1000:] *= 2
>>> rows = pd.MultiIndex.from_arrays([np.tile(np.arange(1000.0), 2), np.repeat([0.0, 1.0], 1000)], names=["time", "lambda"])
>>> u_nk = pd.DataFrame({0.0: x**2 / 2, 1.0: x**2 / 8}, index=rows)
>>> mbar = MBAR().fit(u_nk)
>>> bool(abs(mbar.delta_f_.loc[0.0, 1.0] + np.log(2)) < 4 * mbar.d_delta_f_.loc[0.0, 1.0])
True
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .arrays import Array
from .errors import InputError, MissingLibraryError
from .states import StatesResult, energies, from_u_nk, is_u_nk, log_z_neighbours, log_z_states

try:
    import pandas as pd
except ImportError:
    raise MissingLibraryError("`noisewright.alchemlyb` needs pandas: pip install pandas") from None

__all__ = ["BAR", "MBAR"]


class _Estimator:
    """What both estimators share: parameters as scikit-learn has them, and frames of differences."""

    #: Settings of alchemlyb's solvers: they are taken and have no effect, because ours goes on to rounding by itself.
    _solver: ClassVar[frozenset[str]] = frozenset({"maximum_iterations", "relative_tolerance", "method", "verbose"})

    def __init__(self, *, independent: bool = False, progress: bool | None = None, **solver: Any) -> None:
        unknown = set(solver) - self._solver
        if unknown:
            raise InputError(f"`{min(unknown)}` is no parameter of {type(self).__name__}")
        self.independent = independent
        self.progress = progress

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name."""
        return {"independent": self.independent, "progress": self.progress}

    def set_params(self, **params: Any) -> Any:
        """Sets parameters by name."""
        unknown = set(params) - set(self.get_params())
        if unknown:
            raise InputError(f"`{min(unknown)}` is no parameter of {type(self).__name__}")
        vars(self).update(params)
        return self

    @property
    def states_(self) -> list[Any]:
        """The states, as the columns of the frame have them."""
        return self._states

    def _solve(self, table: Array, origin: Any, chains: Any, names: list[str]) -> StatesResult:
        return log_z_states(
            table,
            origin=origin,
            chains=None if self.independent else chains,
            independent=self.independent,
            names=names,
            progress=self.progress,
        )

    def _read(self, u_nk: Any) -> tuple[Array, Any, Any, list[str]]:
        if not is_u_nk(u_nk):
            raise InputError("`u_nk` must be a pandas frame with the times and the states of its rows in its index")
        self._states = list(u_nk.columns)
        self._attrs = dict(u_nk.attrs)
        return from_u_nk(u_nk)

    def _frame(self, matrix: Array) -> Any:
        # A state of several λs is one label, as alchemlyb has it, and not a level for each.
        labels = pd.Index(self._states, tupleize_cols=False)
        frame = pd.DataFrame(np.array(matrix), columns=labels, index=labels)
        frame.attrs = dict(self._attrs)
        return frame


class MBAR(_Estimator):
    """Free energies of all states from the draws of all (Shirts and Chodera 2008).

    Parameters
    ----------
    independent : bool, default=False
        Whether the rows are independent, as alchemlyb takes them; otherwise the errors allow for autocorrelation.
    progress : bool, default=None
        Whether to show a progress bar; by default when somebody is looking.
    maximum_iterations, relative_tolerance, initial_f_k, method, verbose
        As alchemlyb has them, and without effect: the equations are solved to rounding.

    Attributes
    ----------
    delta_f_, d_delta_f_ : DataFrame
        The dimensionless free energy of the state of a column less that of a row, in kT, and its standard error.
    delta_h_, d_delta_h_, delta_sT_, d_delta_sT_ : DataFrame
        The same of the enthalpies and of the entropies times the temperature, where `fit` was asked for them.
    states_ : list
        The states.
    result_ : noisewright.StatesResult
        The same as `noisewright.log_z_states` has it, with warnings, groups and statistical inefficiencies.
    """

    _solver: ClassVar[frozenset[str]] = _Estimator._solver | {"initial_f_k"}

    def fit(self, u_nk: Any, compute_entropy_enthalpy: bool = False) -> MBAR:
        """Estimates from reduced potentials: a row for every draw, a column for every state."""
        self.result_ = self._solve(*self._read(u_nk))
        self.delta_f_ = self._frame(-self.result_.differences["log_z"])
        self.d_delta_f_ = self._frame(self.result_.differences["se"])
        if compute_entropy_enthalpy:
            self._energies(u_nk)
        return self

    def _energies(self, u_nk: Any) -> None:
        """Differences of enthalpies and entropies relative to every state in turn, whose errors are not those of one alone."""
        each = [
            energies(u_nk, reference=k, independent=self.independent, progress=False) for k in range(len(self._states))
        ]
        self.delta_h_, self.d_delta_h_, self.delta_sT_, self.d_delta_sT_ = (
            self._frame(np.stack([getattr(found, name) for found in each])) for name in ("energy", "energy_se", "entropy", "entropy_se")
        )

    @property
    def overlap_matrix(self) -> Array:
        """The share of the state of a column among the draws as the state of a row weighs them."""
        return self.result_.overlap

    def plot_overlap_matrix(self, ax: Any = None) -> Any:
        """Draws the overlap matrix with matplotlib."""
        return self.result_.plot_overlap(ax)


class BAR(_Estimator):
    """Free energies between neighbouring states, each from the draws of the two alone (Bennett 1976).

    Parameters and attributes are those of `MBAR` without the overlap; as in alchemlyb the error of a difference between states that are
    not neighbours is NaN, because neighbouring differences share draws.
    """

    def fit(self, u_nk: Any) -> BAR:
        """Estimates from reduced potentials: a row for every draw, a column for every state."""
        table, origin, chains, names = self._read(u_nk)
        missing = np.flatnonzero(np.bincount(origin, minlength=len(names)) == 0)
        if missing.size:
            raise InputError(f"`u_nk` has no rows of the state {names[missing[0]]}: BAR needs draws of every state")
        steps = log_z_neighbours(
            table,
            origin=origin,
            chains=None if self.independent else chains,
            independent=self.independent,
            names=names,
            progress=self.progress,
        )
        f = -np.concatenate([[0.0], np.cumsum([step.log_z[1] for step in steps])])
        self.results_ = steps
        self.delta_f_ = self._frame(f[np.newaxis, :] - f[:, np.newaxis])
        errors = np.full((len(names), len(names)), np.nan)
        np.fill_diagonal(errors, 0.0)
        for k, step in enumerate(steps):
            errors[k, k + 1] = errors[k + 1, k] = step.se[1]
        self.d_delta_f_ = self._frame(errors)
        return self
