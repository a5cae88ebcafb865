"""Noise-contrastive estimation: fit models known up to their constant, design the noise, compute the constant.

>>> import noisewright as nw
>>> model, data = nw.load_example("old-faithful")
"""

from __future__ import annotations

from importlib.metadata import version as _version

from .errors import (
    FiniteDifferenceWarning,
    FunctionError,
    InputError,
    MissingLibraryError,
    ModelError,
    NoAnswerError,
    NoisewrightError,
    NoisewrightWarning,
)
from .examples import Example, example_names, load_example
from .models import Model, Parameter, families
from .noises import (
    FREE,
    Bernoulli,
    Beta,
    Categorical,
    DesignedNoise,
    FittedNoise,
    Gamma,
    KernelDensity,
    Laplace,
    Logistic,
    LogNormal,
    Mixture,
    NegativeBinomial,
    Noise,
    Normal,
    Poisson,
    Product,
    Student,
    Truncated,
    Uniform,
    VonMises,
    VonMisesFisher,
)
from .results import Estimate, Result
from .theory import DesignResult, ErrorResult, design, error

__version__ = _version("noisewright")

__all__ = [
    "FREE",
    "Bernoulli",
    "Beta",
    "Categorical",
    "DesignResult",
    "DesignedNoise",
    "ErrorResult",
    "Estimate",
    "Example",
    "FiniteDifferenceWarning",
    "FittedNoise",
    "FunctionError",
    "Gamma",
    "InputError",
    "KernelDensity",
    "Laplace",
    "LogNormal",
    "Logistic",
    "MissingLibraryError",
    "Mixture",
    "Model",
    "ModelError",
    "NegativeBinomial",
    "NoAnswerError",
    "Noise",
    "NoisewrightError",
    "NoisewrightWarning",
    "Normal",
    "Parameter",
    "Poisson",
    "Product",
    "Result",
    "Student",
    "Truncated",
    "Uniform",
    "VonMises",
    "VonMisesFisher",
    "design",
    "error",
    "example_names",
    "families",
    "load_example",
]
