"""Draws docs/src/pictures/networks.svg from the arrays that `bench/neural/run` writes: bench/neural/toy_pictures.py FOLDER/toys.npz."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "src" / "pictures" / "networks.svg"


def main(path: str) -> None:
    figure, panels = plt.subplots(2, 4, figsize=(10, 5.2), constrained_layout=True)
    with np.load(path) as found:
        for row, (name, edge) in enumerate({"8 Gaussians": 6.0, "checkerboard": 4.5}.items()):
            extent = (-edge, edge, -edge, edge)
            for panel, part in zip(panels[row], ("rows", "noise")):
                panel.scatter(*found[f"{name}, {part}"].T, s=1, color="#1f5a8a", linewidths=0, rasterized=True)
                panel.set(xlim=(-edge, edge), ylim=(-edge, edge))
            panels[row][2].imshow(found[f"{name}, tilt"], origin="lower", extent=extent, cmap="RdBu_r", vmin=-8, vmax=8)
            panels[row][3].imshow(found[f"{name}, density"], origin="lower", extent=extent, cmap="viridis")
            panels[row][0].set_ylabel(f"{name}\nKL {found['kl'][row]:.2g}")
            for panel in panels[row]:
                panel.set(aspect="equal", xticks=[], yticks=[])
    for panel, title in zip(panels[0], ("data", "noise", "network (log f − log noise)", "density of the model")):
        panel.set_title(title, fontsize=10)
    figure.savefig(PICTURE, dpi=80)


if __name__ == "__main__":
    main(sys.argv[1])
