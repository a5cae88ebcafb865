"""Two-dimensional toys: KL(data ‖ model) by grid, fresh data at every step, and the time of a step."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import torch
from systems import Checkerboard, EightGaussians, Scaled, divergence, perceptron

from noisewright.torch import NCE, train

#: Rows, and noise points, of a batch.
BATCH = 8192
#: What must be reached.
BOUNDS = {"8 Gaussians": 0.001, "checkerboard": 0.06}


def noise_for(name: str, device: torch.device) -> Any:
    if name == "8 Gaussians":
        return torch.distributions.MultivariateNormal(torch.zeros(2, device=device), 9.0 * torch.eye(2, device=device))
    edge = torch.tensor([4.5, 4.5], device=device)
    return torch.distributions.Independent(torch.distributions.Uniform(-edge, edge), 1)


def _shown(name: str, nce: NCE, system: Any) -> dict[str, np.ndarray]:
    """Arrays for the picture: rows, noise points, and the network and the density on a grid."""
    edge = 6.0 if name == "8 Gaussians" else 4.5
    rows = system.draw(2000)
    side = torch.linspace(-edge, edge, 160, device=rows.device)
    grid = torch.cartesian_prod(side, side)
    with torch.no_grad():
        parts = {
            "rows": rows,
            "noise": nce.noise.draw(2048, grid),
            "tilt": nce.log_ratio(grid).reshape(160, 160).T,
            "density": nce.log_density(grid).exp().reshape(160, 160).T,
        }
    return {f"{name}, {part}": values.float().cpu().numpy() for part, values in parts.items()}


def toy(name: str, steps: int, device: torch.device, keep: dict[str, np.ndarray] | None = None, **options: Any) -> dict[str, Any]:
    """One toy: its divergence, the seconds of training, compilation and capture included, and milliseconds per step."""
    torch.manual_seed(0)
    system = (EightGaussians if name == "8 Gaussians" else Checkerboard)(device)
    network = Scaled(perceptron(2), 2.0).to(device)
    nce = NCE(network, noise_for(name, device), nu=1)
    began = time.monotonic()
    epochs = 20
    done = train(nce, system.draw, epochs=epochs, steps=max(1, steps // epochs), batch=options.pop("batch", BATCH), patience=None, **options)
    if device.type == "cuda":
        torch.cuda.synchronize()
    seconds = time.monotonic() - began
    later = sorted(epoch.seconds for epoch in done.epochs[1:])
    # The held-out loss of an epoch is in its seconds: the median epoch over its steps is an upper bound.
    step = 1e3 * later[len(later) // 2] * epochs / done.steps
    kl = divergence(nce, system, 400 if device.type == "cpu" else 1600)
    if keep is not None:
        keep.update(_shown(name, nce, system))
    return {"toy": name, "kl": kl, "bound": BOUNDS[name], "seconds": seconds, "steps": done.steps, "step_ms": step, "ok": kl <= BOUNDS[name]}


def main(device: torch.device, tiny: bool, keep: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    if tiny:
        return [toy(name, 40, device, keep, batch=256) for name in BOUNDS]
    plans = {"8 Gaussians": (16_000, 2e-3), "checkerboard": (60_000, 2e-3)}
    return [toy(name, steps, device, keep, rate=rate, accelerate="compile") for name, (steps, rate) in plans.items()]


def speeds(device: torch.device) -> list[dict[str, Any]]:
    """A step at 8,192 + 8,192 points, run in several ways."""
    ways = [("none", "float32"), ("graph", "float32"), ("graph", "tf32"), ("compile", "float32"), ("compile", "tf32"), ("compile", "bf16")]
    rows = []
    for accelerate, precision in ways:
        found = toy("8 Gaussians", 4000 if accelerate != "none" else 200, device, accelerate=accelerate, precision=precision)
        rows.append({"accelerate": accelerate, "precision": precision, "step_ms": found["step_ms"], "seconds": found["seconds"], "kl": found["kl"]})
    return rows
