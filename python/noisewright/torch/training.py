"""`train`: minibatches, a held-out loss, a cosine schedule, early stopping, averaged weights, checkpoints that resume to the bit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any, Iterator

import numpy as np
import torch

from ..checks import counted
from ..errors import InputError
from ..networks.losses import best_constant, loss_value
from ..networks.noises import split
from ..networks.schedule import SAME, Epoch, Plan, Stopper, Training, check_same, epoch_order, no_loss
from ..progress import Bar
from .library import TORCH
from .nce import NCE, _check_rows, _rank, _world, rows_of
from .steps import Eager, Graph, Weights, adam

__all__ = ["Source", "run", "train"]

Tensor = Any

class Source:
    """Batches of equal sizes: rows in a new order at every epoch, or fresh ones from a function."""

    def __init__(self, data: Any, batch: int, steps: int | None) -> None:
        self.draw: Any = data if callable(data) and not torch.is_tensor(data) else None
        self.rows = None if self.draw else rows_of(data)
        if self.rows is None:
            self.batch, self.steps = batch, 100 if steps is None else steps
            return
        _check_rows(self.rows, "the data")
        self.batch = min(batch, self.rows.shape[0])
        self.steps = self.rows.shape[0] // self.batch if steps is None else steps
        #: The numbers of the rows of every batch of an epoch, and which of them is next.
        self.order = torch.zeros(self.steps, self.batch, dtype=torch.long, device=self.rows.device)
        self.step = torch.zeros(1, dtype=torch.long, device=self.rows.device)

    def begin(self, seed: int, epoch: int) -> None:
        """The order of an epoch, which depends on the seed and the epoch alone."""
        if self.rows is None:
            return
        self.order.copy_(torch.as_tensor(epoch_order(self.rows.shape[0], self.steps, self.batch, seed, epoch)))

    def __call__(self) -> Tensor:
        """The batch, or this process's part of it."""
        x = rows_of(self.draw(self.batch)) if self.rows is None else self.rows[self.order.index_select(0, self.step)[0]]
        return x if _world() == 1 else x[_rank() :: _world()]


def train(
    nce: NCE,
    data: Any,
    *,
    held_out: Any = 0.1,
    epochs: int = 100,
    batch: int = 512,
    rate: float = 1e-3,
    steps: int | None = None,
    warm_up: int | None = None,
    clip: float | None = 1.0,
    ema: float = 0.999,
    weight_decay: float = 0.0,
    patience: int | None = 10,
    seed: int = 0,
    accelerate: str = "auto",
    precision: str = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    log: Callable[[str], None] | None = None,
    progress: bool | None = None,
) -> Training:
    """Trains the energy of a loss in place, and leaves the averaged weights of the epoch with the least held-out loss in it.

    Under `torchrun` (with `torch.distributed` initialised) every process takes an equal part of the same batches, and the constant is
    that of the whole batch.

    Args:
        nce: the loss.
        data: rows on the network's device, or a function from a number to so many fresh rows.
        held_out: the share of the rows whose loss is watched, or rows.
        epochs: at most so many passes over the rows.
        batch: rows of a batch; the rest of an epoch that makes no full batch is left to the next.
        rate: the peak of the learning rate, which rises over `warm_up` steps (by default a fiftieth of all) and falls like a cosine.
        steps: steps of an epoch; one pass over the rows by default, 100 where they are fresh.
        clip: the largest norm of a gradient.
        ema: the share that the averaged weights keep at every step.
        weight_decay: AdamW's.
        patience: epochs without a better held-out loss before it stops.
        seed: of the order of the rows and of the noise.
        accelerate: `none`, `graph` (a CUDA graph of the whole step), `compile` (the loss and Adam compiled, in a graph) or `auto`: `graph`
            on a GPU.
        precision: `float32`, `tf32` (a GPU's faster products) or `bf16`; `auto` is `tf32` on a GPU. Log ratios are always double.
        checkpoint: a file, written after every epoch. Where it exists, training goes on from it, to the same bits on one CPU.
        log: gets a line per epoch, such as `print`.
        progress: whether to show a progress bar; by default when somebody is looking.
    """
    source, judged = _sources(data, held_out, counted(batch, "batch"), steps, seed)
    plan = Plan(
        epochs, source.batch, rate, source.steps, warm_up, clip, ema, weight_decay, patience, seed, accelerate, checkpoint, log, progress
    )
    with _precise(nce, precision, judged):
        with torch.random.fork_rng(devices=[judged.device] if judged.is_cuda else []):
            torch.manual_seed(plan.seed)
            with torch.no_grad():
                noise = nce.noise.draw(nce.options.noise_points(judged.shape[0]), judged)
        done = run(nce, lambda: nce(source()), lambda: _held_out_loss(nce, judged, noise), source, plan, lambda: float(nce.constant.detach()))
        _held_out_loss(nce, judged, noise, keep=True)
    return done


