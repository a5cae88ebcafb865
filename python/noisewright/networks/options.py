"""The options of a contrastive loss for networks, checked, and the sentences for what cannot be used."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..checks import positive, shown
from ..errors import FunctionError, InputError

__all__ = ["BITS", "LOSSES", "QUIET_DIMENSIONS", "Options", "bad_energy", "bad_row", "check_noise", "check_weights"]

#: The losses whose best constant is known for every batch: a root for `js`, closed forms for the others (MATH §2, §4).
LOSSES = ("js", "kl", "reverse-kl", "hellinger", "pearson")


#: Quiet draws by default up to so many dimensions; beyond they gain little (MATH §8).
QUIET_DIMENSIONS = 12
#: Bits of Sobol points.
BITS = 30


@dataclass(frozen=True)
class Options:
    """What a loss is: noise points per data point, the ratio inside the loss, and how the constant is treated."""

    nu: float
    #: M of MATH §8; ν itself by default.
    loss_ratio: float
    loss: str
    #: `profile`: the best constant of every batch; `free`: a parameter like the others.
    log_z: str

    @classmethod
    def checked(cls, nu: Any, loss: Any, loss_ratio: Any, log_z: Any) -> Options:
        """The options as typed, each refused in a sentence of its own.

        >>> Options.checked(4, "js", None, "profile").loss_ratio
        4.0
        """
        if loss not in LOSSES:
            raise InputError(f"`loss` must be one of {', '.join(LOSSES)}, not {shown(loss)}")
        if log_z not in ("profile", "free"):
            raise InputError(f"`log_z` must be profile or free, not {shown(log_z)}")
        ratio = positive(nu, "nu")
        inside = ratio if loss_ratio is None else positive(loss_ratio, "loss_ratio")
        return cls(ratio, inside, loss, log_z)

    def noise_points(self, rows: int) -> int:
        """How many noise points a batch of so many rows has."""
        return max(1, round(self.nu * rows))

    @property
    def log_ratio(self) -> float:
        """log M."""
        return math.log(self.loss_ratio)


def check_noise(noise: Any) -> None:
    """Refuses what cannot be drawn from or has no density."""
    if not callable(getattr(noise, "sample", None)):
        raise InputError(f"the noise {type(noise).__name__} has no method `sample`, and must be something to draw from")
    if not callable(getattr(noise, "log_prob", None)):
        raise InputError(
            f"the noise {type(noise).__name__} has no method `log_prob`: its log-density is what the data are told from"
        )


def check_weights(weights: Any, count: int) -> Array:
    """The weights of a mixture of so many noises, with sum one."""
    shares = np.asarray(weights, dtype=float)
    if len(shares) != count or not (shares >= 0).all() or shares.sum() <= 0:
        raise InputError(f"`weights` must be one number from zero for each of the {count} noises")
    return np.asarray(shares / shares.sum())


def bad_energy(shape: tuple[int, ...], rows: int) -> FunctionError:
    """An energy that does not give one number for every row."""
    return FunctionError(f"the energy returned the shape {shape} for {rows} rows, and must return one number per row")


def bad_row(row: int, column: int, value: float, what: str = "the batch") -> InputError:
    """A value that is none."""
    return InputError(f"row {row + 1}, column {column + 1} of {what} is {value}, and must be a finite number")
