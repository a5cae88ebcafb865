"""The evaluation of a trained energy: log Z in two ways, held-out likelihood, calibration, and what looks wrong.

Held-out data are no draws of a misspecified model, so that a bridge between data and noise is biased for the constant of
the *model* (MATH §14). Its log Z comes from noise draws alone (importance sampling) and from a bridge to draws of the model.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import NoisewrightWarning
from ..normalizers import LogZResult, NormalizerEstimate, log_z
from ..results import Column, Estimate, Panel, Result

__all__ = ["Calibration", "Chains", "Evaluation", "Sides", "calibration", "interval", "judge"]

#: Bins of equal numbers of points in which predicted and observed shares of data are compared.
BINS = 10
#: Between chains that have mixed, R̂ stays below this (Vehtari et al. 2021).
MIXED = 1.05
#: Two estimates of one number that are further apart than so many standard errors contradict each other.
APART = 3.0
#: A classifier right about so many points leaves nothing to estimate log ratios from.
SATURATED = 0.999
#: A constant beyond this is a runaway energy, and not a scale.
RUNAWAY = 1e4


@dataclass(frozen=True)
class Sides:
    """log f (the energy, up to its constant) and the noise's log-density at one set of points."""

    log_f: Array
    log_noise: Array

    @property
    def log_ratio(self) -> Array:
        """log f − log p_n."""
        return self.log_f - self.log_noise


@dataclass(frozen=True)
class Chains:
    """Draws of the model by Markov chains of equal lengths, one after the other, and how the chains went."""

    sides: Sides
    count: int
    acceptance: float
    step: float

    @property
    def r_hat(self) -> float:
        """The split R̂ of the log ratio: between the halves of all chains against within them."""
        halves = self.sides.log_ratio.reshape(2 * self.count, -1)
        length = halves.shape[1]
        within = float(halves.var(axis=1, ddof=1).mean())
        if within == 0.0:
            return 1.0
        between = float(halves.mean(axis=1).var(ddof=1))
        return math.sqrt((length - 1) / length + between / within)


@dataclass(frozen=True, eq=False)
class Calibration:
    """The reliability curve of the classifier that tells data from noise: bins of equal numbers of points."""

    predicted: Array
    observed: Array
    se: Array
    counts: Array
    #: The share of data and noise points that it tells rightly.
    accuracy: float
    #: The logistic loss, in nats per point.
    loss: float

    @property
    def worst(self) -> float:
        """The largest distance of a bin from the diagonal, in standard errors."""
        return float(np.max(np.abs(self.observed - self.predicted) / self.se))


