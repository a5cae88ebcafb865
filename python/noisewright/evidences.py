"""Evidence: the integral of an unnormalized density from draws of it, and Bayes factors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np

from . import _core
from .arrays import Array, names_of, points, vector
from .checks import chain_lengths, number, positive, whole
from .errors import InputError
from .functions import Backend
from .learned_noises import learner
from .models import Model, values_at
from .normalizers import (
    LogZResult,
    NormalizerEstimate,
    estimates_panel,
    estimates_table,
    named,
    settings,
    warn,
)
from .probabilistic import target_of
from .progress import Bar
from .results import Column, Panel, Result, Rows, columns_of
from .targets import Target
from .transforms import Layout, Transform

__all__ = [
    "BayesFactor",
    "EvidenceComparison",
    "EvidenceResult",
    "bayes_factor",
    "compare_evidence",
    "evidence",
]


@dataclass(frozen=True, repr=False, eq=False)
class EvidenceResult(Result):
    """The logarithm of an integral, by the recommended estimator and by all others."""

    log_evidence: float
    se: float
    lower: float
    upper: float
    #: Why no estimate can be trusted, if none can.
    refused: str | None
    #: The name of that reason for programs.
    refused_code: str | None
    estimates: dict[str, NormalizerEstimate]
    recommended: str
    reason: str
    reason_code: str
    overlap: float
    expected_crossings: float
    chain_ess: float
    correlation: float
    noise: str
    #: The noise fitted to each half, in words.
    noises: list[str]
    #: The lengths of the chains.
    chains: list[int]
    #: The estimate of each half.
    halves: Array
    draws: int
    noise_draws: int
    #: Independent scrambles of the noise draws of each half; `None` for noise that is drawn independently.
    replicates: int | None
    #: How many times smaller the noise part of the variance is than that of as many independent draws.
    noise_gain: float | None
    confidence: float
    #: The estimate from growing parts of the draws: `draws`, `log_evidence`, `se` of each.
    trace: Rows
    log_ratios: dict[str, Array]
    warnings: list[str]
    #: The names of the warnings for programs.
    warning_codes: list[str]
    converged: bool

    _hidden: ClassVar[frozenset[str]] = frozenset({"log_ratios"})

    @property
    def log_z(self) -> float:
        """The same as `log_evidence`."""
        return self.log_evidence

    def __getitem__(self, method: str) -> NormalizerEstimate:
        """The estimate of one estimator."""
        return self.estimates[method]

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        notes = [
            f"{self.recommended}: {self.reason}",
            f"noise {self.noise}, overlap {self.overlap:.3g}; {self.draws} draws worth {self.chain_ess:.4g} independent ones",
            *self.warnings,
        ]
        return "log evidence", *estimates_table(self.estimates), notes

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        return list(self.estimates), [vars(estimate) for estimate in self.estimates.values()]

    def _panels(self) -> list[Panel]:
        trace = self.trace
        reach = 1.96 * trace["se"]
        columns = columns_of(
            trace["draws"], trace["log_evidence"], trace["log_evidence"] - reach, trace["log_evidence"] + reach
        )
        growing = ("draws used", "linear"), ("log evidence", "linear"), [("points", "log evidence", columns)]
        return [growing, estimates_panel(self.estimates)]

    def __repr__(self) -> str:
        return f"<log evidence = {self.log_evidence:.6g} ± {self.se:.2g} by {self.recommended}>"


@dataclass(frozen=True)
class BayesFactor:
    """The logarithm of a Bayes factor with its error; `probability` is the first model's, if both were equal before."""

    log_factor: float
    se: float
    lower: float
    upper: float
    probability: float


