"""Noises learned from data first: a flow, a normal mixture or a Student density, stopped or chosen by held-out rows."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..errors import InputError
from ..networks.moves import Draws
from ..networks.noises import fit_mixture, fit_student, split, wide_student
from ..networks.schedule import Plan
from .flows import SplineFlow
from .library import in_double
from .nce import check_rows, rows_of
from .noise import Elliptic, Mixed, Noise, as_noise
from .training import planned, run

__all__ = ["learn_noise", "refit_noise"]


@in_double
def learn_noise(
    data: Any,
    kind: Any = "flow",
    *,
    held_out: float = 0.1,
    wide: float = 0.05,
    widen: float = 2.0,
    epochs: int = 200,
    batch: int = 512,
    rate: float = 1e-3,
    patience: int = 15,
    seed: int = 0,
    log: Any = None,
    progress: bool | None = None,
    **options: Any,
) -> Noise:
    """A noise near the data, learned by maximum likelihood, mixed with a little of a wide Student density.

    The arguments are those of `noisewright.torch.learn_noise`; a flow of your own is one of flowjax, which its `fit_to_data` trains,
    and to which the `options` go then.
    """
    rows = rows_of(data)
    check_rows(rows, "`data`")
    if not 0.0 <= wide < 1.0:
        raise InputError(f"`wide` must be a share from 0 to 1, not {wide!r}")
    array = np.asarray(rows, dtype=float)
    train, held = split(len(array), held_out, seed)
    if isinstance(kind, str) and kind in ("mixture", "student"):
        fitted = fit_student(array[train], array[held]) if kind == "student" else fit_mixture(array[train], array[held], seed)
        core: Any = Elliptic(fitted)
    elif isinstance(kind, str) and kind == "flow":
        plan = planned(len(train), epochs, batch, rate, ema=0.99, patience=patience, seed=seed, log=log, progress=progress)
        core = _trained(SplineFlow(rows, seed=seed, **options), rows[train], rows[held], plan)
    elif type(kind).__module__.startswith("flowjax."):
        from flowjax.train import fit_to_data

        core = fit_to_data(jax.random.key(seed), kind, jnp.asarray(rows), val_prop=held_out, show_progress=False, **options)[0]
    else:
        raise InputError(f"`kind` must be flow, mixture, student or a flow of flowjax, not {kind!r}")
    return as_noise(core) if wide == 0.0 else as_noise(Mixed([core, Elliptic(wide_student(array, widen))], [1.0 - wide, wide]))


def refit_noise(noise: Any, model: Draws, kind: Any = "mixture", *, keep: float = 0.2, seed: int = 0, **options: Any) -> Noise:
    """Iterated noise: a noise learned from draws of the present model (`model_draws`), mixed with a share of the one before.

    The arguments are those of `noisewright.torch.refit_noise`.
    """
    return as_noise(Mixed([learn_noise(model.flat, kind, seed=seed, **options), as_noise(noise)], [1.0 - keep, keep]))


def _trained(flow: SplineFlow, rows: Any, judged: Any, plan: Plan) -> SplineFlow:
    """Maximum likelihood of a flow by the same loop that trains energies."""

    def negative(parameters: Any, x: Any) -> Any:
        return -flow.with_parameters(parameters).log_prob(x).astype(jnp.float64).mean()

    held_out = jax.jit(lambda p: (negative(p, judged), 0.0))
    best, _ = run(flow.parameters, lambda p, at, key: negative(p, rows[at]), held_out, len(rows), plan)
    return flow.with_parameters(best)
