"""Networks of PyTorch trained by noise contrast: energies, density ratios, learned noise, with honest numbers.

    from noisewright.torch import NCE, evaluate, learn_noise, train

    noise = learn_noise(rows, "flow")
    nce = NCE(network, noise)          # log f = log noise + network, zero at the start
    train(nce, rows)
    print(evaluate(nce, held_out))     # log Z in two ways, likelihood, bits per dimension, calibration

A loop of your own works as well: `loss = nce(x); loss.backward()`. PyTorch is an optional extra: `pip install 'noisewright[torch]'`.
"""

from __future__ import annotations

from ..errors import MissingLibraryError

try:
    import torch as _torch
except ImportError:
    raise MissingLibraryError("`noisewright.torch` needs PyTorch: pip install 'noisewright[torch]'") from None

from ..networks.evaluation import Evaluation
from ..networks.information import InformationResult
from ..networks.schedule import Training
from .chains import model_draws
from .evaluation import evaluate
from .flows import SplineFlow
from .learning import learn_noise, refit_noise
from .nce import NCE
from .noise import Mixed, Noise, as_noise
from .ratios import Ratio, mutual_information
from .training import train

__all__ = [
    "NCE",
    "Evaluation",
    "InformationResult",
    "Mixed",
    "Noise",
    "Ratio",
    "SplineFlow",
    "Training",
    "as_noise",
    "evaluate",
    "learn_noise",
    "model_draws",
    "mutual_information",
    "refit_noise",
    "train",
]
