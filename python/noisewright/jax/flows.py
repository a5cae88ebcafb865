"""A normalizing flow by coupling layers of rational-quadratic splines (Durkan et al. 2019), as a function of plain parameters."""

from __future__ import annotations

import copy
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..networks.splines import BOUND, LEAST, UNIT_SLOPE, framed, kept_columns, rational_quadratic

__all__ = ["SplineFlow"]


class SplineFlow:
    """A flow from data to a standard normal density: whitening, then coupling layers with random rotations between them.

    Args:
        data: rows, whose mean and covariance whiten, and whose precision it has.
        layers: coupling layers.
        hidden: width of the two hidden layers of every coupling's network.
        bins: bins of the splines.
        seed: of the rotations and of the networks.
    """

    #: `from_normal` is smooth, one to one, and can be differentiated.
    invertible = True

    def __init__(self, data: Any, *, layers: int = 6, hidden: int = 128, bins: int = 8, seed: int = 0) -> None:
        rows = np.asarray(data)
        kind = rows.dtype if np.issubdtype(rows.dtype, np.floating) else np.dtype(np.float32)
        frame = framed(rows.astype(float), layers, seed)
        self.location, self.factor, self.turns = (a.astype(kind) for a in (frame.location, frame.factor, frame.turns))
        self.whiten = np.linalg.inv(frame.factor).astype(kind)
        self.log_volume, self.bins, self.kept = frame.log_volume, bins, kept_columns(rows.shape[1])
        moved = rows.shape[1] - self.kept
        rng = np.random.default_rng([seed, 23])
        self.parameters: Any = [_conditioner(rng, max(1, self.kept), hidden, moved * (3 * bins - 1), kind) for _ in range(layers)]

    def with_parameters(self, parameters: Any) -> SplineFlow:
        """The same flow with other networks."""
        other = copy.copy(self)
        other.parameters = parameters
        return other

    def log_prob(self, x: Any) -> Any:
        """The log-density at rows."""
        z = (x - self.location) @ self.whiten.T
        total = -self.log_volume
        for turn, network in zip(self.turns, self.parameters):
            z, change = self._couple(z @ turn.T, network, False)
            total = total + change
        return total - 0.5 * jnp.square(z).sum(1) - 0.5 * z.shape[1] * math.log(2 * math.pi)

    def from_normal(self, z: Any, key: Any = None) -> Any:
        """Draws from standard normal ones; no key is needed."""
        z = z.astype(self.location.dtype)
        for turn, network in zip(self.turns[::-1], reversed(self.parameters)):
            z, _ = self._couple(z, network, True)
            z = z @ turn
        return z @ self.factor.T + self.location

    def sample(self, key: Any, shape: tuple[int, ...]) -> Any:
        """Independent draws."""
        d = len(self.location)
        z = jax.random.normal(key, (math.prod(shape), d), self.location.dtype)
        return self.from_normal(z).reshape(*shape, d)

    def _couple(self, z: Any, network: Any, inverse: bool) -> tuple[Any, Any]:
        kept, moved = z[:, : self.kept], z[:, self.kept :]
        # In one dimension nothing is kept: the spline has constants for its network's outputs.
        given = kept if self.kept else jnp.ones_like(moved[:, :1])
        for weights, bias in network[:-1]:
            given = jax.nn.silu(given @ weights + bias)
        weights, bias = network[-1]
        shape = (given @ weights + bias).reshape(z.shape[0], moved.shape[1], 3 * self.bins - 1)
        out, change = _spline(moved, shape, self.bins, inverse)
        return jnp.concatenate([kept, out], 1), change.sum(1)


def _conditioner(rng: np.random.Generator, inputs: int, hidden: int, outputs: int, kind: Any) -> list[tuple[Any, Any]]:
    """Weights and biases of a perceptron with two hidden layers, whose last layer is zero: the spline starts as the identity."""
    sizes = (inputs, hidden, hidden)
    # As PyTorch's: uniform within 1/√inputs.
    wide = [(rng.uniform(-1.0, 1.0, (a, b)) / math.sqrt(a), np.zeros(b)) for a, b in zip(sizes, sizes[1:])]
    return [(weights.astype(kind), bias.astype(kind)) for weights, bias in (*wide, (np.zeros((hidden, outputs)), np.zeros(outputs)))]


def _spline(x: Any, shape: Any, bins: int, inverse: bool) -> tuple[Any, Any]:
    """A spline of every entry, or its inverse, with the logarithm of the map's slope: the identity beyond the bound, and everywhere
    where `shape` is zero."""
    inside = jnp.abs(x) < BOUND
    at = jnp.clip(x, -BOUND, BOUND)
    widths, heights = (_edges(shape[..., i * bins : (i + 1) * bins]) for i in (0, 1))
    inner = LEAST + jax.nn.softplus(shape[..., 2 * bins :] + UNIT_SLOPE)
    slopes = jnp.pad(inner, [(0, 0)] * (inner.ndim - 1) + [(1, 1)], constant_values=1.0)
    edges = heights if inverse else widths
    which = (at[..., None] > edges[..., 1:-1]).sum(-1)
    knots = tuple(_at(values, which + side) for values in (widths, heights, slopes) for side in (0, 1))
    out, log_slope = rational_quadratic(at, knots, jnp.log, jnp.sqrt, inverse)
    return jnp.where(inside, out, x), jnp.where(inside, log_slope, 0.0)


def _edges(shape: Any) -> Any:
    """Places from −BOUND to BOUND."""
    parts = LEAST + (1 - LEAST * shape.shape[-1]) * jax.nn.softmax(shape, -1)
    inner = -BOUND + 2 * BOUND * jnp.cumsum(parts, -1)
    low = jnp.full_like(inner[..., :1], -BOUND)
    return jnp.concatenate([low, inner[..., :-1], -low], -1)


def _at(values: Any, which: Any) -> Any:
    return jnp.take_along_axis(values, which[..., None], -1)[..., 0]
