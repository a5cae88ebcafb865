"""Networks of JAX trained by noise contrast: plain pytrees of parameters, or modules of Equinox.

    from noisewright.jax import NCE, evaluate, learn_noise, train

    noise = learn_noise(rows, "flow")
    nce = NCE((apply, parameters), noise)     # log f = log noise + apply(parameters, x)
    trained, history = train(nce, rows)
    print(evaluate(trained, held_out))

A loop of your own works as well: `jax.value_and_grad(nce.loss)(parameters, x, key)`. JAX is an optional extra:
`pip install 'noisewright[jax]'`.
"""

from __future__ import annotations

from ..errors import MissingLibraryError

try:
    import jax as _jax
except ImportError:
    raise MissingLibraryError("`noisewright.jax` needs JAX: pip install 'noisewright[jax]'") from None

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
