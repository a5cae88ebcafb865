"""Noises on the device: whatever has `sample` and `log_prob`, with quiet draws where its base can be reached."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

from ..errors import InputError
from ..networks.options import BITS, QUIET_DIMENSIONS, check_noise, check_weights
from ..noises import Noise as CoreNoise

__all__ = ["Mixed", "Noise", "as_noise"]

Tensor = Any

class Noise(nn.Module):  # type: ignore[misc]
    """A noise with draws of shape (n, d) and log-densities of shape (n,), whatever the shapes of what it wraps."""

    def __init__(self, source: Any, quiet: bool | None = None) -> None:
        super().__init__()
        check_noise(source)
        if isinstance(source, nn.Module):
            for parameter in source.parameters():
                parameter.requires_grad_(False)
        self.source = source
        self.quiet = quiet
        self._nets: dict[int, Tensor] = {}

    def draw(self, n: int, like: Tensor, quiet: bool | None = None) -> Tensor:
        """`n` draws on the device and in the precision of some rows; quiet ones where wanted and possible, else independent."""
        if quiet is None:
            quiet = like.shape[1] <= QUIET_DIMENSIONS if self.quiet is None else self.quiet
        if isinstance(self.source, Mixed):
            drawn = self.source.draw(n, like, quiet)
        elif quiet and self.can_transport:
            drawn = self.transport(self._uniforms(n, like))
        else:
            drawn = self._sampled(n)
        drawn = drawn.to(device=like.device, dtype=like.dtype)
        if tuple(drawn.shape) != (n, like.shape[1]):
            raise InputError(f"the noise draws rows of {drawn.shape[-1]} columns, and the data have {like.shape[1]}")
        return drawn

    def _sampled(self, n: int) -> Tensor:
        drawn = self.source.sample((n,)) if _takes_shapes(self.source) else self.source.sample(n)
        return drawn.reshape(n, -1)

    def log_prob(self, x: Tensor) -> Tensor:
        """The log-density at rows, −∞ outside of the support."""
        value = self.source.log_prob(x[:, 0] if _is_scalar(self.source) else x)
        return value if value.dim() == 1 else value.reshape(x.shape[0], -1).sum(1)

    @property
    def can_transport(self) -> bool:
        """Whether uniform numbers can be mapped to draws."""
        return _transport_of(self.source) is not None

    @property
    def chart(self) -> Any:
        """A smooth invertible map from standard normal coordinates with a density, if the noise or its first component has one: a flow."""
        if isinstance(self.source, Mixed):
            return self.source.parts[0].chart
        return self.source if getattr(self.source, "invertible", False) else None

    def transport(self, uniforms: Tensor) -> Tensor:
        """Draws from uniform numbers in (0, 1)^d."""
        way = _transport_of(self.source)
        assert way is not None
        return way(uniforms)

    def _uniforms(self, n: int, like: Tensor) -> Tensor:
        """Sobol points, scrambled once, with a fresh digital shift at every call: each is uniform, and together they stay even.

        All of it happens on the device, so that a CUDA graph can hold it.
        """
        net = self._nets.get(n)
        if net is None or net.device != like.device:
            points = torch.quasirandom.SobolEngine(like.shape[1], scramble=True, seed=n).draw(n, dtype=torch.float64)
            net = self._nets[n] = (points * 2**BITS).long().to(like.device)
        shift = torch.randint(0, 2**BITS, (1, like.shape[1]), device=like.device)
        return ((net ^ shift).double() + 0.5) / 2**BITS


class Mixed(nn.Module):  # type: ignore[misc]
    """A mixture of noises with fixed weights; which component a draw is of goes by strata, so that the shares are exact."""

    def __init__(self, parts: list[Any], weights: Any) -> None:
        super().__init__()
        self.parts = nn.ModuleList([as_noise(part) for part in parts])
        self.register_buffer("weights", torch.as_tensor(check_weights(weights, len(parts))))

    def draw(self, n: int, like: Tensor, quiet: bool) -> Tensor:
        """`n` draws: all components are drawn, and every point is taken from one of them, by strata or independently."""
        drawn = torch.stack([part.draw(n, like, None if quiet else False) for part in self.parts])
        place = torch.rand(n, device=like.device)
        if quiet:
            # A systematic sample of the components, in an order of its own: those of a net are not to be cut into pieces.
            place = ((torch.arange(n, device=like.device) + torch.rand((), device=like.device)) / n)[place.argsort()]
        which = torch.searchsorted(self.weights.cumsum(0).to(place), place).clamp_max(len(self.parts) - 1)
        return drawn[which, torch.arange(n, device=like.device)]

    def sample(self, shape: Any) -> Tensor:
        """Independent draws, in the precision and on the device of the first component's own."""
        n = int(shape[0]) if isinstance(shape, (tuple, list, torch.Size)) else int(shape)
        return self.draw(n, self.parts[0]._sampled(1), False)

    def log_prob(self, x: Tensor) -> Tensor:
        """The log-density of the mixture."""
        logs = torch.stack([part.log_prob(x) for part in self.parts])
        return torch.logsumexp(logs + self.weights.log().to(logs)[:, None], 0)