def evidence(
    log_density: Any,
    draws: Any,
    *args: Any,
    model_kwargs: Mapping[str, Any] | None = None,
    at: Any = None,
    transforms: dict[str, Transform] | None = None,
    constrained: bool = False,
    var_names: Sequence[str] | None = None,
    vectorized: bool = True,
    chains: Sequence[int] | int | None = None,
    noise: Any = "auto",
    noise_draws: int | None = None,
    evaluations: int | None = None,
    symmetrize: bool = False,
    independent: bool = False,
    confidence: float = 0.95,
    bootstrap: int | None = None,
    seed: int = 0,
    backend: Backend = "auto",
    progress: bool | None = None,
) -> EvidenceResult:
    """The logarithm of the integral of an unnormalized density, from draws of it: a Markov chain is fine.

    A noise is fitted to one half of the draws and contrasted with the other, then the halves change places. A mode that no
    draw visited cannot be seen by any estimate from these draws: run several chains from far apart, or use `log_z_path`.

    Args:
        log_density: a `Model`, or a function of points (one row each) on the real line that gives one value per row, with
            the Jacobian of the transformation where variables are constrained, as Stan's and PyMC's log-densities have it;
            or a PyMC model, the function that is a NumPyro model, or a model of PyStan, BridgeStan or CmdStanPy, which bring their
            transformations along.
        draws: ArviZ `InferenceData` (its posterior), a dictionary of draws (chain × draw × shape, or one chain's draws),
            an array (draw × variable, or chain × draw × variable) or a data frame; NumPyro's `MCMC` after its run; a fit of
            PyStan or CmdStanPy.
        args: the arguments of a NumPyro model, or the data of a CmdStanPy model,
        model_kwargs: and those by name; by default those of the run.
        at: the parameters of a `Model`.
        transforms: how variables in the draws are constrained, by name: `"positive"`, `(lo, hi)` with `None` for an open
            end, `"simplex"`, `"ordered"`; the draws are then mapped to the real line (simplexes as Stan does it).
        constrained: the function takes the variables as they are in the draws instead, and the Jacobian is added here.
        var_names: which variables of the draws, in the order in which the function takes them.
        vectorized: the function takes many points at once; `False` calls it for one point after the other.
        chains: the lengths of the chains, or the number of equal ones, where the draws do not tell.
        noise: the kind of noise: `normal`, `student`, `mixture`, `warped`, `product` or `auto`; `flow`, a normalizing flow that is
            trained on either half by PyTorch or JAX, for funnels, bananas and separated modes; or a function that fits one to rows
            and returns an object with `log_prob(rows)` and `sample(count, seed)`.
        noise_draws: how many noise draws (default: as many as draws); quiet ones, in up to twelve continuous variables, are 32
            times a power of two, the nearest one.
        evaluations: about how often the density may be evaluated, at draws and noise draws together; the noise is still fitted to
            all draws.
        symmetrize: average the density with its mirror image, which takes out skewness for twice the evaluations; mixtures
            and products have no centre for it.
        independent: the draws are independent; otherwise the standard errors allow for autocorrelation.
        confidence, bootstrap, seed: as for `log_z`.
        backend: `"numpy"`, `"jax"` or `"torch"`, found out by default.
        progress: whether to show a progress bar; by default when somebody is looking.

    >>> import numpy as np
    >>> draws = np.random.default_rng(1).normal(3, 2, size=(4, 1000, 1))
    >>> result = evidence(lambda x: -((x[:, 0] - 3) ** 2) / 8, draws)
    >>> bool(abs(result.log_evidence - 0.5 * np.log(8 * np.pi)) < 4 * result.se)
    True
    """
    for_functions = {
        "transforms": bool(transforms),
        "constrained": constrained,
        "var_names": var_names is not None,
        "vectorized": not vectorized,
        "backend": backend != "auto",
    }
    lengths: list[int] | None
    target = target_of(log_density, draws, args, model_kwargs)
    if target is None and (args or model_kwargs is not None):
        raise InputError("`args` and `model_kwargs` are the arguments of a NumPyro or CmdStanPy model: leave them out")
    if target is not None:
        _refuse({**for_functions, "at": at is not None}, "has no meaning with a model of PyMC, NumPyro or Stan")
        built, parameters = _of_target(target)._core, []
        lengths = target.lengths
        table = np.ascontiguousarray(target.draws.T)
    elif isinstance(log_density, Model):
        _refuse(for_functions, "is for functions, and has no meaning with a model")
        built = log_density._for(draws)
        table, lengths = _model_draws(draws, built.variables)
        parameters = values_at(built, at)
    elif callable(log_density):
        _refuse({"at": at is not None}, "gives the parameters of a model, and has no meaning with a function")
        values, shapes, lengths = _function_draws(draws, var_names)
        layout = Layout(shapes, transforms)
        table = np.ascontiguousarray(layout.free(values).T)
        function = _on_real_line(log_density, layout, constrained, vectorized)
        model = Model.from_functions(
            function, n_params=0, variables=layout.free_names, backend=backend if vectorized else "numpy"
        )
        built, parameters = model._core, []
    else:
        raise InputError(f"`log_density` must be a Model or a function, not {type(log_density).__name__}")
    if chains is not None:
        if independent:
            raise InputError("`chains` has no meaning with independent draws: leave one of them out")
        lengths = chain_lengths(chains, table.shape[1], "chains")
    learn = learner(noise, whole(seed, "seed"))
    own = {
        "noise": noise if isinstance(noise, str) else "own" if callable(noise) else str(noise),
        "noise_draws": None if noise_draws is None else whole(noise_draws, "noise_draws"),
        "evaluations": None if evaluations is None else whole(evaluations, "evaluations"),
        "chains": lengths,
        "symmetrize": bool(symmetrize),
    }
    with Bar("evidence", progress) as bar:
        answer = _core.evidence(
            built, parameters, table, own, learn, settings(confidence, independent, None, bootstrap, (), seed), bar
        )
    answer["estimates"] = named(answer["estimates"])
    answer["trace"] = Rows(answer["trace"])
    warn(answer)
    return EvidenceResult(**answer)


