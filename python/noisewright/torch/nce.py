"""`NCE`: the contrastive loss of an energy that is a network, as a module whose parameters are the network's."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
from torch import nn

from ..errors import FunctionError, InputError
from ..fitting import FitResult
from ..networks.dictionary import DictionaryResult, design_weights, target_matrix
from ..networks.evaluation import Evaluation, Sides
from ..networks.linear import linear_fit
from ..networks.losses import best_constant, loss_value
from ..networks.options import Options, bad_energy, bad_row
from .library import TORCH
from .noise import Noise, as_noise

__all__ = ["NCE", "last_layer", "rows_of"]

Tensor = Any

#: Rows of one call of the network where nothing is differentiated.
CHUNK = 1 << 16


class NCE(nn.Module):  # type: ignore[misc]
    """Noise-contrastive estimation of log f, known up to its constant: `loss = nce(x); loss.backward()`.

    Args:
        energy: a module from rows (a matrix) to one number per row. In the residual form log f = log p_n + energy(x), so that the
            network learns what the noise has wrong; otherwise log f = energy(x) (the negative of a physicist's energy).
        noise: anything with `sample` and `log_prob`: torch.distributions, flows of zuko, what `learn_noise` gives, the noises of
            noisewright itself.
        nu: noise points per row.
        loss: `js`, `kl`, `reverse-kl`, `hellinger` or `pearson`.
        loss_ratio: the ratio M inside the loss, ν by default (MATH §8).
        log_z: `profile` takes the best constant of every batch, exactly, so that it never lags behind the network;
            `free` makes it a parameter.
        residual: whether the noise's log-density is part of the energy.
        zero_start: in the residual form, set the last linear layer of the network to zero, so that training starts at the noise.
        quiet: draw the noise by scrambled Sobol points where the noise allows; by default in up to 12 dimensions.
        running: the share that the running constant `log_z_running` keeps at every batch.
    """

    def __init__(
        self,
        energy: Any,
        noise: Any,
        nu: float = 4.0,
        *,
        loss: str = "js",
        loss_ratio: float | None = None,
        log_z: str = "profile",
        residual: bool = True,
        zero_start: bool = True,
        quiet: bool | None = None,
        running: float = 0.99,
    ) -> None:
        super().__init__()
        if not callable(energy):
            raise InputError(f"`energy` must be a module or a function of rows, not {type(energy).__name__}")
        self.options = Options.checked(nu, loss, loss_ratio, log_z)
        self.energy = energy
        self.noise: Noise = as_noise(noise, quiet).to(_device_of(energy))
        self.residual = bool(residual)
        self.running = float(running)
        #: Whether the network runs in bf16 (see `train`).
        self.half = False
        if residual and zero_start:
            _zero_last_layer(energy)
        kind, device = _double(_device_of(energy)), _device_of(energy)
        self.log_z_free = nn.Parameter(torch.zeros((), dtype=kind, device=device)) if log_z == "free" else None
        self.register_buffer("log_z_running", torch.zeros((), dtype=kind, device=device))
        self.register_buffer("batches", torch.zeros((), dtype=torch.long, device=device))

    def forward(self, x: Tensor, noise: Tensor | None = None) -> Tensor:
        """The loss of a batch; the noise is drawn here unless its points are given."""
        x = rows_of(x)
        _check_rows(x, "the batch")
        if noise is None:
            with torch.no_grad():
                noise = self.noise.draw(self.options.noise_points(_world() * x.shape[0]), x)
                noise = noise[_rank() :: _world()] if _world() > 1 else noise
        else:
            noise = rows_of(noise)
        both = self.log_ratio(torch.cat([x, noise]))
        data, drawn = both[: x.shape[0]], both[x.shape[0] :]
        if self.log_z_free is not None:
            return loss_value(data, drawn, self.log_z_free, self.options, TORCH)
        best = best_constant(_gathered(data.detach()), _gathered(drawn.detach()), self.options, TORCH)
        if self.training:
            self._follow(best)
        return loss_value(data, drawn, best, self.options, TORCH)

    def log_ratio(self, x: Tensor) -> Tensor:
        """ℓ = log f − log p_n at rows, in double precision; its constant is not in it."""
        x = rows_of(x)
        with torch.autocast(x.device.type, dtype=torch.bfloat16, cache_enabled=False) if self.half else nullcontext():
            value = self.energy(x)
        ratio = _one_per_row(value, x.shape[0]).to(_double(x.device))
        return ratio if self.residual else ratio - self.noise.log_prob(x).to(ratio.dtype)

    def log_density(self, x: Tensor) -> Tensor:
        """The log-density of the model at rows, by the running constant; `evaluate` has it with its error."""
        return self.log_f(x) - self.constant.detach()

    def log_f(self, x: Tensor) -> Tensor:
        """log f at rows, in double precision."""
        x = rows_of(x)
        ratio = self.log_ratio(x)
        return ratio + self.noise.log_prob(x).to(ratio.dtype)

    @property
    def constant(self) -> Tensor:
        """log Z by the parameter, or by the running mean of the batches' best values."""
        return self.log_z_free if self.log_z_free is not None else self.log_z_running

    def evaluate(self, x_test: Tensor, **options: Any) -> Evaluation:
        """As the function `evaluate`."""
        from .evaluation import evaluate

        return evaluate(self, x_test, **options)

    def sides(self, x: Tensor) -> Sides:
        """log f and log p_n at rows, as arrays of double precision, in chunks."""
        with torch.no_grad():
            parts = [(self.log_ratio(part), self.noise.log_prob(part)) for part in torch.split(x, CHUNK)]
        ratio, base = (torch.cat(column).double().cpu().numpy() for column in zip(*parts))
        return Sides(ratio + base, base)

    def linear_fit(self, x: Tensor, *, noise: Tensor | None = None, **options: Any) -> FitResult:
        """The last linear layer as a linear model: its exact solution with standard errors, tests and diagnostics of `fit`.

        All of it is conditional on the features, the inputs of that layer: their own learning is not in the errors.

        Args:
            x: the rows; better ones that the network was not trained on.
            noise: noise points; drawn here by default, ν for every row.
            options: what `fit` takes further.
        """
        x = rows_of(x)
        _check_rows(x, "`x`")
        with torch.no_grad():
            points = self.noise.draw(self.options.noise_points(x.shape[0]), x) if noise is None else rows_of(noise)
            (data, base_data), (drawn, base_noise) = (self._features(rows) for rows in (x, points))
        return linear_fit(data, drawn, base_data, base_noise, **options)

    def design(self, noises: list[Any], draws: Tensor, target: Any = "kl") -> DictionaryResult:
        """The best weights of a mixture of noises for the coefficients of the last layer (MATH §9.4), conditional on its features.

        Args:
            noises: anything with `sample` and `log_prob`, normalized.
            draws: rows that stand for the data's density: draws of the model (`model_draws`), or data.
            target: the question: `kl`, `all` (every coefficient alike), or a pair of rows whose log-density ratio is asked for.
        """
        x = rows_of(draws)
        with torch.no_grad():
            features = self._with_constant(x)
            model = self.log_f(x) - self.constant
            ratios = torch.stack([as_noise(noise).log_prob(x).to(model) - model for noise in noises]).cpu().numpy()
            matrix = target_matrix(features, target, lambda row: self._features(rows_of(row.reshape(1, -1)))[0])
        return design_weights(features, ratios, matrix, self.options.nu)

    def _with_constant(self, x: Tensor) -> Any:
        """The score of the last layer and of the constant."""
        features, _ = self._features(x)
        return np.column_stack([features, -np.ones(len(features))])

    def _features(self, x: Tensor) -> tuple[Any, Any]:
        """The inputs of the last linear layer, and what is to be taken off θ·h for the log ratio."""
        layer = last_layer(self.energy)
        if layer is None:
            raise InputError("the energy has no last linear layer with one output: `linear_fit` needs one")
        caught: list[Tensor] = []
        handle = layer.register_forward_hook(lambda module, inputs, output: caught.extend([inputs[0], output]))
        try:
            ratio = self.log_ratio(x)
        finally:
            handle.remove()
        features = caught[0].reshape(x.shape[0], -1)
        linear = _one_per_row(caught[1], x.shape[0]).double()
        return features.double().cpu().numpy(), (linear - ratio).cpu().numpy()

    def _follow(self, best: Tensor) -> None:
        """The plain mean of the first batches, then a moving one: no start value has to be forgotten."""
        self.batches += 1
        share = torch.clamp(1.0 / self.batches.to(best.dtype), min=1.0 - self.running)
        self.log_z_running.lerp_(best.to(self.log_z_running.dtype), share)


def rows_of(x: Any) -> Tensor:
    """Rows as a matrix; a vector is one column."""
    if not torch.is_tensor(x):
        x = torch.as_tensor(np.asarray(x))
        x = x.to(torch.get_default_dtype()) if x.is_floating_point() else x
    if x.dim() == 1:
        return x[:, None]
    if x.dim() != 2 or x.shape[0] == 0:
        raise InputError(f"rows have the shape {tuple(x.shape)}, and must be a matrix with one row per point: flatten images")
    return x


def last_layer(energy: Any) -> Any:
    """The last linear layer with one output, or none."""
    layers = [m for m in energy.modules() if isinstance(m, nn.Linear) and m.out_features == 1] if isinstance(energy, nn.Module) else []
    return layers[-1] if layers else None


def _zero_last_layer(energy: Any) -> None:
    layer = last_layer(energy)
    if layer is not None:
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.zero_()


def _check_rows(x: Tensor, what: str) -> None:
    """Refuses values that are none. Within a graph or a compiled region nothing can be asked of the device."""
    if torch.compiler.is_compiling() or (x.is_cuda and torch.cuda.is_current_stream_capturing()):
        return
    good = torch.isfinite(x)
    if not bool(good.all()):
        row, column = (int(i) for i in torch.nonzero(~good)[0])
        raise bad_row(row, column, float(x[row, column]), what)


def _one_per_row(value: Tensor, rows: int) -> Tensor:
    if not torch.is_tensor(value):
        raise FunctionError(f"the energy returned {type(value).__name__}, and must return a tensor")
    if tuple(value.shape) == (rows,):
        return value
    if tuple(value.shape) == (rows, 1):
        return value[:, 0]
    raise bad_energy(tuple(value.shape), rows)


def _device_of(energy: Any) -> Any:
    parameters = list(energy.parameters()) if isinstance(energy, nn.Module) else []
    return parameters[0].device if parameters else torch.device("cpu")


def _double(device: Any) -> Any:
    """Double precision, but on Apple's devices, which have none."""
    return torch.float32 if device.type == "mps" else torch.float64


def _world() -> int:
    """Processes of data-parallel training; 1 without."""
    there = torch.distributed.is_available() and torch.distributed.is_initialized()
    return torch.distributed.get_world_size() if there else 1


def _rank() -> int:
    return torch.distributed.get_rank() if _world() > 1 else 0


def _gathered(values: Tensor) -> Tensor:
    """The values of all processes: the constant is that of the whole batch."""
    if _world() == 1:
        return values
    parts = [torch.empty_like(values) for _ in range(_world())]
    torch.distributed.all_gather(parts, values.contiguous())
    return torch.cat(parts)
