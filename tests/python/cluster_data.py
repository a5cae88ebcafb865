"""Rows, models and digests that the tests of fits on workers share."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import noisewright as nw

FEATURES = ["x", "y", "x^2", "x*y", "y^2"]


def rows(count: int, seed: int = 1) -> np.ndarray:
    """Correlated Gaussian rows, one row of the array per row of data."""
    z = np.random.default_rng(seed).standard_normal((count, 2))
    return np.column_stack([0.3 + 1.1 * z[:, 0], -0.2 + 0.5 * z[:, 0] + 0.8 * z[:, 1]])


def model() -> nw.Model:
    """A Gaussian in two variables, its constant taken as unknown."""
    return nw.Model.from_features(FEATURES, variables=["x", "y"])


def digest(result: nw.FitResult) -> str:
    """SHA-256 of all that a fit says, but for how the rows were read and for the picture."""
    said = {name: value for name, value in result.to_dict().items() if name not in ("passes", "dropped", "grid")}
    return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


def deadly(parent: int) -> Callable[..., Any]:
    """The log-density of a Gaussian that ends every process but one."""

    def log_density(x: Any, m: Any) -> Any:
        if os.getpid() != parent:
            sys.stdout.flush()
            os._exit(1)
        return -0.5 * (x - m) ** 2

    return log_density