def _refuse(given: dict[str, bool], why: str) -> None:
    """Refuses arguments that are given and have no effect."""
    for argument, there in given.items():
        if there:
            raise InputError(f"`{argument}` {why}: leave it out")


def _of_target(target: Target) -> Model:
    """A model of another package as one of points on the real line and of no parameters."""

    def log_density(z: Any, theta: Any) -> Any:
        return target.log_density(np.asarray(z))

    return Model.from_functions(log_density, n_params=0, variables=target.names, backend="numpy")


def bayes_factor(first: EvidenceResult | LogZResult, second: EvidenceResult | LogZResult) -> BayesFactor:
    """The Bayes factor of the first model over the second, from their evidence, whose errors are independent.

    >>> import numpy as np
    >>> x = np.random.default_rng(1).normal(size=(2000, 1))
    >>> thrice = evidence(lambda x: np.log(3) - x[:, 0] ** 2 / 2, x)
    >>> once = evidence(lambda x: -x[:, 0] ** 2 / 2, x)
    >>> round(bayes_factor(thrice, once).probability, 9)
    0.75
    """
    for result, argument in ((first, "first"), (second, "second")):
        if not isinstance(result, (EvidenceResult, LogZResult)):
            raise InputError(f"`{argument}` must be a result of evidence or log_z, not {type(result).__name__}")
    log_factor = first.log_z - second.log_z
    se = hypot(first.se, second.se)
    # The longer of the two intervals' reaches, which few degrees of freedom make longer than the normal one.
    reach = NormalDist().inv_cdf(0.5 + 0.5 * first.confidence)
    for result in (first, second):
        if 0 < result.se < np.inf:
            reach = max(reach, (result.upper - result.lower) / (2 * result.se))
    tail = float(np.exp(-abs(log_factor)))
    probability = (1 if log_factor >= 0 else tail) / (1 + tail)
    wide = reach * se if np.isfinite(se) else np.inf
    return BayesFactor(log_factor, se, log_factor - wide, log_factor + wide, probability)


@dataclass(frozen=True, repr=False, eq=False)
class EvidenceComparison(Result):
    """Models by their evidence: the best first."""

    names: list[str]
    log_evidence: Array
    se: Array
    #: The logarithm of the Bayes factor of every model over the best, and its standard error.
    log_factor: Array
    log_factor_se: Array
    #: Posterior probabilities of the models, NaN where an evidence has no answer, with their standard errors and intervals.
    probability: Array
    probability_se: Array
    lower: Array
    upper: Array
    prior: Array
    confidence: float

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("model", None), ("log evidence", 7), ("se", 3), ("log Bayes factor", 5), ("se", 3)]
        columns += [("probability", 4), ("lower", 4), ("upper", 4)]
        _, rows = self._frame()
        return "models by their evidence", columns, [[name, *row.values()] for name, row in zip(self.names, rows)], []

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        fields = ("log_evidence", "se", "log_factor", "log_factor_se", "probability", "lower", "upper")
        columns = zip(*(map(float, getattr(self, field)) for field in fields))
        return self.names, [dict(zip(fields, row)) for row in columns]

    def __repr__(self) -> str:
        return f"<{len(self.names)} models, {self.names[0]} the most probable>"


