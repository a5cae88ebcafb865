"""`train`: an epoch at a time, compiled as one loop, with a held-out loss, a cosine schedule, early stopping and averaged weights."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..checks import counted, positive, whole
from ..errors import InputError, NoAnswerError
from ..networks.losses import loss_value
from ..networks.noises import split
from ..networks.schedule import Cosine, Epoch, Stopper, Training
from ..progress import Bar
from .library import JAX, in_double
from .nce import NCE, check_rows, rows_of

__all__ = ["adam", "run", "train"]

#: Adam's shares and guard (Kingma and Ba 2015).
FIRST, SECOND, GUARD = 0.9, 0.999, 1e-8


@in_double
def train(
    nce: NCE,
    data: Any,
    *,
    held_out: Any = 0.1,
    epochs: int = 100,
    batch: int = 512,
    rate: float = 1e-3,
    warm_up: int | None = None,
    clip: float = 1.0,
    ema: float = 0.999,
    patience: int | None = 10,
    seed: int = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    log: Callable[[str], None] | None = None,
    progress: bool | None = None,
) -> tuple[NCE, Training]:
    """The loss at trained parameters, the averaged ones of the epoch with the least held-out loss, and how the training went.

    The arguments are those of `noisewright.torch.train`.
    """
    rows = rows_of(data)
    check_rows(rows, "the data")
    if isinstance(held_out, (int, float)):
        if not 0.0 < held_out < 1.0:
            raise InputError(f"`held_out` must be a share between 0 and 1, or rows, not {held_out!r}")
        first, second = split(len(rows), float(held_out), seed)
        rows, judged = rows[first], rows[second]
    else:
        judged = rows_of(held_out)
    noise = nce.noise.draw(jax.random.key(seed), nce.options.noise_points(len(judged)), judged)

    @jax.jit
    def held(parameters: Any) -> Any:
        ratios = nce.log_ratio(parameters, judged), nce.log_ratio(parameters, noise)
        c = nce.constant(parameters, *ratios)
        return loss_value(*ratios, c, nce.options, JAX), c

    def loss(parameters: Any, at: Any, key: Any) -> Any:
        return nce.loss(parameters, rows[at], key)

    settings = {"epochs": counted(epochs, "epochs"), "batch": counted(batch, "batch"), "rate": positive(rate, "rate"), "seed": whole(seed, "seed")}
    best, training = run(nce.parameters, loss, held, len(rows), settings, warm_up, clip, ema, patience, checkpoint, log, progress)
    return nce.with_parameters(best), training


def run(
    parameters: Any,
    loss: Callable[[Any, Any, Any], Any],
    held_out: Callable[[Any], Any],
    rows: int,
    settings: dict[str, Any],
    warm_up: int | None,
    clip: float,
    ema: float,
    patience: int | None,
    checkpoint: str | os.PathLike[str] | None,
    log: Callable[[str], None] | None,
    progress: bool | None,
) -> tuple[Any, Training]:
    """The loop: any loss of (parameters, numbers of rows, key), any held-out loss with a constant."""
    epochs, seed = settings["epochs"], settings["seed"]
    batch = min(settings["batch"], rows)
    steps = rows // batch
    schedule = Cosine(settings["rate"], epochs * steps, max(1, epochs * steps // 50) if warm_up is None else warm_up)
    leaves, structure = jax.tree_util.tree_flatten(jax.tree_util.tree_map(jnp.asarray, parameters))
    epoch_of = jax.jit(_epoch(loss, structure, clip, ema))
    state = _start(leaves)
    stopper, best, resumed = Stopper(patience), leaves, False
    history: list[Epoch] = []
    if checkpoint is not None and os.path.exists(checkpoint):
        state, best, stopper, history = _loaded(checkpoint, settings, leaves, patience)
        resumed = True
    began = time.monotonic()
    with Bar("training", progress) as bar:
        while len(history) < epochs and not stopper.done:
            start, epoch = time.monotonic(), len(history)
            order = np.random.default_rng([seed, 7, epoch]).permutation(rows)[: steps * batch].reshape(steps, batch)
            rates = np.array([schedule.rate(epoch * steps + k) for k in range(steps)])
            keys = jax.random.split(jax.random.fold_in(jax.random.key(seed), epoch), steps)
            state, losses = epoch_of(state, (jnp.asarray(order), jnp.asarray(rates), keys))
            mean = float(losses.mean())
            if not np.isfinite(mean):
                raise NoAnswerError(f"the loss became {mean} in epoch {epoch}: lower `rate`, or take a noise with tails as heavy as the data's")
            score, constant = (float(value) for value in held_out(jax.tree_util.tree_unflatten(structure, state[3])))
            if stopper.improved(epoch, score):
                best = state[3]
            history.append(Epoch(epoch, mean, score, constant, float(rates[-1]), time.monotonic() - start))
            bar((epoch + 1) / epochs)
            if log is not None:
                log(history[-1].line())
            if checkpoint is not None:
                _save(checkpoint, settings, state, best, stopper, history)
    reason = "patience" if len(history) < epochs else "epochs"
    done = Training(history, stopper.best_epoch, stopper.best, len(history) * steps, time.monotonic() - began, reason, resumed)
    return jax.tree_util.tree_unflatten(structure, best), done


def _start(leaves: list[Any]) -> Any:
    """Parameters, Adam's two moments, the averaged parameters, and the number of steps."""
    zeros = [jnp.zeros_like(leaf) for leaf in leaves]
    return leaves, zeros, zeros, leaves, jnp.zeros((), dtype=jnp.int32)


