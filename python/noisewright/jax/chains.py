"""Draws of the model itself: Hamiltonian chains, many side by side, started from weighted noise draws."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from ..errors import NoAnswerError
from ..networks.moves import ACCEPTANCE, FIRST_STEP, LEAPFROGS
from .library import in_double
from .nce import NCE, rows_of

__all__ = ["model_draws"]


@in_double
def model_draws(
    nce: NCE, draws: int = 200, *, chains: int = 128, warm_up: int = 200, like: Any, seed: int = 0
) -> tuple[Any, float, float]:
    """Draws of the model by Hamiltonian Monte Carlo, (chains, draws, columns), the acceptance and the step.

    Args:
        nce: the trained loss.
        draws: of every chain.
        chains: how many run side by side.
        warm_up: moves in which the step is tuned, thrown away.
        like: rows whose number of columns and precision the draws take.
        seed: of the chains.
    """
    rows = rows_of(like)
    first, second, third = jax.random.split(jax.random.key(seed), 3)
    points = nce.noise.draw(first, max(4096, 8 * chains), rows)
    ratio = nce.log_ratio(nce.parameters, points)
    ratio = jnp.where(jnp.isfinite(ratio), ratio, -jnp.inf)
    x = points[jax.random.categorical(second, ratio, shape=(chains,))]
    scale = jnp.maximum(x.std(0), 1e-6 * jnp.abs(x).max())
    kept, accepted, step = _chains(nce, x, scale, third, draws, warm_up)
    if float(accepted) < 0.01:
        raise NoAnswerError("the chains hardly move: the energy is not smooth on its own scale, or has no integral")
    return jnp.swapaxes(kept, 0, 1), float(accepted), float(step)


def _chains(nce: NCE, x: Any, scale: Any, key: Any, draws: int, warm_up: int) -> tuple[Any, Any, Any]:
    density = jax.vmap(jax.value_and_grad(lambda row: nce.log_f(nce.parameters, row[None])[0]))

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
