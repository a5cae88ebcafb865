"""A normalizing flow by coupling layers of rational-quadratic splines (Durkan et al. 2019): fast both ways, so that noise can be
drawn from it at every step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import softmax, softplus

from ..networks.splines import BOUND, LEAST, UNIT_SLOPE, framed, kept_columns, rational_quadratic

__all__ = ["Elliptic", "SplineFlow"]

Tensor = Any

class SplineFlow(nn.Module):  # type: ignore[misc]
    """A flow from data to a standard normal density: whitening, then coupling layers with random rotations between them.

    Args:
        data: rows, whose mean and covariance whiten.
        layers: coupling layers.
        hidden: width of the two hidden layers of every coupling's network.
        bins: bins of the splines.
        seed: of the rotations.
    """

    #: `from_normal` is smooth, one to one, and can be differentiated.
    invertible = True

    def __init__(self, data: Tensor, *, layers: int = 6, hidden: int = 128, bins: int = 8, seed: int = 0) -> None:
        super().__init__()
        d = data.shape[1]
        frame = framed(data.detach().double().cpu().numpy(), layers, seed)
        parts = {"location": frame.location, "factor": frame.factor, "whiten": np.linalg.inv(frame.factor), "turns": frame.turns}
        for name, values in parts.items():
            self.register_buffer(name, torch.as_tensor(values).to(data.dtype))
        self.register_buffer("log_volume", torch.tensor(frame.log_volume, dtype=torch.float64))
        self.bins = bins
        self.kept = kept_columns(d)
        self.networks = nn.ModuleList([_conditioner(self.kept, d - self.kept, hidden, bins) for _ in range(layers)])

    def log_prob(self, x: Tensor) -> Tensor:
        """The log-density at rows."""
        z = (x - self.location) @ self.whiten.T
        total = -self.log_volume
        for turn, network in zip(self.turns, self.networks):
            z = z @ turn.T
            z, change = self._couple(z, network, False)
            total = total + change.double()
        return total - 0.5 * z.double().square().sum(1) - 0.5 * z.shape[1] * math.log(2 * math.pi)

    def from_normal(self, z: Tensor) -> Tensor:
        """Draws from standard normal ones."""
        z = z.to(self.location)
        for turn, network in zip(self.turns.flip(0), reversed(self.networks)):
            z, _ = self._couple(z, network, True)
            z = z @ turn
        return z @ self.factor.T + self.location

    def sample(self, n: int) -> Tensor:
        """Independent draws."""
        kind = self.location
        with torch.no_grad():
            return self.from_normal(torch.randn(n, kind.shape[0], device=kind.device, dtype=kind.dtype))

    def _couple(self, z: Tensor, network: Any, inverse: bool) -> tuple[Tensor, Tensor]:
        kept, moved = z[:, : self.kept], z[:, self.kept :]
        # In one dimension nothing is kept: the spline has constants for its network's outputs.
        given = kept if self.kept else torch.ones_like(moved[:, :1])
        shape = network(given).reshape(z.shape[0], moved.shape[1], 3 * self.bins - 1)
        out, change = _spline(moved, shape, self.bins, inverse)
        return torch.cat([kept, out], 1), change.sum(1)


def _conditioner(inputs: int, outputs: int, hidden: int, bins: int) -> Any:
    network = nn.Sequential(
        nn.Linear(max(1, inputs), hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, outputs * (3 * bins - 1))
    )
    nn.init.zeros_(network[-1].weight)
    nn.init.zeros_(network[-1].bias)
    return network


def _spline(x: Tensor, shape: Tensor, bins: int, inverse: bool) -> tuple[Tensor, Tensor]:
    """A monotone rational-quadratic spline of every entry, or its inverse, with the logarithm of the forward slope's value
    (negative for the inverse): identity beyond the bound, and the identity everywhere where `shape` is zero."""
    inside = x.abs() < BOUND
    at = x.clamp(-BOUND, BOUND)
    widths, heights = (_edges(shape[..., i * bins : (i + 1) * bins]) for i in (0, 1))
    slopes = nn.functional.pad(LEAST + softplus(shape[..., 2 * bins :] + UNIT_SLOPE), (1, 1), value=1.0)
    edges = heights if inverse else widths
    which = torch.searchsorted(edges[..., 1:-1].contiguous(), at[..., None].contiguous())
    knots = tuple(_at(values, which + side) for values in (widths, heights, slopes) for side in (0, 1))
    out, log_slope = rational_quadratic(at, knots, torch.log, torch.sqrt, inverse)
    return torch.where(inside, out, x), torch.where(inside, log_slope, torch.zeros_like(log_slope))


def _edges(shape: Tensor) -> Tensor:
    """Places from −BOUND to BOUND."""
    parts = LEAST + (1 - LEAST * shape.shape[-1]) * softmax(shape, -1)
    inner = -BOUND + 2 * BOUND * parts.cumsum(-1)
    low = torch.full_like(inner[..., :1], -BOUND)
    return torch.cat([low, inner[..., :-1], -low], -1)


def _at(values: Tensor, which: Tensor) -> Tensor:
    return values.gather(-1, which)[..., 0]


class Elliptic(nn.Module):  # type: ignore[misc]
    """A mixture of Student or normal densities on the device, from the numbers of `networks.noises`."""

    def __init__(self, weights: Any, locations: Any, factors: Any, degrees: float) -> None:
        super().__init__()
        self.degrees = float(degrees)
        for name, values in (("weights", weights), ("locations", locations), ("factors", factors)):
            self.register_buffer(name, torch.as_tensor(values, dtype=torch.float64))

    def log_prob(self, x: Tensor) -> Tensor:
        """The log-density at rows, in double precision."""
        d, nu = x.shape[1], self.degrees
        centred = x.double()[None] - self.locations[:, None]
        distances = torch.linalg.solve_triangular(self.factors, centred.mT, upper=False).square().sum(1)
        if math.isinf(nu):
            logs = -0.5 * distances - 0.5 * d * math.log(2 * math.pi)
        else:
            start = math.lgamma((nu + d) / 2) - math.lgamma(nu / 2) - 0.5 * d * math.log(nu * math.pi)
            logs = start - 0.5 * (nu + d) * torch.log1p(distances / nu)
        volume = self.factors.diagonal(dim1=1, dim2=2).log().sum(1)
        return torch.logsumexp(logs + (self.weights.log() - volume)[:, None], 0)

    def from_normal(self, z: Tensor) -> Tensor:
        """Draws from standard normal ones; components by strata, in an order of their own."""
        n = z.shape[0]
        order = torch.rand(n, device=z.device).argsort()
        place = ((torch.arange(n, device=z.device) + torch.rand((), device=z.device)) / n)[order]
        return self._placed(z.double(), place.double())

    def sample(self, n: int) -> Tensor:
        """Independent draws."""
        device = self.weights.device
        z = torch.randn(n, self.locations.shape[1], device=device, dtype=torch.float64)
        return self._placed(z, torch.rand(n, device=device, dtype=torch.float64))

    def _placed(self, z: Tensor, place: Tensor) -> Tensor:
        which = torch.searchsorted(self.weights.cumsum(0), place).clamp_max(len(self.weights) - 1)
        spread = z
        if not math.isinf(self.degrees):
            # Degrees of freedom are whole numbers here: a mean of squares, which a CUDA graph can hold.
            squares = torch.randn(len(z), round(self.degrees), device=z.device, dtype=z.dtype).square()
            spread = z / squares.mean(1, keepdim=True).sqrt()
        turned = spread @ self.factors.mT
        return self.locations[which] + turned[which, torch.arange(len(which), device=which.device)]