@dataclass(frozen=True, repr=False, eq=False)
class Evaluation(Result):
    """A trained energy, judged. Every error is conditional on the weights of the network."""

    #: By the estimator that is used below; `importance_sampling` and `bridge` are the two.
    log_z: Estimate
    importance_sampling: NormalizerEstimate
    bridge: NormalizerEstimate
    #: The distance of the two in standard errors of their difference.
    disagreement: float
    #: Which of the two is used: `is`, `nce` (the bridge), or none of them.
    recommended: str | None
    log_likelihood: Estimate
    bits_per_dimension: Estimate
    #: The log-likelihood less that of the noise at the same rows.
    gain: Estimate
    overlap: float
    pareto_k: float | None
    calibration: Calibration
    chains: dict[str, float]
    rows: int
    #: Why log Z cannot be given, if it cannot.
    refused: str | None
    warnings: list[str]
    normalizer: LogZResult

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("", None), ("estimate", 7), ("se", 3), ("lower", 7), ("upper", 7)]
        constants = {"log Z by importance sampling": self.importance_sampling, "log Z by the bridge": self.bridge}
        rows: list[list[Any]] = [[name, z.log_z, z.se, z.lower, z.upper] for name, z in constants.items()]
        scores = {
            "held-out log-likelihood": self.log_likelihood,
            "bits per dimension": self.bits_per_dimension,
            "gain over the noise": self.gain,
        }
        rows += [[name, e.estimate, e.se, e.lower, e.upper] for name, e in scores.items()]
        return f"{self.rows} held-out rows", columns, rows, [*self._notes(), *self.warnings]

    def _notes(self) -> list[str]:
        k = "unknown" if self.pareto_k is None else f"{self.pareto_k:.2f}"
        used = {"is": "importance sampling", "nce": "the bridge", None: "neither"}[self.recommended]
        return [
            f"used: {used}; the two differ by {self.disagreement:.1f} standard errors; Pareto k of the weights {k}",
            f"overlap of model and noise {self.overlap:.3g}; {self.chains['count']:.0f} chains, acceptance "
            f"{self.chains['acceptance']:.2f}, R̂ {self.chains['r_hat']:.3f}",
            f"classifier: right about {100 * self.calibration.accuracy:.1f} %, worst bin {self.calibration.worst:.1f} standard "
            "errors from the diagonal",
            "errors are conditional on the weights of the network",
        ]

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        named = {"log_z": self.log_z, "log_likelihood": self.log_likelihood, "bits_per_dimension": self.bits_per_dimension}
        return list(named), [{n: getattr(e, n) for n in ("estimate", "se", "lower", "upper")} for e in named.values()]

    def _panels(self) -> list[Panel]:
        c = self.calibration
        columns = [list(map(float, a)) for a in (c.predicted, c.observed, c.observed - 2 * c.se, c.observed + 2 * c.se)]
        series = [("points", "observed", columns), ("dashed", "calibrated", [[0.0, 1.0], [0.0, 1.0]])]
        return [(("predicted share of data", "linear"), ("observed share", "linear"), series)]

    def __repr__(self) -> str:
        e = self.log_likelihood
        return f"<held-out log-likelihood {e.estimate:.6g} ± {e.se:.2g}, log Z {self.log_z.estimate:.6g} ± {self.log_z.se:.2g}>"


def interval(estimate: float, se_data: float, se_noise: float, confidence: float) -> Estimate:
    """An estimate with a normal interval, its error in two parts."""
    se = math.hypot(se_data, se_noise)
    reach = NormalDist().inv_cdf(0.5 + confidence / 2) * se
    return Estimate(estimate, se, se_data, se_noise, estimate - reach, estimate + reach)


def calibration(g_data: Array, g_noise: Array) -> Calibration:
    """The reliability curve from the log odds of data, g = log p − log p_n − log ν, with ν = noise over data points."""
    g = np.concatenate([g_data, g_noise])
    label = np.concatenate([np.ones(len(g_data)), np.zeros(len(g_noise))])
    probability = 0.5 * (1.0 + np.tanh(0.5 * g))
    bins = np.array_split(np.argsort(g, kind="stable"), min(BINS, len(g)))
    predicted = np.array([probability[b].mean() for b in bins])
    # The variance of a share of independent labels with these probabilities; never below that of one label of doubt.
    variance = np.array([(probability[b] * (1 - probability[b])).mean() / len(b) for b in bins])
    counts = np.array([len(b) for b in bins], dtype=float)
    se = np.sqrt(np.maximum(variance, 1.0 / counts**2))
    loss = float((np.logaddexp(0, -g_data).sum() + np.logaddexp(0, g_noise).sum()) / len(g))
    observed = np.array([label[b].mean() for b in bins])
    return Calibration(predicted, observed, se, counts, float(((g > 0) == (label == 1)).mean()), loss)


