"""Models of Stan: PyStan's, BridgeStan's, and CmdStanPy's by way of BridgeStan.

CmdStan evaluates a log-density by starting a program for every call, so that its models are compiled by BridgeStan, if that is installed.
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import Array
from .errors import FunctionError, InputError, MissingLibraryError
from .targets import Target, is_of

__all__ = ["stan_target"]


def stan_target(model: Any, draws: Any, args: Sequence[Any]) -> Target | None:
    """The posterior of a Stan model with its draws; `None` for anything else."""
    if is_of(model, "stan") and hasattr(model, "unconstrain_pars"):
        _no_arguments(args)
        return _pystan(model, draws)
    if is_of(model, "cmdstanpy") and hasattr(model, "stan_file"):
        return _bridgestan(_compiled(model, args), draws)
    if is_of(model, "bridgestan") and hasattr(model, "param_unconstrain"):
        _no_arguments(args)
        return _bridgestan(model, draws)
    return None


def _no_arguments(args: Sequence[Any]) -> None:
    if args:
        raise InputError("this Stan model holds its data: leave the arguments after the draws out")


def _compiled(model: Any, args: Sequence[Any]) -> Any:
    """A model of CmdStanPy compiled by BridgeStan, with the data that it was sampled with."""
    if len(args) > 1:
        raise InputError("a CmdStanPy model takes one argument after the draws, its data")
    if model.stan_file is None:
        raise InputError("the CmdStanPy model has no Stan file, from which BridgeStan could compile its log-density")
    try:
        import bridgestan
    except ImportError:
        raise MissingLibraryError("the log-density of a CmdStanPy model needs BridgeStan: pip install bridgestan") from None
    return bridgestan.StanModel(str(model.stan_file), args[0] if args else None)


def _bridgestan(model: Any, draws: Any) -> Target:
    columns, chains, count = _flat_columns(draws)
    names = list(model.param_names())
    missing = [name for name in names if name not in columns]
    if missing:
        raise InputError(f"the draws have no variable `{missing[0]}` of the model")
    constrained = np.stack([columns[name] for name in names], axis=1)
    table = np.stack([model.param_unconstrain(np.ascontiguousarray(row)) for row in constrained])

    def log_density(row: Array) -> float:
        # With its constants: an evidence without them means nothing.
        return float(model.log_density(row, propto=False, jacobian=True))

    return Target(_each(log_density), list(model.param_unc_names()), table, [count] * chains)


def _pystan(model: Any, fit: Any) -> Target:
    if not is_of(fit, "stan"):
        raise InputError("draws of a PyStan model must be what its `sample` gives")
    if _drops_constants(model.program_code):
        raise InputError(
            "PyStan leaves the constants of statements with `~` out of the log-density, and the evidence would lack them: write "
            "`target += normal_lpdf(y | mu, sigma)` for `y ~ normal(mu, sigma)`, or give a BridgeStan model, which has them"
        )
    values = _pystan_draws(fit)
    chains, count = next(iter(values.values())).shape[:2]
    flat = {name: value.reshape(chains * count, *value.shape[2:]) for name, value in values.items()}
    services = _Services(model)
    points = [{name: value[n].tolist() for name, value in flat.items()} for n in range(chains * count)]
    table = np.array(services.ask("unconstrain", points), dtype=np.float64)
    names = [f"z{k}" for k in range(table.shape[1])]
    return Target(lambda rows: np.array(services.ask("log_density", rows.tolist())), names, table, [count] * chains)


class _Services:
    """The compiled module of a PyStan model in a process of its own: see `stan_worker`."""

    def __init__(self, model: Any) -> None:
        command = [sys.executable, "-m", "noisewright.stan_worker"]
        path = os.pathsep.join([str(Path(__file__).resolve().parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
        )
        self.lock = threading.Lock()
        weakref.finalize(self, self.process.kill)
        self._send((model.model_name, dict(model.data)))

    def ask(self, kind: str, points: list[Any]) -> list[Any]:
        """An answer for every point."""
        with self.lock:
            self._send((kind, points))
            try:
                return pickle.load(self.process.stdout)  # type: ignore[arg-type, no-any-return]
            except EOFError:
                raise FunctionError("the process that evaluates the PyStan model ended: see its message") from None

    def _send(self, message: Any) -> None:
        assert self.process.stdin is not None
        try:
            pickle.dump(message, self.process.stdin)
            self.process.stdin.flush()
        except BrokenPipeError:
            raise FunctionError("the process that evaluates the PyStan model ended: see its message") from None


def _each(log_density: Callable[[Array], float]) -> Callable[[Array], Array]:
    """A log-density of many points from that of one; an error is Stan's way to say that there is none."""

    def one(row: Array) -> float:
        try:
            return log_density(row)
        except (RuntimeError, ValueError):
            return -np.inf

    return lambda points: np.array([one(np.ascontiguousarray(row)) for row in points])


def _drops_constants(program: str) -> bool:
    without_comments = re.sub(r"//[^\n]*|#[^\n]*|/\*.*?\*/", "", program, flags=re.DOTALL)
    return "~" in without_comments or re.search(r"_lup[dm]f\b", without_comments) is not None


def _pystan_draws(fit: Any) -> dict[str, Array]:
    """Chain × draw × shape of every variable; PyStan has the chains' draws in turn along the last axis."""
    saved = -(-fit.num_samples // fit.num_thin)
    warm_up = -(-fit.num_warmup // fit.num_thin) if fit.save_warmup else 0
    out = {}
    for name, dims in zip(fit.param_names, fit.dims):
        array = np.asarray(fit[name], dtype=np.float64).reshape(*dims, warm_up + saved, fit.num_chains)
        out[name] = np.moveaxis(array[..., warm_up:, :], (-1, -2), (0, 1))
    return out


def _flat_columns(draws: Any) -> tuple[dict[str, Array], int, int]:
    """Draws as columns under Stan's flat names, such as `theta.1.2`, chain after chain, with the number of chains and their length."""
    if is_of(draws, "cmdstanpy") and hasattr(draws, "column_names"):
        array = np.asarray(draws.draws(), dtype=np.float64)
        count, chains = array.shape[:2]
        table = array.swapaxes(0, 1).reshape(chains * count, -1)
        return {_flat_name(name): table[:, k] for k, name in enumerate(draws.column_names)}, chains, count
    posterior = getattr(draws, "posterior", None)
    if posterior is not None:
        draws = {str(name): posterior[name].values for name in posterior.data_vars}
    elif is_of(draws, "stan"):
        draws = _pystan_draws(draws)
    if not isinstance(draws, Mapping) or not draws:
        raise InputError("draws of a Stan model must be a fit of CmdStanPy or PyStan, InferenceData, or arrays by name (chain × draw × shape)")
    columns: dict[str, Array] = {}
    shape = np.shape(next(iter(draws.values())))[:2]
    for name, values in draws.items():
        array = np.asarray(values, dtype=np.float64)
        if array.shape[:2] != shape or array.ndim < 2:
            raise InputError(f"`draws` of `{name}` have the shape {array.shape}, and must begin with {shape}: chain and draw")
        for index in np.ndindex(array.shape[2:]):
            flat = ".".join([name, *(str(k + 1) for k in index)])
            columns[flat] = array[(slice(None), slice(None), *index)].reshape(-1)
    return columns, int(shape[0]), int(shape[1])


def _flat_name(name: str) -> str:
    """`theta[1,2]` as BridgeStan writes it: `theta.1.2`."""
    return name.replace("[", ".").replace(",", ".").rstrip("]")
