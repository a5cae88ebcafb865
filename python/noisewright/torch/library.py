"""PyTorch as the losses see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import softplus

from ..networks.losses import Library

__all__ = ["TORCH"]


def _repeat(times: int, step: Callable[[Any], Any], start: Any) -> Any:
    for _ in range(times):
        start = step(start)
    return start


TORCH = Library(torch.exp, softplus, lambda values: torch.logsumexp(values, 0), torch.clamp, _repeat, lambda x: x.float(), lambda x, y: x.to(y.dtype))
