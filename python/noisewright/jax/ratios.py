"""`Ratio` and `mutual_information` for JAX: log ratios of two densities through bridges, by networks, with an interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import InputError
from ..networks.information import (
    EPOCHS,
    PILOT_ROWS,
    PILOT_STEPS,
    InformationResult,
    Judged,
    asked_bridges,
    cross_fitted,
    folds_of,
    placed,
    telescoped,
    waymark,
)
from ..networks.schedule import Training
from .library import in_double
from .nce import check_rows, rows_of
from .training import planned, run

__all__ = ["Ratio", "mutual_information", "square_units"]


def square_units(columns: int, outputs: int, hidden: int = 128, seed: int = 0) -> tuple[Any, Any]:
    """The default network: a perceptron beside a layer of squared units, which have the quadratic log ratio of two normals exactly."""
    keys = jax.random.split(jax.random.key(seed), 3)

    def wide(key: Any, a: int, b: int) -> Any:
        return jax.random.normal(key, (a, b), jnp.float32) / np.sqrt(a).astype(np.float32)

    def zeros(*shape: int) -> Any:
        return jnp.zeros(shape, jnp.float32)

    parameters = {
        "first": wide(keys[0], columns, hidden),
        "bias": zeros(hidden),
        "second": wide(keys[1], hidden, hidden),
        "last": zeros(hidden, outputs),
        "inner": wide(keys[2], columns, 2 * columns),
        "outer": zeros(2 * columns, outputs),
        "shift": zeros(outputs),
    }

    def apply(p: Any, x: Any) -> Any:
        deep = jax.nn.silu(jax.nn.silu(x @ p["first"] + p["bias"]) @ p["second"]) @ p["last"]
        return deep + jnp.square(x @ p["inner"]) @ p["outer"] + p["shift"]

    return apply, parameters


class Ratio:
    """log p − log q of two densities from a sample of each, through bridges (MATH §12).

    Args:
        network: a function of (columns, outputs) that gives a pair (apply, parameters); every waymark is one output.
        bridges, epochs, batch, rate, weight_decay, patience, seed, log, progress: as for `noisewright.torch.Ratio`.
    """

    def __init__(
        self,
        network: Callable[[int, int], tuple[Any, Any]] | None = None,
        bridges: int | str = "auto",
        *,
        epochs: int = EPOCHS,
        batch: int = 1024,
        rate: float = 1e-3,
        weight_decay: float = 1e-4,
        patience: int = 10,
        seed: int = 0,
        log: Callable[[str], None] | None = None,
        progress: bool | None = None,
    ) -> None:
        self.make = square_units if network is None else network
        self.bridges = asked_bridges(bridges)
        self.settings: dict[str, Any] = {"batch": batch, "rate": rate, "weight_decay": weight_decay, "patience": patience, "seed": seed, "log": log, "progress": progress}
        self.epochs = epochs
        #: Where the waymarks are; set it to use those of another ratio.
        self.places: Any = None
        self.apply: Any = None
        self.parameters: Any = None
        self.training: Training | None = None

    @in_double
    def fit(self, first: Any, second: Any, mixed: slice | None = None) -> Ratio:
        """Trains on a sample of p and one of q; only the columns `mixed` are moved along the way (by default all)."""
        x, y = rows_of(first), rows_of(second)
        check_rows(x, "`first`")
        check_rows(y, "`second`")
        if x.shape[1] != y.shape[1]:
            raise InputError(f"`first` has {x.shape[1]} columns and `second` {y.shape[1]}, and they must have the same")
        self.mixed = slice(0, x.shape[1]) if mixed is None else mixed
        if self.places is None:
            self.places = placed(self.bridges, lambda places: self._pilot(x, y, places))
        self._train(x, y, self.epochs, None)
        return self

    @in_double
    def log_ratio(self, x: Any) -> Any:
        """log p − log q at rows: the sum of the bridges, as trained (not recalibrated)."""
        return self._outputs(rows_of(x)).sum(0)

    def _outputs(self, x: Any) -> Any:
        """The log ratio of every bridge at rows: the difference of neighbouring outputs."""
        outputs = np.asarray(self.apply(self.parameters, x), dtype=float)
        return (outputs[:, :-1] - outputs[:, 1:]).T

    @in_double
    def judge(self, first: Any, second: Any, seed: int = 0) -> Judged:
        """The mean log ratio over rows of p that it was not trained on, recalibrated, and the bridges."""
        x, y = rows_of(first), rows_of(second)
        keys = jax.random.split(jax.random.key(seed), len(self.places))
        outputs = [self._outputs(self._marks(x, y, k)[i]) for i, k in enumerate(keys)]
        bridges = range(len(outputs) - 1)
        near, far = (np.stack([outputs[k + side][k] for k in bridges]) for side in (0, 1))
        return telescoped(near, far, self._outputs(x), self.places)

    def _pilot(self, x: Any, y: Any, places: Any) -> Judged:
        """A short training with waymarks at these places, judged on some of its own rows."""
        self.places = places
        self._train(x, y, 1, PILOT_STEPS)
        judged: Judged = self.judge(x[:PILOT_ROWS], y)
        return judged

    def _train(self, x: Any, y: Any, epochs: int, steps: int | None) -> None:
        self.apply, start = self.make(x.shape[1], len(self.places))
        held = max(1, len(x) // 10)
        key = jax.random.key(self.settings["seed"] + 2)
        judged = jax.jit(lambda p: (self._loss(p, x[:held], y, key), 0.0))
        plan = planned(len(x) - held, epochs, steps=steps, warm_up=50, **self.settings)
        self.parameters, self.training = run(start, lambda p, at, key: self._loss(p, x[held + at], y, key), judged, len(x) - held, plan)

    def _marks(self, x: Any, y: Any, key: Any) -> Any:
        """All waymarks of rows, with one partner of the second sample each."""
        partners = y[jax.random.randint(key, (len(x),), 0, len(y))]
        moved = [waymark(x[:, self.mixed], partners[:, self.mixed], float(place)).astype(x.dtype) for place in self.places]
        return jnp.stack([x.at[:, self.mixed].set(part) for part in moved])

    def _loss(self, parameters: Any, x: Any, y: Any, key: Any) -> Any:
        """The cross-entropy of telling which waymark a row is of, all of them at once (Srivastava et al. 2023)."""
        marks = self._marks(x, y, key)
        outputs = self.apply(parameters, marks.reshape(-1, x.shape[1])).astype(jnp.float64)
        which = jnp.repeat(jnp.arange(len(self.places)), len(x))
        return -jnp.take_along_axis(jax.nn.log_softmax(outputs), which[:, None], 1).mean()


def mutual_information(
    x: Any,
    y: Any,
    *,
    network: Callable[[int, int], tuple[Any, Any]] | None = None,
    bridges: int | str = "auto",
    folds: int = 5,
    confidence: float = 0.95,
    **options: Any,
) -> InformationResult:
    """The mutual information of x and y in nats, with an interval, as `noisewright.torch.mutual_information` has it."""
    a, b = np.asarray(x), np.asarray(y)
    rows, mixed, parts = folds_of(a.reshape(len(a), -1), b.reshape(len(b), -1), folds)
    places: Any = None

    def judged(rest: Any, held: Any, settings: dict[str, Any], seed: int) -> Judged:
        nonlocal places
        ratio = Ratio(network, bridges, **settings)
        ratio.places = places
        ratio.fit(rows[rest], rows[rest], mixed)
        places = ratio.places
        found: Judged = ratio.judge(rows[held], rows[held], seed=seed)
        return found

    return cross_fitted(parts, judged, len(rows), options.get("epochs", EPOCHS), options, confidence)
