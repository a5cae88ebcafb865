"""One step of training, by hand or as a CUDA graph: forward, backward, clipping, the optimizer, and the averaged weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from .nce import _world

__all__ = ["Average", "Eager", "Graph", "Weights"]

Tensor = Any


class Weights:
    """The parameters that are trained, their optimizer, the learning rate, and their moving average."""

    def __init__(self, module: Any, rate: float, weight_decay: float, ema: float, clip: float | None) -> None:
        self.parameters = [p for p in module.parameters() if p.requires_grad]
        device = self.parameters[0].device
        on_gpu = device.type == "cuda"
        self.rate: Any = torch.tensor(rate, device=device) if on_gpu else rate
        self.optimizer = torch.optim.AdamW(self.parameters, lr=self.rate, weight_decay=weight_decay, capturable=on_gpu, fused=on_gpu or None)
        self.average = Average(self.parameters, ema)
        self.clip = clip

    def set_rate(self, rate: float) -> None:
        """The learning rate of the next step."""
        if torch.is_tensor(self.rate):
            self.rate.fill_(rate)
        else:
            for group in self.optimizer.param_groups:
                group["lr"] = rate

    def update(self) -> None:
        """The optimizer's step from the gradients, averaged over processes and clipped."""
        if _world() > 1:
            _reduce([p.grad for p in self.parameters if p.grad is not None])
        if self.clip is not None:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()
        self.average.follow()


class Average:
    """An exponential moving average of parameters; over t steps it reaches back at most t/10, so that the start is forgotten."""

    def __init__(self, parameters: list[Tensor], decay: float) -> None:
        self.parameters, self.decay = parameters, decay
        self.values = [p.detach().clone() for p in parameters]
        self.count = torch.zeros((), device=parameters[0].device)

    def follow(self) -> None:
        """After a step."""
        with torch.no_grad():
            self.count += 1
            share = torch.clamp(9.0 / (10.0 + self.count), min=1.0 - self.decay)
            away = torch._foreach_sub(self.parameters, self.values)
            torch._foreach_mul_(away, share)
            torch._foreach_add_(self.values, away)

    def swap(self) -> None:
        """Exchanges the parameters and their average; twice is nothing."""
        with torch.no_grad():
            for value, parameter in zip(self.values, self.parameters):
                kept = parameter.clone()
                parameter.copy_(value)
                value.copy_(kept)


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

    def __init__(self, loss: Callable[[], Tensor], weights: Weights) -> None:
        self.loss, self.weights = loss, weights
        self.total = torch.zeros((), dtype=torch.float64, device=weights.parameters[0].device)

    def __call__(self) -> None:
        self.weights.optimizer.zero_grad(set_to_none=True)
        value = self.loss()
        value.backward()
        self.weights.update()
        self.total += value.detach()


class Graph(Eager):
    """The same step as a CUDA graph: one launch instead of hundreds, for networks that are bound by launches."""

    def __init__(self, loss: Callable[[], Tensor], weights: Weights, buffers: list[Tensor]) -> None:
        super().__init__(loss, weights)
        kept = _Snapshot(weights, buffers)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                super().__call__()
        torch.cuda.current_stream().wait_stream(side)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            super().__call__()
        kept.restore()
        self.total.zero_()

    def __call__(self) -> None:
        self.graph.replay()


class _Snapshot:
    """All that steps change, to be put back in place after the steps that warm a graph up."""

    def __init__(self, weights: Weights, buffers: list[Tensor]) -> None:
        self.weights = weights
        average = [*weights.average.values, weights.average.count]
        self.pairs = [(t, t.detach().clone()) for t in [*weights.parameters, *buffers, *average]]
        self.state = {id(p): {k: v.clone() for k, v in s.items() if torch.is_tensor(v)} for p, s in weights.optimizer.state.items()}

    def restore(self) -> None:
        """Puts everything back; what the optimizer had not yet is zero."""
        with torch.no_grad():
            for tensor, value in self.pairs:
                tensor.copy_(value)
            for parameter, state in self.weights.optimizer.state.items():
                before = self.state.get(id(parameter), {})
                for name, value in state.items():
                    if torch.is_tensor(value):
                        value.copy_(before[name]) if name in before else value.zero_()
