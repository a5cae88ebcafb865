"""PyTorch as the losses see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.functional import softplus

from ..networks.losses import Library

__all__ = ["TORCH"]

#: Values of a part of a sum.
PART = 128


def _repeat(times: int, step: Callable[[Any], Any], start: Any) -> Any:
    for _ in range(times):
        start = step(start)
    return start


def _total(values: Any) -> Any:
    """The sum in two stages where the rows allow: one stage would keep a single multiprocessor of a GPU busy, and the others idle."""
    return values.reshape(-1, PART).sum(1).sum() if values.shape[0] % PART == 0 else values.sum()


def _count_to(n: int, like: Any) -> Any:
    return torch.arange(1, n + 1, device=like.device, dtype=torch.float32)


TORCH = Library(
    torch.exp, torch.log, softplus, lambda values: torch.logsumexp(values, 0), torch.clamp, _repeat, _total, lambda x: x.float(), _count_to
)
