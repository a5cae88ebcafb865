"""A process that evaluates the compiled module of a PyStan model, whose automatic differentiation works in a process's first thread alone."""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any


def main() -> None:
    """Reads the model's name and data, then questions; writes an answer to each."""
    # What Stan prints goes to standard output, too: answers have a channel of their own.
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    from httpstan.models import import_services_extension_module

    name, data = pickle.load(sys.stdin.buffer)
    module = import_services_extension_module(name)

    def log_density(row: list[float]) -> float:
        try:
            return float(module.log_prob(data, row, True))
        except (RuntimeError, ValueError):
            # Stan's way to say that there is no density.
            return float("-inf")

    ask: dict[str, Any] = {"log_density": log_density, "unconstrain": lambda point: list(module.transform_inits(data, point))}
    while True:
        try:
            kind, points = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump([ask[kind](point) for point in points], channel)
        channel.flush()


if __name__ == "__main__":
    main()
