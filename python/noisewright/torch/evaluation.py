"""`evaluate`: a trained energy on held-out rows, with log Z in two ways and every number with its error."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ..networks.evaluation import Chains, Evaluation, judge
from ..networks.moves import Draws
from .chains import model_draws
from .nce import NCE, rows_of

__all__ = ["evaluate"]

Tensor = Any


def evaluate(
    nce: NCE,
    x_test: Tensor,
    *,
    noise_draws: int = 100_000,
    model: Draws | None = None,
    chains: int = 128,
    draws: int = 200,
    warm_up: int = 200,
    thin: int = 1,
    bin_width: float = 1.0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Judges a trained energy: log Z of the model by importance sampling and by a bridge to draws of the model, the held-out
    log-likelihood and bits per dimension, the classifier's calibration, the overlap; and what looks wrong, by name.

    Args:
        nce: the trained loss.
        x_test: rows that it was not trained on.
        noise_draws: independent noise draws for importance sampling.
        model: draws of the model, if there are some; Hamiltonian chains otherwise.
        chains, draws, warm_up, thin: of those chains.
        bin_width: the width of a grey level where rows are whole numbers with uniform noise added, for bits per dimension.
        confidence: of the intervals.
        seed: of draws and chains.
    """
    x = rows_of(x_test)
    # Dropout and the like are for training.
    nce.eval()
    with torch.random.fork_rng(devices=[x.device] if x.is_cuda else []):
        torch.manual_seed(seed + 1)
        with torch.no_grad():
            noise = nce.sides(nce.noise.draw(noise_draws, x, quiet=False))
    found = model or model_draws(nce, draws, chains=chains, warm_up=warm_up, thin=thin, like=x, seed=seed)
    moved = Chains(nce.sides(found.flat), found.points.shape[0], found.acceptance, found.step)
    return judge(
        nce.sides(x), noise, moved, dimension=x.shape[1], bin_width=bin_width, confidence=confidence, notes=_notes(nce)
    )


def _notes(nce: NCE) -> tuple[str, ...]:
    norms = nn.modules.batchnorm._BatchNorm
    if isinstance(nce.energy, nn.Module) and any(isinstance(m, norms) for m in nce.energy.modules()):
        return (
            "the energy has BatchNorm: in training its value at a row depends on the other rows, so that data and noise are told by "
            "their batch; use LayerNorm or none",
        )
    return ()
