"""Estimators for scikit-learn: densities, density ratios and choices, for pipelines and grid searches.

>>> import numpy as np
>>> from noisewright.sklearn import DensityEstimator
>>> X = np.random.default_rng(1).normal(size=(200, 1))
>>> DensityEstimator(noise="exact").fit(X).score_samples([[0.0]]).shape
(1,)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .arrays import Array
from .errors import MissingLibraryError
from .fitting import fit, ratio
from .models import Model

try:
    from sklearn.base import BaseEstimator, DensityMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingLibraryError("`noisewright.sklearn` needs scikit-learn 1.6 or later: pip install scikit-learn") from None

__all__ = ["ConditionalLogit", "DensityEstimator", "DensityRatio"]


def _variables(count: int) -> list[str]:
    return [f"x{j}" for j in range(count)]


def _quadratic(count: int) -> list[str]:
    """All first and second powers and products: the Gaussian's features."""
    names = _variables(count)
    squares = [f"{a}*{b}" if a != b else f"{a}^2" for j, a in enumerate(names) for b in names[j:]]
    return names + squares


class DensityEstimator(DensityMixin, BaseEstimator):  # type: ignore[misc]
    """A density known up to its constant, fitted by telling the rows from noise.

    Parameters
    ----------
    model : noisewright.Model, default=None
        The model; its variables are the columns of X in order. By default independent Gaussians.
    noise, nu, loss, seed, penalty : as for `noisewright.fit`.
    """

    def __init__(
        self,
        model: Model | None = None,
        *,
        noise: Any = "auto",
        nu: Any = "auto",
        loss: str = "js",
        seed: int = 0,
        penalty: str | None = None,
    ) -> None:
        self.model = model
        self.noise = noise
        self.nu = nu
        self.loss = loss
        self.seed = seed
        self.penalty = penalty

    def fit(self, X: Any, y: Any = None) -> DensityEstimator:
        """Fits the model to the rows of X."""
        X = validate_data(self, X, dtype=float, ensure_min_samples=2)
        model = self.model
        if model is None:
            names = _variables(X.shape[1])
            model = Model.from_features([*names, *(f"{name}^2" for name in names)], variables=names)
        self.model_ = model
        self.fit_ = fit(model, X, noise=self.noise, nu=self.nu, loss=self.loss, seed=self.seed, penalty=self.penalty)
        return self

    def score_samples(self, X: Any) -> Array:
        """The fitted log-density of each row."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=float, reset=False)
        return self.fit_.log_density(X).log_density

    def score(self, X: Any, y: Any = None) -> float:
        """The mean fitted log-density of the rows."""
        return float(np.mean(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Array:
        """Draws of the fitted density."""
        check_is_fitted(self)
        seed = int(check_random_state(random_state).randint(2**31 - 1))
        draws = self.fit_.simulate(n_samples, seed=seed)
        return draws.reshape(n_samples, -1)


class DensityRatio(BaseEstimator):  # type: ignore[misc]
    """The logarithm of the ratio of two samples' densities, those of class 1 over those of class 0.

    Parameters
    ----------
    features : "linear", "quadratic" or a list of formulas in x0, x1, …, default="quadratic"
        What the log ratio is a combination of.
    """

    def __init__(self, features: Any = "quadratic") -> None:
        self.features = features

    def _features(self, count: int) -> list[str]:
        if isinstance(self.features, str):
            kinds = {"linear": _variables, "quadratic": _quadratic}
            if self.features not in kinds:
                raise ValueError(f"features must be linear, quadratic or a list of formulas, not {self.features!r}")
            return kinds[self.features](count)
        return list(self.features)

    def fit(self, X: Any, y: Any) -> DensityRatio:
        """Fits the ratio of the rows of the larger class label to those of the smaller."""
        X, y = validate_data(self, X, y, dtype=float)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise ValueError(f"DensityRatio needs samples of 2 classes, not of {len(self.classes_)} class(es)")
        names = _variables(X.shape[1])
        model = Model.from_features(self._features(X.shape[1]), variables=names)
        first, second = X[y == self.classes_[1]], X[y == self.classes_[0]]
        self.ratio_ = ratio(model, first, second)
        return self

    def predict(self, X: Any) -> Array:
        """The log ratio at each row."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=float, reset=False)
        return self.ratio_.log_ratio(X)[0]

    def sample_weight(self, X: Any) -> Array:
        """Weights of mean one that make rows of the smaller label's sample look like the other's: for covariate shift."""
        log_ratio = self.predict(X)
        weights = np.exp(log_ratio - log_ratio.max())
        return np.asarray(weights / weights.mean())


class ConditionalLogit(BaseEstimator):  # type: ignore[misc]
    """Choices among the rows of strata: the conditional logit, linear in the columns of X.

    `fit` takes which rows were chosen as y, and the stratum of each row as `groups`.
    """

    def fit(self, X: Any, y: Any, groups: Any = None) -> ConditionalLogit:
        """Fits the coefficients; without `groups` all rows are one stratum."""
        X, y = validate_data(self, X, y, dtype=float)
        strata = np.zeros(len(X), dtype=int) if groups is None else np.asarray(groups)
        names = _variables(X.shape[1])
        model = Model.from_features(names, variables=names)
        self.fit_ = fit(model, X, strata=strata, chosen=y, errors="model")
        self.coef_ = np.array([self.fit_[name].estimate for name in names])
        return self

    def decision_function(self, X: Any) -> Array:
        """The utility of each row, up to a constant of its stratum."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=float, reset=False)
        return np.asarray(X @ self.coef_)

    def predict_proba(self, X: Any, groups: Any = None) -> Array:
        """The probability of each row to be chosen in its stratum."""
        utility = self.decision_function(X)
        strata = np.zeros(len(utility), dtype=int) if groups is None else np.asarray(groups)
        _, place = np.unique(strata, return_inverse=True)
        top = np.full(place.max() + 1, -np.inf)
        np.maximum.at(top, place, utility)
        weights = np.exp(utility - top[place])
        return np.asarray(weights / np.bincount(place, weights)[place])

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """The mean log-probability of what was chosen."""
        chosen = np.asarray(y) == 1
        return float(np.mean(np.log(self.predict_proba(X, groups)[chosen])))
