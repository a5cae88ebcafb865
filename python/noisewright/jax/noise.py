"""Noises for JAX: anything with `sample(key, shape)` and `log_prob`, with quiet draws where its base can be reached."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp, ndtri
from scipy.stats import qmc

from ..errors import InputError
from ..networks.noises import Elliptical
from ..networks.options import BITS, QUIET_DIMENSIONS, check_noise, check_weights

__all__ = ["Elliptic", "Mixed", "Noise", "as_noise"]


class Noise:
    """A noise with draws of shape (n, d) and log-densities of shape (n,), whatever the shapes of what it wraps."""

    def __init__(self, source: Any, quiet: bool | None = None) -> None:
        check_noise(source)
        self.source = source
        self.quiet = quiet
        self._nets: dict[tuple[int, int], Any] = {}

    def draw(self, key: Any, n: int, like: Any, quiet: bool | None = None) -> Any:
        """`n` draws in the precision of some rows; quiet ones where wanted and possible, else independent."""
        if quiet is None:
            quiet = like.shape[1] <= QUIET_DIMENSIONS if self.quiet is None else self.quiet
        way = _transport_of(self.source) if quiet else None
        if isinstance(self.source, Mixed):
            drawn = self.source.draw(key, n, like, quiet)
        elif way is not None:
            first, second = jax.random.split(key)
            drawn = way(self._uniforms(first, n, like.shape[1]), second)
        else:
            drawn = self.source.sample(key, (n,))
        drawn = drawn.reshape(n, -1)
        if drawn.shape[1] != like.shape[1]:
            raise InputError(f"the noise draws rows of {drawn.shape[1]} columns, and the data have {like.shape[1]}")
        return drawn.astype(like.dtype)

    def sample(self, key: Any, shape: tuple[int, ...]) -> Any:
        """Independent draws, as the wrapped noise has them."""
        return self.source.sample(key, shape)

    def log_prob(self, x: Any) -> Any:
        """The log-density at rows; that of independent columns adds up."""
        value = self.source.log_prob(x)
        return value if value.ndim == 1 else value.reshape(x.shape[0], -1).sum(1)

    @property
    def chart(self) -> Any:
        """A smooth invertible map from standard normal coordinates with a density, if the noise or its first component has one: a flow."""
        if isinstance(self.source, Mixed):
            return self.source.parts[0].chart
        return self.source if getattr(self.source, "invertible", False) else None

    def _uniforms(self, key: Any, n: int, columns: int) -> Any:
        """Sobol points, scrambled once, with a fresh digital shift at every call: each is uniform, and together they stay even."""
        if (n, columns) not in self._nets:
            points = qmc.Sobol(columns, scramble=True, bits=BITS, rng=np.random.default_rng(n)).random_base2(math.ceil(math.log2(max(n, 2))))
            self._nets[n, columns] = (points[:n] * 2**BITS).astype(np.int32)
        shift = jax.random.randint(key, (1, columns), 0, 2**BITS, jnp.int32)
        return ((self._nets[n, columns] ^ shift).astype(jnp.float64) + 0.5) / 2**BITS


class Mixed:
    """A mixture of noises with fixed weights; which component a quiet draw is of goes by strata, so that the shares are exact."""

    def __init__(self, parts: list[Any], weights: Any) -> None:
        self.parts = [as_noise(part) for part in parts]
        self.weights = check_weights(weights, len(parts))

    def draw(self, key: Any, n: int, like: Any, quiet: bool) -> Any:
        """`n` draws: all components are drawn, and every point is taken from one of them, by strata or independently."""
        first, *keys = jax.random.split(key, 1 + len(self.parts))
        drawn = jnp.stack([part.draw(k, n, like, None if quiet else False) for part, k in zip(self.parts, keys)])
        return drawn[_components(first, n, self.weights, quiet), jnp.arange(n)]

    def sample(self, key: Any, shape: tuple[int, ...]) -> Any:
        """Independent draws."""
        n = math.prod(shape)
        first, *keys = jax.random.split(key, 1 + len(self.parts))
        drawn = jnp.stack([part.sample(k, (n,)).reshape(n, -1) for part, k in zip(self.parts, keys)])
        return drawn[_components(first, n, self.weights, False), jnp.arange(n)].reshape(*shape, -1)

    def log_prob(self, x: Any) -> Any:
        """The log-density of the mixture."""
        logs = jnp.stack([part.log_prob(x) for part in self.parts])
        return logsumexp(logs + jnp.log(self.weights)[:, None].astype(logs.dtype), axis=0)


class Elliptic:
    """A mixture of Student or normal densities, from the numbers of `networks.noises`."""

    def __init__(self, fitted: Elliptical) -> None:
        self.fitted = fitted

    def log_prob(self, x: Any) -> Any:
        """The log-density at rows."""
        part, d, nu = self.fitted, x.shape[1], self.fitted.degrees
        centred = x[None] - jnp.asarray(part.locations)[:, None]
        solved = jax.vmap(lambda l, c: jax.scipy.linalg.solve_triangular(l, c.T, lower=True))(jnp.asarray(part.factors), centred)
        distances = jnp.square(solved).sum(1)
        volume = np.log(np.diagonal(part.factors, axis1=1, axis2=2)).sum(1)
        if math.isinf(nu):
            logs = -0.5 * distances - 0.5 * d * math.log(2 * math.pi)
        else:
            start = math.lgamma((nu + d) / 2) - math.lgamma(nu / 2) - 0.5 * d * math.log(nu * math.pi)
            logs = start - 0.5 * (nu + d) * jnp.log1p(distances / nu)
        return logsumexp(logs + jnp.asarray(np.log(part.weights) - volume)[:, None], axis=0)

    def from_normal(self, z: Any, key: Any) -> Any:
        """Draws from standard normal ones; components by strata, in an order of their own."""
        return self._placed(z, key, True)

    def sample(self, key: Any, shape: tuple[int, ...]) -> Any:
        """Independent draws."""
        first, second = jax.random.split(key)
        d = self.fitted.locations.shape[1]
        return self._placed(jax.random.normal(first, (math.prod(shape), d)), second, False).reshape(*shape, d)

    def _placed(self, z: Any, key: Any, strata: bool) -> Any:
        part = self.fitted
        first, second = jax.random.split(key)
        which = _components(first, len(z), part.weights, strata)
        if not math.isinf(part.degrees):
            # Degrees of freedom are whole numbers here: a mean of squares, which compiles at once where the gamma's
            # rejection loop does not.
            z = z / jnp.sqrt(jnp.square(jax.random.normal(second, (len(z), round(part.degrees)))).mean(1, keepdims=True))
        turned = z @ jnp.swapaxes(jnp.asarray(part.factors), 1, 2)
        return jnp.asarray(part.locations)[which] + turned[which, jnp.arange(len(z))]


def _components(key: Any, n: int, weights: Any, strata: bool) -> Any:
    """Which component each of n draws is of: independently, or a systematic sample in an order of its own, as those of a net are not to
    be cut into pieces."""
    first, second = jax.random.split(key)
    place = jax.random.uniform(first, (n,))
    if strata:
        place = ((jnp.arange(n) + jax.random.uniform(second)) / n)[jnp.argsort(place)]
    return jnp.minimum(jnp.searchsorted(jnp.cumsum(jnp.asarray(weights)), place), len(weights) - 1)


def as_noise(noise: Any, quiet: bool | None = None) -> Noise:
    """Anything with `sample(key, shape)` and `log_prob` as a noise."""
    if isinstance(noise, Noise):
        return noise if quiet is None else Noise(noise.source, quiet)
    return Noise(noise, quiet)


def _transport_of(source: Any) -> Callable[[Any, Any], Any] | None:
    """The map from uniform numbers (and a key, for what a net has no coordinates for) to draws, where there is one."""
    if hasattr(source, "from_normal"):
        return lambda u, key: source.from_normal(ndtri(u), key)
    if type(source).__module__.startswith("flowjax."):
        return _of_flowjax(source)
    if _has_quantiles(source):
        return lambda u, _: source.icdf(u)
    return None


def _has_quantiles(source: Any) -> bool:
    """Whether it is a distribution of independent columns with quantile functions, as NumPyro's are."""
    if not callable(getattr(source, "icdf", None)) or getattr(source, "event_shape", ()) != ():
        return False
    try:
        jax.eval_shape(source.icdf, jnp.full((1, *getattr(source, "batch_shape", ())), 0.5))
    except NotImplementedError:
        return False
    return True


def _of_flowjax(source: Any) -> Callable[[Any, Any], Any] | None:
    """A transformed standard normal density of flowjax: the base, then every bijection outwards."""
    maps = []
    while hasattr(source, "bijection") and hasattr(source, "base_dist"):
        maps.append(source.bijection)
        source = source.base_dist
    if type(source).__name__ != "StandardNormal":
        return None

    def through(u: Any, _: Any) -> Any:
        x = ndtri(u)
        for bijection in reversed(maps):
            x = jax.vmap(bijection.transform)(x)
        return x

    return through
