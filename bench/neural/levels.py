"""A flow for dequantised grey levels: every pixel's own distribution first, then splines."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from noisewright.torch import SplineFlow

#: The weight, in rows, of the shares of all pixels in those of one.
PRIOR_ROWS = 5.0
#: How near to 0 and 1 a distribution function comes.
EDGE = 1e-12


class LevelFlow(nn.Module):
    """Each pixel's histogram, whose steps are densities, turns it into a normal number; a flow of splines has what pixels have in common.

    A pixel that is nearly always white has a spike and a long tail, which no whitening and no smooth spline can follow.

    Args:
        rows: dequantised levels.
        edges: of the bins of the histograms, whole numbers from 0 to the number of levels.
        options: of `SplineFlow`.
    """

    invertible = True

    def __init__(self, rows: torch.Tensor, edges: list[int], **options: Any) -> None:
        super().__init__()
        self.register_buffer("edges", torch.tensor(edges, dtype=torch.float64, device=rows.device))
        which = self._bins(rows.double())
        counts = nn.functional.one_hot(which, len(edges) - 1).sum(0).double()
        overall = (counts.sum(0) + 1.0) / (counts.sum() + len(edges) - 1)
        shares = (counts + PRIOR_ROWS * overall) / (len(rows) + PRIOR_ROWS)
        self.register_buffer("shares", shares)
        self.register_buffer("below", shares.cumsum(1) - shares)
        self.register_buffer("widths", self.edges.diff())
        self.register_buffer("pixels", torch.arange(rows.shape[1], device=rows.device))
        self.flow = SplineFlow(self._normal(rows)[0], **options).to(rows.device)

    def log_prob(self, x: torch.Tensor) -> torch.Tensor:
        """The log-density at rows; zero density outside of the levels."""
        z, slope = self._normal(x)
        inside = ((x >= 0) & (x <= self.edges[-1])).all(1)
        return torch.where(inside, self.flow.log_prob(z) + slope, torch.full_like(slope, -math.inf))

    def from_normal(self, z: torch.Tensor) -> torch.Tensor:
        """Draws from standard normal ones."""
        u = torch.special.ndtr(self.flow.from_normal(z).double()).clamp(EDGE, 1 - EDGE)
        which = (torch.searchsorted(self.below, u.detach().T.contiguous(), right=True) - 1).T
        share = (u - self.below[self.pixels, which]) / self.shares[self.pixels, which]
        return (self.edges[which] + share * self.widths[which]).to(z.dtype)

    def sample(self, n: int) -> torch.Tensor:
        """Independent draws."""
        kind = self.flow.location
        with torch.no_grad():
            return self.from_normal(torch.randn(n, len(kind), device=kind.device, dtype=kind.dtype))

    def _bins(self, x: torch.Tensor) -> torch.Tensor:
        return torch.searchsorted(self.edges[1:-1].contiguous(), x.detach().contiguous(), right=True)

    def _normal(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Every pixel's normal number, and the logarithm of the map's slope."""
        at = x.double()
        which = self._bins(at)
        share, width = self.shares[self.pixels, which], self.widths[which]
        u = self.below[self.pixels, which] + share * (at - self.edges[which]) / width
        z = torch.special.ndtri(u.clamp(EDGE, 1 - EDGE))
        slope = (share.log() - width.log() + 0.5 * z.square() + 0.5 * math.log(2 * math.pi)).sum(1)
        return z.to(x.dtype), slope
