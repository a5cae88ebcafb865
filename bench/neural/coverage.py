"""log Z of a 10-dimensional Gaussian energy as a module, trained and evaluated: in how many of 100 seeds the interval has the truth."""

from __future__ import annotations

import math
import time
import warnings
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


def one(seed: int, device: torch.device, tiny: bool) -> tuple[float, float, bool, bool]:
    """The z-scores of log Z by importance sampling and by the bridge, and whether their intervals have the truth."""
    rng = np.random.default_rng(seed)
    root = np.eye(10) + 0.2 * rng.normal(size=(10, 10))
    rows = torch.as_tensor((rng.normal(size=(2000, 10)) @ root).astype(np.float32), device=device)
    noise = learn_noise(rows, "student", seed=seed, wide=0.0)
    nce = NCE(Quadratic(10).to(device), noise, nu=2, residual=False)
    train(nce, rows, epochs=2 if tiny else 12, batch=500, rate=2e-2, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sizes = {"noise_draws": 1000, "chains": 16, "draws": 20, "warm_up": 10} if tiny else {"noise_draws": 20_000, "chains": 128, "draws": 50, "warm_up": 50}
        found = evaluate(nce, rows[:500], seed=seed, **sizes)
    truth = nce.energy.log_z()
    scores = [(z.log_z - truth) / max(math.hypot(z.se_data, z.se_noise), 1e-12) for z in (found.importance_sampling, found.bridge)]
    return scores[0], scores[1], *(z.lower < truth < z.upper for z in (found.importance_sampling, found.bridge))


def main(device: torch.device, tiny: bool, seconds: float = 120.0) -> dict[str, Any]:
    began = time.monotonic()
    found = []
    for seed in range(3 if tiny else 100):
        found.append(one(seed, device, tiny))
        if time.monotonic() - began > seconds:
            break
    scores = np.array([row[:2] for row in found])
    covered = np.array([row[2:] for row in found]).mean(axis=0)
    return {
        "seeds": len(found),
        "covered_is": float(covered[0]),
        "covered_bridge": float(covered[1]),
        "z_sd": [float(value) for value in scores.std(axis=0)],
        "z_mean": [float(value) for value in scores.mean(axis=0)],
        "seconds": time.monotonic() - began,
        "ok": bool(((0.9 <= covered) & (covered <= 0.98)).all()) and len(found) == 100,
    }
