"""PyTorch as the losses see it."""

from __future__ import annotations

import torch
from torch.nn.functional import softplus

from ..networks.losses import Library

__all__ = ["TORCH"]

TORCH = Library(torch.exp, softplus, lambda values: torch.logsumexp(values, 0), torch.clamp)
