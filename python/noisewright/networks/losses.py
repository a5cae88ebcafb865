"""The losses of a batch and the constant that is best for it, as functions of log ratios, for any library of arrays (MATH §2, §4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .options import Options

__all__ = ["Library", "best_constant", "loss_value"]

#: Newton steps for the root of the bridge equation: a fixed number, so that a graph can hold them. They start from a closed form, and the
#: slope in the logarithm is −1 at the truth, so that four reach the rounding of single precision (in which a GPU has far faster
#: logarithms), and two more that of double.
SINGLE_STEPS, DOUBLE_STEPS = 4, 2
#: The longest Newton step: the equation is linear at both ends, so that longer ones are rounding.
LONGEST_STEP = 20.0


@dataclass(frozen=True)
class Library:
    """What the losses need of a library beside arithmetic, `mean` and `sum`."""

    exp: Callable[[Any], Any]
    softplus: Callable[[Any], Any]
    #: Of all values.
    log_sum_exp: Callable[[Any], Any]
    #: Between two numbers.
    clip: Callable[[Any, float, float], Any]
    #: So many times a function of a value, from a start.
    repeat: Callable[[int, Callable[[Any], Any], Any], Any]
    #: In single precision.
    single: Callable[[Any], Any]
    #: The first in the precision of the second.
    like: Callable[[Any, Any], Any]

    def log_mean_exp(self, values: Any) -> Any:
        """log of the mean of exponentials."""
        return self.log_sum_exp(values) - math.log(values.shape[0])


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
    middle = mean(0.5 * noise) - mean(-0.5 * data)
    return middle if options.loss == "hellinger" else _bridge_root(data, noise, middle, options.log_ratio, library)


def _bridge_root(data: Any, noise: Any, start: Any, log_ratio: float, library: Library) -> Any:
    """The root of log M E_n σ(g) = log E_d σ(−g) in c, g = ℓ − c − log M, by Newton's method."""
    shift = start + log_ratio
    g_data, g_noise = data - shift, noise - shift
    fast = _newton(library.single(g_data), library.single(g_noise), log_ratio, library)
    near = library.repeat(SINGLE_STEPS, fast, library.single(0.0 * start))
    return start + library.repeat(DOUBLE_STEPS, _newton(g_data, g_noise, log_ratio, library), library.like(near, start))


def _newton(data: Any, noise: Any, log_ratio: float, library: Library) -> Callable[[Any], Any]:
    """A step towards the root from log odds g at a first constant, in what is added to it."""
    offset = log_ratio + math.log(data.shape[0] / noise.shape[0])

    def step(c: Any) -> Any:
        # log σ(x) = −softplus(−x), on both sides: the logarithms of the terms, and of their slopes by σ(−g) = e^{log σ(g) − g}.
        g_data, g_noise = data - c, noise - c
        up, down = -library.softplus(-g_noise), -library.softplus(g_data)
        total_up, total_down = library.log_sum_exp(up), library.log_sum_exp(down)
        slope = library.exp(2.0 * up - g_noise - total_up).sum() + library.exp(2.0 * down + g_data - total_down).sum()
        return c + library.clip((offset + total_up - total_down) / (slope + 1e-12), -LONGEST_STEP, LONGEST_STEP)

    return step


def loss_value(data: Any, noise: Any, c: Any, options: Options, library: Library) -> Any:
    """The loss at a constant, with M for ν: to be minimised."""
    ratio = options.loss_ratio
    g_data, g_noise = data - c - options.log_ratio, noise - c - options.log_ratio
    if options.loss == "js":
        return library.softplus(-g_data).mean() + ratio * library.softplus(g_noise).mean()
    if options.loss == "kl":
        return -g_data.mean() + ratio * library.exp(g_noise).mean()
    if options.loss == "reverse-kl":
        return library.exp(-g_data).mean() + ratio * g_noise.mean()
    if options.loss == "hellinger":
        return library.exp(-0.5 * g_data).mean() + ratio * library.exp(0.5 * g_noise).mean()
    return 0.5 * ratio * library.exp(2.0 * g_noise).mean() - library.exp(g_data).mean()
