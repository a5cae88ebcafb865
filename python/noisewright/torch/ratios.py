"""`Ratio` and `mutual_information`: log ratios of two densities through bridges, by networks, with an interval."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import cross_entropy

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
from ..networks.schedule import Plan, Training
from .nce import CHUNK, _check_rows, rows_of
from .training import Source, run

__all__ = ["Ratio", "SquareUnits", "mutual_information"]

Tensor = Any


class SquareUnits(nn.Module):  # type: ignore[misc]
    """The default network of a ratio: a multilayer perceptron beside a layer of squared units.

    The log ratio of two normal densities is a quadratic form, which squared units have exactly and others must imitate.
    """

    def __init__(self, columns: int, outputs: int, hidden: int = 256, squares: int | None = None) -> None:
        super().__init__()
        squares = 2 * columns if squares is None else squares
        self.perceptron = nn.Sequential(nn.Linear(columns, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, outputs))
        self.inner = nn.Linear(columns, squares, bias=False)
        self.outer = nn.Linear(squares, outputs)
        with torch.no_grad():
            for layer in (self.perceptron[-1], self.outer):
                layer.weight.zero_()
                layer.bias.zero_()

    def forward(self, x: Tensor) -> Tensor:
        return self.perceptron(x) + self.outer(self.inner(x).square())


class Ratio:
    """log p − log q of two densities from a sample of each, through bridges (MATH §12).

    Args:
        network: a function of (columns, outputs) that makes a module; every waymark, one more than there are bridges, is one output. By default `SquareUnits`.
        bridges: how many, or `auto`: as many as it takes until no bridge's sides are nearly separate.
        epochs, batch, rate, weight_decay, patience: of the training.
        seed: of everything random.
    """

    def __init__(
        self,
        network: Callable[[int, int], Any] | None = None,
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
        self.make = SquareUnits if network is None else network
        self.bridges = asked_bridges(bridges)
        self.settings = (epochs, batch, rate, weight_decay, patience, seed, log, progress)
        #: Where the waymarks are; set it to use those of another ratio.
        self.places: Any = None
        self.network: Any = None
        self.training: Training | None = None

    def fit(self, first: Any, second: Any, mixed: slice | None = None) -> Ratio:
        """Trains on a sample of p and one of q; only the columns `mixed` are moved along the way (by default all)."""
        x, y = rows_of(first), rows_of(second)
        for rows, name in ((x, "first"), (y, "second")):
            _check_rows(rows, f"`{name}`")
        if x.shape[1] != y.shape[1]:
            raise InputError(f"`first` has {x.shape[1]} columns and `second` {y.shape[1]}, and they must have the same")
        self._pairs = _Pairs(x, y, slice(0, x.shape[1]) if mixed is None else mixed)
        seed = self.settings[5]
        with torch.random.fork_rng(devices=[x.device] if x.is_cuda else []):
            torch.manual_seed(seed)
            self.places = placed(self.bridges, lambda places: self._pilot(x, places)) if self.places is None else self.places
            self._train(x, len(self.places) - 1, self.settings[0], None)
        return self

    def log_ratio(self, x: Any) -> Tensor:
        """log p − log q at rows: the sum of the bridges, as trained (not recalibrated)."""
        rows = rows_of(x)
        with torch.no_grad():
            outputs = torch.cat([self.network(part).double() for part in torch.split(rows, CHUNK)])
        return outputs[:, 0] - outputs[:, -1]

    def judge(self, first: Any, second: Any, seed: int = 0) -> Judged:
        """The mean log ratio over rows of p that it was not trained on, recalibrated, and the bridges."""
        pairs = _Pairs(rows_of(first), rows_of(second), self._pairs.mixed)
        with torch.random.fork_rng(devices=[pairs.first.device] if pairs.first.is_cuda else []):
            torch.manual_seed(seed)
            near, far = self._outputs(pairs)
        at_data = self._all(pairs.first)
        return telescoped(near, far, at_data, self.places)

    def _all(self, x: Tensor) -> Any:
        """The log ratio of every bridge at rows: the difference of neighbouring outputs."""
        with torch.no_grad():
            outputs = torch.cat([self.network(part).double() for part in torch.split(x, CHUNK)])
        return (outputs[:, :-1] - outputs[:, 1:]).T.cpu().numpy()

    def _outputs(self, pairs: _Pairs) -> tuple[Any, Any]:
        """Every bridge's output at both of its sides; row i of a side belongs to row i of the first sample."""
        marks = [pairs.at(float(place), None) for place in self.places]
        outputs = [self._all(mark) for mark in marks]
        bridges = range(len(marks) - 1)
        return np.stack([outputs[k][k] for k in bridges]), np.stack([outputs[k + 1][k] for k in bridges])

    def _pilot(self, x: Tensor, places: Any) -> Judged:
        """A short training with waymarks at these places, judged on some of its own rows."""
        self.places = places
        self._train(x, len(places) - 1, None, PILOT_STEPS)
        return self.judge(self._pairs.first[:PILOT_ROWS], self._pairs.second)

    def _train(self, x: Tensor, bridges: int, epochs: int | None, steps: int | None) -> None:
        _, batch, rate, decay, patience, seed, log, progress = self.settings
        self.network = self.make(x.shape[1], bridges + 1).to(x)
        held = max(1, x.shape[0] // 10)
        order = torch.arange(x.shape[0], device=x.device)
        source = Source(order[held:, None], batch, steps)
        judged = order[:held]
        options: dict[str, Any] = {"weight_decay": decay, "patience": patience, "seed": seed, "log": log, "progress": progress}
        plan = Plan(epochs or 1, source.batch, rate, source.steps, warm_up=50, **options)

        def held_out() -> float:
            with torch.no_grad(), torch.random.fork_rng(devices=[x.device] if x.is_cuda else []):
                torch.manual_seed(seed + 2)
                return float(self._loss(judged))

        trained = run(self.network, lambda: self._loss(source()[:, 0]), held_out, source, plan)
        self.training = trained

    def _loss(self, at: Tensor) -> Tensor:
        """The cross-entropy of telling which waymark a row is of, all of them at once (Srivastava et al. 2023): every output is
        trained on the rows of all waymarks, and so on those at which the sum is evaluated, which pairs of neighbours are not."""
        marks = self._pairs.along([float(place) for place in self.places], at)
        which = torch.arange(marks.shape[0], device=at.device).repeat_interleave(marks.shape[1])
        return cross_entropy(self.network(marks.flatten(0, 1)).double(), which)


class _Pairs:
    """Rows of the first sample, each with a partner of the second that is drawn anew at every call."""

    def __init__(self, first: Tensor, second: Tensor, mixed: slice) -> None:
        self.first, self.second, self.mixed = first, second, mixed

    def along(self, places: list[float], at: Tensor) -> Tensor:
        """All waymarks of some rows, (waymarks, rows, columns), with one partner each."""
        x = self.first[at]
        y = self.second[torch.randint(0, self.second.shape[0], (x.shape[0],), device=x.device)]
        return torch.stack([self._mixed(x, y, place) for place in places])

    def at(self, place: float, at: Tensor | None) -> Tensor:
        """One waymark of all rows, with fresh partners."""
        x = self.first if at is None else self.first[at]
        y = self.second[torch.randint(0, self.second.shape[0], (x.shape[0],), device=x.device)]
        return self._mixed(x, y, place)

    def _mixed(self, x: Tensor, y: Tensor, place: float) -> Tensor:
        if self.mixed == slice(0, x.shape[1]):
            return waymark(x, y, place)
        out = x.clone()
        out[:, self.mixed] = waymark(x[:, self.mixed], y[:, self.mixed], place)
        return out


def mutual_information(
    x: Any,
    y: Any,
    *,
    network: Callable[[int, int], Any] | None = None,
    bridges: int | str = "auto",
    folds: int = 5,
    confidence: float = 0.95,
    **options: Any,
) -> InformationResult:
    """The mutual information of x and y in nats, with an interval, by networks through bridges from joint to independent rows.

    The rows are cut into folds. Networks are trained on the rows of the other folds, and on half of them, and judged on the fold; the
    two are extrapolated to endless rows, and the folds' spread enters the error.

    Args:
        x, y: rows that belong together.
        network, bridges, options: as for `Ratio`.
        folds: into how many the rows are cut.
        confidence: of the interval.
    """
    a, b = rows_of(x), rows_of(y)
    array, mixed, parts = folds_of(a.detach().cpu().numpy(), b.detach().cpu().numpy(), folds)
    rows = torch.as_tensor(array).to(a)
    places: Any = None

    def judged(rest: Any, held: Any, settings: dict[str, Any], seed: int) -> Judged:
        nonlocal places
        ratio = Ratio(network, bridges, **settings)
        ratio.places = places
        trained, others = (rows[torch.as_tensor(at, device=rows.device)] for at in (rest, held))
        ratio.fit(trained, trained, mixed)
        places = ratio.places
        return ratio.judge(others, others, seed=seed)

    return cross_fitted(parts, judged, rows.shape[0], options.get("epochs", EPOCHS), options, confidence)
