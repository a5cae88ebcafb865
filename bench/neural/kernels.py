"""What a step at 8,192 + 8,192 points consists of on a GPU: its kernels, how often each runs and how long."""

from __future__ import annotations

import sys
from typing import Any

import torch
from systems import EightGaussians, Scaled, perceptron
from toys import BATCH, noise_for

from noisewright.torch import NCE, train

STEPS = 100


def main(accelerate: str, precision: str, shown: int = 45) -> list[dict[str, Any]]:
    """The kernels of the second epoch, the longest first."""
    device = torch.device("cuda")
    torch.manual_seed(0)
    nce = NCE(Scaled(perceptron(2), 2.0).to(device), noise_for("8 Gaussians", device), nu=1)
    profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
    seen = []

    def at_epoch(line: str) -> None:
        seen.append(line)
        (profiler.start if len(seen) == 2 else profiler.stop if len(seen) == 3 else bool)()

    # Few held-out rows: their loss is in the epoch as well.
    system = EightGaussians(device)
    train(nce, system.draw, held_out=system.draw(128), epochs=3, steps=STEPS, batch=BATCH, patience=None, accelerate=accelerate, precision=precision, log=at_epoch)
    events = [e for e in profiler.key_averages() if e.self_device_time_total > 0]
    events.sort(key=lambda e: -e.self_device_time_total)
    total = sum(e.self_device_time_total for e in events) / STEPS
    count = sum(e.count for e in events) / STEPS
    print(f"\n{accelerate}, {precision}: {total:.1f} µs in {count:.1f} kernels per step; epochs {[line.split()[-2] for line in seen]} s")
    for e in events[:shown]:
        print(f"{e.self_device_time_total / STEPS:8.2f} µs  {e.count / STEPS:6.2f} ×  {e.key[:110]}")
    return [{"name": e.key, "microseconds": e.self_device_time_total / STEPS, "count": e.count / STEPS} for e in events]


if __name__ == "__main__":
    main(*sys.argv[1:3])
