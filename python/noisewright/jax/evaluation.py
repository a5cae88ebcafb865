"""`evaluate`: a trained energy on held-out rows, with log Z in two ways and every number with its error."""

from __future__ import annotations

from typing import Any

import jax

from ..networks.evaluation import Chains, Evaluation, judge
from ..networks.moves import Draws
from .chains import model_draws
from .library import in_double
from .nce import NCE, check_rows, rows_of

__all__ = ["evaluate"]


@in_double
def evaluate(
    nce: NCE,
    x_test: Any,
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
    """Judges a trained energy, as `noisewright.torch.evaluate` does and with the same arguments."""
    x = rows_of(x_test)
    check_rows(x, "`x_test`")
    noise = nce.sides(nce.noise.draw(jax.random.key(seed + 1), noise_draws, x, quiet=False))
    found = model or model_draws(nce, draws, chains=chains, warm_up=warm_up, thin=thin, like=x, seed=seed)
    moved = Chains(nce.sides(found.flat), found.points.shape[0], found.acceptance, found.step)
    return judge(nce.sides(x), noise, moved, dimension=x.shape[1], bin_width=bin_width, confidence=confidence)
