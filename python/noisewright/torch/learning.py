"""Noises learned from data first: a flow, a normal mixture or a Student density, stopped or chosen by held-out rows."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ..errors import InputError
from ..networks.moves import Draws
from ..networks.noises import Elliptical, fit_mixture, fit_student, split, wide_student
from ..networks.schedule import Plan
from .flows import Elliptic, SplineFlow
from .nce import _check_rows, rows_of
from .noise import Mixed, Noise, as_noise
from .training import Source, run

__all__ = ["learn_noise", "refit_noise"]

Tensor = Any


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
    """A noise near the data, learned by maximum likelihood, mixed with a little of a wide one so that no tail is without noise.

    Args:
        data: rows; the noise comes on their device and in their precision.
        kind: `flow` (coupling layers of splines), `mixture` (of normal densities), `student`, or a flow of your own (a module
            with `log_prob`, or one of zuko), which is trained in place.
        held_out: the share of the rows that early stopping, or the choice among mixtures, looks at.
        wide: the weight of a Student density with 3 degrees of freedom (MATH §6: what runs on an estimated density must mix in a safe,
            heavy-tailed noise), its scale
        widen: times that of the data; 0 weight for none.
        epochs, batch, rate, patience: of a flow's training.
        seed: of the split and of the training.
        log, progress: as for `train`.
        options: of `SplineFlow`.
    """
    rows = rows_of(data)
    _check_rows(rows, "`data`")
    if not 0.0 <= wide < 1.0:
        raise InputError(f"`wide` must be a share from 0 to 1, not {wide!r}")
    train_at, held_at = split(rows.shape[0], held_out, seed)
    array = rows.detach().double().cpu().numpy()
    if kind in ("mixture", "student"):
        fitted = fit_student(array[train_at], array[held_at]) if kind == "student" else fit_mixture(array[train_at], array[held_at], seed)
        core: Any = _on(fitted, rows)
    elif kind == "flow" or isinstance(kind, nn.Module):
        with torch.random.fork_rng(devices=[rows.device] if rows.is_cuda else []):
            torch.manual_seed(seed)
            flow = SplineFlow(rows, seed=seed, **options).to(rows) if kind == "flow" else kind
        parts = [rows[torch.as_tensor(at, device=rows.device)] for at in (train_at, held_at)]
        core = _trained(flow, parts[0], parts[1], epochs, batch, rate, patience, seed, log, progress)
    else:
        raise InputError(f"`kind` must be flow, mixture, student or a flow, not {kind!r}")
    return as_noise(core) if wide == 0.0 else as_noise(Mixed([core, _on(wide_student(array, widen), rows)], [1.0 - wide, wide]).to(rows.device))


def refit_noise(noise: Any, model: Draws, kind: Any = "mixture", *, keep: float = 0.2, seed: int = 0, **options: Any) -> Noise:
    """Iterated noise: a noise learned from draws of the present model (`model_draws`), mixed with a share of the one before.

    Args:
        noise: the noise before.
        model: draws of the model.
        kind, options: as for `learn_noise`.
        keep: the weight of the noise before, so that nothing it reached is lost.
    """
    return as_noise(Mixed([learn_noise(model.flat, kind, seed=seed, **options), as_noise(noise)], [1.0 - keep, keep]).to(model.points.device))


def _trained(flow: Any, rows: Tensor, judged: Tensor, epochs: int, batch: int, rate: float, patience: int, seed: int, log: Any, progress: bool | None) -> Any:
    """Maximum likelihood of a flow by the same loop that trains energies."""
    density = flow if hasattr(flow, "log_prob") else None
    source = Source(rows, batch, None)

    def negative(x: Tensor) -> Tensor:
        return -(density.log_prob(x) if density is not None else flow().log_prob(x)).double().mean()

    def held_out() -> float:
        with torch.no_grad():
            return float(negative(judged))

    plan = Plan(epochs, source.batch, rate, source.steps, ema=0.99, patience=patience, seed=seed, log=log, progress=progress)
    run(flow, lambda: negative(source()), held_out, source, plan)
    return flow.eval()


def _on(fitted: Elliptical, rows: Tensor) -> Elliptic:
    noise = Elliptic(fitted.weights, fitted.locations, fitted.factors, fitted.degrees)
    noise.to(rows.device)
    return noise