def compare_evidence(
    results: Mapping[str, EvidenceResult | LogZResult],
    *,
    prior: Mapping[str, float] | None = None,
    confidence: float = 0.95,
) -> EvidenceComparison:
    """Bayes factors and posterior probabilities of models from their evidence, with errors.

    The errors of the evidences are independent. With `p_k ∝ prior_k Z_k`, the logit of `p_k` has the variance
    `se_k² + Σ_l q_l² se_l²`, with q the shares of the other models among each other; intervals are made on that scale.

    Args:
        results: results of `evidence` or `log_z` by the names of the models.
        prior: the models' probabilities before the data, by name and up to a constant; equal by default.
        confidence: of the intervals.

    >>> import numpy as np
    >>> x = np.random.default_rng(1).normal(size=(2000, 1))
    >>> thrice = evidence(lambda x: np.log(3) - x[:, 0] ** 2 / 2, x)
    >>> once = evidence(lambda x: -x[:, 0] ** 2 / 2, x)
    >>> compare_evidence({"once": once, "thrice": thrice}).probability.round(6).tolist()
    [0.75, 0.25]
    """
    if not isinstance(results, Mapping) or not results:
        raise InputError("`results` must be a dictionary with a result of evidence or log_z for every model")
    for name, result in results.items():
        if not isinstance(result, (EvidenceResult, LogZResult)):
            raise InputError(f"`results`: `{name}` must be a result of evidence or log_z, not {type(result).__name__}")
    level = number(confidence, "confidence")
    if not 0.0 < level < 1.0:
        raise InputError(f"`confidence` must be between 0 and 1, not {level!r}")
    names = sorted((str(name) for name in results), key=lambda name: -results[name].log_z)
    before = _prior(prior, names)
    log_z = np.array([results[name].log_z for name in names])
    se = np.array([results[name].se for name in names])
    numbers = _probabilities(log_z + np.log(before), se, level)
    return EvidenceComparison(
        names=names,
        log_evidence=log_z,
        se=se,
        log_factor=log_z - log_z[0],
        log_factor_se=np.where(np.arange(len(se)) == 0, 0.0, np.hypot(se, se[0])),
        prior=before,
        confidence=level,
        **numbers,
    )


def _prior(prior: Mapping[str, float] | None, names: list[str]) -> Array:
    if prior is None:
        return np.full(len(names), 1 / len(names))
    if set(map(str, prior)) != set(names):
        raise InputError("`prior` must have a probability for every model, and for no other")
    values = np.array([positive(prior[name], "prior") for name in names])
    return np.asarray(values / values.sum())


def _probabilities(log_weights: Array, se: Array, confidence: float) -> dict[str, Array]:
    """Probabilities of models with errors and intervals, all unknown where one of the evidences is."""
    count = len(se)
    if not (np.isfinite(log_weights).all() and np.isfinite(se).all()):
        unknown = np.full(count, np.nan)
        return {name: unknown.copy() for name in ("probability", "probability_se", "lower", "upper")}
    weights = np.exp(log_weights - log_weights.max())
    p = weights / weights.sum()
    rest = weights.sum() - weights
    shares = np.divide(weights[np.newaxis, :], rest[:, np.newaxis], out=np.zeros((count, count)), where=rest[:, np.newaxis] > 0)
    np.fill_diagonal(shares, 0.0)
    error = np.sqrt(se**2 + (shares**2) @ se**2)
    with np.errstate(divide="ignore"):
        logit = log_weights - log_weights.max() - np.log(rest)
    reach = NormalDist().inv_cdf(0.5 + 0.5 * confidence) * error
    ends = [1 / (1 + np.exp(-(logit + side * reach))) for side in (-1, 1)]
    return {"probability": p, "probability_se": p * (1 - p) * error, "lower": ends[0], "upper": ends[1]}


def _on_real_line(
    function: Callable[..., Any], layout: Layout, constrained: bool, vectorized: bool
) -> Callable[[Any, Any], Any]:
    """The user's function as one of points on the real line and of no parameters."""

    def rows(x: Any) -> Any:
        return function(x) if vectorized else np.array([float(function(row)) for row in x])

    if not constrained or layout.is_identity:
        return lambda z, theta: rows(z)

    def with_jacobian(z: Any, theta: Any) -> Any:
        if type(z).__module__.startswith("torch"):
            x, log_jacobian = layout.constrained(z.numpy())
            return rows(z.new_tensor(x)) + z.new_tensor(log_jacobian)
        x, log_jacobian = layout.constrained(z)
        values = rows(x)
        return (values[:, 0] if getattr(values, "ndim", 1) == 2 else values) + log_jacobian

    return with_jacobian


