"""How long and how fast a network is trained: a cosine schedule, early stopping, and a line of log per epoch."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import counted, positive, whole
from ..errors import InputError, NoAnswerError
from ..results import Column, Panel, Result

__all__ = ["SAME", "Cosine", "Epoch", "Plan", "Stopper", "Training", "check_same", "epoch_order", "no_loss"]


#: What a checkpoint must agree on to be gone on from.
SAME = ("epochs", "batch", "rate", "seed", "steps")


@dataclass(frozen=True)
class Plan:
    """How to train; the fields are the arguments of `train`, checked."""

    epochs: int
    batch: int
    rate: float
    #: Of an epoch.
    steps: int
    #: A fiftieth of all steps by default.
    warm_up: int | None = None
    clip: float | None = 5.0
    ema: float = 0.999
    weight_decay: float = 0.0
    patience: int | None = None
    seed: int = 0
    accelerate: str = "auto"
    checkpoint: Any = None
    log: Callable[[str], None] | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "steps"):
            counted(getattr(self, name), name)
        positive(self.rate, "rate")
        for name in ("seed", "warm_up"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name)

    @property
    def schedule(self) -> Cosine:
        """The learning rate of every step."""
        total = self.epochs * self.steps
        return Cosine(self.rate, total, max(1, total // 50) if self.warm_up is None else self.warm_up)

    @property
    def path(self) -> str | None:
        """Of the checkpoint."""
        return None if self.checkpoint is None else os.fspath(self.checkpoint)


def check_same(path: Any, written: dict[str, Any], plan: Plan) -> None:
    """Refuses to go on from the checkpoint of another training."""
    for name, value in written.items():
        if getattr(plan, name) != value:
            raise InputError(f"the checkpoint {path} was written with {name} = {value:g}, and now it is {getattr(plan, name):g}")


def epoch_order(rows: int, steps: int, batch: int, seed: int, epoch: int) -> Array:
    """The numbers of the rows of every batch of an epoch: passes over the rows in new orders, which depend on the seed and the epoch alone."""
    rng = np.random.default_rng([seed, 7, epoch])
    order = np.concatenate([rng.permutation(rows) for _ in range(-(-steps * batch // rows))])
    return np.asarray(order[: steps * batch].reshape(steps, batch))


def no_loss(mean: float, epoch: int) -> NoAnswerError:
    """A loss that is no number."""
    return NoAnswerError(
        f"the loss became {mean} in epoch {epoch}: lower `rate`, lower `clip`, or take a noise with tails as heavy as the data's"
    )


@dataclass(frozen=True)
class Cosine:
    """A learning rate that rises linearly over `warm_up` steps and falls like a cosine to `final` times its peak.

    >>> schedule = Cosine(1e-3, steps=100, warm_up=10)
    >>> schedule.rate(0), schedule.rate(9), schedule.rate(99) < 2e-6
    (0.0001, 0.001, True)
    """

    peak: float
    steps: int
    warm_up: int = 0
    final: float = 0.0

    def rate(self, step: int) -> float:
        """The rate of a step, counted from zero."""
        if step < self.warm_up:
            return self.peak * (step + 1) / self.warm_up
        share = min(1.0, (step - self.warm_up) / max(1, self.steps - self.warm_up))
        return self.peak * (self.final + (1.0 - self.final) * 0.5 * (1.0 + math.cos(math.pi * share)))


@dataclass(frozen=True)
class Epoch:
    """What is known at the end of an epoch."""

    epoch: int
    loss: float
    held_out: float
    log_z: float
    rate: float
    seconds: float

    def line(self) -> str:
        """One line of log."""
        return (
            f"epoch {self.epoch:4d}  loss {self.loss:.6f}  held out {self.held_out:.6f}  log Z {self.log_z:+.4f}  "
            f"rate {self.rate:.2e}  {self.seconds:.1f} s"
        )


@dataclass
class Stopper:
    """Remembers the best held-out loss, and says when so many epochs have passed without a better one."""

    patience: int | None
    best: float = math.inf
    best_epoch: int = -1
    last: int = field(default=-1)

    def improved(self, epoch: int, held_out: float) -> bool:
        """Whether this epoch is the best so far."""
        self.last = epoch
        if held_out < self.best:
            self.best, self.best_epoch = held_out, epoch
            return True
        return False

    @property
    def done(self) -> bool:
        """Whether to stop."""
        return self.patience is not None and self.last - self.best_epoch >= self.patience


@dataclass(frozen=True, repr=False, eq=False)
class Training(Result):
    """How a training went: every epoch, and which one was kept."""

    epochs: list[Epoch]
    best_epoch: int
    held_out: float
    steps: int
    seconds: float
    #: `patience` or `epochs`.
    stop: str
    #: Whether it went on from a checkpoint.
    resumed: bool

    def _table(self) -> tuple[str, list[Column], list[list[Any]], list[str]]:
        columns: list[Column] = [("epoch", None), ("loss", 6), ("held out", 6), ("log Z", 4), ("rate", 3)]
        rows: list[list[Any]] = [[str(e.epoch), e.loss, e.held_out, e.log_z, e.rate] for e in self.epochs]
        notes = [f"epoch {self.best_epoch} is kept; {self.steps} steps in {self.seconds:.1f} s; stopped by {self.stop}"]
        return "training", columns, rows, notes

    def _frame(self) -> tuple[list[str], list[dict[str, Any]]]:
        return [str(e.epoch) for e in self.epochs], [vars(e) for e in self.epochs]

    def _panels(self) -> list[Panel]:
        at = [float(e.epoch) for e in self.epochs]
        series = [
            ("line", "training", [at, [e.loss for e in self.epochs]]),
            ("line", "held out", [at, [e.held_out for e in self.epochs]]),
        ]
        return [(("epoch", "linear"), ("loss", "linear"), series)]

    def __repr__(self) -> str:
        return f"<training: {len(self.epochs)} epochs, held-out loss {self.held_out:.6g} at epoch {self.best_epoch}>"
