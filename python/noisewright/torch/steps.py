"""One step of training, by hand or as a CUDA graph: forward, backward, clipping, Adam, and the averaged weights.

Nothing in a step comes from Python but its launch: learning rates and the like lie in a table on the device, whose row is counted there, so that a graph
can hold many steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from .nce import _double, _world

__all__ = ["Clock", "Eager", "Graph", "Weights", "adam", "fused_adam"]

Tensor = Any

#: Adam's shares and guard (Kingma and Ba 2015).
FIRST, SECOND, GUARD = 0.9, 0.999, 1e-8
#: Steps that one graph holds, at most.
IN_GRAPH = 10


class Clock:
    """The step of an epoch, counted on the device, and what goes by it: the learning rate, Adam's corrections, the averages' share."""

    def __init__(self, steps: int, like: Tensor) -> None:
        kind = like.dtype if like.dtype in (torch.float32, torch.float64) else torch.float32
        self.step = torch.zeros(1, dtype=torch.long, device=like.device)
        self.table = torch.zeros(steps, 5, dtype=kind, device=like.device)

    def begin(self, first: int, rates: list[float], ema: float) -> None:
        """An epoch, whose first step is the given one of all."""
        count = first + 1.0 + np.arange(len(rates))
        # The average reaches back over a tenth of the steps at most, so that the start is forgotten.
        share = np.maximum(9.0 / (10.0 + count), 1.0 - ema)
        columns = np.stack([np.array(rates), 1.0 / (1.0 - FIRST**count), 1.0 / (1.0 - SECOND**count), share, count], axis=1)
        self.table.copy_(torch.as_tensor(columns))
        self.step.zero_()

    def now(self) -> tuple[Tensor, ...]:
        """Rate, the corrections of both moments, the share, and the number of steps so far, as numbers on the device."""
        return tuple(self.table.index_select(0, self.step)[0].unbind())


class Weights:
    """The parameters that are trained, Adam's two moments of their gradients, and their moving average."""

    def __init__(self, module: Any, weight_decay: float, clip: float | None, steps: int) -> None:
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        self.clock = Clock(steps, self.parameters[0])
        self.first, self.second = ([torch.zeros_like(p) for p in self.parameters] for _ in range(2))
        self.average = [p.detach().clone() for p in self.parameters]
        self.weight_decay, self.clip = weight_decay, clip
        on_gpu = self.parameters[0].is_cuda and {p.dtype for p in self.parameters} == {torch.float32}
        #: `adam` or one that does the same; compiled where the training is.
        self.move: Callable[..., None] = fused_adam if on_gpu else adam

    @property
    def state(self) -> list[Tensor]:
        """All that steps change."""
        return [*self.parameters, *self.first, *self.second, *self.average]

    def update(self) -> None:
        """Adam's step from the gradients, averaged over processes and clipped; the averages follow."""
        used = [k for k, p in enumerate(self.parameters) if p.grad is not None]
        parameters, first, second, average = ([values[k] for k in used] for values in (self.parameters, self.first, self.second, self.average))
        gradients = [p.grad for p in parameters]
        if _world() > 1:
            _reduce(gradients)
        with torch.no_grad():
            norms = None if self.clip is None else torch.stack(torch._foreach_norm(gradients))
            self.move(parameters, gradients, first, second, average, norms, self.clip, self.weight_decay, self.clock.now())

    def swap(self) -> None:
        """Exchanges the parameters and their average; twice is nothing."""
        with torch.no_grad():
            for value, parameter in zip(self.average, self.parameters):
                kept = parameter.clone()
                parameter.copy_(value)
                value.copy_(kept)


