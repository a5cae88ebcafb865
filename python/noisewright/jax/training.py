"""`train`: an epoch at a time, compiled as one loop, with a held-out loss, a cosine schedule, early stopping and averaged weights."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..checks import counted
from ..errors import InputError
from ..networks.losses import loss_value
from ..networks.noises import split
from ..networks.schedule import SAME, Epoch, Plan, Stopper, Training, check_same, epoch_order, no_loss
from ..progress import Bar
from .library import JAX, in_double
from .nce import NCE, check_rows, rows_of

__all__ = ["adam", "planned", "run", "train"]

#: Adam's shares and guard (Kingma and Ba 2015).
FIRST, SECOND, GUARD = 0.9, 0.999, 1e-8
#: The arrays of a state, in their order.
GROUPS = ("parameters", "first", "second", "average")


@in_double
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
    checkpoint: str | os.PathLike[str] | None = None,
    log: Callable[[str], None] | None = None,
    progress: bool | None = None,
) -> tuple[NCE, Training]:
    """The loss at trained parameters, the averaged ones of the epoch with the least held-out loss, and how the training went.

    The arguments are those of `noisewright.torch.train`; fresh rows come from a function of a key and their number.
    """
    rows, judged = _sources(data, held_out, counted(batch, "batch"), seed)
    noise = nce.noise.draw(jax.random.key(seed), nce.options.noise_points(len(judged)), judged)

    @jax.jit
    def held(parameters: Any) -> Any:
        ratios = nce.log_ratio(parameters, judged), nce.log_ratio(parameters, noise)
        c = nce.constant(parameters, *ratios)
        return loss_value(*ratios, c, nce.options, JAX), c

    def loss(parameters: Any, at: Any, key: Any) -> Any:
        if rows is not None:
            return nce.loss(parameters, rows[at], key)
        first, second = jax.random.split(key)
        return nce.loss(parameters, data(first, batch), second)

    count = None if rows is None else len(rows)
    plan = planned(count, epochs, batch, rate, steps, warm_up, clip, ema, weight_decay, patience, seed, "auto", checkpoint, log, progress)
    best, training = run(nce.parameters, loss, held, count, plan)
    return nce.with_parameters(best), training


def _sources(data: Any, held_out: Any, batch: int, seed: int) -> tuple[Any, Any]:
    """The rows to train on, none where they are fresh ones, and the rows that are held out."""
    if callable(data) and not hasattr(data, "shape"):
        return None, rows_of(data(jax.random.key(seed + 1), 8 * batch) if isinstance(held_out, float) else held_out)
    rows = rows_of(data)
    check_rows(rows, "the data")
    if not isinstance(held_out, (int, float)):
        return rows, rows_of(held_out)
    if not 0.0 < held_out < 1.0:
        raise InputError(f"`held_out` must be a share between 0 and 1, or rows, not {held_out!r}")
    first, second = split(len(rows), float(held_out), seed)
    return rows[first], rows[second]


def planned(rows: int | None, epochs: int, batch: int, rate: float, steps: int | None = None, *others: Any, **named: Any) -> Plan:
    """A plan whose batches are no larger than the rows, and whose epochs are one pass over them, or 100 steps where they are fresh."""
    if rows is None:
        return Plan(epochs, batch, rate, 100 if steps is None else steps, *others, **named)
    batch = min(counted(batch, "batch"), rows)
    return Plan(epochs, batch, rate, rows // batch if steps is None else steps, *others, **named)


def run(
    parameters: Any, loss: Callable[[Any, Any, Any], Any], held_out: Callable[[Any], Any], rows: int | None, plan: Plan
) -> tuple[Any, Training]:
    """The loop: any loss of (parameters, numbers of rows, key), any held-out loss with a constant."""
    leaves, structure = jax.tree_util.tree_flatten(jax.tree_util.tree_map(jnp.asarray, parameters))
    epoch_of = jax.jit(_epoch(loss, structure, plan))
    state = _start(leaves)
    stopper, best, resumed = Stopper(plan.patience), leaves, False
    history: list[Epoch] = []
    if plan.path is not None and os.path.exists(plan.path):
        state, best, stopper, history = _loaded(plan, leaves)
        resumed = True
    began = time.monotonic()
    with Bar("training", plan.progress) as bar:
        while len(history) < plan.epochs and not stopper.done:
            start, epoch = time.monotonic(), len(history)
            given = _given(rows, plan, epoch)
            state, losses = epoch_of(state, given)
            mean = float(losses.mean())
            if not np.isfinite(mean):
                raise no_loss(mean, epoch)
            score, constant = (float(value) for value in held_out(jax.tree_util.tree_unflatten(structure, state[3])))
            if stopper.improved(epoch, score):
                best = state[3]
            history.append(Epoch(epoch, mean, score, constant, float(given[1][-1]), time.monotonic() - start))
            bar((epoch + 1) / plan.epochs)
            if plan.log is not None:
                plan.log(history[-1].line())
            if plan.path is not None:
                _save(plan, state, best, stopper, history)
    reason = "patience" if len(history) < plan.epochs else "epochs"
    done = Training(history, stopper.best_epoch, stopper.best, len(history) * plan.steps, time.monotonic() - began, reason, resumed)
    return jax.tree_util.tree_unflatten(structure, best), done


def _given(rows: int | None, plan: Plan, epoch: int) -> tuple[Any, Any, Any]:
    """What an epoch goes by, all from the seed and the epoch alone: the rows of every batch, the rates, and the keys."""
    order = np.zeros((plan.steps, 0), dtype=int) if rows is None else epoch_order(rows, plan.steps, plan.batch, plan.seed, epoch)
    rates = np.array([plan.schedule.rate(epoch * plan.steps + k) for k in range(plan.steps)])
    return jnp.asarray(order), jnp.asarray(rates), jax.random.split(jax.random.fold_in(jax.random.key(plan.seed), epoch), plan.steps)


def _start(leaves: list[Any]) -> Any:
    """Parameters, Adam's two moments, the averaged parameters, and the number of steps."""
    zeros = [jnp.zeros_like(leaf) for leaf in leaves]
    return leaves, zeros, zeros, leaves, jnp.zeros((), dtype=jnp.int32)


