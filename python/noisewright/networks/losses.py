"""The losses of a batch and the constant that is best for it, as functions of log ratios, for any library of arrays (MATH §2, §4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .options import Options

__all__ = ["Library", "best_constant", "loss_value"]

#: The root of the bridge equation is looked for among so many places between its bounds, so many times, each between two of the last.
PLACES, ROUNDS = 64, 3
#: Then so many Newton steps follow, a fixed number, so that a graph can hold them: the equation is smooth on a scale of
#: 1, the places are closer than that, and every step doubles the digits.
NEWTON_STEPS = 5
#: Log odds are cut here for Newton's steps: beyond it σ is 0 or 1, and exponentials of sums still have a value.
LARGEST_ODDS = 300.0
#: Rows of either side for the search among places, evenly taken from all.
SEARCHED = 1 << 14


@dataclass(frozen=True)
class Library:
    """What the losses need of a library beside arithmetic, `mean` and `sum`."""

    exp: Callable[[Any], Any]
    log: Callable[[Any], Any]
    softplus: Callable[[Any], Any]
    #: Of all values.
    log_sum_exp: Callable[[Any], Any]
    #: Between two numbers.
    clip: Callable[[Any, float, float], Any]
    #: So many times a function of a value, from a start.
    repeat: Callable[[int, Callable[[Any], Any], Any], Any]
    #: The sum of all values.
    total: Callable[[Any], Any]
    #: In single precision.
    single: Callable[[Any], Any]
    #: 1, 2, … n in single precision, where an array is.
    count_to: Callable[[int, Any], Any]

    def log_mean_exp(self, values: Any) -> Any:
        """log of the mean of exponentials."""
        return self.log_sum_exp(values) - math.log(values.shape[0])

    def mean(self, values: Any) -> Any:
        """The mean of all values."""
        return self.total(values) / values.shape[0]


def best_constant(data: Any, noise: Any, options: Options, library: Library) -> Any:
    """The c that minimises the loss of log ratios ℓ = log f − log p_n at data and noise.

    By the envelope theorem the gradient of the profiled loss is the partial gradient at this c: call it with values that have no
    gradient.
    """
    mean = library.log_mean_exp
    if options.loss == "kl":
        return mean(noise)
    if options.loss == "reverse-kl":
        return -mean(-data)
    if options.loss == "pearson":
        return mean(2.0 * noise) - mean(data)
    if options.loss == "hellinger":
        return mean(0.5 * noise) - mean(-0.5 * data)
    return _bridge_root(data, noise, options.log_ratio, library)


def _bridge_root(data: Any, noise: Any, log_ratio: float, library: Library) -> Any:
    """The root of log M E_n σ(g) = log E_d σ(−g) in c, g = ℓ − c − log M, by Newton's method from a near start.

    Odds are taken once: with t added, σ(g) = e/(e + exp t) at noise and σ(−g) = e/(e + exp(−t)) at data, e the odds at the start, so that
    a step has a division for every point and no exponential, of which a GPU has few in double precision.
    """
    start, longest = _near_root(data, noise, log_ratio, library)
    at_noise = library.exp(library.clip(noise - start, -LARGEST_ODDS, LARGEST_ODDS))
    at_data = library.exp(library.clip(start - data, -LARGEST_ODDS, LARGEST_ODDS))
    offset = log_ratio + math.log(data.shape[0] / noise.shape[0])

    def step(t: Any) -> Any:
        up, down = at_noise / (at_noise + library.exp(t)), at_data / (at_data + library.exp(-t))
        total_up, total_down = library.total(up), library.total(down)
        slope = library.total(up * (1.0 - up)) / total_up + library.total(down * (1.0 - down)) / total_down
        return t + library.clip((offset + library.log(total_up / total_down)) / (slope + 1e-12), -longest, longest)

    return start - log_ratio + library.repeat(NEWTON_STEPS, step, 0.0 * start)


def _near_root(data: Any, noise: Any, log_ratio: float, library: Library) -> tuple[Any, Any]:
    """A place near c + log M, and how far a step from there may go: both sides are compared at many places at once, in single precision.

    At the largest ℓ + max(0, log 2M) the data's side is the larger one, at the smallest ℓ − max(0, log 2/M) the noise's.
    """
    few_data, few_noise = (side[:: -(-side.shape[0] // SEARCHED)] for side in (data, noise))
    low = _least(few_data.min(), few_noise.min()) - max(0.0, math.log(2.0) - log_ratio)
    high = -_least(-few_data.max(), -few_noise.max()) + max(0.0, math.log(2.0) + log_ratio)
    ratio = math.exp(log_ratio) * few_data.shape[0] / few_noise.shape[0]

    def closer(ends: Any) -> Any:
        low, gap = ends[0], (ends[1] - ends[0]) / (PLACES + 1)
        places = library.single(gap) * library.count_to(PLACES, data)
        up = ratio * (1.0 / (1.0 + library.exp(places - library.single(few_noise - low)[:, None]))).sum(0)
        down = (1.0 / (1.0 + library.exp(library.single(few_data - low)[:, None] - places))).sum(0)
        # Between two sides that do not overlap both vanish: then the middle.
        below = 0.5 * (PLACES + (up > down).sum() - (up < down).sum())
        return low + gap * (below - 0.5), low + gap * (below + 1.5)

    low, high = library.repeat(ROUNDS, closer, (low, high))
    return 0.5 * (low + high), 1.0 + high - low


def _least(first: Any, second: Any) -> Any:
    """The smaller of two numbers."""
    return 0.5 * (first + second - abs(first - second))


def loss_value(data: Any, noise: Any, c: Any, options: Options, library: Library) -> Any:
    """The loss at a constant, with M for ν: to be minimised."""
    ratio = options.loss_ratio
    g_data, g_noise = data - c - options.log_ratio, noise - c - options.log_ratio
    if options.loss == "js":
        return library.mean(library.softplus(-g_data)) + ratio * library.mean(library.softplus(g_noise))
    if options.loss == "kl":
        return -library.mean(g_data) + ratio * library.mean(library.exp(g_noise))
    if options.loss == "reverse-kl":
        return library.mean(library.exp(-g_data)) + ratio * library.mean(g_noise)
    if options.loss == "hellinger":
        return library.mean(library.exp(-0.5 * g_data)) + ratio * library.mean(library.exp(0.5 * g_noise))
    return 0.5 * ratio * library.mean(library.exp(2.0 * g_noise)) - library.mean(library.exp(g_data))
