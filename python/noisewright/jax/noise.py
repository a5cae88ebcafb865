"""Noises for JAX: anything with `sample(key, shape)` and `log_prob`, and those that are learned here."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from ..errors import InputError, MissingLibraryError
from ..networks.noises import DEGREES, Elliptical, fit_mixture, fit_student, split
from ..networks.options import check_noise
from .library import in_double

__all__ = ["Elliptic", "learn_noise", "Drawn"]

#: Of the wide component of a learned noise.
WIDE_DEGREES = DEGREES[0]


class Elliptic:
    """A mixture of Student or normal densities with different degrees of freedom each: weights, and one `Elliptical` per part."""

    def __init__(self, parts: list[tuple[float, Elliptical]]) -> None:
        self.parts = parts
        self.dimension = parts[0][1].locations.shape[1]

    def sample(self, key: Any, shape: tuple[int, ...]) -> Any:
        """Independent draws."""
        n = math.prod(shape)
        which, *keys = jax.random.split(key, 1 + len(self.parts))
        drawn = jnp.stack([_drawn(part, k, n) for (_, part), k in zip(self.parts, keys)])
        chosen = jax.random.choice(which, len(self.parts), (n,), p=jnp.array([w for w, _ in self.parts]))
        return drawn[chosen, jnp.arange(n)].reshape(*shape, self.dimension)

    def log_prob(self, x: Any) -> Any:
        """The log-density at rows."""
        return logsumexp(jnp.stack([math.log(w) + _log_density(part, x) for w, part in self.parts]), axis=0)


def _drawn(part: Elliptical, key: Any, n: int) -> Any:
    first, second, third = jax.random.split(key, 3)
    which = jax.random.choice(first, len(part.weights), (n,), p=jnp.asarray(part.weights))
    z = jax.random.normal(second, (n, part.locations.shape[1]))
    if not math.isinf(part.degrees):
        # Degrees of freedom are whole numbers here: a sum of squares, which compiles at once where the gamma's rejection loop does not.
        z = z / jnp.sqrt(jnp.square(jax.random.normal(third, (n, round(part.degrees)))).mean(1, keepdims=True))
    turned = z @ jnp.swapaxes(jnp.asarray(part.factors), 1, 2)
    return jnp.asarray(part.locations)[which] + turned[which, jnp.arange(n)]


def _log_density(part: Elliptical, x: Any) -> Any:
    d, nu = x.shape[1], part.degrees
    centred = x[None] - jnp.asarray(part.locations)[:, None]
    distances = jnp.square(jax.vmap(lambda l, c: jax.scipy.linalg.solve_triangular(l, c.T, lower=True))(jnp.asarray(part.factors), centred)).sum(1)
    volume = np.log(np.diagonal(part.factors, axis1=1, axis2=2)).sum(1)
    if math.isinf(nu):
        logs = -0.5 * distances - 0.5 * d * math.log(2 * math.pi)
    else:
        start = math.lgamma((nu + d) / 2) - math.lgamma(nu / 2) - 0.5 * d * math.log(nu * math.pi)
        logs = start - 0.5 * (nu + d) * jnp.log1p(distances / nu)
    return logsumexp(logs + jnp.asarray(np.log(part.weights) - volume)[:, None], axis=0)


class Drawn:
    """A noise with draws of shape (n, d) and log-densities of shape (n,)."""

    def __init__(self, source: Any) -> None:
        check_noise(source)
        self.source = source

    def draw(self, key: Any, n: int, like: Any) -> Any:
        """`n` draws in the precision of some rows."""
        drawn = self.source.sample(key, (n,)).reshape(n, -1)
        if drawn.shape[1] != like.shape[1]:
            raise InputError(f"the noise draws rows of {drawn.shape[1]} columns, and the data have {like.shape[1]}")
        return drawn.astype(like.dtype)

    def log_prob(self, x: Any) -> Any:
        """The log-density at rows; that of independent columns adds up."""
        value = self.source.log_prob(x)
        return value if value.ndim == 1 else value.reshape(x.shape[0], -1).sum(1)


@in_double
def learn_noise(
    data: Any, kind: str = "mixture", *, held_out: float = 0.1, wide: float = 0.05, widen: float = 2.0, seed: int = 0, **options: Any
) -> Any:
    """A noise near the data, learned by maximum likelihood, mixed with a little of a wide Student density.

    Args:
        data: rows.
        kind: `mixture` (of normal densities), `student`, or `flow` (a coupling flow of flowjax, which must be installed).
        held_out: the share of the rows that the choice among mixtures, or early stopping, looks at.
        wide, widen: the weight of the wide density, and its scale as a multiple of the data's.
        seed: of the split and of the training.
        options: of flowjax's `fit_to_data`.
    """
    rows = np.asarray(data, dtype=float).reshape(len(data), -1)
    train, held = split(len(rows), held_out, seed)
    if kind == "flow":
        return _flow(rows, seed, held_out, options)
    if kind not in ("mixture", "student"):
        raise InputError(f"`kind` must be flow, mixture or student, not {kind!r}")
    fitted = fit_student(rows[train], rows[held]) if kind == "student" else fit_mixture(rows[train], rows[held], seed)
    if wide == 0.0:
        return Elliptic([(1.0, fitted)])
    cover = Elliptical(np.ones(1), rows.mean(axis=0)[None], np.diag(widen * rows.std(axis=0) + 1e-12)[None], WIDE_DEGREES)
    return Elliptic([(1.0 - wide, fitted), (wide, cover)])


def _flow(rows: Any, seed: int, held_out: float, options: dict[str, Any]) -> Any:
    try:
        from flowjax.distributions import Normal
        from flowjax.flows import coupling_flow
        from flowjax.train import fit_to_data
    except ImportError:
        raise MissingLibraryError('`learn_noise(…, "flow")` for JAX needs flowjax: pip install flowjax') from None
    first, second = jax.random.split(jax.random.key(seed))
    flow = coupling_flow(first, base_dist=Normal(jnp.zeros(rows.shape[1])), invert=True)
    return fit_to_data(second, flow, jnp.asarray(rows), val_prop=held_out, show_progress=False, **options)[0]