def _sources(data: Any, held_out: Any, batch: int, steps: int | None, seed: int) -> tuple[Source, Tensor]:
    """What is trained on, and the rows that are held out."""
    if callable(data) and not torch.is_tensor(data):
        with torch.random.fork_rng():
            torch.manual_seed(seed + 1)
            rows = rows_of(data(8 * batch)) if isinstance(held_out, float) else rows_of(held_out)
        return Source(data, batch, steps), rows
    rows = rows_of(data)
    if not isinstance(held_out, (int, float)):
        return Source(rows, batch, steps), rows_of(held_out)
    if not 0.0 < held_out < 1.0:
        raise InputError(f"`held_out` must be a share between 0 and 1, or rows, not {held_out!r}")
    first, second = (torch.as_tensor(part, device=rows.device) for part in split(rows.shape[0], float(held_out), seed))
    _check_rows(rows, "the data")
    return Source(rows[first], batch, steps), rows[second]


def _held_out_loss(nce: NCE, rows: Tensor, noise: Tensor, keep: bool = False) -> float:
    """The loss of held-out rows against the same noise points every time; `keep` makes their constant the running one."""
    nce.eval()
    with torch.no_grad():
        data, drawn = nce.log_ratio(rows), nce.log_ratio(noise)
        c = nce.log_z_free if nce.log_z_free is not None else best_constant(data, drawn, nce.options, TORCH)
        if keep:
            nce.log_z_running.copy_(c)
        else:
            nce.train()
        return float(loss_value(data, drawn, c, nce.options, TORCH))


def run(
    module: Any,
    loss: Callable[[], Tensor],
    held_out: Callable[[], float],
    source: Source,
    plan: Plan,
    constant: Callable[[], float] = lambda: 0.0,
) -> Training:
    """The loop: any loss of batches, any held-out loss. Leaves the best averaged weights in the module."""
    device = next(p.device for p in module.parameters() if p.requires_grad)
    weights = Weights(module, plan.weight_decay, plan.clip, plan.steps)
    state = _State(module, weights, plan)
    resumed = state.load()
    start = time.monotonic()
    module.train()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []), Bar("training", plan.progress) as bar:
        step = _step(loss, weights, module, source, plan, device) if len(state.epochs) < plan.epochs and not state.stopper.done else None
        while step is not None and len(state.epochs) < plan.epochs and not state.stopper.done:
            began = time.monotonic()
            epoch = len(state.epochs)
            mean, rate = _epoch(step, weights, source, plan, epoch, bar)
            weights.swap()
            score = held_out()
            if state.stopper.improved(epoch, score):
                state.keep_best()
            weights.swap()
            state.end(Epoch(epoch, mean, score, constant(), rate, time.monotonic() - began))
    state.restore_best()
    module.eval()
    reason = "patience" if len(state.epochs) < plan.epochs else "epochs"
    count = len(state.epochs) * plan.steps
    return Training(state.epochs, state.stopper.best_epoch, state.stopper.best, count, time.monotonic() - start, reason, resumed)


def _step(loss: Callable[[], Tensor], weights: Weights, module: Any, source: Source, plan: Plan, device: Any) -> Eager:
    if plan.accelerate not in ("auto", "none", "graph", "compile"):
        raise InputError(f"`accelerate` must be auto, none, graph or compile, not {plan.accelerate!r}")
    source.step = weights.clock.step
    if plan.accelerate == "compile":
        loss = _compiled(loss, weights, module)
    if plan.accelerate == "none" or device.type != "cuda" or _world() > 1:
        return Eager(loss, weights)
    source.begin(plan.seed, 0)
    return Graph(loss, weights, [b for b in module.buffers() if b is not None], plan.steps)