class _OnDevice:
    """A noise of noisewright's own, evaluated on the CPU and moved."""

    def __init__(self, noise: CoreNoise) -> None:
        self.noise = noise

    def sample(self, n: int) -> Tensor:
        seed = int(torch.randint(0, 2**31, ()))
        return torch.as_tensor(np.array(self.noise.sample(n, seed=seed)))

    def log_prob(self, x: Tensor) -> Tensor:
        values = self.noise.log_density(x.detach().double().cpu().numpy())
        return torch.as_tensor(np.array(values)).to(x.device)


def as_noise(noise: Any, quiet: bool | None = None) -> Noise:
    """Anything with `sample` and `log_prob` as a noise; flows of zuko are called for their distribution."""
    if isinstance(noise, Noise):
        if quiet is not None:
            noise.quiet = quiet
        return noise
    if isinstance(noise, CoreNoise):
        return Noise(_OnDevice(noise), quiet)
    if isinstance(noise, nn.Module) and not hasattr(noise, "log_prob") and _is_lazy(noise):
        return Noise(_Lazy(noise), quiet)
    if isinstance(noise, torch.distributions.Distribution):
        # Outside of the support the density is zero; PyTorch would raise.
        for part in (noise, getattr(noise, "base_dist", None)):
            if part is not None:
                part._validate_args = False
    return Noise(noise, quiet)


class _Lazy(nn.Module):  # type: ignore[misc]
    """A flow of zuko without context: a module that gives a distribution when it is called."""

    def __init__(self, flow: Any) -> None:
        super().__init__()
        self.flow = flow

    def sample(self, shape: Any) -> Tensor:
        with torch.no_grad():
            return self.flow().sample(tuple(shape))

    def log_prob(self, x: Tensor) -> Tensor:
        return self.flow().log_prob(x)

    def from_normal(self, z: Tensor) -> Tensor:
        """Draws from standard normal ones, by the inverse of the flow."""
        kind = next(self.flow.parameters()).dtype
        with torch.no_grad():
            return self.flow().transform.inv(z.to(kind))


def _is_lazy(flow: Any) -> bool:
    return type(flow).__module__.startswith("zuko.") and callable(flow)


def _is_scalar(source: Any) -> bool:
    """Whether it is a distribution of single numbers."""
    return isinstance(source, torch.distributions.Distribution) and source.batch_shape + source.event_shape == ()


def _takes_shapes(source: Any) -> bool:
    return isinstance(source, (torch.distributions.Distribution, _Lazy, Mixed)) or hasattr(source, "event_shape")


def _transport_of(source: Any) -> Any:
    """The map from uniform numbers to draws, where there is one."""
    d = torch.distributions
    if hasattr(source, "from_normal"):
        return lambda u: source.from_normal(_normal(u))
    if isinstance(source, d.MultivariateNormal):
        return lambda u: source.loc + _normal(u).to(source.loc) @ source.scale_tril.mT
    inner = source.base_dist if isinstance(source, d.Independent) else source
    if isinstance(inner, (d.Normal, d.Uniform, d.Laplace, d.Cauchy)):
        return lambda u: inner.icdf(u.to(inner.mean) if inner.batch_shape else u[:, :1])
    return None


def _normal(uniforms: Tensor) -> Tensor:
    return torch.special.ndtri(uniforms)
