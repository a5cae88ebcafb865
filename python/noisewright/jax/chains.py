"""Draws of the model itself: Hamiltonian chains, many side by side, started from weighted noise draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ..errors import InputError
from ..networks.moves import ACCEPTANCE, FIRST_STEP, LEAPFROGS, Draws, check_moved
from .library import in_double
from .nce import NCE, rows_of

__all__ = ["model_draws"]


@in_double
def model_draws(
    nce: NCE,
    draws: int = 200,
    *,
    chains: int = 128,
    warm_up: int = 200,
    thin: int = 1,
    like: Any = None,
    start: Any = None,
    seed: int = 0,
) -> Draws:
    """Draws of the model by Hamiltonian Monte Carlo; the arguments are those of `noisewright.torch.model_draws`."""
    first, second = jax.random.split(jax.random.key(seed))
    target = _Target(nce, nce.noise.chart if start is None else None)
    x = target.start(first, chains, like) if start is None else rows_of(start)
    scale = jnp.maximum(x.std(0), 1e-6 * jnp.abs(x).max())
    kept, accepted, step = _chains(target.log_density, x, scale, second, draws * thin, warm_up)
    check_moved(float(accepted))
    path = kept[thin - 1 :: thin]
    points = jax.jit(target.points)(path.reshape(-1, x.shape[1])).reshape(*path.shape[:2], -1)
    return Draws(jnp.swapaxes(points, 0, 1), float(accepted), float(step))


class _Target:
    """The density that chains move in: log f itself or, where the noise is a flow, that of the flow's normal coordinates z,
    log f(T(z)) − log q(T(z)) − |z|²/2, in which the model is nearly a standard normal density (Hoffman et al. 2019)."""

    def __init__(self, nce: NCE, chart: Any) -> None:
        self.nce, self.chart = nce, chart

    def points(self, at: Any) -> Any:
        """The rows that coordinates stand for."""
        return at if self.chart is None else self.chart.from_normal(at)

    def log_density(self, at: Any) -> Any:
        """Of the coordinates, up to a constant."""
        x = self.points(at)
        value = self.nce.log_f(self.nce.parameters, x)
        return value if self.chart is None else value - self.chart.log_prob(x) - 0.5 * jnp.square(at).sum(1)

    def start(self, key: Any, chains: int, like: Any) -> Any:
        """Draws resampled by their weights: near the model already, so that the warm-up is short."""
        if like is None:
            raise InputError("`like` or `start` must be given: the rows that draws are to be like")
        rows = rows_of(like)
        first, second = jax.random.split(key)
        count = max(4096, 8 * chains)
        if self.chart is None:
            at = self.nce.noise.draw(first, count, rows, quiet=False)
            weights = self.nce.log_ratio(self.nce.parameters, at)
        else:
            at = jax.random.normal(first, (count, rows.shape[1]), rows.dtype)
            weights = jax.jit(self.log_density)(at) + 0.5 * jnp.square(at).sum(1)
        return at[jax.random.categorical(second, jnp.where(jnp.isfinite(weights), weights, -jnp.inf), shape=(chains,))]


def _chains(log_density: Callable[[Any], Any], x: Any, scale: Any, key: Any, draws: int, warm_up: int) -> tuple[Any, Any, Any]:
    density = jax.vmap(jax.value_and_grad(lambda row: log_density(row[None])[0]))

    def move(state: Any, given: Any) -> Any:
        (at, value, slope, log_step), (key, tune) = state, given
        keys = jax.random.split(key, 4)
        momentum = jax.random.normal(keys[0], at.shape, at.dtype)
        size = (jnp.exp(log_step) * scale * jax.random.uniform(keys[1], minval=0.8, maxval=1.2)).astype(at.dtype)

        def leap(_: int, now: Any) -> Any:
            x, p, _, g = now
            p = p + 0.5 * size * g
            x = x + size * p
            v, g = density(x)
            g = jnp.nan_to_num(g, nan=0.0, posinf=0.0, neginf=0.0)
            return x, p + 0.5 * size * g, v, g

        count = jax.random.randint(keys[2], (), LEAPFROGS[0], LEAPFROGS[1] + 1)
        there, end, there_value, there_slope = jax.lax.fori_loop(0, count, leap, (at, momentum, value, slope))
        change = there_value - value + 0.5 * (jnp.square(momentum).sum(1) - jnp.square(end).sum(1))
        chance = jnp.exp(jnp.minimum(jnp.nan_to_num(change, nan=-jnp.inf), 0.0))
        taken = jax.random.uniform(keys[3], chance.shape) < chance
        log_step = log_step + tune * (chance.mean() - ACCEPTANCE)
        new = jnp.where(taken[:, None], there, at)
        slope = jnp.where(taken[:, None], there_slope, slope)
        return (new, jnp.where(taken, there_value, value), slope, log_step), (new, chance.mean())

    tune = jnp.concatenate([1.0 / (1.0 + 0.05 * jnp.arange(warm_up)), jnp.zeros(draws)])
    start = (x, *density(x), jnp.log(FIRST_STEP / x.shape[1] ** 0.25))
    (_, _, _, log_step), (path, rates) = jax.jit(lambda s, g: jax.lax.scan(move, s, g))(start, (jax.random.split(key, warm_up + draws), tune))
    return path[warm_up:], rates[warm_up:].mean(), jnp.exp(log_step)