def adam(
    parameters: list[Tensor],
    gradients: list[Tensor],
    first: list[Tensor],
    second: list[Tensor],
    average: list[Tensor],
    norms: Tensor | None,
    clip: float | None,
    weight_decay: float,
    now: tuple[Tensor, ...],
) -> None:
    """AdamW's step with a clipped gradient, and the averages', in operations on all parameters at once."""
    rate, scale, square_scale, share, _ = now
    if norms is not None and clip is not None:
        shorter = torch.clamp(clip / (norms.square().sum().sqrt() + 1e-6), max=1.0)
        gradients = torch._foreach_mul(gradients, shorter)
    torch._foreach_lerp_(first, gradients, 1.0 - FIRST)
    torch._foreach_mul_(second, SECOND)
    torch._foreach_addcmul_(second, gradients, gradients, 1.0 - SECOND)
    size = torch._foreach_mul(second, square_scale)
    torch._foreach_sqrt_(size)
    torch._foreach_add_(size, GUARD)
    move = torch._foreach_div(first, size)
    torch._foreach_mul_(move, -rate * scale)
    if weight_decay:
        torch._foreach_mul_(parameters, 1.0 - rate * weight_decay)
    torch._foreach_add_(parameters, move)
    _follow(average, parameters, share)


def fused_adam(
    parameters: list[Tensor],
    gradients: list[Tensor],
    first: list[Tensor],
    second: list[Tensor],
    average: list[Tensor],
    norms: Tensor | None,
    clip: float | None,
    weight_decay: float,
    now: tuple[Tensor, ...],
) -> None:
    """The same by PyTorch's one kernel, which divides gradients by a number: for single precision, where nothing is compiled."""
    longer = None if norms is None or clip is None else torch.clamp((norms.square().sum().sqrt() + 1e-6) / clip, min=1.0)
    options = {"beta1": FIRST, "beta2": SECOND, "weight_decay": weight_decay, "eps": GUARD, "amsgrad": False, "maximize": False}
    count = [now[4]] * len(parameters)
    torch._fused_adamw_(parameters, gradients, first, second, [], count, lr=now[0], grad_scale=longer, found_inf=None, **options)
    _follow(average, parameters, now[3])


def _follow(average: list[Tensor], parameters: list[Tensor], share: Tensor) -> None:
    away = torch._foreach_sub(parameters, average)
    torch._foreach_mul_(away, share)
    torch._foreach_add_(average, away)


def _reduce(gradients: list[Tensor]) -> None:
    """The mean of the gradients over processes, in one message. Batches are equal, so that it is that of the whole batch."""
    flat = torch.cat([g.reshape(-1) for g in gradients])
    torch.distributed.all_reduce(flat)
    flat /= _world()
    at = 0
    for gradient in gradients:
        gradient.copy_(flat[at : at + gradient.numel()].view_as(gradient))
        at += gradient.numel()


class Eager:
    """A step as PyTorch runs it, operation by operation."""

    #: How many steps one call makes.
    steps = 1

    def __init__(self, loss: Callable[[], Tensor], weights: Weights) -> None:
        self.loss, self.weights = loss, weights
        device = weights.parameters[0].device
        self.total = torch.zeros((), dtype=_double(device), device=device)

    def __call__(self) -> None:
        for parameter in self.weights.parameters:
            parameter.grad = None
        value = self.loss()
        value.backward()
        self.weights.update()
        with torch.no_grad():
            self.weights.clock.step += 1
            self.total += value.detach()


class Graph(Eager):
    """The same steps as a CUDA graph: one launch instead of hundreds for every step, for networks that are bound by launches."""

    def __init__(self, loss: Callable[[], Tensor], weights: Weights, buffers: list[Tensor], steps: int) -> None:
        super().__init__(loss, weights)
        self.steps = max(k for k in range(1, IN_GRAPH + 1) if steps % k == 0)
        kept = [(t, t.detach().clone()) for t in [*weights.state, *buffers]]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                weights.clock.step.zero_()
                super().__call__()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(self.steps):
                super().__call__()
        with torch.no_grad():
            for tensor, value in kept:
                tensor.copy_(value)
        self.total.zero_()
        weights.clock.step.zero_()

    def __call__(self) -> None:
        self.graph.replay()
