"""What goes wrong, each under the built-in exception that a caller would catch anyway."""

from __future__ import annotations

__all__ = [
    "FiniteDifferenceWarning",
    "FunctionError",
    "InputError",
    "MissingLibraryError",
    "ModelError",
    "NoAnswerError",
    "NoisewrightError",
    "NoisewrightWarning",
    "WorkersLostError",
]


class NoisewrightError(Exception):
    """Everything that this package raises."""

    code: str = "input"
    """The name under which programs find what is wrong: stable, in lower case with hyphens."""


class InputError(NoisewrightError, ValueError):
    """An argument cannot be used; the sentence names it and says what would be right."""


class ModelError(NoisewrightError, ValueError):
    """A model cannot be built as it was written."""


class NoAnswerError(NoisewrightError, ArithmeticError):
    """The data or the model cannot give an answer; the sentence says why and what to try."""


class FunctionError(NoisewrightError, RuntimeError):
    """A function of yours raised, or returned something of the wrong shape; `__cause__` is its own exception."""


class MissingLibraryError(NoisewrightError, ImportError):
    """A library that this call needs, and that is an optional extra, is not installed."""


class WorkersLostError(NoisewrightError, RuntimeError):
    """Workers of a cluster, or processes, were lost so often that the computation was given up."""

    code = "workers-lost"


class NoisewrightWarning(UserWarning):
    """Something worth knowing that did not prevent an answer."""


class FiniteDifferenceWarning(NoisewrightWarning):
    """Derivatives of a NumPy function are taken by finite differences, which costs time and some digits."""
