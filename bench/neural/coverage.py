"""log Z of a 10-dimensional Gaussian energy as a module, trained and evaluated: in how many of 100 seeds the interval has the truth."""

from __future__ import annotations

import math
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import torch
from torch import nn

from noisewright.torch import NCE, evaluate, learn_noise, train


class Quadratic(nn.Module):
    """−‖L'(x − m)‖²/2, L lower triangular: its constant is known at any parameters."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(columns))
        self.factor = nn.Parameter(torch.eye(columns))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return -0.5 * ((x - self.mean) @ torch.tril(self.factor)).square().sum(1)

    def log_z(self) -> float:
        diagonal = self.factor.detach().double().diagonal().abs().log().sum()
        return 0.5 * len(self.mean) * math.log(2 * math.pi) - float(diagonal)


def one(seed: int, device: torch.device, tiny: bool) -> tuple[Any, ...]:
    """The z-scores of log Z by importance sampling and by the bridge, and whether their intervals have the truth."""
    rng = np.random.default_rng(seed)
    root = np.eye(10) + 0.2 * rng.normal(size=(10, 10))
    rows = torch.as_tensor((rng.normal(size=(2000, 10)) @ root).astype(np.float32), device=device)
    noise = learn_noise(rows, "student", seed=seed)
    nce = NCE(Quadratic(10).to(device), noise, nu=2, residual=False)
    train(nce, rows, epochs=2 if tiny else 12, batch=500, rate=2e-2, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = {"noise_draws": 1000, "chains": 16, "draws": 20, "warm_up": 10} if tiny else {"noise_draws": 20_000, "chains": 128, "draws": 50, "warm_up": 50}
        found = evaluate(nce, rows[:500], seed=seed, **sizes)
    truth = nce.energy.log_z()
    scores = [(z.log_z - truth) / max(math.hypot(z.se_data, z.se_noise), 1e-12) for z in (found.importance_sampling, found.bridge)]
    return scores[0], scores[1], *(z.lower < truth < z.upper for z in (found.importance_sampling, found.bridge)), found.importance_sampling.refused is not None, found.log_z.lower < truth < found.log_z.upper


def _alone(seed: int, tiny: bool) -> tuple[Any, ...]:
    torch.set_num_threads(1)
    return one(seed, torch.device("cpu"), tiny)


def main(tiny: bool) -> dict[str, Any]:
    """All seeds, on as many cores as there are."""
    began = time.monotonic()
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        seeds = range(3 if tiny else 100)
        found = list(pool.map(_alone, seeds, [tiny] * len(seeds)))
    scores = np.array([row[:2] for row in found])
    covered = np.array([row[2:4] for row in found]).mean(axis=0)
    refused, used = (np.array([row[k] for row in found], dtype=bool) for k in (4, 5))
    return {
        "seeds": len(found),
        "covered": float(used.mean()),
        "refused_is": float(refused.mean()),
        "covered_is": float(covered[0]),
        "covered_bridge": float(covered[1]),
        "z_sd": [float(value) for value in scores.std(axis=0)],
        "z_mean": [float(value) for value in scores.mean(axis=0)],
        "seconds": time.monotonic() - began,
        "ok": bool(0.9 <= used.mean() <= 0.98) and len(found) == 100,
    }
