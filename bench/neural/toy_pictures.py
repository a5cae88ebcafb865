"""Draws docs/src/pictures/networks.svg: data, noise, learned energy and density of the two toys. Minutes on a CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import torch
from systems import Checkerboard, EightGaussians, Scaled, divergence, perceptron
from toys import noise_for

from noisewright.torch import NCE, train

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "src" / "pictures" / "networks.svg"


def main(steps: int, width: int) -> None:
    torch.set_num_threads(1)
    figure, panels = plt.subplots(2, 4, figsize=(10, 5.2), constrained_layout=True)
    for row, (name, system) in enumerate({"8 Gaussians": EightGaussians, "checkerboard": Checkerboard}.items()):
        torch.manual_seed(row)
        known = system(torch.device("cpu"))
        nce = NCE(Scaled(perceptron(2, width, 3), 2.0), noise_for(name, torch.device("cpu")), nu=1)
        train(nce, known.draw, epochs=10, steps=steps // 10, batch=512, rate=5e-3, patience=None, ema=0.99)
        kl = divergence(nce, known, 300)
        edge = 6.0 if row == 0 else 4.5
        side = torch.linspace(-edge, edge, 160)
        grid = torch.cartesian_prod(side, side)
        with torch.no_grad():
            tilt = nce.log_ratio(grid).reshape(160, 160).T
            density = (nce.log_density(grid)).exp().reshape(160, 160).T
            noise = nce.noise.draw(2048, grid)
        extent = (-edge, edge, -edge, edge)
        for panel, points in zip(panels[row], (known.draw(2000), noise)):
            panel.scatter(*points.T, s=1, color="#1f5a8a", linewidths=0, rasterized=True)
            panel.set(xlim=(-edge, edge), ylim=(-edge, edge))
        panels[row][2].imshow(tilt, origin="lower", extent=extent, cmap="RdBu_r", vmin=-8, vmax=8)
        panels[row][3].imshow(density, origin="lower", extent=extent, cmap="viridis")
        panels[row][0].set_ylabel(f"{name}\nKL {kl:.3f}")
        for panel in panels[row]:
            panel.set(aspect="equal", xticks=[], yticks=[])
    for panel, title in zip(panels[0], ("data", "noise", "network (log f − log noise)", "density of the model")):
        panel.set_title(title, fontsize=10)
    figure.savefig(PICTURE, dpi=80)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4000, int(sys.argv[2]) if len(sys.argv) > 2 else 96)