def judge(
    test: Sides,
    noise: Sides,
    chains: Chains,
    *,
    dimension: int,
    bin_width: float = 1.0,
    confidence: float = 0.95,
    notes: tuple[str, ...] = (),
) -> Evaluation:
    """All numbers of an evaluation from log-densities at held-out rows, noise draws and draws of the model."""
    with warnings.catch_warnings():
        # What log_z says aloud is in its `refused`, and goes into the warnings below.
        warnings.simplefilter("ignore", NoisewrightWarning)
        found = log_z(
            chains.sides.log_f,
            chains.sides.log_noise,
            noise.log_f,
            noise.log_noise,
            chains_data=chains.count,
            confidence=confidence,
        )
    sampled, bridge = found["is"], found["nce"]
    used = _used(sampled, bridge, chains.r_hat)
    z = {"is": sampled, "nce": bridge, None: bridge}[used]
    se = z.se if used is not None else math.inf
    apart = abs(sampled.log_z - bridge.log_z) / max(math.hypot(*_errors(sampled, bridge)), 1e-300)
    shown = calibration(test.log_ratio - z.log_z - _log_nu(test, noise), noise.log_ratio - z.log_z - _log_nu(test, noise))
    likelihood = _mean(test.log_f - z.log_z, se, confidence)
    refused = None if used is not None else f"log Z is not known: {sampled.refused}; and {bridge.refused or 'the chains have not mixed'}"
    evaluation = Evaluation(
        log_z=interval(z.log_z, 0.0, se, confidence),
        importance_sampling=sampled,
        bridge=bridge,
        disagreement=apart,
        recommended=used,
        log_likelihood=likelihood,
        bits_per_dimension=_bits(likelihood, dimension, bin_width, confidence),
        gain=_mean(test.log_ratio - z.log_z, se, confidence),
        overlap=found.overlap,
        pareto_k=sampled.pareto_k,
        calibration=shown,
        chains={"count": chains.count, "acceptance": chains.acceptance, "step": chains.step, "r_hat": chains.r_hat},
        rows=len(test.log_f),
        refused=refused,
        warnings=[*notes, *_warnings(z.log_z, apart, shown, chains, sampled, refused)],
        normalizer=found,
    )
    for sentence in evaluation.warnings:
        warnings.warn(sentence, NoisewrightWarning, stacklevel=4)
    return evaluation


def _used(sampled: NormalizerEstimate, bridge: NormalizerEstimate, r_hat: float) -> str | None:
    """The rule, fixed before the numbers are seen: the bridge unless its chains or its overlap fail, then importance sampling."""
    if bridge.refused is None and r_hat < MIXED:
        return "nce"
    return "is" if sampled.refused is None else None


def _errors(sampled: NormalizerEstimate, bridge: NormalizerEstimate) -> tuple[float, float]:
    """Standard errors before any refusal: their noise and data parts."""
    return math.hypot(sampled.se_data, sampled.se_noise), math.hypot(bridge.se_data, bridge.se_noise)


def _log_nu(test: Sides, noise: Sides) -> float:
    return math.log(len(noise.log_f) / len(test.log_f))


def _mean(values: Array, se_z: float, confidence: float) -> Estimate:
    """A mean over held-out rows: se² = Var/n + se²(log Z) (MATH §14)."""
    return interval(float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values))), se_z, confidence)


def _bits(likelihood: Estimate, dimension: int, bin_width: float, confidence: float) -> Estimate:
    """Bits per dimension of data that are whole multiples of `bin_width` with uniform noise added."""
    scale = 1.0 / (dimension * math.log(2.0))
    value = -likelihood.estimate * scale - math.log2(bin_width)
    return interval(value, likelihood.se_data * scale, likelihood.se_noise * scale, confidence)


def _warnings(
    z: float, apart: float, shown: Calibration, chains: Chains, sampled: NormalizerEstimate, refused: str | None
) -> list[str]:
    out = [] if refused is None else [refused]
    if refused is None and sampled.refused is not None:
        out.append(f"importance sampling is refused: {sampled.refused}")
    if chains.r_hat >= MIXED:
        out.append(f"the chains have not mixed (R̂ = {chains.r_hat:.2f}): take more steps, or a noise nearer to the model")
    if apart > APART and math.isfinite(apart):
        out.append(f"importance sampling and the bridge contradict each other by {apart:.1f} standard errors")
    if shown.accuracy > SATURATED:
        out.append(
            f"the classifier is saturated: it tells {100 * shown.accuracy:.2f} % of the points rightly, and log ratios cannot be "
            "learned from that; take a noise nearer to the data, or bridges (`Ratio`)"
        )
    if abs(z) > RUNAWAY:
        out.append(f"the constant has run away (log Z = {z:.3g}): lower the learning rate, or use the residual form")
    return out
