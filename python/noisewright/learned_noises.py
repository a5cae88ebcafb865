"""Noises that an evidence learns from half of the draws: normalizing flows, and what a function of the user's fits."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

from .arrays import Array
from .errors import FunctionError, MissingLibraryError

__all__ = ["learner"]


def learner(noise: Any, seed: int) -> Callable[[Array], Any] | None:
    """What fits the noise to points of one row per variable; `None` for the kinds that the library fits itself."""
    if noise == "flow":
        flow = _flow_of_torch if importlib.util.find_spec("torch") is not None else _flow_of_jax
        return lambda points: flow(points.T, seed)
    if callable(noise):
        return lambda points: _Own(noise(np.ascontiguousarray(points.T)), points.shape[0])
    return None


class _Own:
    """A noise of the user's: an object with `log_prob(rows)` and `sample(count, seed)`."""

    words = "own"

    def __init__(self, noise: Any, dimension: int) -> None:
        for method in ("log_prob", "sample"):
            if not callable(getattr(noise, method, None)):
                raise FunctionError(f"the noise that `noise` returned has no method `{method}`")
        self.noise, self.dimension = noise, dimension

    def log_density(self, points: Array) -> Array:
        """The log-density at points, one row per variable."""
        values = np.asarray(self.noise.log_prob(np.ascontiguousarray(points.T)), dtype=np.float64)
        if values.shape != (points.shape[1],):
            raise FunctionError(f"`log_prob` returned the shape {values.shape} for {points.shape[1]} rows, and must return one number for each")
        return np.ascontiguousarray(values)

    def draw(self, rows: int, seed: int) -> Array:
        """Draws, one row per variable."""
        drawn = np.asarray(self.noise.sample(rows, seed), dtype=np.float64)
        if drawn.shape != (rows, self.dimension):
            raise FunctionError(f"`sample` returned the shape {drawn.shape}, and must return {(rows, self.dimension)}")
        return np.ascontiguousarray(drawn.T)


def _flow_of_torch(rows: Array, seed: int) -> Any:
    import torch

    from .torch import learn_noise

    like = torch.as_tensor(np.ascontiguousarray(rows), dtype=torch.float64)
    noise = learn_noise(like, "flow", seed=seed, progress=False)

    class Flow:
        words = "flow"

        def log_density(self, points: Array) -> Array:
            with torch.no_grad():
                found = noise.log_prob(torch.as_tensor(np.ascontiguousarray(points.T), dtype=like.dtype))
            return np.ascontiguousarray(found.numpy(), dtype=np.float64)

        def draw(self, rows: int, seed: int) -> Array:
            with torch.no_grad(), torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed)
                return np.ascontiguousarray(noise.draw(rows, like, quiet=False).numpy().T, dtype=np.float64)

    return Flow()


def _flow_of_jax(rows: Array, seed: int) -> Any:
    if importlib.util.find_spec("jax") is None:
        raise MissingLibraryError('`noise="flow"` needs PyTorch or JAX: pip install torch')
    import jax

    from .jax import learn_noise
    from .jax.library import in_double

    noise = learn_noise(rows, "flow", seed=seed)

    class Flow:
        words = "flow"

        @in_double
        def log_density(self, points: Array) -> Array:
            return np.ascontiguousarray(noise.log_prob(np.ascontiguousarray(points.T)), dtype=np.float64)

        @in_double
        def draw(self, rows: int, seed: int) -> Array:
            return np.ascontiguousarray(np.asarray(noise.sample(jax.random.key(seed), (rows,))).T, dtype=np.float64)

    return Flow()
