"""Noise-contrastive estimation: fit models known up to their constant, design the noise, compute the constant.

>>> import noisewright as nw
>>> model, data = nw.load_example("old-faithful")
"""

from __future__ import annotations

import atexit as _atexit

from . import _core

from .after import ComparisonResult, FittedLogDensity, WaldTest, compare, load
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
from .evidences import (
    BayesFactor,
    EvidenceComparison,
    EvidenceResult,
    bayes_factor,
    compare_evidence,
    evidence,
)
from .examples import Example, example_names, load_example
from .fitting import FitResult, NoiseDraws, RatioResult, fit, ratio
from .labs import Lab, lab
from .models import Model, Parameter, families
from .fitted_noises import DesignedNoise, FittedNoise
from .noises import (
    FREE,
    Bernoulli,
    Beta,
    Categorical,
    Dictionary,
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
from .normalizers import (
    LogZResult,
    NormalizerEstimate,
    PathResult,
    log_z,
    log_z_path,
)
from .ratios import DensityRatioResult, Divergences, InformationResult, LogRatio, mutual_information
from .results import Estimate, Result
from .states import (
    ConvergenceResult,
    EnergiesResult,
    ExpectationsResult,
    StatesResult,
    SurfaceResult,
    convergence,
    energies,
    equilibration,
    expectations,
    log_z_states,
    mbar,
    surface,
)
from .simulations import SimulationResult, simulate_design
from .theory import DesignResult, ErrorResult, design, error

__version__ = _core.VERSION

# A computation that Ctrl-C has cancelled may still be within a function of the caller's, which needs the interpreter.
_atexit.register(_core.finish_cancelled)

__all__ = [
    "BayesFactor",
    "Bernoulli",
    "Beta",
    "Categorical",
    "ComparisonResult",
    "ConvergenceResult",
    "DensityRatioResult",
    "DesignResult",
    "DesignedNoise",
    "Dictionary",
    "Divergences",
    "EnergiesResult",
    "ErrorResult",
    "Estimate",
    "EvidenceComparison",
    "EvidenceResult",
    "Example",
    "ExpectationsResult",
    "FREE",
    "FiniteDifferenceWarning",
    "FitResult",
    "FittedLogDensity",
    "FittedNoise",
    "FunctionError",
    "Gamma",
    "InformationResult",
    "InputError",
    "KernelDensity",
    "Lab",
    "Laplace",
    "LogNormal",
    "LogRatio",
    "LogZResult",
    "Logistic",
    "MissingLibraryError",
    "Mixture",
    "Model",
    "ModelError",
    "NegativeBinomial",
    "NoAnswerError",
    "Noise",
    "NoiseDraws",
    "NoisewrightError",
    "NoisewrightWarning",
    "Normal",
    "NormalizerEstimate",
    "Parameter",
    "PathResult",
    "Poisson",
    "Product",
    "RatioResult",
    "Result",
    "SimulationResult",
    "StatesResult",
    "Student",
    "SurfaceResult",
    "Truncated",
    "Uniform",
    "VonMises",
    "VonMisesFisher",
    "WaldTest",
    "bayes_factor",
    "compare",
    "compare_evidence",
    "convergence",
    "design",
    "energies",
    "equilibration",
    "error",
    "evidence",
    "example_names",
    "expectations",
    "families",
    "fit",
    "lab",
    "load",
    "load_example",
    "log_z",
    "log_z_path",
    "log_z_states",
    "mbar",
    "mutual_information",
    "ratio",
    "simulate_design",
    "surface",
]
