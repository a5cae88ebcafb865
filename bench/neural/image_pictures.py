"""Draws docs/src/pictures/digits.png from the arrays that `bench/neural/run` writes: bench/neural/image_pictures.py FOLDER/images.npz."""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "src" / "pictures" / "digits.png"


def main(path: str) -> None:
    figure, panels = plt.subplots(2, 3, figsize=(7.5, 5.2), constrained_layout=True)
    with np.load(path) as found:
        for row, (name, side, levels) in enumerate((("digits", 8, 17), ("mnist", 28, 256))):
            for panel, part in zip(panels[row], ("data", "noise", "model")):
                tiles = found[f"{name}_{part}"].reshape(5, 5, side, side)
                # A white line between images.
                sheet = np.pad(tiles, ((0, 0), (0, 0), (1, 1), (1, 1))).transpose(0, 2, 1, 3).reshape(5 * (side + 2), 5 * (side + 2))
                panel.imshow(sheet, cmap="gray_r", vmin=0, vmax=levels)
                panel.set(xticks=[], yticks=[])
            panels[row][0].set_ylabel(name)
    for panel, title in zip(panels[0], ("held-out data", "noise", "draws of the model")):
        panel.set_title(title, fontsize=10)
    figure.savefig(PICTURE, dpi=80)


if __name__ == "__main__":
    main(sys.argv[1])
