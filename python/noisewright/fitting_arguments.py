"""What fits are given, checked for the library: settings, constraints, strata, weights, noise drawn elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from . import _core
from .arrays import Array, labels, of_rows, points, vector
from .checks import counted, loss_ratio_of, number, whole
from .errors import InputError
from .noises import NoiseLike, noise_request

__all__ = [
    "SETTINGS",
    "NoiseDraws",
    "constrained",
    "read_choices",
    "read_draws",
    "read_settings",
    "read_weights",
    "refuse_elsewhere",
    "refuse_noise",
]


@dataclass(frozen=True, eq=False)
class NoiseDraws:
    """Noise drawn elsewhere: the points, the log-density of the noise there, and at the data.

    Pass it as `noise=` of `fit`.
    """

    points: Any
    log_density: Any
    log_density_at_data: Any


def read_settings(
    noise: NoiseLike | NoiseDraws = "auto",
    nu: float | str = "auto",
    noise_points: int | None = None,
    noise_share: float = 0.1,
    max_noise: int | None = None,
    *,
    method: str = "nce",
    loss: str,
    draws: str = "auto",
    loss_ratio: float | str = "auto",
    errors: str,
    confidence: float,
    seed: int,
    starts: int,
    max_iterations: int,
    tolerance: float,
    refit_noise: bool = False,
    check_ratio: bool = False,
    target: str | Sequence[str] = "mse",
    choices: int | str = "auto",
    penalty: str | None = None,
    penalty_factors: Mapping[str, float] | None = None,
    refit_selected: bool = False,
    interval: str = "wald",
    bootstrap: int | None = None,
    cross_validate: int | None = None,
) -> dict[str, Any]:
    """How to fit, checked, for the library."""
    if errors not in ("robust", "model"):
        raise InputError(f"`errors` must be robust or model, not {errors!r}")
    if penalty is None and (penalty_factors or refit_selected):
        argument = "penalty_factors" if penalty_factors else "refit_selected"
        raise InputError(f"`{argument}` has no meaning without `penalty`: give one, or leave it out")
    request = noise_request("auto" if isinstance(noise, NoiseDraws) else noise)
    given = {
        "nu": not (isinstance(nu, str) and nu == "auto"),
        "noise_points": noise_points is not None,
        "noise_share": noise_share != 0.1,
        "max_noise": max_noise is not None,
        "loss": loss != "js",
        "draws": draws != "auto",
        "loss_ratio": not (isinstance(loss_ratio, str) and loss_ratio == "auto"),
        "refit_noise": bool(refit_noise),
        "target": not (isinstance(target, str) and target == "mse"),
        "check_ratio": bool(check_ratio),
        "choices": not (isinstance(choices, str) and choices == "auto"),
    }
    _core.check_settings(str(method), request[0], isinstance(noise, NoiseDraws), [name for name, is_given in given.items() if is_given])
    return {
        "method": str(method),
        "noise": request,
        "nu": number(nu, "nu") if given["nu"] else None,
        "noise_points": None if noise_points is None else whole(noise_points, "noise_points"),
        "noise_share": number(noise_share, "noise_share"),
        "max_noise": None if max_noise is None else counted(max_noise, "max_noise"),
        "choices": counted(choices, "choices") if given["choices"] else None,
        "loss": str(loss),
        "draws": str(draws),
        "loss_ratio": loss_ratio_of(loss_ratio),
        "model_based": errors == "model",
        "confidence": number(confidence, "confidence"),
        "seed": whole(seed, "seed"),
        "starts": whole(starts, "starts"),
        "max_iterations": whole(max_iterations, "max_iterations"),
        "tolerance": number(tolerance, "tolerance"),
        "refit_noise": bool(refit_noise),
        "check_ratio": bool(check_ratio),
        "target": target if isinstance(target, str) else ",".join(target),
        "penalty": None if penalty is None else str(penalty),
        "penalty_factors": [
            (str(name), number(value, f"penalty_factors[{name!r}]")) for name, value in (penalty_factors or {}).items()
        ],
        "refit_selected": bool(refit_selected),
        "interval": str(interval),
        "bootstrap": None if bootstrap is None else whole(bootstrap, "bootstrap"),
        "cross_validate": None if cross_validate is None else whole(cross_validate, "cross_validate"),
    }


#: The arguments of a fit that say how it is done.
SETTINGS = tuple(signature(read_settings).parameters)

#: What speaks of noise, with the defaults of a fit.
_OF_NOISE = {
    "method": "nce",
    "noise": "auto",
    "nu": "auto",
    "noise_points": None,
    "max_noise": None,
    "draws": "auto",
    "loss": "js",
    "loss_ratio": "auto",
    "refit_noise": False,
    "check_ratio": False,
    "choices": "auto",
}


def constrained(built: _core.Model, fixed: Mapping[str, float] | None, constraints: Sequence[str]) -> _core.Model:
    """The model with what is held fixed or tied together."""
    if isinstance(constraints, str):
        raise InputError('`constraints` must be a list of equations, such as ["a + b = 1"]')
    if not fixed and not constraints:
        return built
    values = [(str(name), number(value, f"fixed[{name!r}]")) for name, value in (fixed or {}).items()]
    return built.constrained(values, [str(text) for text in constraints])


def read_choices(
    strata: Any, chosen: Any, log_probability: Any, data: Any, rows: int
) -> dict[str, Any]:
    """The stratum of each row, whether it was chosen, and the log probability of its coming in."""
    marks = vector(of_rows(chosen, data, "chosen"), "chosen")
    if len(marks) != rows:
        raise InputError(f"`chosen` has {len(marks)} values, and must have one for each of the {rows} rows")
    if not np.isin(marks, (0.0, 1.0)).all():
        raise InputError("`chosen` must be true or 1 for the chosen rows of each stratum, false or 0 for the others")
    offsets = None if log_probability is None else vector(of_rows(log_probability, data, "log_probability"), "log_probability")
    return {
        "strata": labels(of_rows(strata, data, "strata"), rows, "strata"),
        "chosen": [mark == 1.0 for mark in marks],
        "log_probability": None if offsets is None else offsets.tolist(),
    }


def refuse_noise(asked: Mapping[str, Any]) -> None:
    """Choices have alternatives in the place of noise: what is not as by default has no meaning."""
    for argument, default in _OF_NOISE.items():
        value = asked[argument]
        if type(value) is not type(default) or value != default:
            raise InputError(
                f"`{argument}` has no meaning beside `strata`, where the alternatives take the place of the noise: leave it out"
            )


def refuse_elsewhere(asked: Mapping[str, Any]) -> None:
    """What needs the rows in memory, and weights and clusters that are no columns, where the rows are in a file or with workers."""
    in_memory = {
        "chains": asked["chains"] is not None,
        "noise": isinstance(asked["noise"], NoiseDraws),
        "strata": asked["strata"] is not None,
        "choices": not (isinstance(asked["choices"], str) and asked["choices"] == "auto"),
    }
    for argument, given in in_memory.items():
        if given:
            raise InputError(f"`{argument}` needs the rows in memory: read the file, and pass its columns as `data`")
    for argument in ("weights", "clusters"):
        column = asked[argument]
        if column is not None and not isinstance(column, str):
            raise InputError(f"`{argument}` must be the name of a column of the data")


def read_draws(noise: NoiseDraws, variables: Sequence[str]) -> tuple[Array, Array, Array]:
    """Draws of one's own, with the log-densities at them and at the data."""
    return (
        points(noise.points, variables, "noise.points"),
        vector(noise.log_density, "noise.log_density"),
        vector(noise.log_density_at_data, "noise.log_density_at_data"),
    )


def read_weights(weights: Any, data: Any, rows: int) -> Array | None:
    """How often each row of the data counts."""
    if weights is None:
        return None
    values = vector(of_rows(weights, data, "weights"), "weights")
    if len(values) != rows:
        raise InputError(f"`weights` has {len(values)} values, and must have one for each of the {rows} rows")
    return values
