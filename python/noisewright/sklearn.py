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
    from sklearn.utils import ClassifierTags, check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
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

    It takes labels of two classes, and is no classifier: `predict` has the log ratio and not a label. Where the features tell the two
    samples apart without error there is no finite ratio, and where a sample has fewer than two rows for each unknown there is none worth
    having: `fit` then raises `NoAnswerError`, as it does in those of scikit-learn's checks whose rows are so.
    """

    def __init__(self, features: Any = "quadratic") -> None:
        self.features = features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def _features(self, count: int) -> list[str]:
        if isinstance(self.features, str):
            kinds = {"linear": _variables, "quadratic": _quadratic}
            if self.features not in kinds:
                raise ValueError(f"features must be linear, quadratic or a list of formulas, not {self.features!r}")
            return kinds[self.features](count)
        return list(self.features)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DensityRatio:
        """Fits the ratio of the rows of the larger class label to those of the smaller.

        `sample_weight` is how many times each row counts: whole numbers for the rows of the smaller label, which are repeated, and any
        for those of the larger.
        """
        X, y = validate_data(self, X, y, dtype=float)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) != 2:
            raise ValueError(f"DensityRatio needs samples of 2 classes, not of {len(self.classes_)} class(es)")
        model = Model.from_features(self._features(X.shape[1]), variables=_variables(X.shape[1]))
        of_first = y == self.classes_[1]
        first, second, weights = X[of_first], X[~of_first], None
        if sample_weight is not None:
            shares = _check_sample_weight(sample_weight, X, dtype=float, ensure_non_negative=True)
            weights, counts = shares[of_first], shares[~of_first]
            if (counts != np.round(counts)).any():
                raise ValueError(f"sample_weight must be whole numbers for the rows of class {self.classes_[0]!r}")
            second = np.repeat(second, counts.astype(int), axis=0)
        self.ratio_ = ratio(model, first, second, weights=weights)
        self.log_odds_ = float(np.log((len(first) if weights is None else weights.sum()) / len(second)))
        return self

    def predict(self, X: Any) -> Array:
        """The log ratio at each row."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=float, reset=False)
        return self.ratio_.log_ratio(X)[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The mean log-probability of the labels, classes being as frequent as they were in the fit: what `fit` maximises."""
        sign = np.where(np.asarray(y) == self.classes_[1], 1.0, -1.0)
        return float(np.average(-np.logaddexp(0.0, -sign * (self.predict(X) + self.log_odds_)), weights=sample_weight))

    def sample_weight(self, X: Any) -> Array:
        """Weights of mean one that make rows of the smaller label's sample look like the other's: for covariate shift."""
        log_ratio = self.predict(X)
        weights = np.exp(log_ratio - log_ratio.max())
        return np.asarray(weights / weights.mean())


class ConditionalLogit(BaseEstimator):  # type: ignore[misc]
    """Choices among the rows of strata: the conditional logit, linear in the columns of X.

    `fit` takes which rows were chosen as y (1, others 0), and the stratum of each row as `groups`. Rows without their strata say
    nothing, so that scikit-learn's `check_estimator`, whose rows stand alone and whose labels are any, does not apply; pipelines take
    `conditionallogit__groups=`, and grid searches hand `groups` on where it is requested (`set_fit_request(groups=True)`,
    `set_score_request(groups=True)`, with scikit-learn's metadata routing enabled).

    Parameters
    ----------
    penalty : str, default=None
        As for `noisewright.fit`.
    """

    def __init__(self, penalty: str | None = None) -> None:
        self.penalty = penalty

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> ConditionalLogit:
        """Fits the coefficients; without `groups` all rows are one stratum.

        `sample_weight` is how many times the choice counts that a row belongs to: the same for all rows of a stratum.
        """
        X, y = validate_data(self, X, y, dtype=float)
        strata = np.zeros(len(X), dtype=int) if groups is None else np.asarray(groups)
        names = _variables(X.shape[1])
        model = Model.from_features(names, variables=names)
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=float)
        self.fit_ = fit(model, X, strata=strata, chosen=y, weights=weights, penalty=self.penalty, errors="model")
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

    def score(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """The mean log-probability of what was chosen."""
        chosen = np.asarray(y) == 1
        weights = None if sample_weight is None else np.asarray(sample_weight)[chosen]
        return float(np.average(np.log(self.predict_proba(X, groups)[chosen]), weights=weights))
