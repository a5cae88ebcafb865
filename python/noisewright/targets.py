"""What an evidence needs to know of a model of another package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .arrays import Array

__all__ = ["Target", "is_of"]


@dataclass(frozen=True)
class Target:
    """A posterior on the real line: its log-density at many points, its draws (a row each) and the lengths of their chains."""

    log_density: Callable[[Array], Array]
    names: list[str]
    draws: Array
    lengths: list[int]


def is_of(thing: Any, package: str) -> bool:
    """Whether its class, or one that it inherits from, is of a package."""
    return any(kind.__module__.split(".")[0] == package for kind in type(thing).__mro__)