def _model_draws(draws: Any, variables: list[str]) -> tuple[Array, list[int] | None]:
    """Draws of a model's variables, one row per variable, with the lengths of the chains where they are told."""
    named_draws = _posterior(draws)
    lengths: list[int] | None
    if named_draws is None:
        array = np.asarray(draws) if names_of(draws) is None else None
        if array is not None and array.ndim == 3:
            lengths = [array.shape[1]] * array.shape[0]
            return points(array.reshape(-1, array.shape[2]), variables, "draws"), lengths
        return points(draws, variables, "draws"), None
    missing = [name for name in variables if name not in named_draws]
    if missing:
        raise InputError(f"`draws` have no variable `{missing[0]}`; they have {', '.join(named_draws)}")
    flat = {name: vector(np.asarray(named_draws[name]).reshape(-1), "draws", name) for name in variables}
    first = np.asarray(named_draws[variables[0]])
    lengths = [first.shape[1]] * first.shape[0] if first.ndim == 2 else None
    return points(flat, variables, "draws"), lengths


def _function_draws(
    draws: Any, var_names: Sequence[str] | None
) -> tuple[Array, dict[str, tuple[int, ...]], list[int] | None]:
    """Draws as one row each, the shapes of the variables in a row, and the lengths of the chains."""
    named_draws = _posterior(draws)
    if named_draws is not None:
        return _named_draws(named_draws, var_names)
    names = names_of(draws)
    if names is not None:
        chosen = list(var_names) if var_names is not None else names
        return points(draws, chosen, "draws").T, {name: () for name in chosen}, None
    array = np.asarray(draws)
    lengths: list[int] | None = None
    if array.ndim == 3:
        lengths = [array.shape[1]] * array.shape[0]
        array = array.reshape(-1, array.shape[2])
    count = 1 if array.ndim < 2 else array.shape[1]
    chosen = list(var_names) if var_names is not None else ["x"] if count == 1 else [f"x{j}" for j in range(count)]
    return points(array, chosen, "draws").T, {name: () for name in chosen}, lengths


def _posterior(draws: Any) -> Mapping[str, Any] | None:
    """The posterior of ArviZ's `InferenceData` or of a tree, or a dictionary of draws; `None` for anything else."""
    posterior = getattr(draws, "posterior", None)
    if posterior is not None:
        return {str(name): posterior[name].values for name in posterior.data_vars}
    return draws if isinstance(draws, Mapping) else None


def _named_draws(
    draws: Mapping[str, Any], var_names: Sequence[str] | None
) -> tuple[Array, dict[str, tuple[int, ...]], list[int] | None]:
    chosen = list(var_names) if var_names is not None else [str(name) for name in draws]
    missing = [name for name in chosen if name not in draws]
    if missing or not chosen:
        raise InputError(f"`draws` have no variable `{''.join(missing[:1])}`; they have {', '.join(draws) or 'none'}")
    columns: list[Array] = []
    shapes: dict[str, tuple[int, ...]] = {}
    outer: tuple[int, ...] | None = None
    for name in chosen:
        array = np.asarray(draws[name])
        lead = array.shape[:1] if array.ndim == 1 else array.shape[:2]
        if outer is not None and lead != outer:
            raise InputError(f"`draws` of `{name}` have the chains and draws {lead}, those of `{chosen[0]}` {outer}")
        outer = lead
        shapes[name] = tuple(int(length) for length in array.shape[len(lead) :])
        values = vector(array.reshape(-1), "draws", name).reshape(int(np.prod(lead)), -1)
        columns.append(values)
    table = np.concatenate(columns, axis=1)
    if not np.isfinite(table).all():
        row = int(np.argwhere(~np.isfinite(table))[0][0])
        raise InputError(f"draw {row + 1} of `draws` is not finite: {table[row].tolist()}")
    if table.shape[0] == 0:
        raise InputError("`draws` are empty")
    lengths = [outer[1]] * outer[0] if outer is not None and len(outer) == 2 else None
    return table, shapes, lengths