def _epoch(loss: Callable[[Any, Any, Any], Any], structure: Any, clip: float, ema: float) -> Callable[[Any, Any], Any]:
    def step(state: Any, given: Any) -> Any:
        at, rate, key = given
        value, gradient = jax.value_and_grad(lambda p: loss(jax.tree_util.tree_unflatten(structure, p), at, key))(state[0])
        return adam(state, gradient, rate, clip, ema), value

    return lambda state, given: jax.lax.scan(step, state, given)


def adam(state: Any, gradient: list[Any], rate: Any, clip: float, ema: float) -> Any:
    """One step of Adam with a clipped gradient, and of the averaged parameters."""
    parameters, first, second, average, count = state
    norm = jnp.sqrt(sum(jnp.square(g).sum() for g in gradient))
    share = jnp.minimum(1.0, clip / (norm + 1e-6))
    gradient = [(g * share).astype(g.dtype) for g in gradient]
    count = count + 1
    first = [(FIRST * m + (1 - FIRST) * g).astype(m.dtype) for m, g in zip(first, gradient)]
    second = [(SECOND * v + (1 - SECOND) * g * g).astype(v.dtype) for v, g in zip(second, gradient)]
    scale = rate / (1 - FIRST**count)
    parameters = [
        (p - scale * m / (jnp.sqrt(v / (1 - SECOND**count)) + GUARD)).astype(p.dtype) for p, m, v in zip(parameters, first, second)
    ]
    keep = jnp.maximum(9.0 / (10.0 + count), 1.0 - ema)
    average = [(a + keep * (p - a)).astype(a.dtype) for a, p in zip(average, parameters)]
    return parameters, first, second, average, count


def _save(path: Any, settings: dict[str, Any], state: Any, best: list[Any], stopper: Stopper, history: list[Epoch]) -> None:
    """The checkpoint, which replaces the last one as a whole."""
    groups = {"parameters": state[0], "first": state[1], "second": state[2], "average": state[3], "best": best}
    arrays: dict[str, Any] = {f"{name}{k}": np.asarray(leaf) for name, leaves in groups.items() for k, leaf in enumerate(leaves)}
    numbers = np.array([list(vars(epoch).values()) for epoch in history], dtype=float)
    same = np.array([float(value) for value in settings.values()])
    stop = np.array([stopper.best, stopper.best_epoch, stopper.last])
    unfinished = f"{os.fspath(path)}.unfinished"
    with open(unfinished, "wb") as file:
        np.savez(file, count=np.asarray(state[4]), history=numbers, same=same, stopper=stop, **arrays)
    os.replace(unfinished, path)


def _loaded(path: Any, settings: dict[str, Any], leaves: list[Any], patience: int | None) -> tuple[Any, list[Any], Stopper, list[Epoch]]:
    with np.load(path) as found:
        for name, value in zip(settings, found["same"]):
            if float(settings[name]) != value:
                raise InputError(f"the checkpoint {os.fspath(path)} was written with {name} = {value:g}, and now it is {settings[name]}")
        groups = [[jnp.asarray(found[f"{name}{k}"]) for k in range(len(leaves))] for name in ("parameters", "first", "second", "average", "best")]
        history = [Epoch(int(row[0]), *(float(value) for value in row[1:])) for row in found["history"]]
        stopper = Stopper(patience, float(found["stopper"][0]), int(found["stopper"][1]), int(found["stopper"][2]))
        return (*groups[:4], jnp.asarray(found["count"])), groups[4], stopper, history
