"""Draws of the model itself: Hamiltonian chains, many side by side on the device, started from weighted noise draws."""

from __future__ import annotations

from typing import Any

import torch

from ..errors import InputError
from ..networks.moves import ACCEPTANCE, FIRST_STEP, LEAPFROGS, Draws, check_moved
from .nce import NCE, rows_of

__all__ = ["model_draws"]

Tensor = Any


def model_draws(
    nce: NCE,
    draws: int = 200,
    *,
    chains: int = 128,
    warm_up: int = 200,
    thin: int = 1,
    like: Tensor | None = None,
    start: Tensor | None = None,
    seed: int = 0,
) -> Draws:
    """Draws of the model by Hamiltonian Monte Carlo, with its gradient by differentiation through energy and noise.

    Args:
        nce: the trained loss, whose energy and noise make log f.
        draws: of every chain.
        chains: how many run side by side.
        warm_up: moves in which the step is tuned, thrown away.
        thin: moves for every draw.
        like: rows whose number of columns, precision and device the draws take; needed without `start`.
        start: rows to start from; by default noise draws, picked by their weights under the model.
        seed: of the chains.
    """
    nce.eval()
    devices = [] if like is None or not like.is_cuda else [like.device]
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        target = _Target(nce, nce.noise.chart if start is None else None)
        at = target.start(chains, like) if start is None else rows_of(start)
        scale = at.std(0).clamp_min(1e-6 * (at.abs().max() + 1e-30))
        state = _State(target, at, scale)
        for move in range(warm_up):
            state.move(tune=1.0 / (1 + 0.05 * move))
        kept, accepted = [], torch.zeros((), device=at.device)
        for _ in range(draws):
            for _ in range(thin):
                accepted += state.move()
            kept.append(target.points(state.x).detach())
    rate = float(accepted) / (draws * thin)
    check_moved(rate)
    return Draws(torch.stack(kept, 1), rate, float(state.step))


class _Target:
    """The density that chains move in: log f itself or, where the noise is a flow, that of the flow's normal coordinates z,
    log f(T(z)) − log q(T(z)) − |z|²/2, in which the model is nearly a standard normal density (Hoffman et al. 2019)."""

    def __init__(self, nce: NCE, chart: Any) -> None:
        self.nce, self.chart = nce, chart

    def points(self, at: Tensor) -> Tensor:
        """The rows that coordinates stand for."""
        return at if self.chart is None else self.chart.from_normal(at)

    def log_density(self, at: Tensor) -> Tensor:
        """Of the coordinates, up to a constant."""
        x = self.points(at)
        value = self.nce.log_f(x)
        return value if self.chart is None else value - self.chart.log_prob(x).to(value) - 0.5 * at.to(value).square().sum(1)

    def start(self, chains: int, like: Tensor | None) -> Tensor:
        """Draws resampled by their weights: near the model already, so that the warm-up is short."""
        if like is None:
            raise InputError("`like` or `start` must be given: the rows that draws are to be like")
        with torch.no_grad():
            count = max(4096, 8 * chains)
            if self.chart is None:
                at = self.nce.noise.draw(count, like, quiet=False)
                weights = self.nce.log_ratio(at)
            else:
                at = torch.randn(count, like.shape[1], device=like.device, dtype=like.dtype)
                weights = self.log_density(at) + 0.5 * at.double().square().sum(1)
            weights = torch.where(torch.isfinite(weights), weights, torch.full_like(weights, -torch.inf))
            return at[torch.multinomial(torch.softmax(weights, 0), chains, replacement=True)]


class _State:
    """All chains, their log-density and gradient, and the common step."""

    def __init__(self, target: _Target, x: Tensor, scale: Tensor) -> None:
        self.target, self.x, self.scale = target, x, scale
        self.log_f, self.slope = self._density(x)
        self.log_step = torch.tensor(FIRST_STEP / x.shape[1] ** 0.25, device=x.device).log()

    @property
    def step(self) -> Tensor:
        return self.log_step.exp()

    def _density(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The log-density and its gradient; where it is no number there is no density."""
        with torch.enable_grad():
            at = x.detach().requires_grad_(True)
            value = self.target.log_density(at)
            (slope,) = torch.autograd.grad(value.sum(), at)
        value = torch.where(torch.isnan(value), torch.full_like(value, -torch.inf), value).detach()
        return value, torch.nan_to_num(slope, nan=0.0, posinf=0.0, neginf=0.0)

    def move(self, tune: float = 0.0) -> Tensor:
        """One move of every chain; the mean acceptance. With `tune` the step follows it (Robbins and Monro)."""
        momentum = torch.randn_like(self.x)
        size = self.step * self.scale * (0.8 + 0.4 * torch.rand((), device=self.x.device))
        x, slope, kinetic = self.x, self.slope, 0.5 * momentum.double().square().sum(1)
        for _ in range(int(torch.randint(LEAPFROGS[0], LEAPFROGS[1] + 1, ()))):
            momentum = momentum + 0.5 * size * slope
            x = x + size * momentum
            log_f, slope = self._density(x)
            momentum = momentum + 0.5 * size * slope
        change = log_f - self.log_f + kinetic - 0.5 * momentum.double().square().sum(1)
        chance = torch.nan_to_num(change, nan=-torch.inf).clamp_max(0.0).exp()
        taken = torch.rand_like(chance) < chance
        self.x = torch.where(taken[:, None], x, self.x)
        self.slope = torch.where(taken[:, None], slope, self.slope)
        self.log_f = torch.where(taken, log_f, self.log_f)
        rate = chance.mean()
        if tune:
            self.log_step = self.log_step + tune * (rate.to(self.log_step) - ACCEPTANCE)
        return rate
