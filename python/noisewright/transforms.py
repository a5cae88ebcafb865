"""Maps between constrained variables and the real line, with the logarithm of their Jacobian."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Union

import numpy as np

from .arrays import Array
from .errors import InputError

__all__ = ["Layout", "Transform"]

#: `"real"`, `"positive"`, `"simplex"`, `"ordered"`, or `(lo, hi)`, of which either end may be `None`.
Transform = Union[
    Literal["real", "positive", "simplex", "ordered"], tuple["float | None", "float | None"], Sequence["float | None"]
]


@dataclass(frozen=True)
class _Variable:
    """One variable: its name, its shape, and how it is constrained."""

    name: str
    shape: tuple[int, ...]
    kind: str
    lower: float | None = None
    upper: float | None = None

    @property
    def size(self) -> int:
        """Numbers that it consists of."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def free_size(self) -> int:
        """Numbers that are free: a simplex has one less."""
        return self.size - self.size // self.shape[-1] if self.kind == "simplex" else self.size


class Layout:
    """Where every variable stands in a vector, constrained or not, and the maps between the two.

    >>> layout = Layout({"mu": (), "sigma": ()}, {"sigma": "positive"})
    >>> free = layout.free(np.array([[1.0, 2.0]]))
    >>> free.round(6)
    array([[1.      , 0.693147]])
    >>> constrained, log_jacobian = layout.constrained(free)
    >>> constrained.round(6), log_jacobian.round(6)
    (array([[1., 2.]]), array([0.693147]))
    """

    def __init__(self, shapes: dict[str, tuple[int, ...]], transforms: dict[str, Transform] | None) -> None:
        given = dict(transforms or {})
        unknown = [name for name in given if name not in shapes]
        if unknown:
            raise InputError(f"`transforms` names `{unknown[0]}`, which is not among {', '.join(shapes)}")
        self.variables = [_variable(name, shape, given.get(name, "real")) for name, shape in shapes.items()]

    @property
    def free_names(self) -> list[str]:
        """Names of the unconstrained coordinates."""
        names = []
        for v in self.variables:
            names.extend([v.name] if v.shape == () else [f"{v.name}[{i}]" for i in range(v.free_size)])
        return names

    @property
    def is_identity(self) -> bool:
        """Whether nothing is constrained."""
        return all(v.kind == "real" for v in self.variables)

    def free(self, x: Array) -> Array:
        """Constrained draws, one row each, on the real line."""
        parts, start = [], 0
        for v in self.variables:
            parts.append(_free(v, x[:, start : start + v.size]))
            start += v.size
        return np.concatenate(parts, axis=1) if parts else x

    def constrained(self, z: Any) -> tuple[Any, Any]:
        """Unconstrained points, one row each, back in their domain, and the logarithm of the Jacobian."""
        xp = _library(z)
        parts, total, start = [], 0.0, 0
        for v in self.variables:
            part, log_jacobian = _constrained(xp, v, z[:, start : start + v.free_size])
            parts.append(part)
            total = total + log_jacobian
            start += v.free_size
        return xp.concatenate(parts, axis=1), total


def _library(z: Any) -> Any:
    """NumPy, or JAX's NumPy inside a compiled function."""
    if isinstance(z, np.ndarray) or "jax" not in sys.modules:
        return np
    import jax.numpy

    return jax.numpy


def _variable(name: str, shape: tuple[int, ...], transform: Transform) -> _Variable:
    if isinstance(transform, str):
        if transform not in ("real", "positive", "simplex", "ordered"):
            raise InputError(
                f"`transforms`: {name} cannot be {transform!r}; use real, positive, simplex, ordered or (lo, hi)"
            )
        if transform in ("simplex", "ordered") and (not shape or shape[-1] < 2):
            raise InputError(f"`transforms`: {name} must be a vector to be {transform}")
        if transform == "positive":
            return _Variable(name, shape, "bounded", 0.0, None)
        return _Variable(name, shape, transform)
    ends = tuple(transform)
    if len(ends) != 2:
        raise InputError(f"`transforms`: {name} must have two ends, (lo, hi), of which either may be None")
    lower, upper = (None if end is None or np.isinf(end) else float(end) for end in ends)
    if lower is not None and upper is not None and not lower < upper:
        raise InputError(f"`transforms`: the lower end of {name} must be below the upper, not {lower} and {upper}")
    return _Variable(name, shape, "real" if lower is None and upper is None else "bounded", lower, upper)


