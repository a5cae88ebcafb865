"""JAX as the losses see it, and double precision for them whatever the setting of the process."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

from ..functions import _double_precision
from ..networks.losses import Library

__all__ = ["JAX", "in_double"]


def _repeat(times: int, step: Callable[[Any], Any], start: Any) -> Any:
    """A loop that is compiled once, and not once for every time."""
    return jax.lax.fori_loop(0, times, lambda _, value: step(value), start)


def _count_to(n: int, _: Any) -> Any:
    return jnp.arange(1, n + 1, dtype=jnp.float32)


JAX = Library(jnp.exp, jnp.log, jax.nn.softplus, logsumexp, jnp.clip, _repeat, jnp.sum, lambda x: x.astype(jnp.float32), _count_to)


def in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, called where JAX has double precision; arrays of single precision stay what they are."""

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        with _double_precision(jax)(True):
            return function(*arguments, **named)

    return called