def _epoch(loss: Callable[[Any, Any, Any], Any], structure: Any, plan: Plan) -> Callable[[Any, Any], Any]:
    def step(state: Any, given: Any) -> Any:
        at, rate, key = given
        value, gradient = jax.value_and_grad(lambda p: loss(jax.tree_util.tree_unflatten(structure, p), at, key))(state[0])
        return adam(state, gradient, rate, plan), value

    return lambda state, given: jax.lax.scan(step, state, given)


def adam(state: Any, gradient: list[Any], rate: Any, plan: Plan) -> Any:
    """One step of AdamW with a clipped gradient, and of the averaged parameters."""
    parameters, first, second, average, count = state
    if plan.clip is not None:
        norm = jnp.sqrt(sum(jnp.square(g).sum() for g in gradient))
        share = jnp.minimum(1.0, plan.clip / (norm + 1e-6))
        gradient = [(g * share).astype(g.dtype) for g in gradient]
    count = count + 1
    first = [(FIRST * m + (1 - FIRST) * g).astype(m.dtype) for m, g in zip(first, gradient)]
    second = [(SECOND * v + (1 - SECOND) * g * g).astype(v.dtype) for v, g in zip(second, gradient)]
    scale = rate / (1 - FIRST**count)
    parameters = [
        (p * (1.0 - rate * plan.weight_decay) - scale * m / (jnp.sqrt(v / (1 - SECOND**count)) + GUARD)).astype(p.dtype) for p, m, v in zip(parameters, first, second)
    ]
    keep = jnp.maximum(9.0 / (10.0 + count), 1.0 - plan.ema)
    average = [(a + keep * (p - a)).astype(a.dtype) for a, p in zip(average, parameters)]
    return parameters, first, second, average, count


def _save(plan: Plan, state: Any, best: list[Any], stopper: Stopper, history: list[Epoch]) -> None:
    """The checkpoint, which replaces the last one as a whole."""
    groups = {**dict(zip(GROUPS, state[:4])), "best": best}
    arrays: dict[str, Any] = {f"{name}{k}": np.asarray(leaf) for name, leaves in groups.items() for k, leaf in enumerate(leaves)}
    numbers = np.array([list(vars(epoch).values()) for epoch in history], dtype=float)
    same = np.array([float(getattr(plan, name)) for name in SAME])
    stop = np.array([stopper.best, stopper.best_epoch, stopper.last])
    unfinished = f"{plan.path}.unfinished"
    with open(unfinished, "wb") as file:
        np.savez(file, count=np.asarray(state[4]), history=numbers, same=same, stopper=stop, **arrays)
    os.replace(unfinished, str(plan.path))


def _loaded(plan: Plan, leaves: list[Any]) -> tuple[Any, list[Any], Stopper, list[Epoch]]:
    with np.load(str(plan.path)) as found:
        check_same(plan.path, dict(zip(SAME, found["same"].tolist())), plan)
        groups = [[jnp.asarray(found[f"{name}{k}"]) for k in range(len(leaves))] for name in (*GROUPS, "best")]
        history = [Epoch(int(row[0]), *(float(value) for value in row[1:])) for row in found["history"]]
        stopper = Stopper(plan.patience, float(found["stopper"][0]), int(found["stopper"][1]), int(found["stopper"][2]))
        return (*groups[:4], jnp.asarray(found["count"])), groups[4], stopper, history