def _free(v: _Variable, x: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        if v.kind == "real":
            z = x
        elif v.kind == "bounded":
            z = _free_bounded(v, x)
        else:
            rows = x.reshape(-1, v.shape[-1])
            z = (_free_simplex(rows) if v.kind == "simplex" else _free_ordered(rows)).reshape(len(x), -1)
    if not np.isfinite(z).all():
        row = int(np.argwhere(~np.isfinite(z))[0][0])
        raise InputError(f"draw {row + 1} of `{v.name}` is {x[row].tolist()}, which is outside its domain")
    return z


def _free_bounded(v: _Variable, x: Array) -> Array:
    if v.lower is None:
        assert v.upper is not None
        return np.log(v.upper - x)
    if v.upper is None:
        return np.log(x - v.lower)
    return np.log(x - v.lower) - np.log(v.upper - x)


def _free_simplex(x: Array) -> Array:
    """Stick-breaking, as Stan does it: equal parts are zeros."""
    size = x.shape[-1]
    left = 1.0 - np.concatenate([np.zeros((len(x), 1)), np.cumsum(x[:, :-1], axis=1)[:, :-1]], axis=1)
    share = x[:, :-1] / left
    return np.log(share) - np.log1p(-share) + np.log(np.arange(size - 1, 0, -1))


def _free_ordered(x: Array) -> Array:
    return np.concatenate([x[:, :1], np.log(np.diff(x, axis=1))], axis=1)


def _constrained(xp: Any, v: _Variable, z: Any) -> tuple[Any, Any]:
    if v.kind == "real":
        return z, 0.0
    if v.kind == "bounded":
        return _constrained_bounded(xp, v, z)
    size = v.shape[-1] - 1 if v.kind == "simplex" else v.shape[-1]
    rows = z.reshape(-1, size)
    x, log_jacobian = (_constrained_simplex if v.kind == "simplex" else _constrained_ordered)(xp, rows)
    return x.reshape(len(z), -1), log_jacobian.reshape(len(z), -1).sum(axis=1)


def _constrained_bounded(xp: Any, v: _Variable, z: Any) -> tuple[Any, Any]:
    if v.lower is None or v.upper is None:
        x = v.upper - xp.exp(z) if v.lower is None else v.lower + xp.exp(z)
        return _inside(xp, v, x), z.sum(axis=1)
    # ln σ(z) + ln σ(−z), each without overflow.
    log_slope = -xp.abs(z) - 2 * xp.log1p(xp.exp(-xp.abs(z)))
    share = xp.where(z > 0, 1 / (1 + xp.exp(-xp.abs(z))), xp.exp(-xp.abs(z)) / (1 + xp.exp(-xp.abs(z))))
    width = v.upper - v.lower
    return _inside(xp, v, v.lower + width * share), (log_slope + np.log(width)).sum(axis=1)


def _inside(xp: Any, v: _Variable, x: Any) -> Any:
    """The variable, at least one representable number away from its ends.

    Far out on the line it rounds to an end, where an integrable pole such as that of Beta(½, ½) is infinite; the number next
    to the end has a finite density, and the Jacobian is that of the place on the line.
    """
    return xp.clip(x, _next_to(v.lower, np.inf), _next_to(v.upper, -np.inf))


def _next_to(end: float | None, towards: float) -> float:
    """The representable number next to an end; a normal one, because processors may flush smaller ones to zero."""
    if end is None:
        return float(np.copysign(np.finfo(float).max, -towards))
    return float(np.copysign(np.finfo(float).tiny, towards) if end == 0.0 else np.nextafter(end, towards))


def _constrained_simplex(xp: Any, z: Any) -> tuple[Any, Any]:
    size = z.shape[1] + 1
    left, log_left = xp.ones(z.shape[0]), xp.zeros(z.shape[0])
    parts, log_jacobian = [], xp.zeros(z.shape[0])
    for k in range(size - 1):
        shifted = z[:, k] - np.log(size - 1 - k)
        tail = xp.exp(-xp.abs(shifted))
        share = xp.where(shifted > 0, 1 / (1 + tail), tail / (1 + tail))
        log_jacobian = log_jacobian + log_left - xp.abs(shifted) - 2 * xp.log1p(tail)
        parts.append(left * share)
        left = left * xp.where(shifted > 0, tail / (1 + tail), 1 / (1 + tail))
        log_left = log_left - xp.where(shifted > 0, shifted, 0.0) - xp.log1p(tail)
    # No part rounds to zero, where a Dirichlet density with an exponent below one has a pole.
    return xp.maximum(xp.stack([*parts, left], axis=1), np.finfo(float).tiny), log_jacobian


def _constrained_ordered(xp: Any, z: Any) -> tuple[Any, Any]:
    steps = xp.concatenate([z[:, :1], xp.exp(z[:, 1:])], axis=1)
    return xp.cumsum(steps, axis=1), z[:, 1:].sum(axis=1)