def _compiled(loss: Callable[[], Tensor], weights: Weights, module: Any) -> Callable[[], Tensor]:
    """The loss as one compiled function: draws, network, constant and all, so that what lies between products becomes few kernels; Adam is another.

    A call before, of which nothing is kept, makes what is made only once (Sobol points, factors of covariances), and says in a
    sentence what cannot be used.
    """
    module.eval()
    with torch.no_grad():
        loss()
    module.train()
    weights.move = torch.compile(adam, dynamic=False)
    compiled: Callable[[], Tensor] = torch.compile(loss, dynamic=False)
    return compiled


def _epoch(step: Eager, weights: Weights, source: Source, plan: Plan, epoch: int, bar: Bar) -> tuple[float, float]:
    """All steps of an epoch, whose random numbers depend on the seed and the epoch alone; the mean loss and the last rate."""
    torch.manual_seed(int(np.random.SeedSequence([plan.seed, 11, epoch]).generate_state(1, np.uint64)[0] >> 1))
    source.begin(plan.seed, epoch)
    step.total.zero_()
    rates = [plan.schedule.rate(epoch * plan.steps + k) for k in range(plan.steps)]
    weights.clock.begin(epoch * plan.steps, rates, plan.ema)
    for k in range(0, plan.steps, step.steps):
        step()
        if k % 64 < step.steps:
            bar((epoch + k / plan.steps) / plan.epochs)
    if _world() > 1:
        torch.distributed.all_reduce(step.total)
    mean = float(step.total) / plan.steps / _world()
    if not np.isfinite(mean):
        raise no_loss(mean, epoch)
    return mean, rates[-1]


def _copied(sources: list[Tensor], targets: list[Tensor]) -> None:
    with torch.no_grad():
        for source, target in zip(sources, targets):
            target.copy_(source)


class _State:
    """Where a training stands: what a checkpoint holds."""

    def __init__(self, module: Any, weights: Weights, plan: Plan) -> None:
        self.module, self.weights, self.plan = module, weights, plan
        self.stopper = Stopper(plan.patience)
        self.epochs: list[Epoch] = []
        self.best = [p.detach().clone() for p in weights.parameters]

    def keep_best(self) -> None:
        """The parameters as they are become the best."""
        _copied(self.weights.parameters, self.best)

    def restore_best(self) -> None:
        """The best parameters become those of the module."""
        _copied(self.best, self.weights.parameters)

    def end(self, epoch: Epoch) -> None:
        """After an epoch: the log, and the checkpoint, which replaces the last one as a whole."""
        self.epochs.append(epoch)
        if _rank() != 0:
            return
        if self.plan.log is not None:
            self.plan.log(epoch.line())
        if self.plan.path is not None:
            unfinished = f"{self.plan.path}.unfinished"
            torch.save(self._payload(), unfinished)
            os.replace(unfinished, self.plan.path)

    def _payload(self) -> dict[str, Any]:
        return {
            "same": {name: getattr(self.plan, name) for name in SAME},
            "module": self.module.state_dict(),
            "weights": self.weights.state,
            "best": self.best,
            "stopper": [self.stopper.best, self.stopper.best_epoch, self.stopper.last],
            "epochs": [list(vars(e).values()) for e in self.epochs],
        }

    def load(self) -> bool:
        """Goes on from the checkpoint, if there is one of the same training."""
        path = self.plan.path
        if path is None or not os.path.exists(path):
            return False
        found = torch.load(path, map_location=self.weights.parameters[0].device, weights_only=True)
        check_same(path, found["same"], self.plan)
        self.module.load_state_dict(found["module"])
        _copied([*found["weights"], *found["best"]], [*self.weights.state, *self.best])
        self.stopper.best, self.stopper.best_epoch, self.stopper.last = found["stopper"]
        self.epochs = [Epoch(*values) for values in found["epochs"]]
        return True


@contextmanager
def _precise(nce: NCE, precision: str, rows: Tensor) -> Iterator[None]:
    """The precision of the network's products, for the time of a training."""
    if precision not in ("auto", "float32", "tf32", "bf16"):
        raise InputError(f"`precision` must be auto, float32, tf32 or bf16, not {precision!r}")
    before = torch.get_float32_matmul_precision()
    if precision == "tf32" or (precision == "auto" and rows.is_cuda):
        torch.set_float32_matmul_precision("high")
    nce.half = precision == "bf16"
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
        nce.half = False
